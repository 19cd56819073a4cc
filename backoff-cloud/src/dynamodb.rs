//! Amazon DynamoDB: requests and conditional writes.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | one request | [`REQUEST`] |
//! | get an item, change it, put it back on the condition that its version is still the same | [`READ_MODIFY_WRITE`] |
//!
#![doc = page_of!(dynamodb::READ_MODIFY_WRITE)]
//!
//! # What is retried
//!
//! The failures of [`aws::STANDARD`]. [`READ_MODIFY_WRITE`] also retries conflicts, which [`kind`] finds by
//! the code of the error.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{FaultKind, Fault, dynamodb, retry};
//!
//! # #[derive(Debug)]
//! struct ApiError { code: String }
//! impl Fault for ApiError {
//!     fn kind(&self) -> Option<FaultKind> { dynamodb::kind(&self.code) }
//! }
//! # struct Client;
//! # impl Client { async fn get_item(&self, _: &str) -> Result<u64, ApiError> { Ok(1) } }
//!
//! #[retry(policy = dynamodb::REQUEST)]
//! async fn balance(client: &Client, account: &str) -> Result<u64, ApiError> {
//!     client.get_item(account).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert_eq!(balance(&Client, "a").await.unwrap(), 1) }
//! ```

use crate::aws;
use backoff_core::{Budget, FaultKind, Policy};
use std::time::Duration;

/// The budget of [`REQUEST`] and [`READ_MODIFY_WRITE`], with the numbers of [`aws::BUDGET`]. For another
/// region use a budget of your own: `REQUEST.budget(&MINE)`.
pub static BUDGET: Budget = Budget::aws().name("dynamodb::BUDGET");

/// One request: as [`aws::STANDARD`], with a base of 25 ms and 4 attempts. After throttling the base is 1 s,
/// as in [`aws::STANDARD`].
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** For a
/// write without a condition or a token that does harm the second time (`ADD`), write `idempotent = false`.
///
/// Source: <https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>.
pub const REQUEST: Policy = aws::STANDARD
    .base(Duration::from_millis(25))
    .max_attempts(4)
    .budget(&BUDGET)
    .name("dynamodb::REQUEST");

/// A whole read-modify-write: get the item, change it, put it back on the condition that its version is
/// still the one that was read. The failures of [`REQUEST`] and conflicts (by [`kind`]) are retried.
///
/// Source: <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/BestPractices_OptimisticLocking.html>.
/// The number of attempts is our choice.
pub const READ_MODIFY_WRITE: Policy = REQUEST
    .max_attempts(10)
    .retry_conflicts(true)
    .spread_retry_after(true)
    .name("dynamodb::READ_MODIFY_WRITE");

/// The kind of a DynamoDB error by its code. It is [`aws::kind`], which says that
/// `ConditionalCheckFailedException` and `TransactionConflictException` are conflicts.
///
/// A `TransactionCanceledException` names a reason for each item; call this function with the code of the
/// reason. (For an item without an error, DynamoDB sends the text `"None"` as the code.) For an unknown code the
/// result is `None`, and the status of the error decides.
///
/// ```
/// use backoff_cloud::{FaultKind, dynamodb};
///
/// assert_eq!(dynamodb::kind("ConditionalCheckFailedException"), Some(FaultKind::Conflict));
/// assert_eq!(dynamodb::kind("ProvisionedThroughputExceededException"), Some(FaultKind::Throttled));
/// assert_eq!(dynamodb::kind("ResourceNotFoundException"), None);
///
/// // The reasons of a transaction that was cancelled.
/// assert_eq!(dynamodb::kind("TransactionConflict"), Some(FaultKind::Conflict));
/// assert_eq!(dynamodb::kind("ThrottlingError"), Some(FaultKind::Throttled));
/// assert_eq!(dynamodb::kind("ValidationError"), None);
/// ```
///
/// Source: <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>.
pub fn kind(code: &str) -> Option<FaultKind> {
    aws::kind(code)
}
