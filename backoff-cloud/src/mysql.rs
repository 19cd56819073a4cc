//! MySQL and MariaDB: transactions.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a whole transaction: begin, read, write, commit | [`TRANSACTION`] |
//!
#![doc = page_of!(mysql::TRANSACTION)]
//!
//! # What is retried
//!
//! The features `sqlx-09-mysql` and `sqlx-08-mysql` bring sqlx's driver and read the number of an error. The SQLSTATE
//! alone, which sqlx knows without them, tells the deadlock and the full server, and not the others.
//!
//! | number | meaning | |
//! |---|---|---|
//! | 1213, 1614; 1180 with error 149 | a deadlock: the transaction was rolled back | the whole transaction is repeated |
//! | 1020, 3101 | the row has changed since it was read (MariaDB with `innodb_snapshot_isolation`, its default since 11.6.2); another member of the group was faster | the same |
//! | 1205, 3572 | a lock was not free in time, or at once (`NOWAIT`) | the whole transaction is repeated, so it must be rolled back: sqlx does that when the transaction is dropped |
//! | 1040, 1203; 1226 for connections | too many connections | throttled |
//! | 1836; 1290 whose text names `read-only` or `read_only` | the server is read-only | another connection is needed |
//! | 1047 whose text names `WSREP` | the node of a Galera cluster is not ready | the same |
//! | 3032, 3168 | the server is in offline mode, or not available: it takes no session | the same |
//! | 1053, 1927, 2006, 2013, 3169, 4031 | the connection was closed or killed | perhaps applied |
//! | 3024 | a query took longer than its limit | final: it would take as long again |
//! | every other, also 1290 for another option such as `secure_file_priv` | | final |
//!
//! A connection that breaks may have broken after the commit, so such a failure ends with
//! [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied). If the transaction can see that an earlier attempt was
//! committed, write `idempotent = true`. A failure before `COMMIT` was surely not applied: say so with
//! `.map_err(NotApplied)` ([`NotApplied`](crate::NotApplied)).
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{mysql, retry};
//! # use backoff_cloud::TimedOut as SqlError;
//! # struct Transaction;
//! # impl Transaction {
//! #     async fn execute(&mut self, _: &str) -> Result<u64, SqlError> { Ok(1) }
//! #     async fn commit(self) -> Result<(), SqlError> { Ok(()) }
//! # }
//! # struct Pool;
//! # impl Pool { async fn begin(&self) -> Result<Transaction, SqlError> { Ok(Transaction) } }
//!
//! #[retry(policy = mysql::TRANSACTION, timeout = "20s")]
//! async fn pay(pool: &Pool) -> Result<(), SqlError> {
//!     let mut transaction = pool.begin().await?;
//!     transaction.execute("UPDATE accounts SET balance = balance - 1").await?;
//!     transaction.commit().await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { pay(&Pool).await.unwrap() }
//! ```

use crate::postgres;
use backoff_core::Policy;

/// A whole transaction: begin, read, write, commit. It is repeated after a deadlock, after a lock that was not free in
/// time, and after any failure that shows that nothing was applied.
///
/// Each attempt begins a transaction of its own, on a connection that works.
///
/// [The module](self) says what is retried, and has an example.
pub const TRANSACTION: Policy = postgres::TRANSACTION.name("mysql::TRANSACTION");
