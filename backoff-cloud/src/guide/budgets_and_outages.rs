//! After this page you can retry without prolonging an outage of the service that you call, and your
//! operators can see what the retries do.
//!
//! # How retries prolong an outage
//!
//! `max_attempts` limits one call. It does not limit all calls together. When a service is down, five
//! attempts for each request are five times the load, at the worst moment. A service that comes back meets
//! this load and goes down again.
//!
//! The simulation shows it. A service answers 1,000 requests a second, and 20 processes send it 700. Then
//! it accepts connections for 30 s and answers nothing. Each request makes up to five attempts, and an
//! attempt is cut after a second. The service does not notice that, and answers requests whose clients
//! have left:
//!
//! | budget, one for each process | attempts for each request in the outage | recovers | requests lost in 90 s | answered while 20 % of all calls fail by chance |
//! |---|---|---|---|---|
//! | none | 4.62 | not within a minute, in any of 20 runs | 61,667 | 99.97 % |
//! | [`Budget::ratio(0.2, 100)`](crate::Budget::ratio) | 1.10 | at once | 20,805 | 95.13 % |
//! | [`Budget::costs(500, 5, 5)`](crate::Budget::costs) | 1.10 | at once | 20,569 | 99.97 % |
//! | [`Budget::aws()`](crate::Budget::aws) | 1.03 | at once | 20,649 | 99.95 % |
//! | [`Budget::grpc(10, 0.1)`](crate::Budget::grpc) | 1.00 | at once | 20,915 | 80.00 % |
//! | no retry at all | 1 | at once | 20,985 | 79.98 % |
//!
//! Without a budget the queue of the service stays full of requests that nobody waits for, although the
//! service is up. Backoff alone does not help, because new requests keep coming.
//!
//! ```sh
//! cargo run --release -p examples --example simulation -- outage
//! ```
//!
//! The command draws [a picture of this outage](super::why_retries#how-retries-hurt) too.
//!
//! # A budget
//!
//! A [`Budget`](crate::Budget) is a bucket of tokens that all calls of one service share. A retry takes
//! tokens out, a success puts some back. While most calls succeed, the bucket is full and changes nothing.
//! In an outage the bucket runs dry. Then each request is tried once, and ends with
//! [`StopReason::Budget`](crate::StopReason::Budget) if it fails.
//!
//! | budget | a retry takes | a success gives | good for |
//! |---|---|---|---|
//! | `Budget::aws()` | 14 of 500 tokens, 5 after throttling | what its last retry took, or 1 without a retry | most programs: chance failures are cured, outages are not fed |
//! | `Budget::costs(capacity, transient, throttled)` | as you say | the same | the same with other numbers |
//! | `Budget::ratio(0.2, 100)` | 1 of 100 tokens | 0.2 | a bound that is easy to state: one retry for five successes |
//! | `Budget::grpc(10, 0.1)` | 1 of 10 for each failure; retries only above half | 0.1 | clients that shall behave as gRPC's do |
//!
//! Conflicts between writers take nothing, because they show that the service works.
//! [`until`](crate::Retrying::until) takes nothing either: it asks again although nothing failed. First
//! attempts are always made.
//!
//! Here 100 requests meet a service that is down. Without the budget they would make 500 attempts:
//!
//! ```
//! use backoff_cloud::{Budget, Fault, Policy, StopReason};
//! use std::cell::Cell;
//!
//! #[derive(Debug, Fault)]
//! #[fault(status = 503)]
//! struct Down;
//!
//! static STORAGE: Budget = Budget::aws().name("storage");
//! const POLICY: Policy = Policy::exponential().budget(&STORAGE);
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let attempts = Cell::new(0);
//! let call = || {
//!     attempts.set(attempts.get() + 1);
//!     std::future::ready(Err::<(), _>(Down))
//! };
//! let mut reasons = Vec::new();
//! for _request in 0..100 {
//!     reasons.push(POLICY.retry(call).reported().await.unwrap_err().reason);
//! }
//! // 500 tokens allow 35 retries.
//! assert_eq!(attempts.get(), 135);
//! assert_eq!((reasons[0], reasons[99]), (StopReason::Attempts, StopReason::Budget));
//! assert_eq!(STORAGE.tokens(), 10.0);
//! # }
//! ```
//!
//! # Share a budget
//!
//! - One `static` for each service, and for each region of the service, because they fail separately. Name
//!   the budget in all policies for that service: `policy = storage::REQUEST.budget(&STORAGE)`, or
//!   `budget = STORAGE` in the attribute. In the attribute it must be a `static`.
//! - A budget that is made at run time, one for each host for example, is for single calls:
//!   `POLICY.retry(call).budget(&host.budget)`.
//! - Processes share nothing. Each has its own bucket, as in the table above.
//! - Two services with one budget stop each other's retries.
//! - [Which presets have a budget](super::why_retries#which-presets-have-a-budget): the others need yours.
//! - A call that is dropped while it waits gives back the tokens that its wait has taken.
//!
//! # A breaker
//!
//! With a budget, each request is still tried once. If the service hangs, each of these attempts keeps its caller waiting
//! until the timeout. A [`Breaker`](crate::Breaker) (feature `breaker`) ends them at once. The breaker opens when 10 of the
//! last 20 attempts of all its calls failed. While it is open, retries end with their last error and
//! [`StopReason::Breaker`](crate::StopReason::Breaker), first attempts are not made, and every second one attempt is made
//! as a probe, however the last one ended. The first probe that succeeds closes the breaker:
//!
//! ```
//! use backoff_cloud::{Breaker, TimedOut, retry};
//! use std::time::Duration;
//!
//! static DOWN: Breaker = Breaker::new().name("invoices");
//!
//! #[retry(breaker = DOWN, attempt_timeout = "5s")]
//! async fn invoice(is_up: bool) -> Result<&'static str, TimedOut> {
//!     match is_up {
//!         true => Ok("42 EUR"),
//!         false => std::future::pending().await, // the service hangs
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! // Two calls make five attempts each.
//! invoice(false).await.unwrap_err();
//! invoice(false).await.unwrap_err();
//! assert!(DOWN.is_open());
//! // The next call ends at once, whatever the service would say: show what you have instead.
//! let shown = match invoice(true).await {
//!     Err(late) if late.is_by_breaker() => "the amount of yesterday",
//!     other => other.unwrap(),
//! };
//! assert_eq!(shown, "the amount of yesterday");
//! // A second later a probe finds that the service is back.
//! tokio::time::sleep(Duration::from_secs(1)).await;
//! assert_eq!(invoice(true).await, Ok("42 EUR"));
//! assert!(!DOWN.is_open());
//! # }
//! ```
//!
//! The error of a call without an attempt is made from [`TimedOut`](crate::TimedOut), as that of a timeout is: derive
//! [`Fault`](crate::Fault) for an error with `From<TimedOut>`, or write [`Fault::late`](crate::Fault::late). Where no error
//! can be made, first attempts are made all the same, and so are those of jobs.
//! [`Breaker`](crate::Breaker) says what counts: a conflict or a 404 is an answer, and a 429 says nothing. What began before
//! the breaker opened or closed says nothing either, and failures are forgotten after a minute without one.
//!
//! A call made inside of a probe that has the same breaker is part of the probe. So an update and its read, or two layers
//! of tower, can have one breaker.
//!
//! The simulation again, with a breaker of each process in place of a budget, or beside one:
//!
//! | | attempts for each request in the outage | a request is given up after | recovers after | requests lost in 90 s | answered at 20 % errors |
//! |---|---|---|---|---|---|
//! | jitter alone | 4.62 ± 0.001 | 5.75 s | never | 61,667 ± 63 | 99.97 % |
//! | `Budget::aws()` | 1.03 ± 0.0001 | 1.04 s | at once | 20,649 ± 42 | 99.95 ± 0.01 % |
//! | `Breaker::new()` | 0.076 ± 0.0003 | 0.08 s | 1 s | 21,290 ± 29 | 96.4 ± 0.2 % |
//! | `Breaker::new().opens_at(15, 24)`, with `Budget::aws()` or without | 0.086 ± 0.0004 | 0.09 s | 1 s | 21,113 ± 26 | 99.96 ± 0.01 % |
//! | the same, with `probe_every(5 s)` | 0.064 ± 0.0004 | 0.06 s | 2 s; up to 5 s if the outage ends just after a probe | 22,058 ± 28 | 99.95 ± 0.02 % |
//!
//! So a breaker loses some requests more than a budget does: those between the end of the outage and the next probe, and,
//! with 10 of 20, some while many calls fail by chance. In return, only the probes of an outage wait for a timeout, and the
//! service gets a twelfth of the attempts.
//!
//! # Which of them
//!
//! | the service | use | what it changes |
//! |---|---|---|
//! | fails, and calls are retried | a [`Budget`](crate::Budget): always | nothing while most calls succeed; in an outage there are no retries |
//! | answers 429 | a [`Rate`](super::rates) | when attempts begin; every call is made in the end |
//! | hangs, and each attempt costs a caller a long timeout, a thread or a connection | a [`Breaker`](crate::Breaker) too | in an outage, calls end at once, and the service gets single probes |
//!
//! A breaker makes an outage of half of the calls an outage of all. So give a breaker to calls that have something better
//! to do than to wait, declare one for each part of a service that fails by itself, and ask for more failures where many
//! calls fail by chance: `opens_at(15, 24)`. A policy can have all three.
//! [What a breaker cannot know](crate::Breaker#what-it-cannot-know): one for impatient callers must not be that of patient
//! ones, and a proxy's 404 is taken for the service's.
//!
//! # After throttling
//!
//! A 429 means that you send too much, and a quick retry makes it worse. `throttled_base` is a longer first
//! wait for that case:
//!
//! ```
//! use backoff_cloud::{Event, Fault, Jitter, Policy};
//! use std::{future::ready, time::Duration};
//!
//! #[derive(Debug, Fault)]
//! #[fault(status = self.0)]
//! struct Status(u16);
//!
//! const POLICY: Policy = Policy::exponential()
//!     .base(Duration::from_millis(50))
//!     .throttled_base(Duration::from_secs(1))
//!     .jitter(Jitter::None) // here, so that the waits are exact
//!     .max_attempts(2);
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! for (status, expected) in [(503, Duration::from_millis(50)), (429, Duration::from_secs(1))] {
//!     let mut waits = Vec::new();
//!     let call = || ready(Err::<(), _>(Status(status)));
//!     let _ = POLICY
//!         .retry(call)
//!         .notify(|event| {
//!             if let Event::Waiting { wait, .. } = event { waits.push(wait.delay) }
//!         })
//!         .await;
//!     assert_eq!(waits, [expected]);
//! }
//! # }
//! ```
//!
//! If the server sends the same `Retry-After` to everybody, everybody comes back at the same moment. Then
//! add [`spread_retry_after(true)`](crate::Policy::spread_retry_after).
//!
//! # What operators see
//!
//! Give the budget a name, and turn on the features `tracing` and `metrics`.
//!
//! | sign | meaning |
//! |---|---|
//! | gauge `retry.budget.level` falls | many calls of the service fail |
//! | histogram `retry.call.duration` with `retry.stop_reason="budget"` | calls end because the budget is empty: a good alert |
//! | log event with `reason="budget"` | the same, at `WARN`, also after the first attempt |
//! | `WARN` "the breaker opens", `INFO` "the breaker closes" | from then on, until then, calls end with `retry.stop_reason="breaker"` |
//! | histogram `retry.attempt.duration` by `error.type` | how the attempts fail, also while the calls still wait |
//!
//! The example shows an outage as Prometheus and the log see it, and [Telemetry](super::telemetry_and_shutdown)
//! explains all metrics:
//!
//! ```sh
//! cargo run -p examples --features metrics --example outage
//! ```
//!
//! # Beside a budget
//!
//! - `attempt_timeout` frees a call from an attempt that hangs. Without it, an outage fills your program
//!   with calls that wait.
//! - A `deadline` that fits your caller: a retry after the caller has left is work for nobody.
//! - One level of retries only: see [Right and wrong](super::right_and_wrong#retries-inside-retries).
