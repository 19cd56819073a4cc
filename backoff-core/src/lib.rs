//! Retry with backoff and jitter for programs that call cloud services.
#![cfg_attr(not(feature = "std"), no_std)]

mod codes;
mod delay;
mod drive;
mod fault;
mod grpc;
mod judge;
mod observe;
mod policy;
mod report;
mod retry;
mod time;

#[cfg(feature = "hint")]
pub mod hint;

#[cfg(feature = "reqwest-013")]
mod clients;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use codes::Codes;
pub use delay::jitter::Jitter;
pub use drive::{
    Blocking, Bounded, Call, Judged, Operation, Plain, Reported, Retrying, Timed, WithAttempt,
};
pub use fault::{Class, Fault, TimedOut, Transport};
pub use grpc::GrpcCode;
pub use judge::{ByPolicy, EveryError, Judge, Verdict, When};
pub use observe::{Event, Notify, Silent};
pub use policy::Policy;
pub use report::{Report, RetryError, StopReason};
pub use retry::{Attempt, Decision, Retry, Wait, WaitSource};
#[cfg(feature = "std")]
pub use time::Std;
#[cfg(feature = "tokio")]
pub use time::Tokio;
pub use time::{Clock, NoRuntime, Pause, Random, Sleep};

#[cfg(feature = "macros")]
pub use backoff_macros::retry;
