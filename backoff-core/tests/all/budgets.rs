//! Retries take tokens of a budget in every form of a call. A budget for one call replaces its policy's.
use crate::common::{
    Scripted, at_once,
    error::TestError,
    forms::{BUSY, HANGS, Kind, PLAIN, SECOND, call, check, fails, gives, row},
};
use backoff_core::{Budget, Policy, StopReason};
use std::future::ready;

const TOO_FAST: TestError = TestError::status(429);
const POLICY: Policy = PLAIN.max_attempts(8);

/// A retry costs ten tokens, a retry after throttling five.
const fn costs(tokens: u32) -> Budget {
    Budget::costs(100, 10, 5).starting_with(tokens)
}

#[test]
fn budgets() {
    check(&[
        row(
            "retries take tokens until too few are left",
            call(POLICY).budget(|| costs(25)),
            &[fails(BUSY)],
            "0 1 3; at 3 budget: error 503 [15 5 5 5]",
        ),
        row(
            "a retry costs tokens by the kind of the failure",
            call(POLICY).budget(|| costs(16)),
            &[fails(BUSY), fails(TOO_FAST)],
            "0 1 3; at 3 budget: error 429 [6 1 1 1]",
        ),
        row(
            "a success gives back what the last retry cost",
            call(POLICY).budget(|| costs(50)),
            &[fails(BUSY), fails(BUSY), gives(200)],
            "0 1 3; at 3: 200 [40 30 40 40]",
        ),
        row(
            "and no more than that",
            call(POLICY).budget(|| costs(40)),
            &[fails(BUSY), fails(TOO_FAST), gives(200)],
            "0 1 3; at 3: 200 [30 25 30 30]",
        ),
        row(
            "a success at once gives one",
            call(POLICY).budget(|| costs(30)),
            &[gives(200)],
            "0; at 0: 200 [31]",
        ),
        row(
            "a success gives its share",
            call(POLICY).budget(|| Budget::ratio(0.5, 10).starting_with(4)),
            &[fails(BUSY), gives(200)],
            "0 1; at 1: 200 [3 3.5 3.5]",
        ),
        row(
            "gRPC's costs a token a failure, retried or not",
            call(POLICY.max_attempts(2)).budget(|| Budget::grpc(10, 0.5)),
            &[fails(BUSY)],
            "0 1; at 1 attempts: error 503 [9 8 8]",
        ),
        row(
            "and none for what is permanent",
            call(POLICY).budget(|| Budget::grpc(10, 0.5)),
            &[fails(TestError::status(404))],
            "0; at 0 permanent: error 404 [10 10]",
        ),
        row(
            "conflicts cost nothing",
            call(POLICY.retry_conflicts(true)).budget(|| costs(0)),
            &[
                fails(TestError::CONFLICT),
                fails(TestError::CONFLICT),
                gives(200),
            ],
            "0 1 3; at 3: 200 [0 0 1 1]",
        )
        // A layer repeats no conflict: it would have to read again.
        .but(
            |form| form.kind == Kind::Layer,
            "0; at 0 permanent: error Conflict [0 0]",
        ),
        row(
            "attempts that are cut",
            call(POLICY)
                .budget(|| costs(25))
                .attempt_timeout(3 * SECOND),
            &[HANGS],
            "0 4 9; at 12 budget: error cut after 3s [15 5 5 5]",
        ),
    ]);
}

#[test]
fn the_one_named_last_counts_with_waits_of_its_own_too() {
    static DRY: Budget = costs(0);
    let [first, last] = [50, 20].map(costs);
    let policy = POLICY.budget(&DRY);
    let retry = policy.retry(|| ready(Err::<(), _>(BUSY)));
    let retry = retry.budget(&first).budget(&last).delays([SECOND; 8]);
    let gave_up = at_once(retry.runtime(Scripted::default()).reported()).unwrap_err();
    let ended = (gave_up.reason, gave_up.report.attempts);
    assert_eq!(ended, (StopReason::Budget, 3));
    let left = [&DRY, &first, &last].map(Budget::tokens);
    assert_eq!(left, [0.0, 50.0, 0.0]);
}
