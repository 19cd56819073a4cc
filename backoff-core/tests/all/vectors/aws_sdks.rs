//! The AWS SDKs: retry behaviour 2.1 and 2.0, with the test cases of their specification.

use super::{
    MOST, SECOND, TestError, ms,
    play::{Step, done, play, stop, wait},
};
use backoff_core::{
    Budget, Jitter, Policy,
    StopReason::{Attempts, Budget as NoTokens, Permanent},
};
use std::time::Duration;

/// The AWS SDKs' "standard" mode, revision 2.1.
const AWS_2_1: Policy = AWS_2_0
    .base(Duration::from_millis(50))
    .throttled_base(SECOND)
    .retry_after_slack(Duration::from_secs(5));

/// Revision 2.0.
const AWS_2_0: Policy = Policy::exponential()
    .max_backoff(Duration::from_secs(20))
    .jitter(Jitter::Full)
    .max_attempts(3);

/// What it shows, the policy, the tokens at the beginning, and the operations.
type Row<'a> = (&'a str, Policy, u32, &'a [&'a [Step]]);

#[test]
fn aws_standard_mode_2_1() {
    let rows: [Row<'_>; 11] = [
        (
            "success after retries",
            AWS_2_1,
            500,
            &[&[wait(500, 0.05, 486), wait(500, 0.1, 472), done(486)]],
        ),
        (
            "all attempts fail",
            AWS_2_1,
            500,
            &[&[
                wait(502, 0.05, 486),
                wait(502, 0.1, 472),
                stop(502, Attempts, 472),
            ]],
        ),
        (
            "20 tokens allow one retry",
            AWS_2_1,
            20,
            &[&[wait(500, 0.05, 6), stop(500, NoTokens, 6)]],
        ),
        (
            "no tokens, no retry",
            AWS_2_1,
            0,
            &[&[stop(500, NoTokens, 0)]],
        ),
        (
            "throttling",
            AWS_2_1,
            500,
            &[&[wait(429, 1.0, 495), done(500)]],
        ),
        (
            "only the last cost is given back",
            AWS_2_1,
            500,
            &[&[wait(500, 0.05, 486), wait(429, 2.0, 481), done(486)]],
        ),
        (
            "a timeout is transient",
            AWS_2_1,
            500,
            &[&[wait(TestError::LOST, 0.05, 486), done(500)]],
        ),
        (
            "a success without a retry gives 1, and nothing when full",
            AWS_2_1,
            498,
            &[&[done(499)], &[done(500)], &[done(500)]],
        ),
        (
            "what is not retried costs nothing and gives nothing",
            AWS_2_1,
            100,
            &[
                &[stop(404, Permanent, 100)],
                &[wait(500, 0.05, 86), stop(403, Permanent, 86)],
            ],
        ),
        (
            "the longest backoff",
            AWS_2_1.max_backoff(ms(200)).max_attempts(5),
            500,
            &[&[
                wait(500, 0.05, 486),
                wait(500, 0.1, 472),
                wait(500, 0.2, 458),
                wait(500, 0.2, 444),
                stop(500, Attempts, 444),
            ]],
        ),
        (
            "DynamoDB",
            AWS_2_1.base(ms(25)).max_attempts(4),
            500,
            &[&[
                wait(500, 0.025, 486),
                wait(500, 0.05, 472),
                wait(500, 0.1, 458),
                stop(500, Attempts, 458),
            ]],
        ),
    ];
    for (what, policy, tokens, operations) in rows {
        let source = format!("AWS SDKs, retry behaviour 2.1, {what}");
        let budget = Budget::aws().starting_with(tokens);
        play(&source, policy, budget, MOST, operations);
    }
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
        let source = format!("AWS SDKs, retry behaviour 2.1, x-amz-retry-after: {header}");
        let failed = TestError {
            hint: backoff_core::hint::retry_after_ms(header, std::time::SystemTime::now()),
            ..TestError::status(500)
        };
        let steps = [wait(failed, seconds, 486), done(500)];
        play(&source, AWS_2_1, Budget::aws(), MOST, &[&steps]);
    }
}

#[test]
fn aws_standard_mode_2_0() {
    let five = AWS_2_0.max_attempts(5);
    let rows: [Row<'_>; 8] = [
        (
            "success after retries",
            AWS_2_0,
            500,
            &[&[wait(500, 1.0, 495), wait(500, 2.0, 490), done(495)]],
        ),
        (
            "failure by the number of attempts",
            AWS_2_0,
            500,
            &[&[
                wait(502, 1.0, 495),
                wait(502, 2.0, 490),
                stop(502, Attempts, 490),
            ]],
        ),
        (
            "the quota is reached after a single retry",
            AWS_2_0,
            5,
            &[&[wait(500, 1.0, 0), stop(502, NoTokens, 0)]],
        ),
        (
            "no retry when the quota is 0",
            AWS_2_0,
            0,
            &[&[stop(500, NoTokens, 0)]],
        ),
        (
            "exponential timing",
            five,
            500,
            &[&[
                wait(500, 1.0, 495),
                wait(500, 2.0, 490),
                wait(500, 4.0, 485),
                wait(500, 8.0, 480),
                stop(500, Attempts, 480),
            ]],
        ),
        (
            "the longest backoff",
            five.max_backoff(3 * SECOND),
            500,
            &[&[
                wait(500, 1.0, 495),
                wait(500, 2.0, 490),
                wait(500, 3.0, 485),
                wait(500, 3.0, 480),
                stop(500, Attempts, 480),
            ]],
        ),
        (
            "the quota is exhausted",
            five,
            10,
            &[&[wait(500, 1.0, 5), wait(502, 2.0, 0), stop(503, NoTokens, 0)]],
        ),
        (
            "the quota recovers",
            five,
            15,
            &[
                &[wait(500, 1.0, 10), wait(502, 2.0, 5), done(10)],
                &[wait(500, 1.0, 5), done(10)],
            ],
        ),
    ];
    for (what, policy, tokens, operations) in rows {
        let source = format!("AWS SDKs, retry behaviour 2.0, test cases of standard mode: {what}");
        let budget = Budget::costs(500, 5, 5).starting_with(tokens);
        play(&source, policy, budget, MOST, operations);
    }
}
