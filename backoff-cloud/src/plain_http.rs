//! Any HTTP service whose documentation says nothing about retries.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | `GET`, `HEAD`, `OPTIONS`, `TRACE`, `PUT`, `DELETE`, `QUERY` | [`IDEMPOTENT`] |
//! | `POST`, `PATCH`, `CONNECT`, any other method | [`NOT_IDEMPOTENT`] |
//! | a `POST` with an idempotency key that the service knows | [`IDEMPOTENT`] |
//! | any request that `send` (feature `http`) or a layer (`tower`) sends: `BY_METHOD.send(request)` | [`BY_METHOD`] |
//!
//! [`BY_METHOD`] lets the request decide. An attribute or a closure shows no request: there [`BY_METHOD`] is
//! [`NOT_IDEMPOTENT`], and [`IDEMPOTENT`] repeats whatever is inside, also a `POST`. [`for_method`] chooses
//! by a method's name.
//!
#![doc = page_of!(plain_http::BY_METHOD)]
//!
//! # What is retried
//!
//! | status | meaning | source |
//! |---|---|---|
//! | 408 | the request did not arrive in time | RFC 9110, 15.5.9 |
//! | 425 | the request came too early, on a connection that is not yet trusted | RFC 8470, 5.2 |
//! | 429 | the client sent too many requests | RFC 6585, 4 |
//! | 500, 502, 503, 504 | the server, its backend, or a proxy failed | RFC 9110, 15.6 |
//!
//! Failures of the connection are retried too. The policy waits at least as long as `Retry-After` asks.
//!
//! 501 and 505 are not retried, because the same request gets the same reply. 409 and 412 are not
//! retried, because only a new read helps. A 409 to a request with an idempotency key is retried if the server
//! may still work on an earlier attempt; the page of `http::Sending` says when.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{plain_http, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Client;
//! # impl Client { async fn get(&self, _: &str) -> Result<String, ApiError> { Ok("page".into()) } }
//!
//! // `IDEMPOTENT`: the function only reads, so it may run twice.
//! #[retry(policy = plain_http::IDEMPOTENT, deadline = "30s")]
//! async fn page(client: &Client, url: &str) -> Result<String, ApiError> {
//!     client.get(url).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert_eq!(page(&Client, "/").await.unwrap(), "page") }
//! ```

use backoff_core::{__private::is_idempotent, Policy, codes};

/// A request that may be made twice. 408, 425, 429, 500, 502, 503, 504 and failures of the connection
/// are retried.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice**: a `POST` there is
/// repeated too. For one request that the library sends, use [`BY_METHOD`].
///
/// Sources and an example: [the module](self).
pub const IDEMPOTENT: Policy = Policy::exponential()
    .on(codes![408, 425, 429, 500, 502..=504])
    .name("plain_http::IDEMPOTENT");

/// A request that must not be made twice, such as a `POST`. It is retried only after a failure that
/// shows that the server did nothing: 408, 425, 429, or no connection.
///
/// For a `POST` with an idempotency key that the service knows, use [`IDEMPOTENT`].
///
/// Source: <https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2>.
pub const NOT_IDEMPOTENT: Policy = IDEMPOTENT
    .idempotent(false)
    .name("plain_http::NOT_IDEMPOTENT");

/// A request that the library sends: its method and headers say whether it may be made twice. A `GET`, a
/// `PUT`, a `DELETE`, and a `POST` with an idempotency key or a precondition are retried as by [`IDEMPOTENT`],
/// any other request as by [`NOT_IDEMPOTENT`].
///
/// For `BY_METHOD.send(request)` (feature `http`) and `BY_METHOD.layer()` (feature `tower`). In an attribute
/// or a closure nobody sees the request, so there this is [`NOT_IDEMPOTENT`].
///
/// Source: <https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2>.
pub const BY_METHOD: Policy = IDEMPOTENT
    .idempotent_by_method()
    .name("plain_http::BY_METHOD");

/// The policy for a method: [`IDEMPOTENT`] for the methods that RFC 9110 calls idempotent and for
/// `QUERY`, [`NOT_IDEMPOTENT`] for every other method, also for an unknown one. Upper and lower case
/// make different methods, as in HTTP.
///
/// ```
/// use backoff_cloud::plain_http;
///
/// assert_eq!(plain_http::for_method("PUT"), plain_http::IDEMPOTENT);
/// assert_eq!(plain_http::for_method("POST"), plain_http::NOT_IDEMPOTENT);
/// ```
pub fn for_method(method: &str) -> Policy {
    match is_idempotent(method) {
        true => IDEMPOTENT,
        false => NOT_IDEMPOTENT,
    }
}
