//! After this page you know when a retry helps, how retries do harm, and what prevents each harm.
//!
//! # Why
//!
//! Many failures are over after a moment. A connection breaks, a server restarts, a database ends one of two
//! transactions in a deadlock. Such a failure is *transient*: the same request succeeds a little later. If 20 % of all
//! attempts fail by chance, 79.98 % of the requests succeed without a retry, and 99.97 % with up to five attempts
//! (simulated).
//!
//! A retry does not help where the failure stays: a wrong request, a missing permission. The error says which kind it
//! is, and the policy decides: [Errors](super::errors).
//!
//! # How retries hurt
//!
//! **They multiply the load.** Five attempts are five times the load, at the worst moment. Layers multiply each other:
//! three layers with five attempts each make [125 calls](super::right_and_wrong#retries-inside-retries).
//!
//! **They prolong an outage.** A service can answer 1,000 requests a second, gets 700, and then hangs for 30 s. With
//! up to five attempts for each request it does not recover within a minute, in any of 20 runs, although the clients
//! back off: new requests keep coming. With a budget it recovers at once:
//!
#![doc = include_str!("../../doc/outage-hanging.svg")]
//!
//! ```sh
//! cargo run --release -p examples --example simulation -- outage
//! ```
//!
//! **They come together.** Clients that fail together and wait equally long come back together. *Jitter*, the random
//! part of a wait, spreads them. 100 clients write one row: without jitter (*exponential* in the picture) they are
//! done after 63.6 s, with full jitter after 4.9 s:
//!
#![doc = include_str!("../../doc/contention-completion.svg")]
//!
//! ```sh
//! cargo run --release -p examples --example simulation -- contention
//! ```
//!
//! **They write twice.** A service makes the order, and its reply is lost. The client repeats the request, and the
//! service makes a second order.
//!
//! **They do not end.** A server that never answers holds an attempt for ever, and a loop without a limit holds its
//! caller.
//!
//! # What prevents the harm
//!
//! | harm | prevented by | by default |
//! |---|---|---|
//! | load multiplied by layers | [a retry at one level](super::right_and_wrong#retries-inside-retries); an inner [`RetryError`](crate::RetryError) is not retried | no |
//! | an outage prolonged | a [budget](super::budgets_and_outages); for a service that hangs, a [breaker](super::budgets_and_outages#a-breaker) too | in the presets below |
//! | clients that come back together | [jitter](super::waits_and_limits#jitter) | full jitter |
//! | the same `Retry-After` for all clients | [`spread_retry_after`](crate::Policy::spread_retry_after) | in the presets `READ_MODIFY_WRITE`, `kubernetes::UPDATE` and `UPDATE_MANAGED` |
//! | many calls above a limit | a [rate](super::rates), which they share | no |
//! | a write made twice | `idempotent = false`, or [a key](super::idempotency); [`update`](super::read_modify_write#update) | in `send` and a layer of tower, which look at the method; not in `#[retry]` and closures |
//! | a call that never ends | [`timeout`, `attempt_timeout`, `deadline`, `max_attempts`](super::waits_and_limits#four-limits) | five attempts; `send` waits ten minutes at most for the head of a reply, `iam::add` cuts an attempt after one; nothing cuts others |
//!
//! # Which presets have a budget
//!
//! [`aws::STANDARD`](crate::aws::STANDARD) and the presets of [`dynamodb`](crate::dynamodb) and [`s3`](crate::s3): the
//! documentation of AWS' SDKs names the numbers. The others have none: their documentation names none, and a preset
//! cannot know what you call. Declare a budget for each service, and for each region of it, because these fail
//! separately:
//!
//! ```
//! use backoff_cloud::{Budget, Policy, storage};
//!
//! static STORAGE: Budget = Budget::aws().name("storage");
//! const REQUEST: Policy = storage::REQUEST.budget(&STORAGE);
//! ```
//!
//! [Share a budget](super::budgets_and_outages#share-a-budget) has the rules.
//!
//! # Read more
//!
//! - [Timeouts, retries, and backoff with
//!   jitter](https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/), Amazon Builders'
//!   Library.
//! - [Addressing Cascading Failures](https://sre.google/sre-book/addressing-cascading-failures/), Google's book "Site
//!   Reliability Engineering".
//!
//! Previous: [The first retry](super::first_retry) · next: [Which of these do I need](super::which)
