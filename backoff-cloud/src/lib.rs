//! Retry policies as the cloud providers document them, and what it takes to try them out.
//!
//! | preset | for | waits | retries | ends |
//! |---|---|---|---|---|
//! | [`iam::REQUEST`] | one request to Google Cloud IAM | `min(2ⁿ s + U(0, 1 s), 64 s)` | 500, 502, 503, 504 | after 300 s |
//! | [`iam::READ_MODIFY_WRITE`] | a whole read-modify-write of an allow policy | `U(0, min(2ⁿ s, 64 s))` | 500, 502, 503, 504, `ABORTED` | after 300 s |
//! | [`memorystore::REQUEST`] | one request to Memorystore for Redis | `min(2ⁿ s + U(0, 1 s), 64 s)` | 429, every 5xx | after 10 attempts |
//!
//! Everything of [`backoff_core`] is re-exported, and `#[retry]` here refers to this crate, so that
//! depending on one of the two is enough.
//!
//! ```
//! use backoff_cloud::{TimedOut, iam, retry};
//!
//! #[retry(policy = iam::READ_MODIFY_WRITE, deadline = "60s")]
//! async fn grant(member: &str) -> Result<(), TimedOut> {
//!     // read the policy, change it, write it back with its etag
//!     # let _ = member;
//!     Ok(())
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { grant("user:ann@example.com").await.unwrap() }
//! ```
//!
//! # Features
//!
//! | feature | brings | on by default |
//! |---|---|---|
//! | `tokio`, `macros`, `tracing` | as in `backoff-core` | the first two |
//! | `http` | `http`: a `reqwest::Response` as a value, or as an error that keeps its hints | no |
//! | `emulator` | `emulator`: a loopback IAM that conflicts, throttles and fails on command | no |
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod iam;
pub mod memorystore;
#[cfg(test)]
mod reply;

#[cfg(feature = "emulator")]
pub mod emulator;
#[cfg(feature = "http")]
pub mod http;

#[doc(no_inline)]
pub use backoff_core::*;

#[doc(hidden)]
pub use backoff_core::__private;

#[cfg(feature = "macros")]
pub use backoff_macros::{FaultCloud as Fault, retry_cloud as retry};
