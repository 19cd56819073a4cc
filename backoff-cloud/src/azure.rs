//! Microsoft Azure.
//!
//! The general guidance ("Transient fault handling",
//! <https://learn.microsoft.com/azure/architecture/best-practices/transient-faults>) asks for
//! exponential backoff with some randomness, a limit, and respect for `Retry-After`, and leaves the
//! numbers to the SDKs. They differ by language. Here are two sets:
//!
//! | policy | whose defaults | first wait | cap | retries |
//! |---|---|---|---|---|
//! | [`REQUEST`] | `Azure.Core` for .NET, which its clients for all services share | 0.8 s | 60 s | 3 |
//! | [`STORAGE`] | the storage clients for JavaScript | 4 s | 120 s | 3 |
//!
//! `Retry-After` and, from Cosmos DB,
//! [`x-ms-retry-after-ms`](https://learn.microsoft.com/rest/api/cosmos-db/common-cosmosdb-rest-response-headers)
//! are hints: with the feature `http` they are read from the reply, and the longer one of hint and
//! backoff is waited. Azure's own clients put a hint in the place of the backoff.
//!
//! Sources read on 2026-11-21.

use backoff_core::{FaultKind, Jitter, Policy, codes};
use std::time::Duration;

/// One request to any service: 0.8 s, doubling up to 60 s, each wait 20 % shorter or longer, 4
/// attempts; 408, 429, 500, 502, 503, 504 retried, and failures of the connection.
///
/// A fifth to either side keeps clients apart that failed a while after each other, not those of a
/// crowd that failed together; there write `azure::REQUEST.jitter(Jitter::Full)`.
///
/// Azure's clients repeat writes as well. Where a second one does harm and carries no `If-Match`,
/// write `REQUEST.idempotent(false)`. Such are some `PUT`s of Azure Storage: *Append Block*
/// (`comp=appendblock`) appends again, and *Snapshot Blob* (`comp=snapshot`) makes another snapshot. For one
/// request in one call (feature `http`) write `REQUEST.send(request).idempotent(false)`.
///
/// `REQUEST.also_on(codes![412])` retries a bare 412 only: one whose error has a code that
/// [`aws::kind`](crate::aws::kind) knows, `PreconditionFailed`, is a conflict, and its kind counts before the
/// statuses. Where each attempt reads anew, write [`READ_MODIFY_WRITE`].
///
/// ```
/// use backoff_cloud::{azure, retry};
/// # use backoff_cloud::TimedOut as ApiError;
/// # struct Client;
/// # impl Client { async fn secret(&self, _: &str) -> Result<String, ApiError> { Ok("s".into()) } }
///
/// #[retry(policy = azure::REQUEST, attempt_timeout = "100s")]
/// async fn secret(client: &Client, name: &str) -> Result<String, ApiError> {
///     client.secret(name).await
/// }
/// ```
///
/// Sources: <https://learn.microsoft.com/dotnet/api/azure.core.retryoptions>; the page has no
/// numbers, so they are from the sources of that library
/// (<https://github.com/Azure/azure-sdk-for-net/tree/main/sdk/core/Azure.Core/src>): the times and the
/// retries from `RetryOptions.cs`, the fifth from `DelayStrategy.cs`, the statuses from
/// `ResponseClassifier.cs`.
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_millis(800))
    .factor(2.0)
    .max_backoff(Duration::from_secs(60))
    .jitter(Jitter::Proportional(0.2))
    .max_attempts(4)
    .on(codes![408, 429, 500, 502..=504])
    .name("azure::REQUEST");

/// One request to Azure Storage, with its clients' longer waits: 4 s, doubling up to 120 s, 4
/// attempts. The statuses are those of [`REQUEST`].
///
/// The page names neither statuses nor a jitter. The client for .NET takes the common statuses, and
/// so does this. Each wait is drawn from zero up to the documented one, because a storage account
/// throttles all of its clients at once.
///
/// Source: <https://learn.microsoft.com/javascript/api/@azure/storage-blob/storageretryoptions>
/// (`retryDelayInMs`, `maxRetryDelayInMs`, `maxTries`).
pub const STORAGE: Policy = REQUEST
    .base(Duration::from_secs(4))
    .max_backoff(Duration::from_secs(120))
    .jitter(Jitter::Full)
    .name("azure::STORAGE");

/// A whole read-modify-write with `If-Match` on the etag that was read: as [`REQUEST`], and 412
/// starts the series anew. The jitter is full, because such retries compete with each other, and
/// the attempts are 10: the documentation is silent on both. Use [`update`](Policy::update); a request that is
/// sent alone by this policy is not repeated after a 412.
///
/// Source: <https://learn.microsoft.com/azure/storage/blobs/concurrency-manage> (412 and `If-Match`).
pub const READ_MODIFY_WRITE: Policy = REQUEST
    .jitter(Jitter::Full)
    .max_attempts(10)
    .also_on(codes![412])
    .retry_conflicts(true)
    .name("azure::READ_MODIFY_WRITE");

/// What the code of an Azure error says: throttled, transient, or nothing known (`None`), so that the
/// status decides. The code is in the header `x-ms-error-code` and in `error.code` of the body. For
/// [`Fault::kind`](crate::Fault::kind); `http::ApiError` (feature `http`) asks it by itself.
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
/// `OperationTimedOut` and `InternalError` leave open what was done.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Reply, Says, life, table};
    use backoff_core::{GrpcCode, StopReason};

    #[test]
    fn the_common_statuses_are_retried_and_no_other() {
        let statuses = vec![408, 429, 500, 502, 503, 504];
        let codes = vec![
            GrpcCode::Unknown,
            GrpcCode::DeadlineExceeded,
            GrpcCode::ResourceExhausted,
            GrpcCode::Internal,
            GrpcCode::Unavailable,
        ];
        let expected = (statuses, codes);
        assert_eq!(table(&REQUEST), expected);
        assert_eq!(table(&STORAGE), expected);
        let (mut statuses, mut codes) = expected;
        statuses.insert(1, 412);
        codes.insert(3, GrpcCode::FailedPrecondition);
        assert_eq!(table(&READ_MODIFY_WRITE), (statuses, codes));
    }

    #[test]
    fn the_documented_schedules_to_the_nanosecond() {
        let busy = Reply(503, None);
        let ended = Some(StopReason::Attempts);
        let millis = |waits: [u64; 3]| waits.map(Duration::from_millis).to_vec();
        let shortest = (millis([640, 1_280, 2_560]), ended);
        assert_eq!(life(&REQUEST, &busy, 0, 99), shortest);
        let longest = (millis([960, 1_920, 3_840]), ended);
        assert_eq!(life(&REQUEST, &busy, u64::MAX, 99), longest);
        let storage = (millis([4_000, 8_000, 16_000]), ended);
        assert_eq!(life(&STORAGE, &busy, u64::MAX, 99), storage);
        assert_eq!(life(&STORAGE, &busy, 0, 99).0, [Duration::ZERO; 3]);
        let many = STORAGE.max_attempts(9);
        let (waits, _) = life(&many, &busy, u64::MAX, 99);
        assert_eq!(waits[4..], [64, 120, 120, 120].map(Duration::from_secs));
    }

    #[test]
    fn the_codes_say_what_their_status_leaves_open() {
        for code in ["ServerBusy", "TooManyRequests"] {
            assert_eq!(kind(code), Some(FaultKind::Throttled));
        }
        for code in ["OperationTimedOut", "InternalError"] {
            assert_eq!(kind(code), Some(FaultKind::Transient));
        }
        for code in ["", "serverbusy", "ConditionNotMet", "AuthenticationFailed"] {
            assert_eq!(kind(code), None);
        }
    }

    #[test]
    fn the_servers_hint_is_waited() {
        let hinted = Says {
            status: Some(429),
            retry_after: Some(Duration::from_millis(7_500)),
            ..Says::default()
        };
        let (waits, _) = life(&REQUEST, &hinted, u64::MAX, 3);
        assert_eq!(waits, [Duration::from_millis(7_500); 3]);
    }
}
