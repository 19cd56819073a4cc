//! Amazon S3, and services that speak its protocol.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | one request | [`REQUEST`] |
//! | read an object, change it, write it with `If-Match` | [`READ_MODIFY_WRITE`] |
//!
#![doc = page_of!(s3::READ_MODIFY_WRITE)]
//!
//! # What is retried
//!
//! 429, 500, 502, 503 (`SlowDown` is throttling), 504, failures of the connection, and the codes that
//! [`aws::kind`] calls throttled or transient.
//!
//! | reply | one request | a read-modify-write |
//! |---|---|---|
//! | 412 `PreconditionFailed`: the object has changed, or is there already | final | is read again |
//! | 409 `ConditionalRequestConflict`, `OperationAborted`: another operation runs | is sent again | is read again |
//! | 409 with another code, such as `BucketAlreadyExists` | final | final |
//!
//! After a lost reply a repeated write with `If-Match` or `If-None-Match: *` may get a 412 that its own first attempt
//! has caused. Read the object to know.
//!
//! **An error inside a 200.** S3 begins the reply to `CopyObject`, `UploadPartCopy` and `CompleteMultipartUpload`
//! before the work is done, so the reply may be a 200 with `<Error>` in its body. With the feature `http` every `send`
//! of a `PUT` or a `POST`, by whatever policy, makes such a reply an error with the status 500, or 503 where the code
//! says throttling. `http::success` and `http::json` do not know the method, and take the body as it is. A
//! `CompleteMultipartUpload` that ends with `ConditionalRequestConflict` needs a new upload of all parts.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{retry, s3};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Client;
//! # impl Client { async fn get(&self, _: &str) -> Result<Vec<u8>, ApiError> { Ok(vec![]) } }
//!
//! #[retry(policy = s3::REQUEST, timeout = "1m")]
//! async fn object(client: &Client, key: &str) -> Result<Vec<u8>, ApiError> {
//!     client.get(key).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert!(object(&Client, "a").await.unwrap().is_empty()) }
//! ```

use crate::aws;
#[cfg(feature = "http")]
use crate::http::{IntoOutgoing, SendExt as _, Sending};
use backoff_core::{Budget, Policy, codes};

/// The budget of the presets of S3: 500 tokens. A retry takes 14, or 5 after throttling.
///
/// Source: as [`aws::BUDGET`]. The SDKs have one quota for each service and region.
pub static BUDGET: Budget = Budget::aws().name("s3::BUDGET");

/// One request: as [`aws::STANDARD`], with a budget of its own.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** Each request of S3 may be
/// made twice, if nobody else writes the same object.
///
/// Sources and an example: [the module](self).
pub const REQUEST: Policy = aws::STANDARD.budget(&BUDGET).name("s3::REQUEST");

/// A whole read-modify-write: get the object and its etag, change it, put it with `If-Match`. The failures of
/// [`REQUEST`] and 412 are retried.
///
/// Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>. The number of attempts is
/// our choice.
pub const READ_MODIFY_WRITE: Policy = REQUEST
    .max_attempts(10)
    .also_on(codes![412])
    .retry_conflicts(true)
    .spread_retry_after(true)
    .name("s3::READ_MODIFY_WRITE");

/// Sends a request by [`REQUEST`]: the same as `REQUEST.send(request)`. Both find an [error inside the
/// 200](self#what-is-retried) of a `PUT` or a `POST`. Such a `POST` is repeated after a failure that may have applied it
/// only with `.idempotent(true)`.
///
/// ```no_run
/// use backoff_cloud::{http::ApiError, s3};
///
/// # async fn f(signed: &str) -> Result<(), ApiError> {
/// let client = reqwest::Client::new();
/// let copy = client.put(signed).header("x-amz-copy-source", "/bucket/key");
/// s3::send(copy).await?;
/// # Ok(()) }
/// ```
#[cfg(feature = "http")]
pub fn send(request: impl IntoOutgoing) -> Sending {
    REQUEST.send(request)
}
