//! PostgreSQL, and services that speak its protocol: transactions.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a whole transaction: begin, read, write, commit | [`TRANSACTION`] |
//!
#![doc = page_of!(postgres::TRANSACTION)]
//!
//! # What is retried
//!
//! - A serialization failure (`40001`) and a deadlock (`40P01`).
//! - Failures that show that nothing was applied: a lock that was not free (`55P03`), a server that starts up
//!   or shuts down (`57P03`), a replica that refuses to write (`25006`), a connection that was not made in
//!   time. A write in a `READ ONLY` transaction is `25006` too; it is retried until the deadline, although a
//!   retry never helps.
//!
//! The features `sqlx-09`, `sqlx-08` and `tokio-postgres-07` read this from the errors of these clients;
//! their pages have the whole table.
//!
//! A connection that breaks may have broken after the commit, and the server may terminate a session
//! (`57P01`) after the commit. So these failures end with
//! [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied). If the transaction can see that an earlier
//! attempt was committed, write `idempotent = true`; then these failures are retried too, as in the example.
//! A failure before `COMMIT` was surely not applied: say so with `.map_err(NotApplied)`
//! ([`NotApplied`](crate::NotApplied)).
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{postgres, retry};
//! # use backoff_cloud::TimedOut as SqlError;
//! # struct Transaction;
//! # impl Transaction {
//! #     async fn execute(&mut self, _: &str, _: &[&str]) -> Result<u64, SqlError> { Ok(1) }
//! #     async fn commit(self) -> Result<(), SqlError> { Ok(()) }
//! # }
//! # struct Pool;
//! # impl Pool { async fn begin(&self) -> Result<Transaction, SqlError> { Ok(Transaction) } }
//!
//! #[retry(policy = postgres::TRANSACTION, idempotent = true, timeout = "20s")]
//! async fn pay(pool: &Pool, id: &str) -> Result<(), SqlError> {
//!     let mut transaction = pool.begin().await?;
//!     // The id of the payment is unique in this table.
//!     let insert = "INSERT INTO payments VALUES ($1) ON CONFLICT DO NOTHING";
//!     if transaction.execute(insert, &[id]).await? == 0 {
//!         return Ok(()); // an earlier attempt was committed, and its reply was lost
//!     }
//!     transaction.execute("UPDATE accounts SET balance = balance - 1", &[]).await?;
//!     transaction.commit().await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { pay(&Pool, "1").await.unwrap() }
//! ```

use backoff_core::{Codes, Jitter, Policy};
use std::time::Duration;

/// A whole transaction: begin, read, write, commit. It is repeated after a serialization failure, a
/// deadlock, and any failure that shows that nothing was applied.
///
/// Each attempt begins a transaction of its own, on a connection that works: take one from a pool, or open a
/// new one when the last one was closed. The database does not undo what an attempt does outside of the
/// transaction.
///
/// [The module](self) says what is retried and how the numbers were chosen, and has an example.
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
