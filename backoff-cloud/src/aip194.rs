//! Any Google API: what AIP-194, "Automatic retry configuration" (<https://google.aip.dev/194>),
//! lets a client repeat.
//!
//! Only `UNAVAILABLE`. Among what is not to be repeated by itself are codes that other policies
//! retry, each for a reason:
//!
//! | code | why not |
//! |---|---|
//! | `ABORTED` | a transaction or a check failed: start the whole series anew, as [`iam::READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE), [`firestore`](crate::firestore) and [`spanner`](crate::spanner) do |
//! | `RESOURCE_EXHAUSTED` | perhaps a quota for hours; where the service means a short limit, `.also_on(codes![429])` |
//! | `INTERNAL`, `UNKNOWN` | a bug to be seen, and perhaps applied |
//! | `DEADLINE_EXCEEDED`, `CANCELLED` | the application said so |
//! | `DATA_LOSS` | nothing brings it back |
//!
//! And only requests that may be made twice without harm, that are no part of a transaction, and
//! that are not streams. For a request of which the first is not true take
//! [`NOT_IDEMPOTENT`].
//!
//! The AIP says nothing of waits and ends. They are those of Google's own Rust client, google-cloud-gax,
//! whose strict policy is named after the AIP (<https://docs.rs/google-cloud-gax>): drawn from zero
//! up to 1 s, doubling up to 60 s, ten attempts within 60 s. Unlike it, these honour `Retry-After`
//! and `google.rpc.RetryInfo`.
//!
//! Sources read on 2026-11-21.

use backoff_core::{Jitter, Policy, codes};
use std::time::Duration;

/// One idempotent request: `UNAVAILABLE`, 503 without a code, and failures of the connection are
/// retried.
///
/// ```
/// use backoff_cloud::{GrpcCode, Fault, Verdict, aip194};
///
/// struct Status(GrpcCode);
/// impl Fault for Status {
///     fn grpc_code(&self) -> Option<GrpcCode> { Some(self.0) }
/// }
///
/// let verdict = |code| aip194::REQUEST.judge(&Status(code));
/// assert!(matches!(verdict(GrpcCode::Unavailable), Verdict::Retry { .. }));
/// assert_eq!(verdict(GrpcCode::Internal), Verdict::Permanent);
/// ```
///
/// Source: <https://google.aip.dev/194>; for the waits see [the module](self).
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(60))
    .jitter(Jitter::Full)
    .max_attempts(10)
    .deadline(Duration::from_secs(60))
    .on(codes![503])
    .name("aip194::REQUEST");

/// One request that must not be made twice: repeated only where it was surely not sent. The AIP
/// would not repeat it at all; what was never sent changes nothing.
///
/// Source: <https://google.aip.dev/194>.
pub const NOT_IDEMPOTENT: Policy = REQUEST.idempotent(false).name("aip194::NOT_IDEMPOTENT");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Reply, Says, life, retries, table};
    use backoff_core::{Delivery, GrpcCode, StopReason};

    #[test]
    fn unavailable_alone_is_retried() {
        assert_eq!(table(&REQUEST), (vec![503], vec![GrpcCode::Unavailable]));
        assert_eq!(table(&NOT_IDEMPOTENT), (vec![], vec![]));
        let broken = |transport| Says {
            transport: Some(transport),
            ..Says::default()
        };
        assert!(retries(&REQUEST, &broken(Delivery::MaybeSent)));
        assert!(!retries(&NOT_IDEMPOTENT, &broken(Delivery::MaybeSent)));
        assert!(retries(&NOT_IDEMPOTENT, &broken(Delivery::NotSent)));
    }

    #[test]
    fn the_schedule_to_the_nanosecond() {
        let busy = Reply(503, Some(GrpcCode::Unavailable));
        let waits = [1, 2, 4, 8, 16].map(Duration::from_secs).to_vec();
        let ended = Some(StopReason::Deadline);
        assert_eq!(life(&REQUEST, &busy, u64::MAX, 99), (waits, ended));
        let (waits, ended) = life(&REQUEST, &busy, 0, 99);
        assert_eq!(waits, [Duration::ZERO; 9]);
        assert_eq!(ended, Some(StopReason::Attempts));
    }
}
