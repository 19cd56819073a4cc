//! HTTP with retries in one call: a policy sends a request of reqwest.
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
//! let maybe: Option<Order> = plain_http::BY_METHOD.send(client.get(url)).json().await?;
//! // A `POST` with an idempotency key. The server recognises the key, so the request may be repeated.
//! let body = serde_json::to_vec(order).unwrap();
//! let made: Order =
//!     plain_http::BY_METHOD.send(client.post(url).body(body)).idempotency_key().json().await?;
//! # Ok(()) }
//! ```
//!
//! - An HTTP status that is not a success is an [`ApiError`]. It keeps the status, the headers, `Retry-After`
//!   and the message in the body.
//! - The body is read within the attempt. If the connection breaks while the body arrives, the request is
//!   sent again. A stream or a long download is read [piece by piece](Sending::open), after the last attempt.
//! - [Which requests are repeated](Sending#which-requests-are-repeated) depends on the request: a `GET` or
//!   a `DELETE` is repeated after every failure that the policy names, a `POST` only after a failure that
//!   shows that the server did nothing.
//! - After a [redirect](Sending#what-counts-as-an-error) the error does not show whether the first request
//!   was applied. For a request that must not be made twice, build the client with
//!   `redirect::Policy::none()`.
//! - [`Limits`] limits how much of a reply is read, and for how long.
//!
//! With the feature `reqwest-012`, requests of reqwest 0.12 are sent in the same way.
//!
//! reqwest itself repeats requests that an HTTP/2 server has refused. To let the policy count each of them,
//! switch this off: `reqwest::Client::builder().retry(reqwest::retry::never())`.
//!
//! # A response of your own request
//!
//! In a function with `#[retry]`, or in an attempt with several requests, [`json`] and [`success`] read a
//! response. [`check`] reads the body of an error only, and returns a success whose body you read yourself;
//! [`Limits::open`] does the same, with a limit for each pause of the body. [`Limits::reply`] reads the status, the
//! headers and the body of a success, for example for its `ETag`: `Limits::new().reply(response)`.
//! (`Response::error_for_status` drops the headers and the body, and with them `Retry-After` and
//! Google's `error.status`.) These functions know neither the URL nor the method of the request. So an error after a
//! redirect looks like an error of the request itself, and they do not find [S3's error inside a
//! 200](crate::s3#what-is-retried).
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
#![doc(alias("reqwest 0.12", "reqwest-012", "send"))]

mod body;
mod copies;
mod empty;
mod error;
pub(crate) mod event_kind;
mod events;
mod headers;
mod limits;
mod open_reply;
mod outgoing;
mod own;
mod repeat;
mod reply;
mod send;
mod service;

pub use error::ApiError;
pub use events::{Events, StreamEvent};
pub use limits::Limits;
pub use open_reply::OpenReply;
pub use outgoing::{IntoOutgoing, Outgoing};
pub use reply::Reply;
pub use send::{Requests, SendExt, Sending, Sent};

pub(crate) use repeat::has_parameter;

use reqwest::Response;
use serde::de::DeserializeOwned;

/// The reply's JSON body as a value if the status is a success, otherwise the error of the reply.
///
/// Some servers and proxies answer 200 and put the error into the body. Two kinds of bodies are such an error:
///
/// - A body that contains only an `error` with a code or a type, or a list with one such element. (A finished
///   long-running operation has an `error` too, but it has other fields, so it is a value.)
/// - A body that cannot be read as the value, and has an error with a code or a type, whatever stands beside it: in
///   `error`, or as the body itself, with `"object": "error"` or `"type": "error"`.
///
/// A code from 400 to 599, as a number or as a text, is the [status](ApiError::status) of the error. An error with
/// another code keeps the status of the reply. Then a code or type that is known decides: `overloaded_error` is transient,
/// `rate_limit_exceeded` throttled. Any other code ends the call.
///
/// The limits are the defaults of [`Limits`].
///
/// # Errors
/// [`ApiError`] for an HTTP status that is not 2xx; a reply that did not arrive completely; a success of
/// more than 64 MiB, or whose body paused for 30 s; a body that is an error or not the JSON that was asked
/// for. A body that is too long or not the JSON that was asked for is a permanent error, because the server
/// did answer. A JSON text that ends too early counts as a reply that was cut, which may be repeated.
///
/// An empty body is `None` for an `Option`, and `()` for a unit, which also takes an empty object `{}`. For
/// every other type an empty body is an error.
///
/// # Panics
/// The panics of [`Limits::json`].
pub async fn json<T: DeserializeOwned>(response: Response) -> Result<T, ApiError> {
    Limits::new().json(response).await
}

/// The response if the status is a success, otherwise the error of the reply. The body of a success is not
/// read, so a download can be written to a file while it arrives.
///
/// Unlike the error of `Response::error_for_status`, this error keeps the headers and the body, and so
/// `Retry-After`. Read the body of the success inside the attempt if the attempt shall be repeated when the
/// body is cut.
///
/// The defaults of [`Limits`] limit the body of an error.
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
/// The panics of [`Limits::json`].
pub async fn check(response: Response) -> Result<Response, ApiError> {
    Limits::new().check(response).await
}

/// The reply's body if the status is a success, otherwise the error of the reply.
///
/// The limits are the defaults of [`Limits`].
///
/// # Errors
/// [`ApiError`] for an HTTP status that is not 2xx; a reply that did not arrive completely; a success whose
/// body paused for 30 s; a success of more than 64 MiB, which is a permanent error.
///
/// # Panics
/// The panics of [`Limits::json`].
pub async fn success(response: Response) -> Result<Vec<u8>, ApiError> {
    Limits::new().success(response).await
}
