//! Retry policies for Google Cloud, AWS, Azure, LLM APIs, GitHub, Kubernetes and databases: each is a constant with
//! the waits, the codes and the limits that the provider documents. This crate re-exports all of
//! `backoff_core`, so it is the only dependency that you need.
//!
//! **A function.** Name the provider's policy, and change single rules where you know better:
//!
//! ```
//! use backoff_cloud::{memorystore, retry};
//! # use backoff_cloud::Fault;
//! # #[derive(Debug)] struct ApiError(u16);
//! # impl Fault for ApiError { fn status(&self) -> Option<u16> { Some(self.0) } }
//! # struct Instance;
//! # struct Client(std::cell::Cell<u32>);
//! # impl Client {
//! #     async fn get(&self, _name: &str) -> Result<Instance, ApiError> {
//! #         self.0.set(self.0.get() + 1);
//! #         if self.0.get() < 3 { Err(ApiError(503)) } else { Ok(Instance) }
//! #     }
//! # }
//!
//! #[retry(policy = memorystore::REQUEST, max_attempts = 5)]
//! async fn instance(client: &Client, name: &str) -> Result<Instance, ApiError> {
//!     client.get(name).await
//! }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let client = Client(Default::default());
//! # assert!(instance(&client, "cache").await.is_ok());
//! # assert_eq!(client.0.get(), 3);
//! # }
//! ```
//!
//! **An HTTP request** of reqwest (feature `http`). Each attempt checks the status and reads the body, and a
//! `POST` is sent again only if that is harmless:
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
//! **A read-modify-write.** If another writer was faster, the read is repeated too, and no change is lost.
//! [`Policy::update`] does this for any resource, [`iam::add`] for a role of Google Cloud:
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
//! | you call | take |
//! |---|---|
//! | Google Cloud | [`iam::REQUEST`], [`storage::REQUEST`], [`memorystore::REQUEST`], [`pubsub::PUBLISH`]; for its other APIs, [`aip194::REQUEST`] |
//! | AWS | [`aws::STANDARD`], [`dynamodb::REQUEST`], [`s3::REQUEST`] |
//! | Azure | [`azure::REQUEST`], [`azure::STORAGE`] |
//! | an LLM | [`openai::REQUEST`], [`anthropic::REQUEST`] |
//! | GitHub, Kubernetes | [`github::REQUEST`], [`kubernetes::REQUEST`] |
//! | a database: whole transactions | `TRANSACTION` of [`postgres`], [`mysql`], [`sqlite`], [`spanner`], [`firestore`] |
//! | another HTTP service | [`plain_http::BY_METHOD`] with `send`; in a function [`IDEMPOTENT`](plain_http::IDEMPOTENT) |
//!
//! Read on: [all presets with their numbers](presets) · [the guide](guide) · [features] ·
//! [how it works](how_it_works) · [guarantees](how_it_works#guarantees)
#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod preset_list;

pub mod aip194;
pub mod anthropic;
#[cfg(feature = "apalis-1")]
pub mod apalis;
pub mod aws;
pub mod azure;
pub mod dynamodb;
pub mod features;
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

// Inlined, so that each name has its page in this crate's documentation.
#[doc(inline)]
pub use backoff_core::*;
// By name, so that rustc names the feature that is missing. It does not look through a glob.
#[cfg(feature = "reconnect")]
pub use backoff_core::Reconnect;
#[cfg(feature = "tokio")]
pub use backoff_core::Tokio;
#[cfg(feature = "combine")]
pub use backoff_core::combine;
#[cfg(feature = "hint")]
pub use backoff_core::hint;
#[cfg(feature = "macros")]
pub use backoff_core::retry_block;
#[cfg(feature = "testing")]
pub use backoff_core::testing;
#[cfg(feature = "tower")]
pub use backoff_core::tower;
#[cfg(feature = "breaker")]
pub use backoff_core::{Admitted, Breaker};
#[cfg(feature = "serde")]
pub use backoff_core::{Growth, PolicySettings, PolicySettingsError};
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
#[cfg(all(doctest, feature = "http", feature = "macros"))]
#[doc = include_str!("../README.md")]
struct Readme;
