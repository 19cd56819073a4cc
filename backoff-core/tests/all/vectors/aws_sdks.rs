//! The AWS SDKs: retry behaviour 2.1 and 2.0, with the test cases of their specification.

use super::{MOST, SECOND, ms, play::play};
use backoff_core::{Budget, Jitter, Policy};
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

/// Plays a table of the test cases: a name, the tokens at the beginning, and the operations.
fn check(source: &str, policy: Policy, budget: fn(u32) -> Budget, table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let columns: Vec<_> = line.split('|').map(str::trim).collect();
        let [name, tokens, operations] = columns[..] else {
            panic!("three columns: {line}");
        };
        let (source, budget) = (format!("{source}: {name}"), budget(tokens.parse().unwrap()));
        play(&source, policy, budget, MOST, operations);
    }
}

#[test]
fn aws_standard_mode_2_1() {
    let table = "
        success after retries           | 500 | 500 0.05 486, 500 0.1 472, ok 486
        all attempts fail               | 500 | 502 0.05 486, 502 0.1 472, 502 attempts 472
        20 tokens allow one retry       | 20  | 500 0.05 6, 500 budget 6
        no tokens, no retry             | 0   | 500 budget 0
        throttling                      | 500 | 429 1 495, ok 500
        only the last cost is given back | 500 | 500 0.05 486, 429 2 481, ok 486
        a timeout is transient          | 500 | lost 0.05 486, ok 500
        a success without a retry gives 1, and nothing when full | 498 | ok 499; ok 500; ok 500
        what is not retried costs nothing | 100 | 404 permanent 100; 500 0.05 86, 403 permanent 86
    ";
    let check = |policy, table| {
        let budget = |tokens| Budget::aws().starting_with(tokens);
        check("AWS SDKs, retry behaviour 2.1", policy, budget, table);
    };
    check(AWS_2_1, table);
    let longest = AWS_2_1.max_backoff(ms(200)).max_attempts(5);
    let table = "the longest backoff | 500 | 500 0.05 486, 500 0.1 472, 500 0.2 458, 500 0.2 444, 500 attempts 444";
    check(longest, table);
    let table = "DynamoDB | 500 | 500 0.025 486, 500 0.05 472, 500 0.1 458, 500 attempts 458";
    check(AWS_2_1.base(ms(25)).max_attempts(4), table);
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
        let hint = backoff_core::hint::retry_after_ms(header, std::time::SystemTime::now());
        let hint = hint.map_or(String::new(), |hint| format!("@{}", hint.as_millis()));
        let attempts = format!("500{hint} {seconds} 486, ok 500");
        play(&source, AWS_2_1, Budget::aws(), MOST, &attempts);
    }
}

#[test]
fn aws_standard_mode_2_0() {
    let check = |policy, table| {
        let source = "AWS SDKs, retry behaviour 2.0, test cases of standard mode";
        let budget = |tokens| Budget::costs(500, 5, 5).starting_with(tokens);
        check(source, policy, budget, table);
    };
    let table = "
        success after retries        | 500 | 500 1 495, 500 2 490, ok 495
        failure by the attempts      | 500 | 502 1 495, 502 2 490, 502 attempts 490
        one retry reaches the quota  | 5   | 500 1 0, 502 budget 0
        no retry when the quota is 0 | 0   | 500 budget 0
    ";
    check(AWS_2_0, table);
    let five = AWS_2_0.max_attempts(5);
    let table = "
        exponential timing     | 500 | 500 1 495, 500 2 490, 500 4 485, 500 8 480, 500 attempts 480
        the quota is exhausted | 10  | 500 1 5, 502 2 0, 503 budget 0
        the quota recovers     | 15  | 500 1 10, 502 2 5, ok 10; 500 1 5, ok 10
    ";
    check(five, table);
    let table =
        "the longest backoff | 500 | 500 1 495, 500 2 490, 500 3 485, 500 3 480, 500 attempts 480";
    check(five.max_backoff(3 * SECOND), table);
}
