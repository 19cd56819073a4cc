//! Amazon DynamoDB.
//!
//! As [`aws`], with the numbers that the SDKs have for this service
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>): a base of 25 ms,
//! because it answers fast, and 4 attempts, so that the last wait is comparable to the others'.
//!
//! A conditional write whose condition does not hold is the conflict of a read-modify-write
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/BestPractices_OptimisticLocking.html>).
//! The SDKs leave it to the caller; here it is [`READ_MODIFY_WRITE`] with [`kind`].
//!
//! Sources read on 2026-11-21.

use crate::aws;
use backoff_core::{Budget, FaultKind, Policy};
use std::time::Duration;

/// The quota that [`REQUEST`] and [`READ_MODIFY_WRITE`] draw from, as [`aws::BUDGET`]. For another
/// region: `REQUEST.budget(&MINE)`.
pub static BUDGET: Budget = Budget::aws().name("dynamodb::BUDGET");

/// One request: as [`aws::STANDARD`] with a base of 25 ms and 4 attempts. After throttling the base
/// is 1 s, as everywhere.
///
/// ```
/// use backoff_cloud::{FaultKind, Fault, dynamodb, retry};
///
/// struct ApiError { code: String }
/// impl Fault for ApiError {
///     fn kind(&self) -> Option<FaultKind> { dynamodb::kind(&self.code) }
/// }
/// # struct Client;
/// # impl Client { async fn get_item(&self, _: &str) -> Result<u64, ApiError> { Ok(1) } }
///
/// #[retry(policy = dynamodb::REQUEST)]
/// async fn balance(client: &Client, account: &str) -> Result<u64, ApiError> {
///     client.get_item(account).await
/// }
/// ```
///
/// Source: <https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>.
pub const REQUEST: Policy = aws::STANDARD
    .base(Duration::from_millis(25))
    .max_attempts(4)
    .budget(&BUDGET)
    .name("dynamodb::REQUEST");

/// A whole read-modify-write: get the item, change it, put it back on condition that its version is
/// what was read. As [`REQUEST`], and a conflict (by [`kind`]) starts the series anew.
///
/// The documentation names no number of attempts. Four are few against other writers, so here they
/// are 10, which wait up to 12.8 s in all. Conflicts cost no tokens.
///
/// Source: <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/BestPractices_OptimisticLocking.html>.
pub const READ_MODIFY_WRITE: Policy = REQUEST
    .max_attempts(10)
    .retry_conflicts(true)
    .name("dynamodb::READ_MODIFY_WRITE");

/// What the code of an error of DynamoDB says: as [`aws::kind`], by which
/// `ConditionalCheckFailedException` and `TransactionConflictException` are conflicts.
///
/// A `TransactionCanceledException` says in its reasons what befell each item; give the kind of the
/// reason. `Fault::kind` of an error without retryable code is `None`, and its status decides.
///
/// ```
/// use backoff_cloud::{FaultKind, dynamodb};
///
/// assert_eq!(dynamodb::kind("ConditionalCheckFailedException"), Some(FaultKind::Conflict));
/// assert_eq!(dynamodb::kind("ProvisionedThroughputExceededException"), Some(FaultKind::Throttled));
/// assert_eq!(dynamodb::kind("ResourceNotFoundException"), None);
/// ```
///
/// Source: <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>.
pub fn kind(code: &str) -> Option<FaultKind> {
    aws::kind(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Says, life, retries, table};
    use backoff_core::StopReason;

    fn coded(code: &str) -> Says {
        Says {
            status: Some(400),
            kind: kind(code),
            ..Says::default()
        }
    }

    #[test]
    fn retries_what_aws_retries() {
        assert_eq!(table(&REQUEST), table(&aws::STANDARD));
        assert_eq!(table(&READ_MODIFY_WRITE), table(&aws::STANDARD));
    }

    #[test]
    fn a_condition_that_does_not_hold_starts_only_the_series_anew() {
        for code in [
            "ConditionalCheckFailedException",
            "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
            "TransactionConflictException",
        ] {
            assert!(!retries(&REQUEST, &coded(code)), "{code}");
            assert!(retries(&READ_MODIFY_WRITE, &coded(code)), "{code}");
        }
        assert!(!retries(&READ_MODIFY_WRITE, &coded("ValidationException")));
    }

    #[test]
    fn the_documented_schedule_to_the_nanosecond() {
        static QUOTA: Budget = Budget::aws();
        let policy = REQUEST.budget(&QUOTA);
        let busy = Says {
            status: Some(500),
            ..Says::default()
        };
        let (waits, ended) = life(&policy, &busy, u64::MAX, 99);
        assert_eq!(waits, [25, 50, 100].map(Duration::from_millis));
        assert_eq!((ended, QUOTA.tokens()), (Some(StopReason::Attempts), 458.0));
        QUOTA.refill();
        let throttled = coded("ProvisionedThroughputExceededException");
        let (waits, _) = life(&policy, &throttled, u64::MAX, 99);
        assert_eq!(waits, [1, 2, 4].map(Duration::from_secs));
        assert_eq!(QUOTA.tokens(), 485.0);
    }

    #[test]
    fn conflicts_wait_12_s_at_most_and_cost_nothing() {
        static QUOTA: Budget = Budget::aws();
        let policy = READ_MODIFY_WRITE.budget(&QUOTA);
        let conflict = coded("ConditionalCheckFailedException");
        let (waits, ended) = life(&policy, &conflict, u64::MAX, 99);
        let slept: Duration = waits.iter().sum();
        assert_eq!(slept, Duration::from_millis(12_775));
        assert_eq!((ended, QUOTA.tokens()), (Some(StopReason::Attempts), 500.0));
    }
}
