//! Retry policies as the cloud providers document them.

pub mod iam;
pub mod memorystore;

#[cfg(feature = "emulator")]
pub mod emulator;
#[cfg(feature = "http")]
pub mod http;

#[doc(no_inline)]
pub use backoff_core::*;

#[doc(hidden)]
pub use backoff_core::__private;

#[cfg(feature = "macros")]
pub use backoff_macros::retry_cloud as retry;
