//! After this page you know what other libraries do, and where this is written.
//!
//! | | `backoff-cloud` | backon 1.6 | tower 0.5 | tower-resilience 0.13 | seatbelt 0.11 | reqwest-retry 0.9 | reqwest 0.13 itself |
//! |---|---|---|---|---|---|---|---|
//! | one limit for the call, the running attempt included | `timeout` | your timeout | a layer | a layer | a layer | your timeout | the request's `timeout` |
//! | no retry begins after a limit | `deadline` | only the waits count | – | – | – | yes; a wait may end later | it never waits |
//! | `Retry-After` | yes; also `RetryInfo` and reset headers | your function | your policy | no | your function | no | no |
//! | repeats a `POST` that may have been applied | not with `send` or a layer | your condition | your policy | your condition | your condition | yes | your classifier |
//! | retry budget | yes | no | yes | yes | no | no | yes, by default |
//! | calls share what a 429 says | [`Rate`](crate::Rate) | no | no | in part | no | no | no |
//! | read-modify-write, conflicts | yes | no | no | no | no | no | no |
//! | knows the errors of | 16 crates, behind features | – | – | – | – | reqwest | reqwest |
//! | circuit breaker | `Breaker` | no | no | yes | yes | no | no |
//! | hedging | `hedge` | no | yes | yes | yes | no | no |
//! | crates of a default build, itself included | 11; 86 with `http` | 4; 9 with its macros | 10 with `retry` | 39 with `retry` | 11 with `retry` | 88 | 94 |
//! | Rust | 1.90 | 1.85 | 1.64 | 1.85 | 1.95 | 1.85, for reqwest | 1.85 |
//! | in WebAssembly | [feature `wasm`](super::executors) | yes | your policy | – | – | yes | no |
//! | published | **no** | yes | yes | yes | yes | yes | yes |
//!
//! A dash means that the documentation says nothing about the subject. *Your function* means that you write the code, *your
//! timeout* `tokio::time::timeout` around the call. Here, hints need an error that keeps its headers, and a function that
//! must not run twice needs `idempotent = false`.
//!
//! # The costs of a call
//!
//! | | `backoff-core` | backon 1.6 | tower 0.5 | a careful loop by hand |
//! |---|---|---|---|---|
//! | a success: instructions | 75 attribute, 94 function | 111 | 112 | 68 |
//! | a failed attempt: instructions | 196, 264 | 215 | 52, without a delay | 75 |
//! | future: bytes | 144 | 264 | 208 | 136 |
//! | a clean build, beside backon with its macros | 1.6 × | 1 | | |
//!
//! Instructions are counted by callgrind; the future is that of a small function. Nothing is allocated.
//!
//! # Before you choose
//!
//! `backoff-cloud` and `backoff-core` are young, and are not published yet. Async functions run on tokio, with a feature on
//! smol and in a browser, elsewhere with [a runtime of your own](super::executors). A rate limit that you know beforehand is
//! [another crate's job](super::beyond).
//!
//! The sections below have the source of each cell.
//!
//! Read in November 2026. "Docs" is the documentation of the named version on docs.rs; "source" is the file in the
//! published crate.
//!
//! # backon 1.6
//!
//! | what | where |
//! |---|---|
//! | only the waits count against the total time | `ExponentialBuilder::with_total_delay`, docs |
//! | a limit for the whole call | none of its own: `tokio::time::timeout(limit, call)`, one line |
//! | a wait from `Retry-After` | `Retry::adjust` with a function of yours, docs |
//! | which errors are retried | `Retry::when`, docs; without it, all of them |
//! | no budget, no shared rate, no read-modify-write | its list of items, docs |
//! | WebAssembly | the feature `gloo-timers-sleep`, which is a default feature, `Cargo.toml` |
//!
//! Its jitter adds up to the whole wait, so a wait can be twice the maximum. Sixteen writers of one IAM policy need about
//! as many calls with backon and a condition as with [`iam::READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE): jitter
//! decides, not the library. `cargo run -p examples --example iam` prints both.
//!
//! # tower 0.5
//!
//! | what | where |
//! |---|---|
//! | what is retried, and after which wait | your `Policy`, `tower::retry`, docs |
//! | a limit for the whole call | `tower::timeout` outside of the retry, docs |
//! | budget | `tower::retry::budget::TpsBudget`, docs |
//! | hedging | `tower::hedge`, docs |
//!
//! # tower-resilience 0.13
//!
//! The newest version of `tower-resilience` is 0.13. It takes the versions 0.13 of `tower-resilience-retry`,
//! `tower-resilience-adaptive` and the other crates, of which some have a version 0.14 too.
//!
//! | what | where |
//! |---|---|
//! | a wait depends on the number of the attempt alone, so not on `Retry-After` | `IntervalFunction::next_interval`, `tower-resilience-retry/src/backoff.rs` |
//! | which errors are retried | `retry_on`, a function of yours, docs; without it, all of them, `tower-resilience-retry/src/policy.rs` |
//! | budget | `tower-resilience-retry/src/budget.rs` |
//! | calls share a limit of concurrent calls, which each `Err` halves, whatever its reason; a reply with 429 in an `Ok` counts as a success | its feature `adaptive`, `tower-resilience-adaptive/src/service.rs` and `algorithm.rs` |
//! | circuit breaker, hedging, a limit of time, a limit of the rate that you know | its features `circuitbreaker`, `hedge`, `timelimiter`, `ratelimiter`, docs |
//!
//! # seatbelt 0.11
//!
//! | what | where |
//! |---|---|
//! | what is retried, and a wait that the server asked for | `recovery_with`, a function of yours that returns `RecoveryInfo`, docs |
//! | a limit for the whole call | its `Timeout` layer outside of the retry, docs |
//! | circuit breaker, hedging, fallback, faults for tests | its features `breaker`, `hedging`, `fallback`, docs |
//! | no budget | its module `retry`, source |
//! | the clock is given by the program | the crate `tick`, docs |
//!
//! # reqwest-retry 0.9
//!
//! | what | where |
//! |---|---|
//! | no retry is begun after a total time; a wait may end after it | `ExponentialBackoffTimed::should_retry`, retry-policies 0.5, source |
//! | `Retry-After` is not read | `middleware.rs`, `retryable_strategy.rs`, source |
//! | a request of any method is repeated | `DefaultRetryableStrategy`, source |
//! | WebAssembly | the crate `wasmtimer`, `Cargo.toml` |
//!
//! # reqwest 0.13 itself
//!
//! | what | where |
//! |---|---|
//! | retries without a wait, by a classifier of yours; by default only what the protocol says was not processed | `reqwest::retry`, docs |
//! | a budget of 20 % more requests by default | `reqwest::retry`, docs |
//! | `timeout` of a request covers its retries | `async_impl/client.rs`, source: the timer is around the service that retries |
//!
//! # The figures
//!
//! - Crates: `cargo tree -e normal --prefix none --no-dedupe | tail -n +2 | sort -u | wc -l`, on Linux, in a package with
//!   that one dependency and its default features, where the table names no other. (`tail` leaves out the package itself.)
//! - Rust: `rust-version` in the manifest.
//! - Instructions, bytes and builds: `benches/README.md` in the repository.
