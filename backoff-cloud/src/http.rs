//! A `reqwest::Response` as a value, or as an error that keeps what the server said.
//!
//! `Response::error_for_status` drops the headers and the body, and with them `Retry-After` and
//! Google's `error.status`. [`json`] keeps them:
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
//! How much of a reply is read, and for how long, is limited: see [`Limits`].

mod body;
mod error;
mod limits;
mod scan;

pub use error::ApiError;
pub use limits::Limits;

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
/// answer, unless the body ends too early and nothing said where it ends. So is an empty body: for a
/// reply without one there is [`success`].
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
