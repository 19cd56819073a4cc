//! Rules of single presets, and of presets with another setting, beside what the tables of the page say.

use crate::{
    aws, azure, dynamodb, firestore, iam, memorystore,
    reply::{Says, broken, grpc, http, life, of_kind, table},
    s3, spanner,
};
use backoff_core::{
    Delivery::*,
    FaultKind::{Conflict, Throttled, Transient},
    GrpcCode::*,
    Policy, StopReason, Verdict,
    Verdict::Permanent,
};
use std::time::Duration;

const LEAST: u64 = 0;
const MOST: u64 = u64::MAX;

/// A reply of AWS with the status 400 and this code.
fn aws_code(code: &str) -> Says {
    Says {
        kind: aws::kind(code),
        ..http(400)
    }
}

#[test]
fn what_follows_from_a_code() {
    let again = |kind| Verdict::Retry {
        kind,
        retry_after: None,
    };
    let (throttled, conflict) = (again(Throttled), again(Conflict));
    let transient = again(Transient);
    let idempotent = firestore::TRANSACTION.idempotent(true);
    let standard = aws::STANDARD;
    let (one, rmw) = (dynamodb::REQUEST, dynamodb::READ_MODIFY_WRITE);
    let (s3_one, s3_update) = (s3::REQUEST, s3::READ_MODIFY_WRITE);
    // Codes without `Exception` are reasons of a transaction of DynamoDB that was cancelled.
    let lost_race = "ConditionalCheckFailedException TransactionConflictException \
                     ConditionalCheckFailed TransactionConflict";
    let refused = "ItemCollectionSizeLimitExceeded ValidationError None ValidationException";
    let limits = "ProvisionedThroughputExceeded ThrottlingError";
    let running = "ConditionalRequestConflict OperationAborted";
    for (policy, codes, verdict) in [
        (standard, "ValidationException", Permanent),
        (standard, "RequestTimeout IDPCommunicationError", transient),
        (standard, "RequestLimitExceeded", throttled),
        (one, "ConditionalCheckFailedException", Permanent),
        (rmw, lost_race, conflict),
        (rmw, limits, throttled),
        (rmw, refused, Permanent),
        (s3_one, running, transient),
        (s3_one, "PreconditionFailed", Permanent),
        (s3_one, "SlowDown", throttled),
        (s3_update, "PreconditionFailed", conflict),
        (s3_update, "BucketAlreadyExists", Permanent),
    ] {
        for code in codes.split(' ') {
            let judged = policy.judge(&aws_code(code));
            assert_eq!(judged, verdict, "{policy:?} after {code}");
        }
    }
    let careful = iam::AFTER_GRANT.idempotent(false);
    let limits = (vec![403, 429], vec![PermissionDenied, ResourceExhausted]);
    assert_eq!(table(&careful), limits);
    let lost_too = (vec![502, 503], vec![Aborted, Unavailable]);
    assert_eq!(table(&idempotent), lost_too);
}

/// A row: the policy, how each attempt fails, the greatest waits in milliseconds, and the end, if it comes
/// after these waits.
#[test]
fn a_hint_is_waited_within_the_limits_of_the_policy() {
    let attempts = Some(StopReason::Attempts);
    let too_long = Some(StopReason::RetryAfter);
    let (google, spanner) = (memorystore::REQUEST, spanner::TRANSACTION);
    let firestore = firestore::TRANSACTION;
    let azure_update = azure::READ_MODIFY_WRITE;
    let aws = aws::STANDARD.without_budget().max_attempts(2);
    let busy = |millis| http(429).hint(millis);
    let failed = |millis| http(500).hint(millis);
    let aborted = |millis| of_kind(Conflict).hint(millis);
    let thousand_years = 31_557_600_000_000;
    for (policy, says, waits, end) in [
        // At most three quarters of an hour.
        (google, busy(300_000), vec![300_000; 9], attempts),
        (google, busy(3_599_000), vec![], too_long),
        (azure::REQUEST, busy(7_500), vec![7_500; 3], attempts),
        (firestore, aborted(3_000), vec![3_000, 3_000, 4_000], None),
        (spanner, aborted(7_000), vec![7_000; 2], None),
        // Writers who are told the same time do not come back together.
        (
            iam::READ_MODIFY_WRITE,
            busy(1_500),
            vec![2_500, 2_000],
            None,
        ),
        (azure_update, busy(1_500), vec![2_300, 1_600], None),
        (spanner, aborted(thousand_years), vec![], too_long),
        // Up to 5 s longer than the own wait.
        (aws, failed(1_500), vec![1_500], attempts),
        (aws, failed(10_000), vec![5_050], attempts),
    ] {
        let first = waits.len() + usize::from(end.is_some());
        let waits = waits.into_iter().map(Duration::from_millis).collect();
        let played = life(&policy, &says, MOST, first);
        assert_eq!(played, (waits, end), "{policy:?} after {says:?}");
    }
}

/// All waits of a request that never gets the permission.
#[test]
fn a_grant_is_waited_for_beyond_the_seventh_minute() {
    for (random, growing, at_the_cap) in
        [(LEAST, [1, 2, 4, 8, 16], 14), (MOST, [2, 3, 5, 9, 17], 13)]
    {
        let seconds = growing.into_iter().chain(vec![32; at_the_cap]);
        let expected: Vec<_> = seconds.map(Duration::from_secs).collect();
        let last = expected.iter().sum::<Duration>().as_secs();
        assert!((420..=480).contains(&last), "{last}");
        let ended = Some(StopReason::Deadline);
        let played = life(&iam::AFTER_GRANT, &grpc(PermissionDenied), random, 99);
        assert_eq!(played, (expected, ended));
    }
}

/// A row: the policy, how each attempt fails, and how many tokens the retries take. The budgets are the
/// presets' own, and no other test uses them.
#[test]
fn what_retries_cost_a_quota() {
    let (request, rmw) = (dynamodb::REQUEST, dynamodb::READ_MODIFY_WRITE);
    let busy = aws_code("ThrottlingException");
    let throughput = aws_code("ProvisionedThroughputExceededException");
    let conflict = aws_code("a.v20120810#ConditionalCheckFailedException");
    for (policy, says, retries, tokens) in [
        (aws::STANDARD, http(500), 2, 28.0),
        (aws::STANDARD, broken(MaybeSent), 2, 28.0),
        (aws::STANDARD, busy, 2, 10.0),
        (request, http(500), 3, 42.0),
        (request, throughput, 3, 15.0),
        (rmw, conflict, 9, 0.0),
    ] {
        let budgets = [&aws::BUDGET, &dynamodb::BUDGET];
        let [aws, dynamodb] = budgets.map(|budget| budget.tokens());
        let (waits, ended) = life(&policy, &says, MOST, 99);
        let left = budgets.map(|budget| budget.tokens());
        let what = format!("{policy:?} after {says:?}");
        assert_eq!(waits.len(), retries, "{what}");
        assert_eq!(ended, Some(StopReason::Attempts), "{what}");
        let expected = if policy == aws::STANDARD {
            [aws - tokens, dynamodb]
        } else {
            [aws, dynamodb - tokens]
        };
        assert_eq!(left, expected, "{what}");
    }
    for budget in [&aws::BUDGET, &dynamodb::BUDGET] {
        budget.refill();
        assert_eq!((budget.capacity(), budget.tokens()), (500.0, 500.0));
    }
}

#[test]
fn the_other_advice_of_a_document_is_one_call() {
    let waits = |policy: Policy| Vec::from_iter(policy.schedule().map(|it| it.least.as_secs()));
    let shorter = memorystore::REQUEST.max_backoff(Duration::from_secs(32));
    assert_eq!(waits(shorter), [1, 2, 4, 8, 16, 32, 32, 32, 32]);
    let phone = memorystore::REQUEST.scaled(2.0).max_attempts(12);
    assert_eq!(waits(phone), [2, 4, 8, 16, 32, 64, 128, 128, 128, 128, 128]);
    let documented = iam::READ_MODIFY_WRITE.jitter(iam::DOCUMENTED_JITTER);
    for n in 0..10 {
        for random in [LEAST, 1 << 40, 1 << 63, MOST] {
            let wait = |policy: Policy| policy.backoff(n, Duration::ZERO, random);
            assert_eq!(wait(documented), wait(iam::REQUEST));
        }
    }
}

#[test]
fn the_codes_of_azure_say_what_their_status_leaves_open() {
    let passing = "OperationTimedOut InternalError ContainerBeingDeleted ShareBeingDeleted \
                   AnotherOperationInProgress StorageAccountOperationInProgress";
    for (codes, kind) in [
        ("ServerBusy TooManyRequests", Some(Throttled)),
        (passing, Some(Transient)),
        ("serverbusy ConditionNotMet AuthenticationFailed ", None),
    ] {
        for code in codes.split(' ') {
            assert_eq!(azure::kind(code), kind, "{code}");
        }
    }
}
