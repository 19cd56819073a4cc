//! After this page you can avoid the mistakes that are made most often with retries: retries inside
//! retries, calls that end early, and a few traps of async Rust.
//!
//! # Retries inside retries
//!
//! A retry around a retry multiplies the calls. Three levels of five attempts each make 125 calls of
//! a service that is down:
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut};
//! use std::{cell::Cell, time::Duration};
//!
//! const FIVE: Policy = Policy::exponential(); // five attempts
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let calls = Cell::new(0);
//! let request = || {
//!     calls.set(calls.get() + 1);
//!     std::future::ready(Err::<(), _>(TimedOut::new(Duration::from_secs(1))))
//! };
//!
//! // Each level retries.
//! let page = || FIVE.retry(request);
//! let report = || FIVE.retry(page);
//! FIVE.retry(report).await.unwrap_err();
//! assert_eq!(calls.replace(0), 125);
//!
//! // The inner level returns a `RetryError`, which is permanent for the levels around it.
//! let page = || FIVE.retry(request).reported();
//! let report = || FIVE.retry(page);
//! FIVE.retry(report).await.unwrap_err();
//! assert_eq!(calls.get(), 5);
//! # }
//! ```
//!
//! A deadline of the outer level does not bound the inner one. `deadline` begins no attempt after its end,
//! but it does not cut the attempt that is running, and for the outer level a whole inner loop is one
//! attempt. A `deadline = "3s"` around one of Google's clients with its default policy took 56 s.
//!
//! What to do:
//!
//! - **Retry at one level.** The best level is the one that knows whether the whole may be repeated: the
//!   function that reads, changes and writes, and not each request in it.
//! - **Turn off the retries of the client** that you call inside:
//!
//!   | client | its own retries | turned off by |
//!   |---|---|---|
//!   | Google's own clients | 10 attempts within 60 s | `.try_once()` of [`gax::WithPolicy`](crate::gax::WithPolicy), on the client's builder or on a request |
//!   | reqwest 0.13 | requests that the server surely did not process | `Client::builder().retry(reqwest::retry::never())` |
//!   | AWS SDK | 3 attempts | `.retry_config(RetryConfig::disabled())` on the configuration |
//!   | tonic 0.14 | none, unless you put a retry layer of tower around the channel | leave out that layer |
//!
//! - **Return the [`RetryError`](crate::RetryError)** from an inner level that has to retry
//!   ([`reported`](crate::Retrying::reported)). It is a permanent [`Fault`](trait@crate::Fault), so no
//!   policy repeats it. (A function given to [`when`](crate::Policy::when) may still say yes.)
//! - **Cut the running attempt** with [`timeout`](crate::Retrying::timeout) in place of `deadline`, where
//!   a caller waits for the answer. It cuts an inner loop too.
//!
//! # Ending a call early
//!
//! A future that is dropped does nothing more. The running attempt is dropped with it, no other attempt
//! begins, and no hook is called. A budget gets back what the wait has cost. A write that was under way may
//! have been applied. So `select!`, `tokio::time::timeout` and `JoinHandle::abort` end a call, but nobody
//! learns what failed before.
//!
//! A program that shuts down gives its calls a signal instead. Then a wait ends at once, and the call
//! returns its last error, with the reason [`Stopped`](crate::StopReason::Stopped):
//!
//! | | the wait | the running attempt | a signal before the first attempt |
//! |---|---|---|---|
//! | [`stop_on(future)`](crate::Retrying::stop_on) | is ended | is finished | the attempt is made |
//! | [`cut_on(future)`](crate::Retrying::cut_on) | is ended | is cut, and the error is made from [`Stopped`](crate::Stopped) | no attempt is made |
//! | `stop_on = future` in `#[retry]` and `retry_block!` | is ended | is finished | the attempt is made |
//! | `cut_on = future` there | is ended | is cut, and the error is made from [`Stopped`](crate::Stopped) | no attempt is made |
//! | `stop_on(..)` and `cut_on(..)` of a layer of tower | is ended | is finished, or cut | as above |
//! | [`stop_on(&stop)`](crate::Retrying::stop_on) of a blocking call | is ended | is finished | the attempt is made |
//! | [`stop_on(..)`](crate::Retrying::stop_on) of an operation that is resumed | is ended | your loop decides | your loop decides |
//! | [`stop_on(future)`](crate::combine::Updating::stop_on) of a combined change | is ended | a write of the change is finished; a read is abandoned | no attempt is made |
//! | dropping the future | is ended | is dropped | no attempt is made |
//!
//! One `CancellationToken` of the crate `tokio-util` (`cargo add tokio-util`) stops all calls of a program:
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut, retry};
//! use std::time::Duration;
//! use tokio_util::sync::CancellationToken;
//!
//! const POLICY: Policy = Policy::exponential().deadline(Duration::from_secs(600));
//!
//! #[retry(policy = POLICY, stop_on = shutdown.cancelled())]
//! async fn get(shutdown: &CancellationToken) -> Result<(), TimedOut> {
//!     Err(TimedOut::new(Duration::ZERO))
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let shutdown = CancellationToken::new();
//! let call = tokio::spawn({
//!     let shutdown = shutdown.clone();
//!     async move { get(&shutdown).await }
//! });
//! tokio::task::yield_now().await;
//! // In a program: when `tokio::signal::ctrl_c()` is ready.
//! shutdown.cancel();
//! assert!(call.await.unwrap().is_err());
//! # }
//! ```
//!
//! The example `shutdown` does this in a service, and [Telemetry and
//! shutdown](super::telemetry_and_shutdown) says more.
//!
//! # A future made anew in each turn of `select!`
//!
//! A loop around `select!` may make the retrying call in each turn. Then the retry begins anew whenever the
//! other branch is ready, and such a call never gives up. Make the future once, pin it, and poll `&mut` of
//! it:
//!
//! ```
//! use backoff_cloud::{Jitter, Policy, TimedOut};
//! use std::{cell::Cell, pin::pin, time::Duration};
//!
//! const POLICY: Policy =
//!     Policy::constant(Duration::from_secs(3)).jitter(Jitter::None).max_attempts(4);
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let calls = Cell::new(0);
//! let get = || {
//!     calls.set(calls.get() + 1);
//!     std::future::ready(Err::<(), _>(TimedOut::new(Duration::ZERO)))
//! };
//! let mut tick = tokio::time::interval(Duration::from_secs(2));
//!
//! // Wrong: each tick drops the retry with its wait, and the next turn begins a new one.
//! for _turn in 0..100 {
//!     tokio::select! {
//!         _ = POLICY.retry(get) => unreachable!("a tick always comes before the first retry"),
//!         _ = tick.tick() => {}
//!     }
//! }
//! // Called in each turn, and no call was the last. (The first tick is ready at once.)
//! assert!(calls.replace(0) >= 99);
//!
//! // Right: one future, which continues where it was.
//! let mut call = pin!(POLICY.retry(get));
//! let outcome = loop {
//!     tokio::select! {
//!         outcome = &mut call => break outcome,
//!         _ = tick.tick() => {}
//!     }
//! };
//! assert!(outcome.is_err());
//! assert_eq!(calls.get(), 4);
//! # }
//! ```
//!
//! The same holds for `tokio::time::timeout` in a loop, and for any future that is dropped before it
//! is done.
//!
//! # A blocking retry inside an async runtime
//!
//! [`Policy::retry_blocking`](crate::Policy::retry_blocking),
//! [`Policy::blocking`](crate::Policy::blocking) and `#[retry]` on a function that is not async sleep
//! on their thread. If the thread belongs to an async runtime, no other task of that thread runs meanwhile;
//! on a runtime of one thread, no task at all. Use the async form, or move the call to a thread for blocking
//! work:
//!
//! ```
//! use backoff_cloud::Policy;
//! use std::time::Duration;
//!
//! const POLICY: Policy = Policy::exponential().base(Duration::from_millis(1)).max_attempts(2);
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let read = || std::fs::read_to_string("no such file");
//! let call = move || POLICY.when(|_: &std::io::Error| true).retry_blocking(read);
//! let text = tokio::task::spawn_blocking(call).await.expect("no panic");
//! assert!(text.is_err());
//! # }
//! ```
//!
//! Nothing warns of this at run time, because tokio does not tell whether a thread runs tasks or belongs to
//! `spawn_blocking`, where sleeping is right.
//!
//! # A `POST` that is repeated
//!
//! A policy takes an operation for one that may be made twice. A `POST` that creates something may then
//! create it twice: the first reply was lost, and the second attempt succeeds.
//! [Idempotency](super::idempotency) says what to write.
//!
//! # An async retry outside of a runtime
//!
//! Tokio's timer needs a tokio runtime on the thread. Without one, and without the feature `smol`, a debug build panics at the first poll of
//! a call, and a release build when the first wait begins. The panic's message says what to write, and
//! [Executors](super::executors) shows it.
