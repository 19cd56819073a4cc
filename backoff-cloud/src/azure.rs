//! Microsoft Azure: requests to any service, and to Azure Storage.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a request to any service | [`REQUEST`] |
//! | a request to Azure Storage | [`STORAGE`] |
//! | read a resource, change it, write it with `If-Match` on its etag | [`READ_MODIFY_WRITE`] |
//!
//! [`presets`](crate::presets) has the numbers.
//!
//! # Where the numbers come from
//!
//! The general guidance ("Transient fault handling",
//! <https://learn.microsoft.com/azure/architecture/best-practices/transient-faults>) asks for exponential
//! backoff with some randomness, for a limit, and for respect for `Retry-After`. It leaves the numbers to the
//! SDKs, which differ by language. We took two of them:
//!
//! - [`REQUEST`]: `Azure.Core` for .NET, which the clients of all services share. Its page
//!   (<https://learn.microsoft.com/dotnet/api/azure.core.retryoptions>) has no numbers, so they are from its
//!   sources (<https://github.com/Azure/azure-sdk-for-net/tree/main/sdk/core/Azure.Core/src>): the times and
//!   the retries from `RetryOptions.cs`, the jitter of 20 % from `DelayStrategy.cs`, the statuses from
//!   `ResponseClassifier.cs`.
//! - [`STORAGE`]: the storage clients for JavaScript
//!   (<https://learn.microsoft.com/javascript/api/@azure/storage-blob/storageretryoptions>: `retryDelayInMs`,
//!   `maxRetryDelayInMs`, `maxTries`).
//! - [`READ_MODIFY_WRITE`]: 412 and `If-Match` are in
//!   <https://learn.microsoft.com/azure/storage/blobs/concurrency-manage>.
//!
//! Sources read on 2026-11-21.
//!
//! # Our choices
//!
//! - [`STORAGE`] has the statuses of [`REQUEST`], as the client for .NET has, and full jitter, because a
//!   storage account throttles all its clients at once. The page names neither.
//! - [`READ_MODIFY_WRITE`] has full jitter, because such retries compete with each other, and 10 attempts.
//!   The documentation names neither.
//! - The policies wait for the longer one of the server's hint and the backoff. Azure's own clients wait
//!   for the hint alone. If the hint is longer, [`READ_MODIFY_WRITE`] adds the backoff to it, so that writers
//!   who are told the same time do not come back together.
//!
//! # What is retried
//!
//! 408, 429, 500, 502, 503, 504, failures of the connection, and the codes that [`kind`] knows. The hints
//! are `Retry-After` and, from Cosmos DB,
//! [`x-ms-retry-after-ms`](https://learn.microsoft.com/rest/api/cosmos-db/common-cosmosdb-rest-response-headers);
//! with the feature `http` both are read from the reply.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{azure, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Client;
//! # impl Client { async fn secret(&self, _: &str) -> Result<String, ApiError> { Ok("s".into()) } }
//!
//! #[retry(policy = azure::REQUEST, attempt_timeout = "100s")]
//! async fn secret(client: &Client, name: &str) -> Result<String, ApiError> {
//!     client.secret(name).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert_eq!(secret(&Client, "a").await.unwrap(), "s") }
//! ```

use backoff_core::{FaultKind, Jitter, Policy, codes};
use std::time::Duration;

/// One request to any service. 408, 429, 500, 502, 503, 504 and failures of the connection are retried.
///
/// A jitter of 20 % separates clients that failed at different times. It does not separate many clients
/// that failed in the same moment; for those write `azure::REQUEST.jitter(Jitter::Full)`.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** Azure's
/// clients repeat writes as well. If a second write does harm and the request has no `If-Match`,
/// write `REQUEST.idempotent(false)`. Some `PUT`s of Azure Storage need this: *Append Block*
/// (`comp=appendblock`) appends again, and *Snapshot Blob* (`comp=snapshot`) makes another snapshot. For one
/// request in one call (feature `http`) write `REQUEST.send(request).idempotent(false)`.
///
/// `REQUEST.also_on(codes![412])` retries only a 412 without a code. If the error has a code that
/// [`aws::kind`](crate::aws::kind) knows, such as `PreconditionFailed`, the error is a conflict, and its kind
/// counts before its status. If each attempt reads again, use [`READ_MODIFY_WRITE`].
///
/// Sources and an example: [the module](self).
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_millis(800))
    .factor(2.0)
    .max_backoff(Duration::from_secs(60))
    .jitter(Jitter::Proportional(0.2))
    .max_attempts(4)
    .on(codes![408, 429, 500, 502..=504])
    .name("azure::REQUEST");

/// One request to Azure Storage, with the longer waits of its clients. The statuses are those of
/// [`REQUEST`].
///
/// Sources, and which numbers are ours: [the module](self).
pub const STORAGE: Policy = REQUEST
    .base(Duration::from_secs(4))
    .max_backoff(Duration::from_secs(120))
    .jitter(Jitter::Full)
    .name("azure::STORAGE");

/// A whole read-modify-write with `If-Match` on the etag that was read. The failures of [`REQUEST`] and 412
/// are retried.
///
/// Use [`update`](Policy::update). A single request that is sent by this policy is not repeated after a 412.
///
/// Sources, and which numbers are ours: [the module](self).
pub const READ_MODIFY_WRITE: Policy = REQUEST
    .jitter(Jitter::Full)
    .max_attempts(10)
    .also_on(codes![412])
    .retry_conflicts(true)
    .spread_retry_after(true)
    .name("azure::READ_MODIFY_WRITE");

/// The kind of an Azure error by its code: throttled, transient, or `None` for any other code, so that the
/// status decides. The code is in the header `x-ms-error-code` and in `error.code` of the body. For
/// [`Fault::kind`](crate::Fault::kind) of your own error; `http::ApiError` (feature `http`) calls it by itself.
///
/// ```
/// use backoff_cloud::{FaultKind, azure};
///
/// assert_eq!(azure::kind("ServerBusy"), Some(FaultKind::Throttled));
/// assert_eq!(azure::kind("OperationTimedOut"), Some(FaultKind::Transient));
/// assert_eq!(azure::kind("BlobNotFound"), None);
/// ```
///
/// `ServerBusy` says that the server takes no requests at present, or that the account sends too many.
/// After `OperationTimedOut` and `InternalError` the request may have been applied.
///
/// Sources: <https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes>,
/// <https://learn.microsoft.com/rest/api/storagerp/srp_error_codes_common> (`TooManyRequests`).
pub fn kind(code: &str) -> Option<FaultKind> {
    match code {
        "ServerBusy" | "TooManyRequests" => Some(FaultKind::Throttled),
        "OperationTimedOut" | "InternalError" => Some(FaultKind::Transient),
        _ => None,
    }
}
