//! The AWS SDKs: retry behaviour 2.1 and 2.0, with the test cases of their specification.

use super::{
    MOST, SECOND, ms,
    play::{Step, TIMEOUT, play, stops, succeeds, waits},
    status,
};
use backoff_core::{Budget, Jitter, Policy, StopReason};
use std::time::Duration;

/// The AWS SDKs' "standard" mode, revision 2.1.
const AWS_2_1: Policy = Policy::exponential()
    .base(Duration::from_millis(50))
    .throttled_base(SECOND)
    .max_backoff(Duration::from_secs(20))
    .jitter(Jitter::Full)
    .max_attempts(3)
    .retry_after_slack(Duration::from_secs(5));

#[test]
fn aws_standard_mode_2_1() {
    use StopReason::{Attempts, Budget as Spent, Permanent};
    let aws = Budget::aws;
    let play = |what, policy, budget, operations: &[&[Step]]| {
        let source = format!("AWS SDKs, retry behaviour 2.1, {what}");
        play(&source, policy, budget, MOST, operations);
    };
    play(
        "success after retries",
        AWS_2_1,
        aws(),
        &[&[
            waits(status(500), 0.05, 486.0),
            waits(status(500), 0.1, 472.0),
            succeeds(486.0),
        ]],
    );
    play(
        "all attempts fail",
        AWS_2_1,
        aws(),
        &[&[
            waits(status(502), 0.05, 486.0),
            waits(status(502), 0.1, 472.0),
            stops(status(502), Attempts, 472.0),
        ]],
    );
    play(
        "20 tokens pay for one retry",
        AWS_2_1,
        aws().starting_with(20),
        &[&[
            waits(status(500), 0.05, 6.0),
            stops(status(500), Spent, 6.0),
        ]],
    );
    play(
        "no tokens, no retry",
        AWS_2_1,
        aws().starting_with(0),
        &[&[stops(status(500), Spent, 0.0)]],
    );
    play(
        "throttling",
        AWS_2_1,
        aws(),
        &[&[waits(status(429), 1.0, 495.0), succeeds(500.0)]],
    );
    play(
        "only the last cost is given back",
        AWS_2_1,
        aws(),
        &[&[
            waits(status(500), 0.05, 486.0),
            waits(status(429), 2.0, 481.0),
            succeeds(486.0),
        ]],
    );
    play(
        "a timeout is transient",
        AWS_2_1,
        aws(),
        &[&[waits(TIMEOUT, 0.05, 486.0), succeeds(500.0)]],
    );
    play(
        "a success without a retry gives 1, and nothing when full",
        AWS_2_1,
        aws().starting_with(498),
        &[&[succeeds(499.0)], &[succeeds(500.0)], &[succeeds(500.0)]],
    );
    play(
        "what is not retried costs nothing and gives nothing",
        AWS_2_1,
        aws().starting_with(100),
        &[
            &[stops(status(404), Permanent, 100.0)],
            &[
                waits(status(500), 0.05, 86.0),
                stops(status(403), Permanent, 86.0),
            ],
        ],
    );
    play(
        "the longest backoff",
        AWS_2_1.max_backoff(ms(200)).max_attempts(5),
        aws(),
        &[&[
            waits(status(500), 0.05, 486.0),
            waits(status(500), 0.1, 472.0),
            waits(status(500), 0.2, 458.0),
            waits(status(500), 0.2, 444.0),
            stops(status(500), Attempts, 444.0),
        ]],
    );
    play(
        "DynamoDB",
        AWS_2_1.base(ms(25)).max_attempts(4),
        aws(),
        &[&[
            waits(status(500), 0.025, 486.0),
            waits(status(500), 0.05, 472.0),
            waits(status(500), 0.1, 458.0),
            stops(status(500), Attempts, 458.0),
        ]],
    );
}

#[cfg(feature = "hint")]
#[test]
fn aws_standard_mode_2_1_obeys_x_amz_retry_after_within_5_s() {
    // The header's text, then the wait in seconds, where the own wait is 50 ms.
    for (header, seconds) in [
        ("1500", 1.5),
        ("0", 0.05),
        ("10000", 5.05),
        ("invalid", 0.05),
        ("-100", 0.05),
    ] {
        let failed = super::Failed {
            hint: backoff_core::hint::retry_after_ms(header),
            ..status(500)
        };
        play(
            &format!("AWS SDKs, retry behaviour 2.1, x-amz-retry-after: {header}"),
            AWS_2_1,
            Budget::aws(),
            MOST,
            &[&[waits(failed, seconds, 486.0), succeeds(500.0)]],
        );
    }
}

#[test]
fn aws_standard_mode_2_0() {
    use StopReason::{Attempts, Budget as Spent};
    const POLICY: Policy = Policy::exponential()
        .max_backoff(Duration::from_secs(20))
        .jitter(Jitter::Full)
        .max_attempts(3);
    let bucket = || Budget::costs(500, 5, 5);
    let play = |what, policy, tokens, operations: &[&[Step]]| {
        let source = format!("AWS SDKs, retry behaviour 2.0, test cases of standard mode: {what}");
        let budget = bucket().starting_with(tokens);
        play(&source, policy, budget, MOST, operations);
    };
    play(
        "success after retries",
        POLICY,
        500,
        &[&[
            waits(status(500), 1.0, 495.0),
            waits(status(500), 2.0, 490.0),
            succeeds(495.0),
        ]],
    );
    play(
        "failure by the number of attempts",
        POLICY,
        500,
        &[&[
            waits(status(502), 1.0, 495.0),
            waits(status(502), 2.0, 490.0),
            stops(status(502), Attempts, 490.0),
        ]],
    );
    play(
        "the quota is reached after a single retry",
        POLICY,
        5,
        &[&[waits(status(500), 1.0, 0.0), stops(status(502), Spent, 0.0)]],
    );
    play(
        "no retry when the quota is 0",
        POLICY,
        0,
        &[&[stops(status(500), Spent, 0.0)]],
    );
    play(
        "exponential timing",
        POLICY.max_attempts(5),
        500,
        &[&[
            waits(status(500), 1.0, 495.0),
            waits(status(500), 2.0, 490.0),
            waits(status(500), 4.0, 485.0),
            waits(status(500), 8.0, 480.0),
            stops(status(500), Attempts, 480.0),
        ]],
    );
    play(
        "the longest backoff",
        POLICY.max_attempts(5).max_backoff(3 * SECOND),
        500,
        &[&[
            waits(status(500), 1.0, 495.0),
            waits(status(500), 2.0, 490.0),
            waits(status(500), 3.0, 485.0),
            waits(status(500), 3.0, 480.0),
            stops(status(500), Attempts, 480.0),
        ]],
    );
    play(
        "the quota is exhausted",
        POLICY.max_attempts(5),
        10,
        &[&[
            waits(status(500), 1.0, 5.0),
            waits(status(502), 2.0, 0.0),
            stops(status(503), Spent, 0.0),
        ]],
    );
    play(
        "the quota recovers",
        POLICY.max_attempts(5),
        15,
        &[
            &[
                waits(status(500), 1.0, 10.0),
                waits(status(502), 2.0, 5.0),
                succeeds(10.0),
            ],
            &[waits(status(500), 1.0, 5.0), succeeds(10.0)],
        ],
    );
}
