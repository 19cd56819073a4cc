//! After this page you can choose how long a call waits between its attempts, and you know what ends
//! the call.
//!
//! # The wait
//!
//! A policy computes a wait from a *backoff function*, limits it by `max_backoff`, and draws it by its
//! *jitter*. The default fits most services: exponential backoff from 1 s, doubled each time up to 64 s,
//! with full jitter.
//!
//! | function | waits before jitter | use it for |
//! |---|---|---|
//! | [`Policy::exponential`](crate::Policy::exponential) | 1, 2, 4, 8, … times `base` | almost everything |
//! | [`Policy::constant`](crate::Policy::constant) | always the same | polling at a steady rate |
//! | [`Policy::linear`](crate::Policy::linear) | `first`, then `step` more each time | polling that slows down gently |
//! | [`Policy::custom`](crate::Policy::custom) | what your function says | a rule that a service demands |
//!
//! [`delay`](mod@crate::delay) lists more, such as [`Policy::fibonacci`](crate::Policy::fibonacci). `.delays(..)` on a
//! call takes any list of waits.
//!
//! # Jitter
//!
//! *Jitter* is the random part of a wait. It spreads clients that fail together.
//!
//! | [`Jitter`](crate::Jitter) | a wait of up to 8 s becomes | use it |
//! |---|---|---|
//! | `Full`, the default | 0 to 8 s | where many clients share a service |
//! | `Equal` | 4 to 8 s | where a retry must not come at once |
//! | `Decorrelated` | between `base` and three times the wait before | where a quick end matters more than few calls |
//! | `Additive(Duration::from_secs(1))` | 8 to 9 s | where a service documents this formula, as Google's do |
//! | `Proportional(0.2)` | 6.4 to 9.6 s | where waits should stay near the planned time, as gRPC does it |
//! | `None` | 8 s | in tests, and for a client that is alone |
//!
//! `Full` may draw no wait at all. There is no rule for a least wait, because the jitter gives one: no wait is shorter than
//! `base` with `Additive`, `Decorrelated` and `None`, than half of it with `Equal`, than 80 % of it with
//! `Proportional(0.2)`.
//!
//! [Measurements](super::measurements#many-writers) has figures for some of them.
//!
//! # See what a policy does
//!
//! [`explain`](crate::Policy::explain) says it in words, [`schedule`](crate::Policy::schedule) in numbers:
//!
//! ```
//! use backoff_cloud::{Jitter, Policy};
//! use std::time::Duration;
//!
//! const POLICY: Policy = Policy::exponential()
//!     .base(Duration::from_millis(500))
//!     .max_backoff(Duration::from_secs(5))
//!     .jitter(Jitter::Equal)
//!     .deadline(Duration::from_secs(10));
//!
//! let waits: Vec<_> = POLICY.schedule().take(2).map(|wait| (wait.least, wait.greatest)).collect();
//! let ms = Duration::from_millis;
//! assert_eq!(waits, [(ms(250), ms(500)), (ms(500), ms(1_000))]);
//! assert!(POLICY.explain().to_string().starts_with("waits 500ms, doubling up to 5s, "));
//! ```
//!
//! `println!("{}", POLICY.schedule())` prints the waits as a table, and `{:#}` on one line, for a log.
//!
//! Before you ship a policy of your own, or change the waits of a preset, see what all your clients do with it. This
//! program serves a page, on which each rule is a control. In a clone of the repository:
//!
//! ```sh
//! cargo run -p examples --example lab
//! ```
//!
//! Open the address that it prints. With `?preset=iam::READ_MODIFY_WRITE` after it, one of the charts is this one:
//!
#![doc = include_str!("../../doc/lab-outage.svg")]
//!
//! # Four limits
//!
//! | | bounds | an attempt that is running | where it is said | the error |
//! |---|---|---|---|---|
//! | `max_attempts` | how often the operation is called, the first call included | goes on | policy, attribute | that of the last attempt |
//! | `deadline` | when waits and attempts begin: no wait ends later, so no attempt begins later | goes on | policy, attribute | that of the last attempt |
//! | `timeout` | the whole call | is cut | call, attribute | made from [`TimedOut`](crate::TimedOut) if an attempt was cut, else that of the last attempt |
//! | `attempt_timeout` | each attempt | is cut, and retried | call, attribute | made from `TimedOut` if the last attempt was cut |
//!
//! - Without any of them a call makes five attempts. With a `deadline` or a `timeout` alone, the call
//!   makes as many attempts as fit.
//! - Both a number and a time may be said; the first one that is reached ends the call. `timeout` ends a call with the
//!   reason [`Deadline`](crate::StopReason::Deadline), too.
//! - Without `deadline` and `timeout`, the longest time of a call is the time of all attempts and the longest waits. A hint
//!   may ask for 300 s: five attempts of `plain_http::BY_METHOD.send(..)`, each of which waits ten minutes for the head of
//!   its reply, can take 70 minutes. Write a `timeout`. [`Policy::schedule`](crate::Policy::schedule) prints the waits.
//! - A call that has an `attempt_timeout` is also cut at the policy's `deadline`.
//! - `timeout` and `attempt_timeout` need an error that implements `From<TimedOut>`, and an async call.
//!   [Blocking programs](super::blocking#instead-of-attempt_timeout-and-timeout) use a limit of the client.
//!
//! The difference is visible with a service that hangs:
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut};
//! use std::{cell::Cell, time::Duration};
//! use tokio::time::{Instant, sleep};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let calls = Cell::new(0);
//! let hangs = || async {
//!     calls.set(calls.get() + 1);
//!     sleep(Duration::from_secs(3_600)).await;
//!     Err::<(), _>(TimedOut::new(Duration::from_secs(3_600)))
//! };
//! let policy = Policy::exponential().deadline(Duration::from_secs(60));
//!
//! // The deadline alone does not cut the attempt: the call takes an hour.
//! let start = Instant::now();
//! policy.retry(hangs).await.unwrap_err();
//! assert_eq!((calls.replace(0), start.elapsed().as_secs()), (1, 3_600));
//!
//! // `timeout` ends the call after a minute, in its first attempt.
//! let start = Instant::now();
//! policy.retry(hangs).timeout(Duration::from_secs(60)).await.unwrap_err();
//! assert_eq!((calls.replace(0), start.elapsed().as_secs()), (1, 60));
//!
//! // `attempt_timeout` gives the service more than one chance within the minute.
//! let start = Instant::now();
//! policy.retry(hangs).attempt_timeout(Duration::from_secs(10)).await.unwrap_err();
//! assert!(calls.get() >= 3 && start.elapsed().as_secs() <= 60);
//! # }
//! ```
//!
//! **Recommended over a network:** a `deadline` or `timeout` that your caller can bear, and an `attempt_timeout` of a
//! few times the usual reply time.
//!
//! An error such as `reqwest::Error` cannot be made from `TimedOut`. There let the client cut, after the time that
//! remains:
//!
//! ```no_run
//! use backoff_cloud::retry;
//!
//! #[retry(deadline = "30s", attempt = n, on = [429, 500..=504])]
//! async fn get(client: &reqwest::Client, url: &str) -> reqwest::Result<reqwest::Response> {
//!     client.get(url).timeout(n.remaining()).send().await
//! }
//! ```
//!
//! # Ending a call early
//!
//! A future that is dropped does nothing more, and no hook is called. A write that was under way may have been
//! applied. So `select!`, `tokio::time::timeout` and `JoinHandle::abort` end a call, but nobody learns what failed
//! before. A program that [shuts down](super::telemetry_and_shutdown#shut-down) gives its calls a signal instead. Then
//! the call returns its last error, with the reason [`Stopped`](crate::StopReason::Stopped):
//!
//! | | the wait | the running attempt | a signal before the first attempt |
//! |---|---|---|---|
//! | [`stop_on(future)`](crate::Retrying::stop_on), `stop_on = future` in an attribute or a block | is ended | is finished | the attempt is made |
//! | [`cut_on(future)`](crate::Retrying::cut_on), `cut_on = future` | is ended | is cut, and the error is made from [`Stopped`](crate::Stopped) | no attempt is made |
//! | [`stop_on(&stop)`](crate::Retrying::stop_on) of a blocking call | is ended | is finished | the attempt is made |
//! | [`stop_on(..)`](crate::Retrying::stop_on) of an operation that is resumed | is ended | your loop decides | your loop decides |
//! | [`leave`](crate::combine::Changing::leave) of a combined change | is ended | a write of the change is finished; a read goes on for the others | the change is not made |
//! | dropping the future | is ended | is dropped | no attempt is made |
//!
//! # Retry-After
//!
//! A server can say how long it wants to be left alone: by `Retry-After`, `retry-after-ms`, or `google.rpc.RetryInfo`,
//! or with a 429 or 503 by the headers of a quota that is used up. If that is longer than the backoff, the call waits
//! as long as the server asks. [`hint::in_headers`](crate::hint::in_headers) has the headers, and
//! [`hint::retry_after`](crate::hint::retry_after) their forms.
//!
//! - A hint that cannot be read is ignored. The [log event](crate::telemetry) of the wait shows the header.
//! - A hint beyond [`max_retry_after`](crate::Policy::max_retry_after) ends the call at once, with
//!   [`StopReason::RetryAfter`](crate::StopReason::RetryAfter), but for a call that is [retried for
//!   ever](#retry-for-ever): it waits as long as the limit. Unless you say another limit, it is the
//!   deadline or the timeout, and five minutes where there is neither: `.max_retry_after(Duration::from_secs(60))`.
//! - [`spread_retry_after(true)`](crate::Policy::spread_retry_after) adds the backoff to a hint that is the same for
//!   everybody, so that clients do not come back together. The presets `READ_MODIFY_WRITE` do so.
//! - [`retry_after_slack`](crate::Policy::retry_after_slack) caps how much a hint may add to the backoff.
//!
//! A service takes 50 calls a second and gets 500 at once. With the same `Retry-After` for all, 450 calls come back
//! within 0.1 s; with `spread_retry_after`, 56 do (`cargo run --release -p examples --example simulation -- batch`):
//!
#![doc = include_str!("../../doc/batch-calls.svg")]
//!
//! # Retry for ever
//!
//! A daemon that reconnects, a watcher and an uploader have no last attempt: `.max_attempts(Policy::UNLIMITED)`,
//! `max_attempts = unlimited` in an attribute, `max_attempts = "unlimited"` in a configuration. Then only an error that is
//! not retried ends the call, or a limit that you name: a deadline, a budget, a breaker. A hint beyond
//! `max_retry_after` is shortened to that limit. A policy whose waits are zero makes five attempts all the same.
//!
//! [`resuming()`](crate::Policy::resuming) begins again with short waits after progress:
//!
//! ```
//! use backoff_cloud::{Policy, Resuming, TimedOut};
//! use std::time::Duration;
//!
//! const RECONNECT: Policy = Policy::exponential()
//!     .max_backoff(Duration::from_secs(30))
//!     .max_attempts(Policy::UNLIMITED);
//!
//! /// Serves one connection until it breaks, and returns why.
//! async fn session(resuming: &mut Resuming<'_, TimedOut>, number: u32) -> TimedOut {
//!     if number % 100 == 0 { resuming.progress() } // a message was handled
//!     TimedOut::new(Duration::from_secs(10))
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let days = Duration::from_secs(30 * 86_400);
//! # let daemon = async {
//! let mut resuming = RECONNECT.resuming();
//! for number in 1.. {
//!     let error = session(&mut resuming, number).await;
//!     if let Err(error) = resuming.failed(error).await { // waits
//!         panic!("{error}"); // an error that the policy does not repeat
//!     }
//! }
//! # };
//! # assert!(tokio::time::timeout(days, daemon).await.is_err());
//! # }
//! ```
//!
//! An error that the policy does not repeat, such as a wrong password, ends the daemon.
//! [`stop_on`](crate::Retrying::stop_on) of the `Resuming` ends its waits. A connection that many tasks share belongs
//! into a [`Reconnect`](crate::Reconnect).
//!
//! # A deadline from outside
//!
//! Who calls you may say when the answer is useless: AWS Lambda in `Context::deadline()`, a client of gRPC in the
//! header `grpc-timeout`. Give the call the time that remains, less the time that your own answer needs:
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut};
//! use std::time::{Duration, SystemTime};
//!
//! const POLICY: Policy = Policy::exponential();
//!
//! async fn fetch() -> Result<&'static str, TimedOut> { std::future::pending().await } // a service that hangs
//!
//! /// `ends` is `event.context.deadline()` of the crate `lambda_runtime`.
//! async fn handle(ends: SystemTime) -> Result<&'static str, TimedOut> {
//!     let remaining = ends.duration_since(SystemTime::now()).unwrap_or_default();
//!     let remaining = remaining.saturating_sub(Duration::from_millis(500));
//!     POLICY.deadline(remaining).retry(fetch).timeout(remaining).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let begin = tokio::time::Instant::now();
//! assert!(handle(SystemTime::now() + Duration::from_secs(10)).await.is_err());
//! assert_eq!(begin.elapsed().as_secs(), 9);
//! # }
//! ```
//!
//! Without `timeout`, where the error has no `From<TimedOut>`, the `deadline` alone begins no wait that ends later.
//! Hand the rest to the next service by [`Attempt::remaining`](crate::Attempt::remaining).
//!
//! Previous: [Errors](super::errors) · next: [Idempotency](super::idempotency)
