//! PostgreSQL, and services that speak its language: transactions.
//!
//! A transaction that ends with a serialization failure or a deadlock is to be made again as a whole,
//! with the logic that decides what to write, and under much contention it may take many attempts
//! (<https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html>). The
//! documentation names no waits, so the numbers here are this crate's own. Those of
//! [`TRANSACTION`] were chosen by a measurement, which its page shows.
//!
//! Sources read on 2026-11-22.

use backoff_core::{Codes, Jitter, Policy};
use std::time::Duration;

/// A whole transaction: begin, read, write, commit. A serialization failure (`40001`) and a deadlock
/// (`40P01`) start it anew; so does what was surely not applied: a lock that was not free
/// (`55P03`), a server that starts up or shuts down (`57P03`), a replica that refuses to write
/// (`25006`), no connection in time. A write in a `READ ONLY` transaction is `25006` too, and is
/// repeated until the deadline, although no repetition helps. The features `sqlx-09`, `sqlx-08`
/// and `tokio-postgres-07` say it of the clients' errors, and their pages have the whole table.
///
/// A connection that breaks during the transaction may have broken after the commit, and a session
/// may be terminated (`57P01`) after it. So the transaction ends with
/// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), unless the transaction can
/// recognise its own effect. Then write `idempotent = true`, and it is made again. (What fails before
/// `COMMIT` was surely not applied: `.map_err(NotApplied)` says so, by
/// [`NotApplied`](crate::NotApplied).)
///
/// ```
/// use backoff_cloud::{postgres, retry};
/// # use backoff_cloud::TimedOut as SqlError;
/// # struct Transaction;
/// # impl Transaction {
/// #     async fn execute(&mut self, _: &str, _: &[&str]) -> Result<u64, SqlError> { Ok(1) }
/// #     async fn commit(self) -> Result<(), SqlError> { Ok(()) }
/// # }
/// # struct Pool;
/// # impl Pool { async fn begin(&self) -> Result<Transaction, SqlError> { Ok(Transaction) } }
///
/// #[retry(policy = postgres::TRANSACTION, idempotent = true, timeout = "20s")]
/// async fn pay(pool: &Pool, id: &str) -> Result<(), SqlError> {
///     let mut transaction = pool.begin().await?;
///     // The id of the payment is unique in this table.
///     let insert = "INSERT INTO payments VALUES ($1) ON CONFLICT DO NOTHING";
///     if transaction.execute(insert, &[id]).await? == 0 {
///         return Ok(()); // an earlier attempt was committed, and its reply was lost
///     }
///     transaction.execute("UPDATE accounts SET balance = balance - 1", &[]).await?;
///     transaction.commit().await
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() { pay(&Pool, "1").await.unwrap() }
/// ```
///
/// # The numbers
///
/// Sixteen writers who made 20 serializable transactions each on four rows, mean of four runs
/// (PostgreSQL 15 and the writers on the same two cores):
///
/// | base | conflicts | time |
/// |---|---|---|
/// | 1 ms | 342 | 2.6 s |
/// | 5 ms | 235 | 1.9 s |
/// | 10 ms | 158 | 1.4 s |
/// | 20 ms | 126 | 1.8 s |
/// | 50 ms | 95 | 1.7 s |
/// | 100 ms | 70 | 1.5 s |
///
/// A base of 10 ms has half the conflicts of 1 ms, and a longer one makes a lone conflict wait longer
/// without an end that comes sooner. Where a transaction takes longer than these, which took some
/// milliseconds, take its duration for a base. The full jitter parts those who collided. No wait is
/// longer than 1 s, so that nobody notices the end of a failover much later than it ends; a server
/// that has no connection to give is asked after up to 100 ms first. The deadline of 30 s outlasts a
/// restart.
///
/// An attempt begins with a transaction of its own, on a connection that works: one of a pool, or one
/// that is opened when the last was closed. What the attempt does outside of the transaction is not
/// undone.
pub const TRANSACTION: Policy = Policy::exponential()
    .base(Duration::from_millis(10))
    .throttled_base(Duration::from_millis(100))
    .max_backoff(Duration::from_secs(1))
    .jitter(Jitter::Full)
    .deadline(Duration::from_secs(30))
    .on(Codes::NONE)
    .retry_conflicts(true)
    .idempotent(false)
    .name("postgres::TRANSACTION");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Says, life, retries, table};
    use backoff_core::{Delivery, FaultKind, StopReason, Verdict};

    fn says(kind: FaultKind, transport: Option<Delivery>) -> Says {
        Says {
            kind: Some(kind),
            transport,
            ..Says::default()
        }
    }

    #[test]
    fn what_was_not_applied_starts_the_transaction_anew() {
        let not_sent = Some(Delivery::NotSent);
        for kind in [
            FaultKind::Conflict,
            FaultKind::Transient,
            FaultKind::Throttled,
        ] {
            assert!(retries(&TRANSACTION, &says(kind, not_sent)), "{kind:?}");
        }
        let permanent = says(FaultKind::Permanent, None);
        assert_eq!(TRANSACTION.judge(&permanent), Verdict::Permanent);
        assert_eq!(table(&TRANSACTION), (vec![], vec![]));
    }

    #[test]
    fn what_may_have_been_committed_does_not_unless_it_is_idempotent() {
        let broken = says(FaultKind::Transient, Some(Delivery::MaybeSent));
        assert_eq!(TRANSACTION.judge(&broken), Verdict::MaybeApplied);
        assert!(retries(&TRANSACTION.idempotent(true), &broken));
    }

    #[test]
    fn the_schedule_to_the_nanosecond() {
        let millis = [10, 20, 40, 80, 160, 320, 640, 1000, 1000];
        let conflict = says(FaultKind::Conflict, None);
        let (waits, _) = life(&TRANSACTION, &conflict, u64::MAX, 9);
        assert_eq!(waits, millis.map(Duration::from_millis));
        let (waits, _) = life(&TRANSACTION, &conflict, 0, 9);
        assert_eq!(waits, [Duration::ZERO; 9]);
        let (waits, ended) = life(&TRANSACTION, &conflict, u64::MAX, 99);
        assert_eq!((waits.len(), ended), (35, Some(StopReason::Deadline)));
        let full = says(FaultKind::Throttled, None);
        let (waits, _) = life(&TRANSACTION, &full, u64::MAX, 5);
        assert_eq!(waits, [100, 200, 400, 800, 1000].map(Duration::from_millis));
    }
}
