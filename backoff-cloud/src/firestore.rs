//! Google Cloud Firestore: transactions.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a whole transaction | [`TRANSACTION`] |
//! | a read outside of a transaction | [`aip194::REQUEST`](crate::aip194::REQUEST) |
//!
#![doc = page_of!(firestore::TRANSACTION)]
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
//! Give the id of the first failed transaction to the next one
//! (`TransactionOptions.ReadWrite.retry_transaction`,
//! <https://cloud.google.com/firestore/docs/reference/rpc/google.firestore.v1#transactionoptions>). Then the
//! service can prefer it.
//!
//! ```
//! use backoff_cloud::{firestore, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Transaction;
//! # struct Client;
//! # impl Client {
//! #     async fn begin(&self) -> Result<Transaction, ApiError> { Ok(Transaction) }
//! #     async fn read(&self, _: &Transaction) -> Result<u64, ApiError> { Ok(1) }
//! #     async fn commit(&self, _: Transaction, _: u64) -> Result<(), ApiError> { Ok(()) }
//! # }
//!
//! #[retry(policy = firestore::TRANSACTION)]
//! async fn count(client: &Client) -> Result<(), ApiError> {
//!     let transaction = client.begin().await?;
//!     let seen = client.read(&transaction).await?;
//!     client.commit(transaction, seen + 1).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { count(&Client).await.unwrap() }
//! ```

use backoff_core::{Codes, Jitter, Policy, codes};
use std::time::Duration;

/// A whole transaction: begin, read, change, commit. After `ABORTED` the whole transaction is repeated.
/// The wait is the longer one of the backoff and the delay that the server names in
/// `google.rpc.RetryInfo`.
///
/// Sources, and what is not retried: [the module](self).
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
