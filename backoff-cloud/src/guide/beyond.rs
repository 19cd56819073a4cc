//! Problems that a retry does not solve, the tools that do, and their order around a retry.
//!
//! | the problem | the tool | its place |
//! |---|---|---|
//! | a call fails now and then, a service is down, its limit is not known, a read is slow | a retry with a [`Budget`](crate::Budget), a [`Breaker`](crate::Breaker), a [`Rate`](super::rates), a [`Hedge`](super::hedging) | |
//! | one slow service takes all threads, connections or memory | a bulkhead: a semaphore, a limit of concurrency | inside, so that a call that waits holds no place |
//! | the server allows a number of requests a second that you know | a rate limit, such as the crate `governor` | inside: each attempt is a request |
//! | the same value is asked for again and again | a cache, such as the crate `moka` | outside: a hit needs no attempt |
//! | an old value is better than none | a fallback | outside: after the retry has given up |
//! | the work must be done although the process ends | a queue, or an engine for durable jobs | outside: the worker retries briefly, the queue for long |
//!
//! So, from the outside in: **cache or queue, fallback, retry with its budget, its rate and its breaker, rate
//! limit, bulkhead, time limit of the attempt, request.**
//!
//! # A rate limit
//!
//! The crate `governor` counts requests, and its `until_ready` waits for the next place. Inside of the attempt it
//! counts retries too, as the server does:
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut};
//! use governor::{Quota, RateLimiter};
//! use std::{cell::Cell, time::{Duration, Instant}};
//!
//! const POLICY: Policy = Policy::exponential().base(Duration::from_millis(1)).max_attempts(4);
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), TimedOut> {
//! // Your request; this one fails three times.
//! let calls = Cell::new(0);
//! let send = || {
//!     calls.set(calls.get() + 1);
//!     std::future::ready(if calls.get() < 4 { Err(TimedOut::new(Duration::ZERO)) } else { Ok("sent") })
//! };
//! let quota = Quota::with_period(Duration::from_millis(5)).unwrap(); // 200 a second
//! let limiter = RateLimiter::direct(quota);
//!
//! let begin = Instant::now();
//! let call = POLICY.retry(async || {
//!     limiter.until_ready().await;
//!     send().await
//! });
//! assert_eq!(call.await?, "sent");
//! assert!(begin.elapsed() >= Duration::from_millis(3 * 5)); // 4 attempts
//! # Ok(()) }
//! ```
//!
//! Where several processes share a quota, or nobody knows the quota, a [`Rate`](super::rates) finds the rate.
//!
//! # A bulkhead
//!
//! A semaphore bounds how many attempts run at the same time. Acquire its permit inside of the attempt, as
//! `until_ready` above: then a call that waits gives its place to another one.
//!
//! # A circuit breaker
//!
//! The library has one: a [`Breaker`](crate::Breaker) in the policy, [beside the
//! budget](super::budgets_and_outages#a-breaker). A breaker of another crate belongs inside, so that it sees each
//! attempt. Give the variant of its error `#[fault(permanent)]`: its refusal ends the retry.
//!
//! # A fallback
//!
//! A retry hands back a plain `Result`: `call.await.unwrap_or_else(|_| last_known())`. Give such a call a short
//! deadline: a fallback after five minutes helps nobody.
//!
//! # A queue, or an engine for durable jobs
//!
//! A queue that delivers a message again is a retry already, with a memory that outlives the process. So:
//!
//! - retry in the worker only what passes within seconds, with a deadline well below the queue's visibility timeout;
//! - hand the rest back to the queue, which waits longer;
//! - send what no repetition cures to the dead letters at once: [`StopReason::is_final`](crate::StopReason::is_final)
//!   says so;
//! - use the message's id as the idempotency key, because every queue delivers twice now and then.
//!
//! [Beyond one process](super::jobs) has the programs.
//!
//! # When a retry is the wrong tool
//!
//! - **The request is wrong.** 400, 401, 403 and 404 come back as often as you ask. (A role that was granted a
//!   moment ago is the exception: [`iam::AFTER_GRANT`](crate::iam::AFTER_GRANT).)
//! - **Somebody waits for the answer.** After a second or two a clear error is better than a success that
//!   comes too late. Bound the whole call by `timeout`.
//! - **The write must not be made twice, and has no key.** Then only what surely was not applied is
//!   repeated ([`idempotent(false)`](crate::Policy::idempotent)), and the rest needs somebody who looks.
//! - **A large upload.** Repeat the part that failed, by the service's resumable upload, and
//!   [`resuming()`](crate::Policy::resuming).
//! - **A lock or a lease.** An attempt that comes after the lease is over harms the next owner: bound the call by what
//!   is left.
//!
//! Previous: [Executors](super::executors) · next: [Coming from another crate](super::coming_from)
