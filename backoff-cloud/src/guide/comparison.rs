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
//! | knows the errors of | 17 crates, behind features | – | – | – | – | reqwest | reqwest |
//! | circuit breaker | `Breaker` | no | no | yes | yes | no | no |
//! | hedging | `hedge` | no | yes | yes | yes | no | no |
//! | crates of a default build, itself included | 11; 86 with `http` | 4; 9 with its macros | 10 with `retry` | 39 with `retry` | 11 with `retry` | 88 | 94 |
//! | Rust | 1.90 | 1.85 | 1.64 | 1.85 | 1.95 | 1.85, for reqwest | 1.85 |
//! | in WebAssembly | [feature `wasm`](super::executors) | yes | your policy | – | – | yes | no |
//! | published | **no** | yes | yes | yes | yes | yes | yes |
//!
//! A dash means that the documentation says nothing about the subject. *Your function* means that you write the code,
//! *your timeout* `tokio::time::timeout` around the call.
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
//! `backoff-cloud` and `backoff-core` are young, and are not published yet.
//!
//! # The sources
//!
//! Read in November 2026. "Docs" is the documentation of the named version on docs.rs; "source" is the file in the
//! published crate.
//!
//! | crate | what | where |
//! |---|---|---|
//! | backon | only the waits count against the total time | `ExponentialBuilder::with_total_delay`, docs |
//! | | a wait from `Retry-After`; which errors are retried (without a function, all) | `Retry::adjust`, `Retry::when`, docs |
//! | tower | what is retried, and after which wait | your `Policy`, `tower::retry`, docs |
//! | | limit, budget, hedging | `tower::timeout`, `tower::retry::budget::TpsBudget`, `tower::hedge`, docs |
//! | tower-resilience | a wait depends on the number of the attempt alone | `IntervalFunction::next_interval`, `tower-resilience-retry/src/backoff.rs` |
//! | | which errors are retried; budget | `retry_on`, docs; `tower-resilience-retry/src/budget.rs` |
//! | | calls share a limit of concurrent calls, which each `Err` halves; a 429 in an `Ok` counts as a success | `tower-resilience-adaptive/src/service.rs`, `algorithm.rs` |
//! | seatbelt | what is retried, and a wait that the server asked for | `recovery_with`, docs |
//! | | limit, breaker, hedging; no budget | its layers and features, docs; its module `retry`, source |
//! | reqwest-retry | no retry is begun after a total time; a wait may end after it | `ExponentialBackoffTimed::should_retry`, retry-policies 0.5, source |
//! | | `Retry-After` is not read; any method is repeated | `middleware.rs`, `retryable_strategy.rs`, source |
//! | reqwest | retries without a wait, by default what was not processed; a budget of 20 % | `reqwest::retry`, docs |
//! | | `timeout` of a request covers its retries | `async_impl/client.rs`, source |
//!
//! # The figures
//!
//! - Crates: `cargo tree -e normal --prefix none --no-dedupe | tail -n +2 | sort -u | wc -l`, on Linux, in a package
//!   with that one dependency and its default features, where the table names no other. (`tail` leaves out the package
//!   itself.)
//! - Rust: `rust-version` in the manifest.
//! - Instructions, bytes and builds: `benches/README.md` in the repository.
//!
//! Previous: [Ported programs](super::ported) · next: [Measurements](super::measurements)
