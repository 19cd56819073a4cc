//! HTTP in one call: a request of reqwest, sent by a policy.
//!
//! ```no_run
//! use backoff_cloud::{http::{self, SendExt as _}, memorystore, plain_http};
//! # use serde_json::Value as Order;
//!
//! # async fn f(order: &Order) -> Result<(), http::ApiError> {
//! # let (client, url) = (reqwest::Client::new(), "http://127.0.0.1:8080/v1/x");
//! // The JSON body as a value of yours.
//! let instance: serde_json::Value = memorystore::REQUEST.send(client.get(url)).json().await?;
//! // The whole reply: status, headers, bytes.
//! let reply = memorystore::REQUEST.send(client.delete(url)).await?;
//! // A reply that may be empty.
//! let maybe: Option<Order> = plain_http::IDEMPOTENT.send(client.get(url)).json().await?;
//! // A `POST` with a key by which the server knows it again, so that it may be repeated.
//! let body = serde_json::to_vec(order).unwrap();
//! let made: Order =
//!     plain_http::IDEMPOTENT.send(client.post(url).body(body)).idempotency_key().json().await?;
//! # Ok(()) }
//! ```
//!
//! - A status that is no success is an [`ApiError`], which keeps the status, the headers, `Retry-After`
//!   and what the body says.
//! - The body is read within the attempt: a reply that is lost half-way is asked for again.
//! - [What may be repeated](Sending#what-may-be-repeated) follows from the request: a `GET` or a `DELETE`
//!   after every failure that the policy names, a `POST` only after those that surely did nothing.
//! - After a [redirect](Sending#what-counts-as-an-error) nobody can tell what became of the first request. For a
//!   request that must not be made twice, build the client with `redirect::Policy::none()`.
//! - How much of a reply is read, and for how long, is limited: see [`Limits`].
//!
//! Requests of reqwest 0.12 are sent in the same way with the feature `reqwest-012`.
//!
//! reqwest itself repeats requests that an HTTP/2 server has refused. Turn that off where the policy
//! should see each of them: `reqwest::Client::builder().retry(reqwest::retry::never())`.
//!
//! # A response of your own call
//!
//! In a function with `#[retry]`, or where more than one request makes an attempt, [`json`] and [`success`]
//! read a response. [`check`] reads the body of an error alone, and hands back a success whose body you stream or
//! read yourself. (`Response::error_for_status` drops the headers and the body, and with them
//! `Retry-After` and Google's `error.status`.) These functions do not know the URL that was asked for, so an error that
//! came after a redirect looks like one of the request itself.
//!
//! ```no_run
//! use backoff_cloud::{http, memorystore};
//!
//! # async fn f() -> Result<(), http::ApiError> {
//! let client = reqwest::Client::new();
//! let instance: serde_json::Value = memorystore::REQUEST
//!     .retry(async || http::json(client.get("http://127.0.0.1:8080/v1/x").send().await?).await)
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! # Blocking programs
//!
//! This module is async. For a blocking program ureq has the shorter way: its errors are faults with the feature
//! `ureq-3`. With `reqwest::blocking`, make the error of a response yourself, and read the body of a success
//! inside the attempt:
//!
//! ```no_run
//! use backoff_cloud::{http::ApiError, plain_http};
//! use std::time::SystemTime;
//!
//! /// As `error_for_status`, but the error keeps its `Retry-After` and what the server said.
//! fn check(response: reqwest::blocking::Response) -> Result<reqwest::blocking::Response, ApiError> {
//!     let status = response.status();
//!     if status.is_success() {
//!         return Ok(response);
//!     }
//!     let headers = response.headers().clone();
//!     let body = response.bytes().unwrap_or_default();
//!     Err(ApiError::new(status.as_u16(), &headers, &body, SystemTime::now()))
//! }
//!
//! # fn main() -> Result<(), ApiError> {
//! let client = reqwest::blocking::Client::new();
//! let page: Vec<u8> = plain_http::IDEMPOTENT.retry_blocking(|| {
//!     let response = client.get("http://127.0.0.1:8080/").send()?;
//!     Ok::<_, ApiError>(check(response)?.bytes()?.into())
//! })?;
//! # Ok(()) }
//! ```

mod body;
mod copies;
mod empty;
mod error;
mod headers;
mod limits;
mod outgoing;
mod repeat;
mod reply;
mod scan;
mod send;
mod service;

pub use error::ApiError;
pub use limits::Limits;
pub use outgoing::Outgoing;
pub use reply::Reply;
pub use send::{Attempts, SendExt, Sending, Sent};

pub(crate) use body::has_text;
pub(crate) use repeat::has_parameter;

use reqwest::Response;
use serde::de::DeserializeOwned;

/// The reply's JSON body as a value, if its status is a success; otherwise what the server said.
///
/// Some servers, and proxies before them, answer 200 and put the error into the body. A body that
/// is nothing but a `google.rpc.Status` in `error` is that error, with the status that its `code`
/// names. (A finished long-running operation has an `error` too, but other fields beside it: it is
/// a value.)
///
/// The defaults of [`Limits`] hold.
///
/// # Errors
/// [`ApiError`]: an HTTP status that is not 2xx, a reply that did not arrive or a success that was
/// cut, a success of more than 64 MiB or that stopped for 30 s, or a body that is an error or not the
/// JSON asked for. A body that is too long or not the JSON asked for is permanent, for the server did
/// answer, unless the body ends too early and nothing said where it ends.
///
/// An empty body is `None` for an `Option`, and `()` for a unit, which takes an empty object `{}` too. For
/// every other type an empty body is an error.
///
/// Over HTTP/1.1, where the body was compressed and its length was told (`content-length`), nothing
/// says where the unpacked body ends: reqwest's decoders (its features `gzip`, `brotli`, `zstd` and
/// `deflate`) take that header away. So an empty or half JSON text that was compressed whole counts as
/// a reply that was cut, which may be repeated, and not as a permanent error.
///
/// # Panics
/// As [`Limits::json`].
pub async fn json<T: DeserializeOwned>(response: Response) -> Result<T, ApiError> {
    Limits::new().json(response).await
}

/// The response as it came, if its status is a success; otherwise what the server said. The body of a success is
/// not read: for a download that is written to a file as it comes, or a body that reqwest's own methods read.
///
/// It is `Response::error_for_status` with an error that keeps the headers and the body, and so `Retry-After`. Read the
/// body of the success inside the attempt where the attempt is to be made again if the body is cut.
///
/// Of the [`Limits`], those for the body of an error hold, with their defaults.
///
/// ```no_run
/// use backoff_cloud::{http, plain_http};
/// use std::io::Write as _;
///
/// # async fn f(client: reqwest::Client, url: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// plain_http::IDEMPOTENT
///     .retry(async || {
///         let mut response = http::check(client.get(url).send().await?).await?;
///         let mut file = std::fs::File::create("page")?;
///         while let Some(chunk) = response.chunk().await? {
///             file.write_all(&chunk)?;
///         }
///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
///     })
///     .await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`ApiError`]: an HTTP status that is not 2xx.
///
/// # Panics
/// As [`Limits::json`].
pub async fn check(response: Response) -> Result<Response, ApiError> {
    Limits::new().check(response).await
}

/// The reply's body, if its status is a success; otherwise what the server said.
///
/// The defaults of [`Limits`] hold.
///
/// # Errors
/// [`ApiError`]: an HTTP status that is not 2xx, a reply that did not arrive or a success that was
/// cut, a success that stopped for 30 s, or a success of more than 64 MiB, which is permanent.
///
/// # Panics
/// As [`Limits::json`].
pub async fn success(response: Response) -> Result<Vec<u8>, ApiError> {
    Limits::new().success(response).await
}
