//! SQLite: transactions of several connections or processes on one file.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a whole transaction: begin, read, write, commit | [`TRANSACTION`] |
//!
#![doc = page_of!(sqlite::TRANSACTION)]
//!
//! # What is retried
//!
//! The features `sqlx-09` and `sqlx-08` read the extended code from sqlx's errors.
//!
//! | code | meaning | |
//! |---|---|---|
//! | 5 `SQLITE_BUSY` and its extended codes | another connection writes | the whole transaction is repeated |
//! | 517 `SQLITE_BUSY_SNAPSHOT` | somebody has written since this transaction read | the whole transaction is repeated; the statement alone would never succeed |
//! | 6 `SQLITE_LOCKED` and its extended codes | another statement of the same connection, or of a shared cache | the whole transaction is repeated |
//! | every other | | final |
//!
//! SQLite itself waits for a lock as long as `busy_timeout` says (5 s in sqlx), but not where a transaction that has read
//! wants to write: it fails at once. `BEGIN IMMEDIATE` (sqlx: `begin_with("BEGIN IMMEDIATE")`) takes the lock at the
//! beginning, so that such a failure cannot happen.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{retry, sqlite};
//! # mod sqlx { pub use backoff_cloud::TimedOut as Error; }
//! # struct Transaction;
//! # impl Transaction {
//! #     async fn execute(&mut self, _: &str) -> Result<u64, sqlx::Error> { Ok(1) }
//! #     async fn commit(self) -> Result<(), sqlx::Error> { Ok(()) }
//! # }
//! # struct SqlitePool;
//! # impl SqlitePool { async fn begin_with(&self, _: &str) -> Result<Transaction, sqlx::Error> { Ok(Transaction) } }
//!
//! #[retry(policy = sqlite::TRANSACTION, timeout = "20s")]
//! async fn pay(pool: &SqlitePool) -> Result<(), sqlx::Error> {
//!     let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
//!     transaction.execute("UPDATE accounts SET balance = balance - 1").await?;
//!     transaction.commit().await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { pay(&SqlitePool).await.unwrap() }
//! ```

use crate::postgres;
use backoff_core::Policy;

/// A whole transaction: begin, read, write, commit. It is repeated while another connection holds a lock.
///
/// Each attempt begins a transaction of its own, so the failed one must be rolled back: sqlx does that when the
/// transaction is dropped.
///
/// [The module](self) says what is retried, and has an example.
pub const TRANSACTION: Policy = postgres::TRANSACTION.name("sqlite::TRANSACTION");
