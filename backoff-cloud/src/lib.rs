//! Retry policies as the cloud providers document them, and what it takes to try them out.
//!
//! | preset | for | waits | retries | ends |
//! |---|---|---|---|---|
//! | [`iam::REQUEST`] | one request to Google Cloud IAM | `min(2ⁿ s + U(0, 1 s), 64 s)` | 500, 502, 503, 504 | after 300 s |
//! | [`iam::READ_MODIFY_WRITE`] | a whole read-modify-write of an allow policy | `U(0, min(2ⁿ s, 64 s))` | 429, 500, 502, 503, 504, `ABORTED` | after 300 s |
//! | [`iam::AFTER_GRANT`] | one request that needs a role granted a moment ago | `min(2ⁿ s + U(0, 1 s), 32 s)` | 403, 500, 502, 503, 504 | after 480 s |
//! | [`memorystore::REQUEST`] | one request to Memorystore for Redis | `min(2ⁿ s + U(0, 1 s), 64 s)` | 429, every 5xx | after 10 attempts |
//! | [`memorystore::OPERATION`] | polling an operation of Memorystore until it is done | `min(1.5ⁿ · 5 s + U(0, 1 s), 45 s)` | 429, every 5xx | after 7,200 s |
//! | [`memorystore::DATA`] | a command to the Redis behind it | `U(0, min(2ⁿ · 20 ms, 1 s))` | a lost connection, `LOADING`, `READONLY`, … | after 60 s |
//! | [`storage::REQUEST`] | a read of Cloud Storage, or a write with a precondition | `min(2ⁿ s + U(0, 1 s), 64 s)` | 408, 429, every 5xx | after 300 s |
//! | [`storage::READ_MODIFY_WRITE`] | a whole read-modify-write of an object | `U(0, min(2ⁿ s, 64 s))` | as above, and 412 | after 300 s |
//! | [`pubsub::PUBLISH`] | publishing to Pub/Sub | `U(0, min(4ⁿ · 100 ms, 60 s))` | [7 codes](pubsub::PUBLISH) | after 600 s |
//! | [`pubsub::STREAMING_PULL`] | opening a stream of Pub/Sub anew | as above | [5 codes](pubsub::STREAMING_PULL) | after 1,800 s |
//! | [`pubsub::TOPIC_READ`], [`TOPIC_WRITE`](pubsub::TOPIC_WRITE) | the publisher's other calls | `U(0, min(1.3ⁿ · 100 ms, 60 s))` | each call's codes | after 600 s |
//! | [`pubsub::PULL`], [`SUBSCRIPTION_READ`](pubsub::SUBSCRIPTION_READ), [`SUBSCRIPTION_WRITE`](pubsub::SUBSCRIPTION_WRITE) | the subscriber's other calls | as above | each call's codes | after 60 s |
//! | [`firestore::TRANSACTION`] | a whole transaction | `U(0, min(2ⁿ s, 30 s))` | `ABORTED` | after 5 attempts |
//! | [`spanner::TRANSACTION`] | a whole transaction | `U(0, min(1.3ⁿ · 250 ms, 32 s))` | `ABORTED` | after 300 s |
//! | [`aip194::REQUEST`] | an idempotent request to any Google API | `U(0, min(2ⁿ s, 60 s))` | `UNAVAILABLE` | after 10 attempts or 60 s |
//! | [`aws::STANDARD`] | a request to an AWS service; a budget | `U(0, min(2ⁿ · 50 ms, 20 s))`, throttled `2ⁿ s` | [codes](aws::kind), 429, 500, 502, 503, 504 | after 3 attempts |
//! | [`dynamodb::REQUEST`] | a request to DynamoDB; a budget | `U(0, min(2ⁿ · 25 ms, 20 s))`, throttled `2ⁿ s` | [codes](dynamodb::kind), 429, 500, 502, 503, 504 | after 4 attempts |
//! | [`dynamodb::READ_MODIFY_WRITE`] | a whole read-modify-write with a condition; a budget | as above | as above, and conflicts | after 10 attempts |
//! | [`azure::REQUEST`] | a request to Azure | `min(2ⁿ · 0.8 s, 60 s)` ± 20 % | 408, 429, 500, 502, 503, 504 | after 4 attempts |
//! | [`azure::STORAGE`] | a request to Azure Storage | `U(0, min(2ⁿ · 4 s, 120 s))` | as above | after 4 attempts |
//! | [`azure::READ_MODIFY_WRITE`] | a whole read-modify-write with `If-Match` | `U(0, min(2ⁿ · 0.8 s, 60 s))` | as above, and 412 | after 10 attempts |
//! | [`postgres::TRANSACTION`] | a whole transaction of PostgreSQL | `U(0, min(2ⁿ · 10 ms, 1 s))`, no connection free `2ⁿ · 100 ms` | conflicts, and what was [surely not applied](postgres::TRANSACTION) | after 30 s |
//! | [`plain_http::IDEMPOTENT`] | a `GET`, `PUT` or `DELETE` anywhere | `U(0, min(2ⁿ s, 64 s))` | 408, 425, 429, 500, 502, 503, 504 | after 5 attempts |
//!
//! Failures of the connection are retried by all but those for transactions. What must not be made
//! twice has [`iam::NOT_IDEMPOTENT`], [`storage::NOT_IDEMPOTENT`], [`aip194::NOT_IDEMPOTENT`] and
//! [`plain_http::NOT_IDEMPOTENT`], or [`Policy::idempotent`].
//!
//! Everything of [`backoff_core`] is re-exported, and `#[retry]` here refers to this crate, so that
//! depending on one of the two is enough.
//!
//! ```
//! use backoff_cloud::{TimedOut, iam, retry};
//!
//! #[retry(policy = iam::READ_MODIFY_WRITE, deadline = "60s")]
//! async fn grant(member: &str) -> Result<(), TimedOut> {
//!     // read the policy, change it, write it back with its etag
//!     # let _ = member;
//!     Ok(())
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { grant("user:ann@example.com").await.unwrap() }
//! ```
//!
//! # Features
//!
//! | feature | brings | on by default |
//! |---|---|---|
//! | `tokio`, `macros`, `tracing`, `metrics`, `reconnect` | as in `backoff-core` | the first two |
//! | `std` | blocking functions without tokio, as in `backoff-core` | with `tokio` |
//! | `hint` | `hint`: parsers for `Retry-After` and its relatives, as in `backoff-core` | no |
//! | `anyhow-1`, `azure-core-1`, `h2-04`, `http-1`, `hyper-1`, `hyper-util-01`, `kube-5`, `object-store-014`, `redis-1`, `reqwest-012`, `reqwest-013`, `sqlx-08`, `sqlx-09`, `tokio-postgres-07`, `tonic-014`, `ureq-3` | `Fault` for these crates' errors, as in `backoff-core` | no |
//! | `http` | `http`: a request of reqwest 0.13 in one call; a response as a value, or as an error that keeps its headers and hints; with it `tokio`, `http-1`, `hyper-1`, `h2-04` and `reqwest-013` | no |
//! | `tower` | `tower`: a layer that sends requests again by a policy, as in `backoff-core` | no |
//! | `serde` | a policy from configuration: [`PolicySettings`](https://docs.rs/backoff-core/latest/backoff_core/struct.PolicySettings.html), as in `backoff-core` | no |
//! | `aws-smithy-1` | `aws::inside`: a policy inside the clients of AWS' SDK for Rust, whose errors are faults | no |
//! | `gax-1` | `gax`: a policy inside Google's own clients | no |
//! | `google-cloud-iam-v1`, `google-cloud-iam-admin-v1`, `google-cloud-secretmanager-v1`, `google-cloud-resourcemanager-v3` | [`iam::add`] and [`iam::remove`] over Google's own clients (over plain REST: `http`) | no |
//! | `emulator` | `emulator`: a loopback IAM and Memorystore that conflict, throttle and fail on command | no |
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod aip194;
pub mod aws;
pub mod azure;
pub mod dynamodb;
pub mod firestore;
pub mod guide;
pub mod iam;
pub mod memorystore;
pub mod plain_http;
pub mod postgres;
pub mod pubsub;
#[cfg(test)]
mod reply;
pub mod spanner;
pub mod storage;

#[cfg(feature = "emulator")]
pub mod emulator;
#[cfg(feature = "gax-1")]
pub mod gax;
#[cfg(feature = "http")]
pub mod http;

#[doc(no_inline)]
pub use backoff_core::*;

#[doc(hidden)]
pub use backoff_core::__private;

#[cfg(feature = "macros")]
pub use backoff_macros::{FaultCloud as Fault, retry_cloud as retry};

/// The README's example runs as a test.
#[cfg(all(doctest, feature = "macros", feature = "tokio"))]
#[doc = include_str!("../README.md")]
struct Readme;
