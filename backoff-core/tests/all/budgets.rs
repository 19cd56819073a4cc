//! Retries take tokens of a budget in every form of a call. A budget for one call replaces its policy's.
use crate::common::{
    forms::{BUSY, PLAIN, SECOND, call, check},
    time::Time,
};
use backoff_core::{Budget, Policy, StopReason};
use std::future::ready;

const POLICY: Policy = PLAIN.max_attempts(8);

#[test]
fn budgets() {
    let table = "
        until too few are left            | budget costs 25 | error 503                 | 0 1 3; at 3 budget: error 503 [15 5 5 5]
        by the kind of the failure        | budget costs 16 | error 503, error 429      | 0 1 3; at 3 budget: error 429 [6 1 1 1]
        a success gives the last cost back | budget costs 50 | error 503, error 503, 200 | 0 1 3; at 3: 200 [40 30 40 40]
        and no more than that             | budget costs 40 | error 503, error 429, 200 | 0 1 3; at 3: 200 [30 25 30 30]
        a success at once gives one       | budget costs 30 | 200                       | 0; at 0: 200 [31]
        a success gives its share         | budget ratio 0.5 10 4 | error 503, 200      | 0 1; at 1: 200 [3 3.5 3.5]
        gRPC's costs a token a failure    | max_attempts 2, budget grpc 10 0.5 | error 503 | 0 1; at 1 attempts: error 503 [9 8 8]
        and none for what is permanent    | budget grpc 10 0.5 | error 404 | 0; at 0 permanent: error 404 [10 10]
        attempts that are cut | budget costs 25, attempt_timeout 3 | hangs | 0 4 9; at 12 budget: error cut after 3s [15 5 5 5]
    ";
    check(call(POLICY), table);
    // A layer repeats no conflict: it would have to read again.
    let conflicts = "
        conflicts cost nothing | budget costs 0 | error conflict, error conflict, 200 | 0 1 3; at 3: 200 [0 0 1 1]
        but layer | 0; at 0 permanent: error Conflict [0 0]
    ";
    check(call(POLICY.retry_conflicts(true)), conflicts);
}

#[test]
fn the_one_named_last_counts_with_waits_of_its_own_too() {
    static DRY: Budget = Budget::costs(100, 10, 5).starting_with(0);
    let [first, last] = [50, 20].map(|tokens| Budget::costs(100, 10, 5).starting_with(tokens));
    let policy = POLICY.budget(&DRY);
    let retry = policy.retry(|| ready(Err::<(), _>(BUSY)));
    let retry = retry.budget(&first).budget(&last).delays([SECOND; 8]);
    let time = Time::default();
    let gave_up = time
        .run(retry.runtime(time.clone()).reported())
        .unwrap_err();
    let ended = (gave_up.reason, gave_up.report.attempts);
    assert_eq!(ended, (StopReason::Budget, 3));
    let left = [&DRY, &first, &last].map(Budget::tokens);
    assert_eq!(left, [0.0, 50.0, 0.0]);
}
