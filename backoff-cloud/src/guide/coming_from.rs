//! How to say with this library what you said with another one, and what it then does otherwise.
//!
//! Versions read: `backoff` 0.4.0, `backon` 1.6.0, `tokio-retry` 0.3.2, `tokio-retry2` 0.9.1, `tower` 0.5.3,
//! `reqwest-retry` 0.9.1 with `retry-policies` 0.5.2, `google-cloud-gax` 1.15.0. `d` is a `Duration`, `f` a function
//! or a number.
//!
//! # What is different from all of them
//!
//! | | elsewhere | here |
//! |---|---|---|
//! | the count | retries: `max_times(3)`, `take(3)` and `max_retries(3)` call four times (gax counts attempts) | attempts: [`max_attempts(4)`](crate::Policy::max_attempts) calls four times |
//! | the longest wait | backon, backoff and tokio-retry2 add the jitter after the cap | [`max_backoff`](crate::Policy::max_backoff) holds with jitter; only a server's hint is longer |
//! | the default jitter | none (backon, tokio-retry), ± 50 % (backoff), full (gax, reqwest-retry) | [full](crate::Jitter::Full): from zero to the wait |
//! | the total time | no limit (tokio-retry); the sum of the waits alone (backon) | [`deadline`](crate::Policy::deadline): attempts and waits together, and no wait begins that would end later |
//! | an error that nobody judged | is retried (backon, tokio-retry, and backoff by `?`) | a policy retries what its codes name; a bare `#[retry]` retries an error about which nothing is known |
//! | `Retry-After` | is not read; in backoff, backon and tokio-retry2 you can hand it over by hand | is obeyed, up to `max_retry_after` or the deadline |
//! | a `POST` | is repeated as a `GET` is (but gax asks whether it is idempotent) | the same, unless you say [`idempotent(false)`](crate::Policy::idempotent); `.send(..)` and the layer of tower look at the method |
//!
//! The attribute knows the other libraries' names: `#[retry(max_delay = "1s")]` does not compile, and the
//! message says to write `max_backoff`.
//!
//! # backon
//!
//! | backon | here |
//! |---|---|
//! | `ExponentialBuilder::default()` | [`Policy::exponential()`](crate::Policy::exponential), whose jitter is full and whose cap is 64 s |
//! | `.with_min_delay(d)`, `.with_factor(f)`, `.with_max_delay(d)` | `.base(d)`, `.factor(f)`, `.max_backoff(d)` |
//! | `.without_max_delay()` | `.max_backoff(Duration::MAX)` |
//! | `.with_max_times(n)` | `.max_attempts(n + 1)` |
//! | `.without_max_times()` | `.max_attempts(Policy::UNLIMITED)`, or a `.deadline(d)` alone |
//! | `.with_total_delay(Some(d))`, which counts the waits alone | `.deadline(d)`, which counts attempts too |
//! | `.with_jitter()`: one to two times the wait | `.jitter(Jitter::Equal)` with `base` and `max_backoff` twice as long |
//! | `.build()`, an iterator | [`POLICY.waits()`](crate::Policy::waits); [`POLICY.schedule()`](crate::Policy::schedule) has the shortest and the longest wait before each retry |
//! | `ConstantBuilder`, `FibonacciBuilder` | [`Policy::constant`](crate::Policy::constant), [`Policy::fibonacci`](crate::Policy::fibonacci) |
//! | `f.retry(builder)` | `POLICY.retry(f)`; blocking `POLICY.retry_blocking(f)` |
//! | `.when(f)` | `POLICY.when(f).retry(..)`; `when_any` where the error is no `Fault`. `f` is a `Fn`: one that counts keeps its number in a `Cell` or an atomic |
//! | no `.when(..)`: every error is retried | `POLICY.when_any(\|_\| true).retry(..)`. Without it the policy's codes judge, the error must be a `Fault`, and one that states nothing (`impl Fault for E {}`) is never retried: [`NothingKnown`](crate::StopReason::NothingKnown) |
//! | `.notify(\|error, wait\| ..)` | `.notify(\|event\| ..)`, which is also called at the end |
//! | `.adjust(f)` | [`Fault::retry_after`](crate::Fault::retry_after) of the error, or `Verdict::after` in `when` |
//! | `.sleep(tokio::time::sleep)`, `.sleep(std::thread::sleep)` | nothing: the features `tokio`, `smol` and `wasm` have the timer, and a blocking call sleeps on its thread |
//! | `.sleep(s)` with a function of yours | `.runtime(r)`, `runtime = r` in `#[retry]` and `retry_block!`: a type of yours with [`Clock`](crate::Clock), [`Random`](crate::Random), and [`Sleep`](crate::Sleep) or [`BlockingSleep`](crate::BlockingSleep) |
//! | `.context(c)`, `RetryableWithContext` | `retry_block!`, `#[retry]` with `&mut` arguments |
//! | `#[backon(backoff = .., when = ..)]` | `#[retry(policy = .., when = ..)]` |
//!
//! ```
//! // before: ExponentialBuilder::new().without_max_delay().with_max_times(3), and no `.when(..)`
//! use backoff_cloud::Policy;
//! use std::{cell::Cell, time::Duration};
//!
//! const POLICY: Policy = Policy::exponential().max_backoff(Duration::MAX).max_attempts(3 + 1);
//!
//! #[derive(Debug)]
//! struct Busy; // no `Fault`
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let calls = Cell::new(0);
//! let call = async || { calls.set(calls.get() + 1); Err::<(), _>(Busy) };
//! POLICY.when_any(|_| true).retry(call).await.unwrap_err();
//! assert_eq!(calls.get(), 4);
//!
//! // A judge that counts: at most one more call.
//! let seen = Cell::new(0);
//! POLICY.when_any(|_| seen.replace(seen.get() + 1) < 1).retry(call).await.unwrap_err();
//! assert_eq!(calls.get(), 6);
//!
//! // before: builder.build()
//! for (wait, most) in POLICY.waits().zip([1, 2, 4]) {
//!     assert!(wait <= Duration::from_secs(most));
//! }
//! # }
//! ```
//!
//! # backoff
//!
//! | backoff | here |
//! |---|---|
//! | `ExponentialBackoff::default()`: 500 ms, × 1.5, ± 50 %, 15 min | the policy below |
//! | `.with_initial_interval(d)`, `.with_multiplier(f)`, `.with_max_interval(d)` | `.base(d)`, `.factor(f)`, `.max_backoff(d)` |
//! | `.with_randomization_factor(0.5)` | `.jitter(Jitter::Proportional(0.5))` |
//! | `.with_max_elapsed_time(Some(d))` | `.deadline(d)` |
//! | `Error::transient(e)`, `Error::permanent(e)`, `Error::retry_after(e, d)` | the error says so by itself: [`Fault`](trait@crate::Fault) |
//! | `?`, which makes any error transient | `?`, and the error keeps its type |
//! | `backoff::future::retry(b, f)` | `POLICY.retry(f)` |
//! | `backoff::retry(b, f)` | `POLICY.retry_blocking(f)` |
//! | `retry_notify(b, f, n)` | `POLICY.retry(f).notify(n)` |
//! | the trait `Backoff` | [`Delay`](crate::delay::Delay), by `.delays(..)` |
//!
//! ```
//! use backoff_cloud::{Fault, Jitter, Policy};
//! use std::time::Duration;
//!
//! const POLICY: Policy = Policy::exponential()
//!     .base(Duration::from_millis(500))
//!     .factor(1.5)
//!     .max_backoff(Duration::from_secs(90)) // 60 s and a half more
//!     .jitter(Jitter::Proportional(0.5))
//!     .deadline(Duration::from_secs(15 * 60));
//!
//! #[derive(Debug, Fault)]
//! enum Error {
//!     #[fault(status = code)] // 404 is permanent, 503 is not
//!     Code { code: u16 },
//!     #[fault(transient)]
//!     Io(std::io::Error),
//! }
//!
//! let waits: Vec<_> = POLICY.schedule().take(2).map(|wait| (wait.least, wait.greatest)).collect();
//! assert_eq!(waits, [(250, 750), (375, 1125)].map(|(a, b)| {
//!     (Duration::from_millis(a), Duration::from_millis(b))
//! }));
//! ```
//!
//! # tokio-retry, tokio-retry2
//!
//! | tokio-retry | here |
//! |---|---|
//! | `ExponentialBackoff::from_millis(2).factor(500)`: 2ⁿ · 500 ms | `.base(Duration::from_secs(1)).factor(2.0)` |
//! | tokio-retry2: `ExponentialFactorBackoff::from_millis(500, 2.0)` | `.base(Duration::from_millis(500)).factor(2.0)` |
//! | `FixedInterval`, `FibonacciBackoff`; tokio-retry2: `LinearBackoff` | [`Policy::constant`](crate::Policy::constant), [`fibonacci`](crate::Policy::fibonacci), [`linear`](crate::Policy::linear) |
//! | `.max_delay(d)` | `.max_backoff(d)` |
//! | `.map(jitter)` of tokio-retry: from zero to the wait | `.jitter(Jitter::Full)`, the default |
//! | `.map(jitter)` of tokio-retry2: ± 50 % | `.jitter(Jitter::Proportional(0.5))` |
//! | `.take(n)` | `.max_attempts(n + 1)` |
//! | an iterator of your own | `.delays(..)`: a list, a closure, or a [`Delay`](crate::delay::Delay) |
//! | `Retry::spawn(strategy, f)` (which spawns nothing) | `POLICY.retry(f)` |
//! | `RetryIf::spawn(strategy, f, condition)` | `POLICY.when(condition).retry(f)` |
//! | tokio-retry2: `RetryError::{Transient, Permanent}` | [`Fault`](trait@crate::Fault) of the error |
//!
//! `from_millis(10)` of both does not double: it waits 10, 100, 1,000 ms.
//!
//! # tower's retry
//!
//! | tower | here |
//! |---|---|
//! | your `impl Policy` | a [`Policy`](crate::Policy): `POLICY.layer()` in place of `RetryLayer::new(mine)` |
//! | `retry`, the decision | the codes of the policy; `POLICY.when(..).layer()`, `POLICY.when_any(..).layer()` |
//! | `clone_request` | `Clone`, `.cloned_by(..)`, `.replaying(..)` |
//! | `ExponentialBackoffMaker::new(min, max, jitter, rng)` | `.base(min)`, `.max_backoff(max)`, `.jitter(..)` |
//! | `TpsBudget::new(ttl, min_per_sec, 0.2)` | [`Budget::ratio(0.2, reserve)`](crate::Budget::ratio), which a success refills by itself |
//!
//! The page [tower](super::tower) has the examples.
//!
//! # reqwest-retry
//!
//! | reqwest-retry | here |
//! |---|---|
//! | `.with(RetryTransientMiddleware::new_with_policy(policy))` | `.with(POLICY.layer())`, with the feature `reqwest-middleware-05`: [as a middleware of reqwest](super::tower#as-a-middleware-of-reqwest) |
//! | `ClientWithMiddleware` with no other middleware | the plain `reqwest::Client`, and `POLICY.send(request)` |
//! | `ExponentialBackoff::builder().build_with_max_retries(n)` | `Policy::exponential().max_attempts(n + 1)` |
//! | `.retry_bounds(min, max)`, `.base(2)` | `.base(min)`, `.max_backoff(max)`, `.factor(2.0)` |
//! | `.build_with_total_retry_duration(d)` | `.deadline(d)` |
//! | `Jitter::Full`, the default in both | `Jitter::Full` |
//! | `Jitter::Bounded`: from half of the minimum to the wait | `Jitter::Equal` is the nearest: from half of the wait to the wait |
//! | `DefaultRetryableStrategy`: 408, 429, every 5xx | [`plain_http::BY_METHOD`](crate::plain_http::BY_METHOD), or `.on(codes![408, 429, 500..=599])` |
//! | a `RetryableStrategy` of your own | `POLICY.send(request).when(..)`: its errors keep status, headers and body. In the middleware `.on(..)` for statuses, and `POLICY.when(..).layer()` for errors |
//! | an error for a body that is a stream | `send` refuses such a body before the first attempt, and the error says what to write; the middleware sends it once |
//! | `RetryError::WithRetries` around the last error | the last error itself; [`.notify(..)`](crate::tower::RetryLayer::notify) tells the attempts |
//! | every request is repeated | a `POST` only where that does no harm: write `.idempotency_key()` after `send`, `.with_extension(Idempotent(true))` for the middleware, or choose the policy |
//!
//! `.send(..).json()` reads the body within the attempt; of the middleware, the body is read after the retry.
//!
//! ```no_run
//! // before: client.get(url).send().await?.error_for_status()?.json().await?
//! use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
//!
//! async fn page(client: &reqwest::Client, url: &str) -> Result<serde_json::Value, ApiError> {
//!     plain_http::BY_METHOD.send(client.get(url)).json().await
//! }
//! ```
//!
//! # google-cloud-gax
//!
//! | gax | here |
//! |---|---|
//! | `Aip194Strict` | [`aip194::REQUEST`](crate::aip194::REQUEST), or [`NOT_IDEMPOTENT`](crate::aip194::NOT_IDEMPOTENT) where the client shall ask each request |
//! | `AlwaysRetry` | `POLICY.when(\|_\| true)` |
//! | `NeverRetry` | `.try_once()` on the client or the request |
//! | `.with_attempt_limit(4)` | `.max_attempts(4)`: both count attempts |
//! | `.with_time_limit(d)`, which also bounds each attempt | `.deadline(d)`, which does the same inside a client; around a client, `.timeout(d)` |
//! | `.continue_on_too_many_requests()` | `.also_on(codes![429, Codes::RESOURCE_EXHAUSTED])` |
//! | `ExponentialBackoffBuilder`: initial and maximum delay, scaling | `.base(..)`, `.max_backoff(..)`, `.factor(..)`; full jitter in both |
//! | `AdaptiveThrottler`, `CircuitBreaker` | [`Budget::ratio`](crate::Budget::ratio), [`Budget::grpc`](crate::Budget::grpc) |
//! | `.with_attempt_timeout(d)` | stays: it is the client's |
//! | `.with_idempotency(true)` | stays, and counts where the policy says `.idempotent(false)` |
//! | `.with_polling_backoff_policy(..)` | `.until(..)` around the request that reads the operation |
//!
//! With the feature `gax-1` a policy goes into the client: `.with_policy(POLICY)` in place of
//! `.with_retry_policy(..)`, `.with_backoff_policy(..)` and `.with_retry_throttler(..)`. Mind that a policy
//! that is idempotent, as all are unless they say otherwise, outranks what the client knows of a request: put
//! `.idempotent(false)` on the policy of a client that creates things. A read-modify-write is repeated
//! *around* the client, and there the client tries once.
//!
//! Previous: [Beyond retries](super::beyond) · next: [Ported programs](super::ported)
