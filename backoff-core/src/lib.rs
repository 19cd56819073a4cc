//! Retry with backoff and jitter for programs that call cloud services.
//!
#![cfg_attr(all(feature = "macros", feature = "tokio"), doc = "```")]
#![cfg_attr(not(all(feature = "macros", feature = "tokio")), doc = "```ignore")]
//! use backoff_core::{Fault, retry};
//!
//! #[derive(Debug)]
//! struct ApiError {
//!     code: u16,
//! }
//!
//! impl Fault for ApiError {
//!     fn status(&self) -> Option<u16> { Some(self.code) }
//! }
//! # struct Client { calls: std::cell::Cell<u32> }
//! # impl Client {
//! #     async fn get(&self, _name: &str) -> Result<&'static str, ApiError> {
//! #         self.calls.set(self.calls.get() + 1);
//! #         if self.calls.get() < 3 { Err(ApiError { code: 503 }) } else { Ok("an instance") }
//! #     }
//! # }
//!
//! #[retry(max_backoff = "64s", deadline = "300s", on = [429, 500..=504])]
//! async fn instance(client: &Client, name: &str) -> Result<&'static str, ApiError> {
//!     client.get(name).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let client = Client { calls: Default::default() };
//! assert_eq!(instance(&client, "a").await.unwrap(), "an instance");
//! # assert_eq!(client.calls.get(), 3);
//! # }
//! ```
//!
//! No attempt begins after five minutes, and an attempt that runs is not cut. With `timeout = "300s"` in place of
//! `deadline`, the call ends after five minutes, whatever the server does; then the error needs `From<TimedOut>`.
//!
//! Read on:
//!
//! - [`macro@retry`], the attribute, with the table of its keys;
//! - [`Policy`], the rules of a retry as a constant, and its methods that call functions;
//! - [the guide](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/), from the first retry to
//!   outages, in the crate `backoff-cloud`, which also has the policies of cloud providers.
//!
//! # Ways to retry
//!
//! | to retry | write |
//! |---|---|
//! | a function, async or blocking | the attribute [`macro@retry`]; the function keeps its signature |
//! | a block that borrows what is around it | [`retry_block!`] |
//! | a closure | [`Policy::retry`], [`Policy::retry_with`], [`Policy::retry_blocking`] |
//! | a read-modify-write | [`Policy::update`], which loses no update |
//! | many changes of one resource in one process | `Policy::combine`, with the feature `combine`: they become one read and one write |
//! | until a value is as awaited | [`until`](call::Retrying::until), also [several times in a row](call::Retrying::consecutive) |
//! | a read of many pages, a watch | [`Policy::resuming`]: failures count from the last progress |
//! | a shared connection | `Reconnect`, which opens it anew when the connection is at fault |
//! | a `Service` of tower | `Policy::layer`, in the module `tower` |
//! | in a loop of your own | [`RetryState`], the state machine under all of them |
//!
//! # How it works
//!
//! ```text
//! operation ─ error ─▶ Fault ─ facts ─▶ Policy ─ verdict ─▶ RetryState
//!     ▲                                                          │
//!     └────── sleep, call again ◀─ a loop ◀─ wait or stop ───────┘
//! ```
//!
//! An error states facts ([`Fault`](trait@Fault)). A [`Policy`], a constant, holds the rules and judges the
//! facts. [`RetryState`] decides whether to wait or to stop. It has no I/O, no clock and no random source of
//! its own, and nothing else decides. A loop sleeps and calls again.
//!
//! # What holds
//!
//! - A wait never exceeds `max_backoff`, jitter included, unless the server asks for more.
//! - No wait begins that would end after the deadline, whatever a server's hint or a judge says. The
//!   deadline does not cut an attempt that is running; [`timeout`](call::Retrying::timeout) does.
//! - Nothing is allocated, except by a call that waits in the queue of a rate. A success reads the clock only
//!   for a deadline, a report, an [`Attempt`], a rate or a recorder of metrics, and draws a random number only for the [id](Attempt::id) of an [`Attempt`].
//! - Every form returns the operation's own `Result`. Only [`reported`](call::Retrying::reported) returns an
//!   error of its own, which also says what was tried.
//!
//! Whether another attempt fits is decided before the wait. If an async timer wakes late, the attempt begins
//! late too, perhaps after the deadline, because a future does not keep the last error while it waits: the
//! future would have to be as large as the error, and could not be `Send` where the error is not. Tokio's
//! timer rounds up to a millisecond. A blocking retry reads the clock again after the wait.
//!
//! # Features
//!
//! | feature | brings | on by default |
//! |---|---|---|
//! | `std` | blocking calls, the random source | yes |
//! | `tokio` | tokio's clock and timer for async functions | yes |
//! | `smol` | the timer of async-io: async functions on smol, and on any other executor ([`Std`]) | no |
//! | `wasm` | a browser's clock, timer and randomness, on `wasm32-unknown-unknown` ([`Std`]); nothing elsewhere | no |
//! | `macros` | `#[retry]`, `retry_block!` | yes |
//! | `testing` | `testing`: virtual time, retries made instant or switched off, and faults by a seed, for the tests of a program | no |
//! | `combine` | `Policy::combine`: changes of one resource that wait at the same time become one read and one write | no |
//! | `breaker` | `Breaker`: calls end at once while the service that they share is down | no |
//! | `rate` | `Rate`: calls share what a 429 says, and find the rate that a service allows | no |
//! | `reconnect` | `Reconnect`: a shared connection that is opened anew | no |
//! | `tracing` | one event before each wait (`INFO`, or as [`Policy::log_waits`] says), one at the end of a call that was retried (`WARN`, or `INFO` where it succeeded); a span for each attempt, where a call asks for it ([`telemetry`]) | no |
//! | `metrics` | histograms of calls, retries and attempts, and the level of budgets ([`telemetry`]) | no |
//! | `hint` | parsers for `Retry-After` and its relatives | no |
//! | `tower` | `tower`: a layer that sends requests again by a policy | no |
//! | `serde` | a policy from configuration, with `PolicySettings` over a preset or by itself | no |
//! | `aws-smithy-1` | [`Fault`](trait@Fault) for `SdkError` of AWS' SDK for Rust (aws-smithy-runtime-api 1, which needs Rust 1.94.1) | no |
//! | `h2-04` | [`Fault`](trait@Fault) for `h2::Error` 0.4: a stream that an HTTP/2 server refused was not sent | no |
//! | `gax-1` | [`Fault`](trait@Fault) for the errors of Google's own clients (google-cloud-gax 1, which needs Rust 1.91) | no |
//! | `http-1` | [`Fault`](trait@Fault) for `StatusCode` and `Response` of http 1, with their hints | no |
//! | `hyper-1` | [`Fault`](trait@Fault) for `hyper::Error` 1 | no |
//! | `hyper-util-01` | [`Fault`](trait@Fault) for `client::legacy::Error` of hyper-util 0.1 | no |
//! | `redis-1` | [`Fault`](trait@Fault) for `RedisError` of redis 1 | no |
//! | `sqlx-08`, `sqlx-09` | [`Fault`](trait@Fault) for `Error` of sqlx 0.8 and 0.9 (which needs Rust 1.94): what a SQLSTATE means, and whether the transaction was surely not committed | no |
//! | `sqlx-08-mysql`, `sqlx-09-mysql` | the same, and what the numbers of MySQL's errors mean | no |
//! | `tokio-postgres-07` | [`Fault`](trait@Fault) for `Error` of tokio-postgres 0.7 and postgres 0.19, the same | no |
//! | `reqwest-012`, `reqwest-013` | [`Fault`](trait@Fault) for `Error` and `Response` of reqwest 0.12, 0.13 | no |
//! | `tonic-014` | [`Fault`](trait@Fault) for `Status` and `transport::Error` of tonic 0.14 | no |
//! | `ureq-3` | [`Fault`](trait@Fault) for `ureq::Error` 3 | no |
//! | `object-store-014` | [`Fault`](trait@Fault) for `object_store::Error` 0.14 | no |
//! | `kube-5` | [`Fault`](trait@Fault) for `kube::Error` 5 | no |
//! | `azure-core-1` | [`Fault`](trait@Fault) for the errors of Azure's own clients (azure_core 1) | no |
//! | `anyhow-1` | [`Fault`](trait@Fault) for `anyhow::Error` 1, by looking along its sources | no |
//!
//! Where several of `tokio`, `smol` and `wasm` are on, a call that names no runtime takes the browser's timer in a browser,
//! tokio's inside a tokio runtime, and that of `smol` elsewhere.
//!
//! Without any feature the crate is `no_std`; calls then take a runtime of your own, made of
//! [`Clock`], [`Sleep`] or [`BlockingSleep`], and [`Random`].
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
mod hedge;
mod judge;
mod opaque;
#[cfg(feature = "rate")]
mod rate;
#[cfg(not(feature = "rate"))]
#[path = "rate/off.rs"]
mod rate;
#[cfg(feature = "reconnect")]
mod reconnect;
mod report;
mod runtime;
mod state;
#[cfg(feature = "std")]
mod stop;
#[cfg(any(feature = "combine", feature = "rate"))]
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

#[cfg(feature = "std")]
mod clients;

#[doc(hidden)]
pub mod __private;

#[cfg(feature = "breaker")]
pub use breaker::{Admitted, Breaker};
pub use budget::Budget;
#[cfg(feature = "tower")]
pub use call::tower;
pub use call::{
    settings::{until::NotYet, values::Conflict},
    signal::Stopped,
};
#[cfg(feature = "std")]
pub use clients::boxed::known_fault;
pub use delay::jitter::Jitter;
// The module `call` lists the types that the builders return. This page lists the names that users write.
#[doc(hidden)]
pub use call::{Blocking, Resuming, Retrying};
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
#[cfg(feature = "serde")]
pub use policy::config::{PolicySettings, PolicySettingsError};
pub use policy::{Policy, log_level::LogLevel, schedule};
#[cfg(feature = "rate")]
pub use rate::{Rate, RateChange};
#[cfg(feature = "reconnect")]
pub use reconnect::Reconnect;
pub use report::{Report, RetryError, StopReason, UpdateReport, Updated};
#[cfg(feature = "combine")]
pub use runtime::Spawn;
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

/// Retries a block that borrows and changes variables around it. The keys of [`#[retry]`](macro@retry) come
/// before the block; `clone(..)` names variables, and `clone(mut v)` names a variable that the block changes.
///
/// `retry_block!(.., async { .. })` is a future of the block's `Result`; `retry_block!(.., { .. })` runs at once
/// and blocks this thread. `?` and `return` end the attempt, not the function around the block.
///
/// ```
/// use backoff_core::{TimedOut, retry_block};
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
