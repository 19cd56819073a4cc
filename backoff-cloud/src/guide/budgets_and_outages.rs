//! After this page you can retry without prolonging an outage of the service that you call, and your
//! operators can see what the retries do.
//!
//! # How retries prolong an outage
//!
//! `max_attempts` limits one call. It does not limit all calls together: when a service is down, five attempts for
//! each request are five times the load. A service that comes back meets this load and goes down again.
//!
//! In the simulation a service that answers 1,000 requests a second gets 700, and then hangs for 30 s:
//!
//! | budget, one for each process | attempts for each request in the outage | recovers | answered while 20 % of all calls fail by chance |
//! |---|---|---|---|
//! | none | 4.62 | not within a minute, in any of 20 runs | 99.97 % |
//! | [`Budget::ratio(0.2, 100)`](crate::Budget::ratio) | 1.10 | at once | 95.13 % |
//! | [`Budget::costs(500, 5, 5)`](crate::Budget::costs) | 1.10 | at once | 99.97 % |
//! | [`Budget::aws()`](crate::Budget::aws) | 1.03 | at once | 99.95 % |
//! | [`Budget::grpc(10, 0.1)`](crate::Budget::grpc) | 1.00 | at once | 80.00 % |
//! | no retry at all | 1 | at once | 79.98 % |
//!
//! Without a budget the queue of the service stays full of requests that nobody waits for. Backoff alone does not help,
//! because new requests keep coming. [Measurements](super::measurements#outages) has the command and more figures; [a
//! picture](super::why_retries#how-retries-hurt) shows the outage.
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
//! | `Budget::ratio(0.2, 100)` | 1 of 100 tokens | 0.2 | a bound that is easy to state: one retry for five successes |
//! | `Budget::grpc(10, 0.1)` | 1 of 10 for each failure; retries only above half | 0.1 | clients that shall behave as gRPC's do |
//!
//! Conflicts between writers take nothing, because they show that the service works.
//! [`until`](crate::Retrying::until) takes nothing either: it asks again although nothing failed. First
//! attempts are always made.
//!
//! While a service is down, the 500 tokens of `Budget::aws()` allow 35 retries, however many requests there are:
//!
//! ```
//! use backoff_cloud::{Budget, Policy, StopReason, TimedOut};
//!
//! static STORAGE: Budget = Budget::aws().name("storage");
//! const POLICY: Policy = Policy::exponential().budget(&STORAGE);
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let (mut attempts, mut last) = (0, None);
//! for _request in 0..100 {
//!     let down = || std::future::ready(Err::<(), _>(TimedOut::new(Default::default())));
//!     let gave_up = POLICY.retry(down).reported().await.unwrap_err();
//!     (attempts, last) = (attempts + gave_up.report.attempts, Some(gave_up.reason));
//! }
//! assert_eq!((attempts, last), (135, Some(StopReason::Budget)));
//! # }
//! ```
//!
//! # Share a budget
//!
//! - One `static` for each service, and for each region of the service, because they fail separately. Name
//!   the budget in all policies for that service: `policy = storage::REQUEST.budget(&STORAGE)`, or
//!   `budget = STORAGE` in the attribute. In the attribute it must be a `static`.
//! - A budget that is made at run time is for single calls: [One for each host](#one-for-each-host).
//! - Two services with one budget stop each other's retries.
//! - [Which presets have a budget](super::why_retries#which-presets-have-a-budget): the others need yours.
//!
//! # A breaker
//!
//! A budget stops no first attempt, so each request is still tried once. If the service hangs, each of these attempts
//! keeps its caller waiting until the timeout. A [`Breaker`](crate::Breaker) (feature `breaker`) ends them at once.
//!
//! Write `Breaker::new().opens_at(15, 24)`: this breaker opens when 15 of the last 24 attempts of all its calls
//! failed. While 20 % of all attempts fail by chance, that happens once in 150,000 times, so it stops practically no
//! first attempt. (`Breaker::new()` opens at 10 of the last 20, which happens once in 385 times.) While the breaker is
//! open, retries end with their last error and [`StopReason::Breaker`](crate::StopReason::Breaker), first attempts are
//! not made, and every second one attempt is made as a probe. The first probe that succeeds closes the breaker:
//!
//! ```
//! use backoff_cloud::{Breaker, TimedOut, retry};
//! use std::time::Duration;
//!
//! static DOWN: Breaker = Breaker::new().opens_at(15, 24).name("invoices");
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
//! for _call in 0..3 {
//!     invoice(false).await.unwrap_err(); // five attempts each
//! }
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
//! [`Fault`](crate::Fault) for an error with `From<TimedOut>`, or write [`Fault::late`](crate::Fault::late). Where no
//! error can be made, first attempts are made all the same, and so are those of jobs. [`Breaker`](crate::Breaker) says
//! what counts: a conflict or a 404 is an answer, and a 429 says nothing. What began before the breaker opened or
//! closed says nothing either, and failures are forgotten after a minute without one.
//!
//! [`max_pause`](crate::Breaker::max_pause) makes the probes of a long outage rarer: 1, 2, 4 s and so on up to this
//! time. [`open_for`](crate::Breaker::open_for) and [`close`](crate::Breaker::close) open and close the breaker by hand,
//! such as for maintenance, and [`next_probe`](crate::Breaker::next_probe) tells the time until the next probe.
//!
//! A call made inside of a probe that has the same breaker is part of the probe. So an update and its read, or two
//! layers of tower, can have one breaker.
//!
//! In the simulated outage each request makes 0.09 attempts (with a budget 1.03), a request is given up after 0.09 s
//! (1.04 s), and the service recovers after 1 s (at once). So a breaker loses the requests between the end of the
//! outage and the next probe. While 20 % of all calls fail by chance, 99.96 % of the requests succeed; with
//! `Breaker::new()` 96.4 %.
//!
//! # Which of them
//!
//! | the service | use | what it changes |
//! |---|---|---|
//! | fails, and calls are retried | a [`Budget`](crate::Budget): always | nothing while most calls succeed; in an outage there are no retries |
//! | answers 429 | a [`Rate`](super::rates) | when attempts begin; every call is made in the end |
//! | hangs, and each attempt costs a caller a long timeout, a thread or a connection | a [`Breaker`](crate::Breaker) too | in an outage, calls end at once, and the service gets single probes |
//!
//! A breaker makes an outage of half of the calls an outage of all. So give a breaker to calls that have something
//! better to do than to wait, and declare one for each part of a service that fails by itself. [What a breaker cannot
//! know](crate::Breaker#what-it-cannot-know): impatient callers and patient ones need two breakers.
//!
//! # One for each host
//!
//! The keys `budget`, `rate` and `breaker` of the attribute, and the methods of a policy, take a `static`. A call
//! takes a reference of any lifetime. [`Keyed`](crate::Keyed) makes one for each host, tenant or customer, and the key is
//! its name in logs, errors and metrics:
//!
//! ```
//! use backoff_cloud::{Breaker, Budget, Keyed, Policy, Rate, TimedOut};
//!
//! const POLICY: Policy = Policy::exponential();
//! static BREAKERS: Keyed<String, Breaker> = Keyed::new(|| Breaker::new().opens_at(15, 24));
//! static BUDGETS: Keyed<String, Budget> = Keyed::new(Budget::aws);
//! static RATES: Keyed<String, Rate> = Keyed::new(Rate::new);
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let host = "a.example.com";
//! let get = || async { Ok::<_, TimedOut>("a page") }; // your request
//! let (breaker, budget, rate) = (BREAKERS.get(host), BUDGETS.get(host), RATES.get(host));
//! let page = POLICY.retry(get).budget(&budget).rate(&rate).breaker(&breaker).await;
//! assert_eq!(page, Ok("a page"));
//! # }
//! ```
//!
//! Leave out what you do not need. At most 10,000 keys are kept; the idle ones leave first. [A program of the
//! cookbook](super::cookbook::hosts) has a breaker for each host.
//!
//! # After throttling
//!
//! A 429 means that you send too much, and a quick retry makes it worse.
//! [`throttled_base`](crate::Policy::throttled_base) is a longer first wait for that case. If the server sends the same
//! `Retry-After` to everybody, add [`spread_retry_after(true)`](crate::Policy::spread_retry_after).
//!
//! # What operators see
//!
//! Give the budget a name, and turn on the features `tracing` and `metrics`. The gauge `retry.budget.level` falls
//! while many calls fail. The histogram `retry.call.duration` with `retry.stop_reason="budget"` is a good alert. The
//! log says at `WARN` that the breaker opens. The example shows an outage as Prometheus and the log see it:
//! `cargo run -p examples --features metrics --example outage`. [What to watch](super::operations) has a dashboard.
//!
//! # Beside a budget
//!
//! An `attempt_timeout` frees a call from an attempt that hangs. A `deadline` that fits your caller ends work for
//! nobody. And there is [one level of retries](super::right_and_wrong#retries-inside-retries) only.
//!
//! Previous: [Configuration](super::configuration) · next: [Rates](super::rates)
