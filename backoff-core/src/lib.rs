//! Retries with exponential backoff and jitter, for async and blocking code.
//!
//! **A function.** The attribute [`retry`](macro@retry) calls it again, and its signature stays the same:
//!
#![cfg_attr(all(feature = "macros", feature = "tokio"), doc = "```")]
#![cfg_attr(not(all(feature = "macros", feature = "tokio")), doc = "```ignore")]
//! use backoff_core::{Fault, retry};
//!
//! #[derive(Debug, Fault)]
//! struct ApiError { #[fault(status)] code: u16 }
//!
//! #[retry(max_backoff = "64s", deadline = "300s", on = [429, 500..=504])]
//! async fn instance(client: &Client, name: &str) -> Result<Instance, ApiError> {
//!     client.get(name).await
//! }
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/examples/client.rs"));
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let client = Client::default();
//! # instance(&client, "a").await.unwrap();
//! # assert_eq!(client.calls.get(), 3);
//! # }
//! ```
//!
//! A [`Fault`](trait@Fault) is an error that states its status or its kind. The errors of common clients become one
//! by a [feature](features). No attempt begins after the `deadline`. With `timeout` in its place, the running attempt
//! is cut too, and the error needs [`From<TimedOut>`](TimedOut).
//!
//! **A closure.** A [`Policy`] is a constant with the rules:
//!
#![cfg_attr(all(feature = "macros", feature = "tokio"), doc = "```")]
#![cfg_attr(not(all(feature = "macros", feature = "tokio")), doc = "```ignore")]
//! use backoff_core::{Policy, codes};
//!
//! const POLICY: Policy = Policy::exponential().max_attempts(8).on(codes![429, 500..=504]);
//!
//! # #[derive(Debug, backoff_core::Fault)]
//! # struct ApiError { #[fault(status)] code: u16 }
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/examples/client.rs"));
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), ApiError> {
//! # let client = Client::default();
//! let instance = POLICY.retry(|| client.get("a")).await?;
//! # assert_eq!((instance.etag, client.calls.get()), (0, 3));
//! # Ok(()) }
//! ```
//!
//! **A read-modify-write.** If another writer was faster, [`Policy::update`] reads again, and no change is lost:
//!
#![cfg_attr(all(feature = "macros", feature = "tokio"), doc = "```")]
#![cfg_attr(not(all(feature = "macros", feature = "tokio")), doc = "```ignore")]
//! # use backoff_core::{Policy, codes};
//! # const POLICY: Policy = Policy::exponential().max_attempts(8).on(codes![429, 500..=504]);
//! # #[derive(Debug, backoff_core::Fault)]
//! # struct ApiError { #[fault(status)] code: u16 }
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/examples/client.rs"));
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), ApiError> {
//! # let client = Client::default();
//! let updated = POLICY
//!     .update(
//!         || client.get("a"),                            // an instance with its etag
//!         |instance| instance.labels.insert("team-a"),   // `false`: no write is needed
//!         |instance| client.put("a", instance),          // refused if the etag is old
//!     )
//!     .await?;
//! # assert!(updated.is_written() && client.kept.borrow().labels.contains("team-a"));
//! # Ok(()) }
//! ```
//!
//! | you want to retry | take |
//! |---|---|
//! | a function, or some of its lines | [`#[retry]`](macro@retry), [`retry_block!`] |
//! | a closure, async or blocking | [`Policy::retry`], [`retry_blocking`](Policy::retry_blocking) |
//! | a read-modify-write | [`Policy::update`]; in many tasks of one process, [`Policy::combine`](features#calls) |
//! | until a value is there | [`until`](Retrying::until) |
//! | a list of pages, a download, a watch | [`Policy::resuming`], which goes on where it failed |
//! | all requests of a client | [`Policy::layer`](features#calls), a layer of tower and a middleware of reqwest |
//! | with a shared connection | [`Reconnect`](features#calls), which opens it again |
//! | in a loop of your own | [`RetryState`] |
//!
//! Read on: [features] · [how it works](how_it_works) · [guarantees](how_it_works#guarantees) ·
//! [logs and metrics](telemetry) ·
//! [the guide](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/) ·
//! [policies of cloud providers](https://docs.rs/backoff-cloud/latest/backoff_cloud/presets/)
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// First, so that the page of `Policy` begins with its constructors.
mod policy;

#[cfg_attr(
    not(feature = "breaker"),
    allow(dead_code, reason = "no call names one")
)]
mod breaker;
mod budget;
pub mod call;
#[cfg(feature = "combine")]
pub mod combine;
pub mod delay;
mod event;
mod facts;
pub mod features;
mod hedge;
pub mod how_it_works;
mod judge;
#[cfg(feature = "std")]
mod keyed;
mod name;
mod named_debug;
#[cfg(feature = "rate")]
mod rate;
#[cfg(not(feature = "rate"))]
#[path = "rate/off.rs"]
mod rate;
#[cfg(feature = "reconnect")]
mod reconnect;
mod report;
#[cfg(all(feature = "std", any(feature = "breaker", feature = "rate")))]
mod running;
mod runtime;
mod stage;
mod state;
#[cfg(feature = "std")]
mod stop;
#[cfg(any(
    feature = "combine",
    feature = "rate",
    feature = "reqwest-middleware-05"
))]
mod sync;
pub mod telemetry;
/// The error of the integration tests. It names this crate `backoff_core`.
#[cfg(test)]
#[path = "../tests/all/common/error.rs"]
mod test_error;
#[cfg(test)]
extern crate self as backoff_core;

#[cfg(feature = "testing")]
pub mod testing;
mod text;
#[cfg(feature = "tower")]
pub mod tower;

#[cfg(feature = "std")]
mod clients;

#[doc(hidden)]
pub mod __private;

#[cfg(feature = "breaker")]
pub use breaker::{Admitted, Breaker};
pub use budget::Budget;
pub use call::{
    entry::Blocking,
    resume::Resuming,
    retrying::Retrying,
    settings::{until::NotYet, values::Conflict},
    signal::Stopped,
};
#[cfg(feature = "std")]
pub use clients::boxed::known_fault;
pub use delay::jitter::Jitter;
pub use event::hook::{Event, Failure};
#[cfg(feature = "hint")]
pub use facts::hint;
pub use facts::{
    codes::Codes,
    fault::{Delivery, Fault, FaultKind, HintSource, TimedOut},
    grpc::GrpcCode,
    not_applied::NotApplied,
    not_opened::NotOpened,
};
pub use hedge::Hedge;
pub use judge::Verdict;
#[cfg(feature = "std")]
pub use keyed::Keyed;
#[cfg(feature = "serde")]
pub use policy::config::{Growth, PolicySettings, PolicySettingsError};
pub use policy::{Policy, log_level::LogLevel, schedule};
#[cfg(feature = "rate")]
pub use rate::{Rate, RateChange};
#[cfg(feature = "reconnect")]
pub use reconnect::Reconnect;
pub use report::{Report, RetryError, StopReason, UpdateReport, Updated};
#[cfg(feature = "std")]
pub use runtime::Std;
#[cfg(feature = "tokio")]
pub use runtime::Tokio;
pub use runtime::{BlockingSleep, Clock, Random, Sleep};
#[cfg(feature = "std")]
pub use state::SavedRetry;
pub use state::{Attempt, Decision, RequestId, RetryState, Wait, WaitSource};
#[cfg(feature = "std")]
pub use stop::Stop;

// The pages of the macros are here, because their links and their examples need this crate.
#[cfg(feature = "macros")]
#[doc = include_str!("fault.md")]
pub use backoff_macros::Fault;
#[cfg(feature = "macros")]
#[doc = include_str!("retry.md")]
pub use backoff_macros::retry;

/// Retries a block that borrows and changes variables around it. The keys of [`#[retry]`](attr.retry.html#keys) come
/// before the block; `clone(..)` names variables, and `clone(mut v)` names a variable that the block changes.
///
/// `retry_block!(.., async { .. })` is a future of the block's `Result`; `retry_block!(.., { .. })` runs at once
/// and blocks this thread. `?` and `return` end the attempt, not the function around the block. For a [`Report`], use the
/// function form: [`POLICY.retry(..).reported()`](Retrying::reported).
///
/// ```
/// use backoff_core::{Event, StopReason, TimedOut, retry_block};
///
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), TimedOut> {
/// let mut calls = 0;
/// let answer = retry_block!(deadline = "30s", on = [409, 412], async {
///     calls += 1;
///     if calls < 3 {
///         return Err(TimedOut::new(Default::default()));
///     }
///     Ok(42)
/// })
/// .await?;
/// assert_eq!((answer, calls), (42, 3));
///
/// let blocking = retry_block!(base = "1ms", attempt = n, {
///     if n.number() < 3 { Err("busy") } else { Ok(n.number()) }
/// });
/// assert_eq!(blocking, Ok(3));
///
/// // How a call ended is told to its hook.
/// let mut ended = None;
/// let refused: Result<(), _> = retry_block!(
///     base = "1ms",
///     max_attempts = 2,
///     notify = |event| if let Event::GaveUp { attempts, reason, .. } = event {
///         ended = Some((*attempts, *reason));
///     },
///     { Err("busy") },
/// );
/// assert_eq!((refused, ended), (Err("busy"), Some((2, StopReason::Attempts))));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! retry_block {
    ($($tokens:tt)*) => { $crate::__private::__retry_block! { ($crate) $($tokens)* } };
}

/// The README's example runs as a test.
#[cfg(all(doctest, feature = "macros", feature = "tokio"))]
#[doc = include_str!("../README.md")]
struct Readme;
