//! Kubernetes: requests to the API server, and changes of one object.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | one request | [`REQUEST`] |
//! | read an object, change it, write it with its `resourceVersion`; a few writers | [`UPDATE`] |
//! | the same, of an object that a controller writes all the time | [`UPDATE_MANAGED`] |
//!
#![doc = page_of!(kubernetes::REQUEST)]
//!
//! # What is retried
//!
//! - [`UPDATE`] and [`UPDATE_MANAGED`]: a 409 `Conflict`, that is another `resourceVersion`, and what [`REQUEST`]
//!   repeats. With kube's own error (feature `kube-5`) a 409 `AlreadyExists` and a field of another manager are
//!   final. An error that knows its status alone cannot tell them apart.
//! - [`REQUEST`]: 429, 500, 502, 503, 504 and failures of the connection.
//! - The hints are `Retry-After` and `details.retryAfterSeconds` of a `Status`; kube's own error and `http::ApiError`
//!   (feature `http`) read the latter. A 500 to 504 without a hint lasts longer than the few attempts of [`UPDATE`],
//!   which are 10 ms apart: for such a server write `UPDATE.base(..).max_backoff(..)`.
//! - **A create that meets a ResourceQuota** can get a 409 `Conflict` too: the quota's own object has changed at the
//!   same time. Nothing was created. [`REQUEST`] ends there, because a 409 `AlreadyExists` looks the same to an error
//!   that knows its status alone; with kube's own error write `REQUEST.retry_conflicts(true)` for a create.
//!
//! kube's client retries by itself: switch that off with `default_retry`, as the page of `kube::Error` in `backoff_core`
//! shows.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::kubernetes;
//! # use backoff_cloud::TimedOut as ApiError;
//! # #[derive(Clone)] struct ConfigMap { owner: &'static str }
//! # struct Maps;
//! # impl Maps {
//! #     async fn get(&self, _: &str) -> Result<ConfigMap, ApiError> { Ok(ConfigMap { owner: "" }) }
//! #     async fn replace(&self, _: &str, map: ConfigMap) -> Result<ConfigMap, ApiError> { Ok(map) }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), ApiError> {
//! # let maps = Maps;
//! kubernetes::UPDATE
//!     .update(
//!         || maps.get("settings"),
//!         |map| std::mem::replace(&mut map.owner, "me") != "me", // did it change anything?
//!         |map| maps.replace("settings", map),                   // with the `resourceVersion` that was read
//!     )
//!     .await?;
//! # Ok(()) }
//! ```

use backoff_core::{Jitter, Policy, codes};
use std::time::Duration;

/// One request. 429, 500, 502, 503, 504 and failures of the connection are retried: eleven attempts.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** For a create with a
/// generated name write `idempotent = false`.
///
/// Sources and an example: [the module](self).
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(32))
    .jitter(Jitter::Full)
    .max_attempts(11)
    .on(codes![429, 500, 502..=504])
    .name("kubernetes::REQUEST");

/// 10 ms, up to a tenth longer: 10.5 ms, give or take a 21st.
const BASE: Policy = Policy::exponential()
    .base(Duration::from_micros(10_500))
    .jitter(Jitter::Proportional(1.0 / 21.0))
    .on(codes![409, 429, 500, 502..=504])
    .retry_conflicts(true)
    .spread_retry_after(true);

/// A whole read-modify-write with the `resourceVersion` that was read, of an object with a few writers: five attempts,
/// 10 ms apart.
///
/// Source: `DefaultRetry` of client-go; see [the module](self), which has an example.
pub const UPDATE: Policy = BASE
    .factor(1.0)
    .max_backoff(Duration::from_millis(11))
    .max_attempts(5)
    .name("kubernetes::UPDATE");

/// The same for an object that a controller writes all the time: four attempts, after 10, 50 and 250 ms.
///
/// Source: `DefaultBackoff` of client-go; see [the module](self).
pub const UPDATE_MANAGED: Policy = BASE
    .factor(5.0)
    .max_backoff(Duration::from_secs(1))
    .max_attempts(4)
    .name("kubernetes::UPDATE_MANAGED");
