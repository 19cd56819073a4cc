//! What to know before retries meet each other: retries inside retries, ending a call early, and traps;
//! on a page of its own, [many writers of one resource](super::many_writers).
//!
//! # Retries inside retries
//!
//! A retry around a retry multiplies the calls. Three levels of five attempts each make 125 calls of
//! a service that is down:
//!
#![cfg_attr(feature = "tokio", doc = "```")]
#![cfg_attr(not(feature = "tokio"), doc = "```ignore")]
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
//! // Each level retries by itself.
//! let page = || FIVE.retry(request);
//! let report = || FIVE.retry(page);
//! FIVE.retry(report).await.unwrap_err();
//! assert_eq!(calls.replace(0), 125);
//!
//! // The inner level says that it gave up: its `RetryError` is permanent for those around it.
//! let page = || FIVE.retry(request).reported();
//! let report = || FIVE.retry(page);
//! FIVE.retry(report).await.unwrap_err();
//! assert_eq!(calls.get(), 5);
//! # }
//! ```
//!
//! Nor does a limit outside hold for a loop inside. `deadline` begins no attempt after its end, but it
//! does not cut the attempt that is running, and to the outer level a whole inner loop is one
//! attempt: `deadline = "3s"` around a client of Google's with its default policy ran 56 s.
//!
//! What to do:
//!
//! - **Retry at one level.** Best at the one that knows whether the whole may be repeated: the
//!   function that reads, changes and writes, and not each request in it.
//! - **Turn off the retries of the client** that is called inside:
//!
//!   | client | its own retries | turned off by |
//!   |---|---|---|
//!   | Google's own clients | 10 attempts within 60 s | `.try_once()` on the client's builder or on a request (`gax::WithPolicy` of the crate `backoff-cloud`) |
//!   | reqwest 0.13 | requests that the server surely did not process | `Client::builder().retry(reqwest::retry::never())` |
//!   | AWS SDK | 3 attempts | `.retry_config(RetryConfig::disabled())` on the configuration |
//!   | tonic 0.14 | none, unless you put a retry layer of tower around the channel | leaving out that layer |
//!
//! - **Hand up the [`RetryError`](crate::RetryError)** where an inner level has to retry by itself
//!   ([`reported`](crate::Retrying::reported)). It is a permanent [`Fault`](trait@crate::Fault), so no
//!   policy repeats it. A function given to [`when`](crate::Policy::when) may still say yes to it.
//! - **Cut what is running** with [`timeout`](crate::Retrying::timeout) in place of `deadline`, where
//!   the caller waits for an answer. It cuts an inner loop too.
//!
//! # Ending a call early
//!
//! A future that is dropped does nothing more: the attempt that is running is dropped with it, no other
//! begins, and no hook is called. A budget gets back what a wait has cost. A write that was under way may
//! have been applied. So `select!`, `tokio::time::timeout` and `JoinHandle::abort` end a call, but nothing
//! says what failed before.
//!
//! A program that shuts down gives its calls a signal instead. Then a wait ends at once, and the call gives
//! its last error, with the reason [`Stopped`](crate::StopReason::Stopped):
//!
//! | | the wait | the attempt that is running | before the first attempt |
//! |---|---|---|---|
//! | [`stop_on(future)`](crate::Retrying::stop_on) | ended | finished | the attempt is made |
//! | [`cut_on(future)`](crate::Retrying::cut_on) | ended | cut, an error made from [`Stopped`](crate::Stopped) | none is made |
//! | `stop_on = future` in `#[retry]` and `retry_block!` | ended | finished | the attempt is made |
//! | `cut_on = future` there | ended | cut, an error made from [`Stopped`](crate::Stopped) | none is made |
//! | [`stop_on(future).retry_mut(..)`](crate::Policy::stop_on), [`cut_on(future).retry_mut(..)`](crate::Policy::cut_on) | ended | finished, or cut | as above |
//! | `stop_on(..)` and `cut_on(..)` of a layer of tower | ended | finished, or cut | as above |
//! | [`stop_on(&stop)`](crate::Blocking::stop_on) of a blocking call | ended | finished | the attempt is made |
//! | [`stop_on(..)`](crate::Resuming::stop_on) of an operation that is resumed | ended | the loop's own affair | the loop's own affair |
//! | [`stop_on(future)`](crate::many::Updating::stop_on) of a combined change | ended | a write of the change is finished, a read is not waited for | none is made |
//! | dropping the future | ended | dropped | none is made |
//!
//! One `CancellationToken` of tokio-util stops all calls of a program:
//!
#![cfg_attr(all(feature = "tokio", feature = "macros"), doc = "```")]
#![cfg_attr(not(all(feature = "tokio", feature = "macros")), doc = "```ignore")]
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
//! // In a program: once `tokio::signal::ctrl_c()` is ready.
//! shutdown.cancel();
//! assert!(call.await.unwrap().is_err());
//! # }
//! ```
//!
//! The example `shutdown` does so in a service.
//!
//! # Traps
//!
//! ## A future made anew in each turn of `select!`
//!
//! A loop around `select!` that makes the retrying call inside of it begins the retry anew whenever
//! the other branch is ready. Such a call never gives up. Make the future once, pin it, and poll
//! `&mut` of it:
//!
#![cfg_attr(feature = "tokio", doc = "```")]
#![cfg_attr(not(feature = "tokio"), doc = "```ignore")]
//! use backoff_cloud::{Policy, TimedOut};
//! use std::{cell::Cell, pin::pin, time::Duration};
//!
//! const POLICY: Policy = Policy::constant(Duration::from_secs(3))
//!     .jitter(backoff_cloud::Jitter::None)
//!     .max_attempts(4);
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
//! // Called in each turn, and none of the calls was the last. (The first tick is ready at once.)
//! assert!(calls.replace(0) >= 99);
//!
//! // Right: one future, which goes on where it was.
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
//! is done: dropping a retry ends it.
//!
//! ## A blocking retry inside an async runtime
//!
//! [`Policy::retry_blocking`](crate::Policy::retry_blocking),
//! [`Policy::blocking`](crate::Policy::blocking) and `#[retry]` on a function that is not async sleep
//! on their thread. On a thread of an async runtime nothing else runs there meanwhile: on a runtime
//! of one thread, nothing at all. Use the async form, or move the call to a thread for such work:
//!
#![cfg_attr(feature = "tokio", doc = "```")]
#![cfg_attr(not(feature = "tokio"), doc = "```ignore")]
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
//! Nothing warns of this at run time: tokio gives no sign by which a thread of `spawn_blocking`, where
//! sleeping is right, is told from a thread that runs tasks.
//!
//! ## A `POST` that is repeated
//!
//! A policy takes an operation for one that may be made twice. A `POST` that creates something may
//! then create it twice: the first reply was lost, the second attempt succeeds. Say
//! [`idempotent(false)`](crate::Policy::idempotent) (in the attribute `idempotent = false`), or send
//! an idempotency key that the service knows:
//!
//! ```
//! use backoff_cloud::{Delivery, Fault, Policy, Verdict};
//!
//! struct ReplyLost;
//! impl Fault for ReplyLost {
//!     fn delivery(&self) -> Option<Delivery> { Some(Delivery::MaybeSent) }
//! }
//!
//! assert_eq!(Policy::exponential().judge(&ReplyLost), Verdict::from(true));
//! let careful = Policy::exponential().idempotent(false);
//! assert_eq!(careful.judge(&ReplyLost), Verdict::MaybeApplied);
//! ```
//!
//! ## An async retry outside of a runtime
//!
//! Tokio's timer needs a tokio runtime on the thread. Without one, a call succeeds as long as nothing
//! fails, and panics when the first wait begins; the message says what to write.
