//! Google Cloud Storage.
//!
//! The page "Retry strategy" (<https://cloud.google.com/storage/docs/retry-strategy>) asks two
//! things of a request before it is repeated. The reply has to be one that passes: 408, 429, every
//! 5xx, a socket that timed out or was disconnected. And the request has to be idempotent: reads,
//! lists, inserts of buckets are; most writes are only with a precondition, `ifGenerationMatch`,
//! `ifMetagenerationMatch` or an `etag`; adding a notification or an ACL never is. So there are
//! two policies, and it is the caller who knows which request he makes:
//!
//! | request | policy |
//! |---|---|
//! | read, list; a write or delete with a precondition | [`REQUEST`] |
//! | a write without a precondition, a new notification, an HMAC key | [`NOT_IDEMPOTENT`] |
//! | read an object, change it, write it with the generation that was read | [`READ_MODIFY_WRITE`] |
//!
//! With the feature `http` the caller need not know it: `storage::send(request)` reads it from the request,
//! by the table of `storage::is_idempotent`. `REQUEST.send(request)` does not: by the general rule for HTTP it
//! repeats every `PUT` and every `DELETE`, also one without a precondition.
//!
//! The waits are those of "Truncated exponential backoff"
//! (<https://cloud.google.com/storage/docs/exponential-backoff>): `min(2ⁿ s + up to 1000 ms,
//! maximum backoff)`, with 32 or 64 s as the maximum. That page wants the retries to end at some
//! point and names none; here it is 300 s, the example of IAM's documentation.
//!
//! # 412
//!
//! A precondition that does not hold is 412 (`FAILED_PRECONDITION` over gRPC). Repeating the same
//! request would fail for ever, so [`REQUEST`] does not. It says that somebody else has written, or
//! that an earlier attempt of one's own was applied and its reply lost. [`READ_MODIFY_WRITE`]
//! reads again, and sees which.
//!
//! Sources read on 2026-11-21.

#[cfg(feature = "http")]
mod idempotency;

use backoff_core::{Jitter, Policy, codes};
use std::time::Duration;

#[cfg(feature = "http")]
pub use idempotency::{is_idempotent, send};

/// One request that may be made twice: it only reads, or carries a precondition. Base 1 s,
/// factor 2, cap 64 s, up to a second added, a deadline of 300 s; 408, 429 and every 5xx retried,
/// and failures of the connection.
///
/// With the feature `http`, write `storage::send(request)` and not `REQUEST.send(request)`, which repeats a
/// delete without a precondition: the second delete may hit what somebody else has written meanwhile.
///
/// "Every 5xx" is the documentation's word and holds 501 and 505 too, which no repetition cures;
/// they cost some waits, and the service does not send them to a well-made request.
///
/// ```
/// use backoff_cloud::{retry, storage};
/// # use backoff_cloud::TimedOut as ApiError;
/// # struct Client;
/// # impl Client { async fn download(&self, _: &str) -> Result<Vec<u8>, ApiError> { Ok(vec![]) } }
///
/// #[retry(policy = storage::REQUEST, deadline = "60s")]
/// async fn object(client: &Client, name: &str) -> Result<Vec<u8>, ApiError> {
///     client.download(name).await
/// }
/// ```
///
/// Sources: <https://cloud.google.com/storage/docs/retry-strategy>,
/// <https://cloud.google.com/storage/docs/exponential-backoff>. The deadline is ours.
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(64))
    .jitter(Jitter::Additive(Duration::from_secs(1)))
    .deadline(Duration::from_secs(300))
    .on(codes![408, 429, 500..=599])
    .name("storage::REQUEST");

/// One request that must not be applied twice. As [`REQUEST`], but only what the service did not
/// do is repeated: 408, 429, a connection that was refused. A 503, or a reply that was lost, ends
/// with [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied).
///
/// Google's own clients do not retry such requests at all, unless told to; what is surely not
/// applied does no harm.
///
/// Source: <https://cloud.google.com/storage/docs/retry-strategy>, "Conditional idempotency".
pub const NOT_IDEMPOTENT: Policy = REQUEST.idempotent(false).name("storage::NOT_IDEMPOTENT");

/// A whole read-modify-write of an object or of its metadata: read it, change it, write it with
/// `ifGenerationMatch` (or `ifMetagenerationMatch`) of what was read.
///
/// As [`REQUEST`], and 412 starts the series anew. The jitter is full, because such retries
/// compete with each other: [`iam`](crate::iam) has the figures.
///
/// Use [`update`](Policy::update), as below. One request alone would be the same stale write each time, so
/// `READ_MODIFY_WRITE.send(request)` (feature `http`) does not repeat it after a 412.
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
///             is_new // after a lost reply, this is how the change recognises its own effect
///         },
///         |object| client.write("members.txt", object), // if the generation is what was read
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
    .name("storage::READ_MODIFY_WRITE");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Reply, Says, life, retries, table};
    use backoff_core::{Delivery, FaultKind, GrpcCode::*, StopReason, Verdict};

    #[test]
    fn the_documented_statuses_are_retried_and_no_other() {
        let statuses: Vec<u16> = [408, 429].into_iter().chain(500..600).collect();
        let codes = [
            Unknown,
            DeadlineExceeded,
            ResourceExhausted,
            Unimplemented,
            Internal,
            Unavailable,
        ];
        assert_eq!(table(&REQUEST), (statuses, codes.to_vec()));
    }

    #[test]
    fn a_precondition_that_does_not_hold_starts_only_the_series_anew() {
        for reply in [Reply(412, None), Reply(412, Some(FailedPrecondition))] {
            assert_eq!(REQUEST.judge(&reply), Verdict::Permanent);
            let anew = Verdict::Retry {
                kind: FaultKind::Conflict,
                retry_after: None,
            };
            assert_eq!(READ_MODIFY_WRITE.judge(&reply), anew);
        }
        let (mut statuses, mut codes) = table(&REQUEST);
        statuses.insert(1, 412);
        codes.insert(3, FailedPrecondition);
        assert_eq!(table(&READ_MODIFY_WRITE), (statuses, codes));
    }

    #[test]
    fn what_must_not_be_made_twice_is_repeated_only_where_it_was_not_applied() {
        let expected = (vec![408, 429], vec![ResourceExhausted]);
        assert_eq!(table(&NOT_IDEMPOTENT), expected);
        let broken = |transport| Says {
            transport: Some(transport),
            ..Says::default()
        };
        assert!(retries(&NOT_IDEMPOTENT, &broken(Delivery::NotSent)));
        for fault in [
            broken(Delivery::MaybeSent),
            Says {
                status: Some(503),
                ..Says::default()
            },
        ] {
            assert_eq!(NOT_IDEMPOTENT.judge(&fault), Verdict::MaybeApplied);
            assert!(retries(&REQUEST, &fault));
        }
    }

    #[test]
    fn the_documented_schedule_to_the_nanosecond() {
        let busy = Reply(503, None);
        let seconds = |s: &[u64]| s.iter().map(|s| Duration::from_secs(*s)).collect();
        let documented: Vec<_> = seconds(&[1, 2, 4, 8, 16, 32, 64, 64, 64]);
        let ended = Some(StopReason::Deadline);
        assert_eq!(life(&REQUEST, &busy, 0, 99), (documented, ended));
        let latest = seconds(&[2, 3, 5, 9, 17, 33, 64, 64, 64]);
        assert_eq!(life(&REQUEST, &busy, u64::MAX, 99), (latest, ended));
        let full: Vec<_> = seconds(&[1, 2, 4, 8, 16, 32, 64, 64]);
        let (waits, _) = life(&READ_MODIFY_WRITE, &busy, u64::MAX, 8);
        assert_eq!(waits, full);
        assert_eq!(life(&READ_MODIFY_WRITE, &busy, 0, 3).0, [Duration::ZERO; 3]);
    }
}
