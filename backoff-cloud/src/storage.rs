//! Google Cloud Storage: requests for objects and buckets.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a read, a list; a write or delete with a precondition | [`REQUEST`] |
//! | a write without a precondition, a new notification, a new HMAC key | [`NOT_IDEMPOTENT`] |
//! | read an object, change it, write it with the generation that was read | [`READ_MODIFY_WRITE`] |
//!
//! With the feature `http`, `storage::send(request)` chooses by the request, with the table of
//! `storage::is_idempotent`. `REQUEST.send(request)` does not use this table: it follows the general rule for
//! HTTP and repeats every `PUT` and every `DELETE`, also without a precondition.
//!
#![doc = page_of!(storage::READ_MODIFY_WRITE)]
//!
//! # What is retried
//!
//! The page asks for two things. The failure must be transient: 408, 429, every 5xx, or a socket that
//! timed out or was disconnected. And the request must be idempotent: reads, lists and inserts of buckets
//! are; most writes are only with a precondition (`ifGenerationMatch`, `ifMetagenerationMatch` or an
//! `etag`); adding a notification or an ACL never is.
//!
//! "Every 5xx" includes 501 and 505. A retry does not help there, and costs only some waits; the service
//! does not send them for a valid request.
//!
//! 412 (`FAILED_PRECONDITION` in gRPC) says that a precondition does not hold. Either somebody else has
//! written the object, or an earlier attempt was applied and its reply was lost. The same request would fail
//! each time, so [`REQUEST`] does not retry it. [`READ_MODIFY_WRITE`] reads the object again.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{retry, storage};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Client;
//! # impl Client { async fn download(&self, _: &str) -> Result<Vec<u8>, ApiError> { Ok(vec![]) } }
//!
//! #[retry(policy = storage::REQUEST, deadline = "60s")]
//! async fn object(client: &Client, name: &str) -> Result<Vec<u8>, ApiError> {
//!     client.download(name).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert!(object(&Client, "a.txt").await.unwrap().is_empty()) }
//! ```

#[cfg(feature = "http")]
mod idempotency;

use backoff_core::{Jitter, Policy, codes};
use std::time::Duration;

#[cfg(feature = "http")]
pub use idempotency::{is_idempotent, send};

/// One request that may be made twice: it only reads, or it has a precondition. 408, 429, every 5xx and
/// failures of the connection are retried.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** For any
/// other write use [`NOT_IDEMPOTENT`].
///
/// With the feature `http`, write `storage::send(request)` and not `REQUEST.send(request)`. The latter repeats
/// a delete without a precondition, and the second delete may remove what somebody else has written in the
/// meantime.
///
/// Sources and an example: [the module](self). The deadline is our choice.
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(64))
    .jitter(Jitter::Additive(Duration::from_secs(1)))
    .deadline(Duration::from_secs(300))
    .on(codes![408, 429, 500..=599])
    .name("storage::REQUEST");

/// One request that must not be applied twice. It is retried only after a failure that shows that the
/// service did nothing: 408, 429, or no connection. A 503 or a lost reply ends with
/// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied).
///
/// Source: <https://cloud.google.com/storage/docs/retry-strategy>, "Conditional idempotency".
pub const NOT_IDEMPOTENT: Policy = REQUEST.idempotent(false).name("storage::NOT_IDEMPOTENT");

/// A whole read-modify-write of an object or of its metadata: read it, change it, write it with
/// `ifGenerationMatch` (or `ifMetagenerationMatch`) of the version that was read. The failures of
/// [`REQUEST`] and 412 are retried.
///
/// Use [`update`](Policy::update), as below. Sending the same write again after a 412 would be useless, so
/// `READ_MODIFY_WRITE.send(request)` (feature `http`) does not repeat a single request after a 412.
///
/// ```
/// use backoff_cloud::storage;
/// # use backoff_cloud::TimedOut as ApiError;
/// # struct Object { generation: i64, lines: Vec<&'static str> }
/// # struct Client;
/// # impl Client {
/// #     async fn read(&self, _: &str) -> Result<Object, ApiError> { Ok(Object { generation: 1, lines: vec![] }) }
/// #     async fn write(&self, _: &str, o: Object) -> Result<i64, ApiError> { Ok(o.generation + 1) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ApiError> {
/// # let client = Client;
/// let updated = storage::READ_MODIFY_WRITE
///     .update(
///         || client.read("members.txt"),
///         |object| {
///             let is_new = !object.lines.contains(&"ann");
///             if is_new { object.lines.push("ann") }
///             is_new // `false` after a lost reply: an earlier attempt has added the line
///         },
///         |object| client.write("members.txt", object), // with the generation that was read
///     )
///     .await?;
/// # let _ = updated;
/// # Ok(())
/// # }
/// ```
///
/// Source: <https://cloud.google.com/storage/docs/request-preconditions>.
pub const READ_MODIFY_WRITE: Policy = REQUEST
    .jitter(Jitter::Full)
    .also_on(codes![412])
    .retry_conflicts(true)
    .spread_retry_after(true)
    .name("storage::READ_MODIFY_WRITE");
