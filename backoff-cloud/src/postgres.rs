//! PostgreSQL, and services that speak its language: transactions.
//!
//! A transaction that ends with a serialization failure or a deadlock is to be made again as a whole,
//! with the logic that decides what to write, and under much contention it may take many attempts
//! (<https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html>). The
//! documentation names no waits, so the numbers here are this crate's own. Those of
//! [`TRANSACTION`] were chosen by a measurement, which its page shows.

use backoff_core::{Codes, Jitter, Policy};
use std::time::Duration;

/// A whole transaction: begin, read, write, commit. A serialization failure (`40001`) and a deadlock
/// (`40P01`) start it anew; so does what was surely not applied: a lock that was not free
/// (`55P03`), a server that starts up or shuts down, a session that was terminated (`57P01`), a
/// replica that refuses to write (`25006`), no connection in time. The features `sqlx-09`, `sqlx-08`
/// and `tokio-postgres-07` say it of the clients' errors, and their pages have the whole table.
///
/// A connection that breaks during the transaction may have broken after the commit. So it ends
/// with [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), unless the transaction can
/// recognise its own effect. Then write `idempotent = true`, and it is made again:
///
/// ```
/// use backoff_cloud::{postgres, retry};
/// # use backoff_cloud::TimedOut as SqlError;
/// # struct Transaction;
/// # impl Transaction {
/// #     async fn execute(&mut self, _: &str) -> Result<u64, SqlError> { Ok(1) }
/// #     async fn commit(self) -> Result<(), SqlError> { Ok(()) }
/// # }
/// # struct Pool;
/// # impl Pool { async fn begin(&self) -> Result<Transaction, SqlError> { Ok(Transaction) } }
///
/// #[retry(policy = postgres::TRANSACTION, idempotent = true, timeout = "20s")]
/// async fn pay(pool: &Pool, id: &str) -> Result<(), SqlError> {
///     let mut transaction = pool.begin().await?;
///     // The id of the payment is unique in this table.
///     let insert = format!("INSERT INTO payments VALUES ('{id}') ON CONFLICT DO NOTHING");
///     if transaction.execute(&insert).await? == 0 {
///         return Ok(()); // an earlier attempt was committed, and its reply was lost
///     }
///     transaction.execute("UPDATE accounts SET balance = balance - 1").await?;
///     transaction.commit().await
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() { pay(&Pool, "1").await.unwrap() }
/// ```
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
    .idempotent(false);
