//! Google Cloud Firestore: transactions.
//!
//! A transaction that read what somebody else has changed since, or that waited too long for a
//! lock, fails with `ABORTED`, and the whole of it is to be made again, reads included: "Transaction
//! failure" on <https://cloud.google.com/firestore/docs/manage-data/transactions>. The documentation
//! leaves waits to the client libraries, which try "a finite number of times". The numbers here are
//! those of the one for Python
//! (<https://github.com/googleapis/python-firestore/blob/main/google/cloud/firestore_v1/base_transaction.py>):
//! five attempts; waits drawn from zero up to 1 s, doubling up to 30 s. Five is also what the other
//! clients document (<https://firebase.google.com/docs/reference/js/firestore_.transactionoptions>).
//! In a crowd five are few: `firestore::TRANSACTION.max_attempts(20)`.
//!
//! The client for Node.js does not wait after `ABORTED`, so that those who collided collide again,
//! and starts anew after nearly every other failure too, also of the commit, which may have been
//! applied (<https://github.com/googleapis/nodejs-firestore/pull/953>). Neither is copied here.
//!
//! Hand the id of the first transaction that failed to the next one
//! (`TransactionOptions.ReadWrite.retry_transaction`,
//! <https://cloud.google.com/firestore/docs/reference/rpc/google.firestore.v1#transactionoptions>),
//! so that the service can let it go first.
//!
//! Sources read on 2026-11-21.

use backoff_core::{Codes, Jitter, Policy, codes};
use std::time::Duration;

/// A whole transaction: begin, read, change, commit. `ABORTED` starts it anew, after the delay that
/// the server names in `google.rpc.RetryInfo` if that is longer than the backoff.
///
/// A commit whose reply was lost may have been applied, so `UNAVAILABLE` and a connection that
/// breaks end with [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), unless it was
/// surely not sent. If the transaction sees by what it reads that it has been made already, write
/// `TRANSACTION.idempotent(true)`, and those are retried as well. Its reads can have a policy of
/// their own: [`aip194::REQUEST`](crate::aip194::REQUEST).
///
/// ```
/// use backoff_cloud::{firestore, retry};
/// # use backoff_cloud::TimedOut as ApiError;
/// # struct Transaction;
/// # struct Client;
/// # impl Client {
/// #     async fn begin(&self) -> Result<Transaction, ApiError> { Ok(Transaction) }
/// #     async fn read(&self, _: &Transaction) -> Result<u64, ApiError> { Ok(1) }
/// #     async fn commit(&self, _: Transaction, _: u64) -> Result<(), ApiError> { Ok(()) }
/// # }
///
/// #[retry(policy = firestore::TRANSACTION)]
/// async fn count(client: &Client) -> Result<(), ApiError> {
///     let transaction = client.begin().await?;
///     let seen = client.read(&transaction).await?;
///     client.commit(transaction, seen + 1).await
/// }
/// ```
///
/// Source: <https://cloud.google.com/firestore/docs/manage-data/transactions>.
pub const TRANSACTION: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(30))
    .jitter(Jitter::Full)
    .max_attempts(5)
    .on(codes![502, 503, Codes::ABORTED])
    .retry_conflicts(true)
    .idempotent(false)
    .name("firestore::TRANSACTION");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Reply, Says, life, table};
    use backoff_core::{FaultKind, GrpcCode::*, StopReason, Verdict};

    #[test]
    fn aborted_alone_starts_the_transaction_anew() {
        assert_eq!(table(&TRANSACTION), (vec![], vec![Aborted]));
        let lost = Reply(503, Some(Unavailable));
        assert_eq!(TRANSACTION.judge(&lost), Verdict::MaybeApplied);
        let recognising = TRANSACTION.idempotent(true);
        let expected = (vec![502, 503], vec![Aborted, Unavailable]);
        assert_eq!(table(&recognising), expected);
    }

    #[test]
    fn the_schedule_to_the_nanosecond() {
        let aborted = Reply(409, Some(Aborted));
        let waits = [1, 2, 4, 8].map(Duration::from_secs).to_vec();
        let ended = Some(StopReason::Attempts);
        assert_eq!(life(&TRANSACTION, &aborted, u64::MAX, 99), (waits, ended));
        let (waits, _) = life(&TRANSACTION.max_attempts(9), &aborted, u64::MAX, 99);
        assert_eq!(waits[4..], [16, 30, 30, 30].map(Duration::from_secs));
    }

    #[test]
    fn the_servers_delay_is_waited() {
        let hinted = Says {
            kind: Some(FaultKind::Conflict),
            retry_after: Some(Duration::from_secs(3)),
            ..Says::default()
        };
        let (waits, _) = life(&TRANSACTION, &hinted, u64::MAX, 3);
        assert_eq!(waits, [3, 3, 4].map(Duration::from_secs));
    }
}
