//! Google Cloud Spanner: read-write transactions.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a whole read-write transaction | [`TRANSACTION`] |
//! | a read outside of a transaction | [`aip194::REQUEST`](crate::aip194::REQUEST) |
//!
#![doc = page_of!(spanner::TRANSACTION)]
//!
//! # What is retried
//!
//! `ABORTED`, and a request that was not sent. `UNAVAILABLE` and a broken connection end with
//! [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), because the commit may have been
//! applied. If the transaction can see in its reads that an earlier attempt was committed, write
//! `TRANSACTION.idempotent(true)`; then these failures are retried too.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{retry, spanner};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Transaction;
//! # struct Session;
//! # impl Session {
//! #     async fn begin(&self) -> Result<Transaction, ApiError> { Ok(Transaction) }
//! #     async fn execute(&self, _: &Transaction, _: &str) -> Result<(), ApiError> { Ok(()) }
//! #     async fn commit(&self, _: Transaction) -> Result<(), ApiError> { Ok(()) }
//! # }
//!
//! #[retry(policy = spanner::TRANSACTION, deadline = "60s")]
//! async fn pay(session: &Session) -> Result<(), ApiError> {
//!     let transaction = session.begin().await?;
//!     session.execute(&transaction, "UPDATE accounts SET balance = balance - 1").await?;
//!     session.commit(transaction).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { pay(&Session).await.unwrap() }
//! ```

use backoff_core::{Codes, Jitter, Policy, codes};
use std::time::Duration;

/// A whole read-write transaction. After `ABORTED` the whole transaction is repeated. The wait is the
/// longer one of the backoff and the delay that the server names.
///
/// Begin the next transaction in the same session, because there the priority of its locks rises with
/// each abort.
///
/// Sources, and what is not retried: [the module](self).
pub const TRANSACTION: Policy = Policy::exponential()
    .base(Duration::from_millis(250))
    .factor(1.3)
    .max_backoff(Duration::from_secs(32))
    .jitter(Jitter::Full)
    .deadline(Duration::from_secs(300))
    .on(codes![502, 503, Codes::ABORTED])
    .retry_conflicts(true)
    .idempotent(false)
    .name("spanner::TRANSACTION");
