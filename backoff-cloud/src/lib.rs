//! Retry policies for Google Cloud, AWS, Azure, LLM APIs, GitHub, Kubernetes and databases: each is a constant with the waits, the
//! retried errors and the end that the provider documents. The crate also sends HTTP requests with
//! retries, and changes IAM policies without losing anybody's change.
//!
//! - [`presets`] lists all policies with their numbers. The page of each module says where the numbers come
//!   from, and which of them are our choice.
//! - The [`guide`] explains how to use retries well: retries inside retries, calls that end
//!   early, and many writers of one resource.
//! - Everything of [`backoff_core`] is re-exported, so this crate is the only dependency that you need.
//!
//! # A provider's policy on a function
//!
//! The attribute calls the function again as the policy says. The function keeps its signature.
//!
//! ```
//! use backoff_cloud::{memorystore, retry};
//! # use backoff_cloud::Fault;
//! # #[derive(Debug)] struct ApiError(u16);
//! # impl Fault for ApiError { fn status(&self) -> Option<u16> { Some(self.0) } }
//! # struct Client(std::cell::Cell<u32>);
//! # impl Client {
//! #     async fn get(&self, _name: &str) -> Result<&'static str, ApiError> {
//! #         self.0.set(self.0.get() + 1);
//! #         if self.0.get() < 3 { Err(ApiError(503)) } else { Ok("an instance") }
//! #     }
//! # }
//!
//! #[retry(policy = memorystore::REQUEST, max_attempts = 5)]
//! async fn instance(client: &Client, name: &str) -> Result<&'static str, ApiError> {
//!     client.get(name).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let client = Client(Default::default());
//! assert_eq!(instance(&client, "cache").await.unwrap(), "an instance");
//! # assert_eq!(client.0.get(), 3);
//! # }
//! ```
//!
//! # An HTTP request
//!
//! With the feature `http`, a policy sends a request of reqwest. An HTTP status that is not a success is an
//! error, and the policy decides whether the request is sent again.
//!
#![cfg_attr(feature = "http", doc = "```no_run")]
#![cfg_attr(not(feature = "http"), doc = "```ignore")]
//! use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
//! use serde_json::Value;
//!
//! async fn instances(client: &reqwest::Client, url: &str) -> Result<Value, ApiError> {
//!     plain_http::BY_METHOD.send(client.get(url)).json().await
//! }
//! ```
//!
//! # A read-modify-write
//!
//! A write with an etag fails when another writer was faster. The read has to be repeated then, not the
//! write alone. [`Policy::update`] does this for any resource, and [`iam::add`] for the members of a role:
//!
#![cfg_attr(feature = "http", doc = "```no_run")]
#![cfg_attr(not(feature = "http"), doc = "```ignore")]
//! use backoff_cloud::iam;
//!
//! # async fn token() -> Result<String, backoff_cloud::http::ApiError> { Ok(String::new()) }
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "https://cloudresourcemanager.googleapis.com/v3";
//! let client = iam::Rest::new(reqwest::Client::new(), url).token(token);
//! iam::add(&client, "projects/p", "roles/viewer", "user:ann@example.com").await?;
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! The crate needs Rust 1.90. Some features need a newer version, because the client's crate does.
//!
//! | feature | what it adds | on by default | Rust |
//! |---|---|---|---|
//! | `tokio`, `macros` | as in `backoff-core` | yes | 1.90 |
//! | `smol` | the timer of async-io: async functions on smol, and on any other executor, as in `backoff-core` | no | 1.90 |
//! | `wasm` | a browser's clock, timer and randomness, as in `backoff-core` | no | 1.90 |
//! | `combine` | [`iam::Members`], and `Policy::combine`, as in `backoff-core`; turns on `tokio` | yes | 1.90 |
//! | `tracing`, `metrics`, `breaker`, `rate`, `reconnect`, `testing` | as in `backoff-core` | no | 1.90 |
//! | `std` | blocking functions without tokio, as in `backoff-core` | with `tokio` | 1.90 |
//! | `hint` | `hint`: parsers for `Retry-After` and similar headers, as in `backoff-core` | no | 1.90 |
//! | `anyhow-1`, `azure-core-1`, `h2-04`, `http-1`, `hyper-1`, `hyper-util-01`, `kube-5`, `object-store-014`, `redis-1`, `reqwest-012`, `reqwest-013`, `sqlx-08`, `sqlx-08-mysql`, `tokio-postgres-07`, `tonic-014`, `ureq-3` | `Fault` for the errors of these crates, as in `backoff-core` | no | 1.90 |
//! | `sqlx-09`, `sqlx-09-mysql` | `Fault` for the errors of sqlx 0.9, as in `backoff-core` | no | 1.94 |
//! | `http` | `http`: sends a request of reqwest 0.13 with retries; returns the response as a value, or as an error that keeps the headers and `Retry-After`. Turns on `tokio`, `http-1`, `hyper-1`, `h2-04` and `reqwest-013` | no | 1.90 |
//! | `tower` | `tower`: a layer that sends requests again as a policy says, as in `backoff-core` | no | 1.90 |
//! | `serde` | a policy from configuration: `PolicySettings`, as in `backoff-core` | no | 1.90 |
//! | `apalis-1` | `apalis`: jobs of apalis that come back as a policy says | no | 1.90 |
//! | `aws-smithy-1` | `aws::inside`: a policy inside the clients of AWS' SDK for Rust; `Fault` for their errors | no | 1.94.1 |
//! | `gax-1` | `gax`: a policy inside Google's own clients; `Fault` for their errors | no | 1.91 |
//! | `google-cloud-iam-v1`, `google-cloud-iam-admin-v1`, `google-cloud-secretmanager-v1`, `google-cloud-resourcemanager-v3` | [`iam::add`] and [`iam::remove`] with Google's own clients. (The feature `http` has them for plain REST.) | no | 1.91 |
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod aip194;
pub mod anthropic;
#[cfg(feature = "apalis-1")]
pub mod apalis;
pub mod aws;
pub mod azure;
pub mod dynamodb;
pub mod firestore;
pub mod github;
pub mod guide;
pub mod iam;
pub mod kubernetes;
pub mod memorystore;
pub mod mysql;
pub mod openai;
pub mod plain_http;
pub mod postgres;
pub mod presets;
pub mod pubsub;
#[cfg(test)]
mod reply;
pub mod s3;
mod services;
pub mod spanner;
pub mod sqlite;
pub mod storage;

#[cfg(feature = "gax-1")]
pub mod gax;
#[cfg(feature = "http")]
pub mod http;

#[doc(no_inline)]
pub use backoff_core::*;
// By name, so that the pages of this crate list what readers look for,
#[doc(inline)]
pub use backoff_core::{Budget, Policy};
// and so that rustc names the feature that is missing. It does not look through a glob.
#[cfg(feature = "reconnect")]
#[doc(inline)]
pub use backoff_core::Reconnect;
#[cfg(feature = "tokio")]
#[doc(inline)]
pub use backoff_core::Tokio;
#[cfg(feature = "combine")]
#[doc(inline)]
pub use backoff_core::combine;
#[cfg(feature = "hint")]
#[doc(inline)]
pub use backoff_core::hint;
#[cfg(feature = "macros")]
#[doc(inline)]
pub use backoff_core::retry_block;
#[cfg(feature = "testing")]
#[doc(inline)]
pub use backoff_core::testing;
#[cfg(feature = "tower")]
#[doc(inline)]
pub use backoff_core::tower;
#[cfg(feature = "breaker")]
pub use backoff_core::{Admitted, Breaker};
#[cfg(feature = "serde")]
#[doc(inline)]
pub use backoff_core::{PolicySettings, PolicySettingsError};
#[cfg(feature = "rate")]
pub use backoff_core::{Rate, RateChange};

#[doc(hidden)]
pub use backoff_core::__private;

#[cfg(feature = "macros")]
#[doc = include_str!("fault.md")]
pub use backoff_macros::FaultCloud as Fault;
#[cfg(feature = "macros")]
#[doc = include_str!("retry.md")]
pub use backoff_macros::retry_cloud as retry;

/// Runs the README's example as a test.
#[cfg(all(doctest, feature = "macros", feature = "tokio"))]
#[doc = include_str!("../README.md")]
struct Readme;
