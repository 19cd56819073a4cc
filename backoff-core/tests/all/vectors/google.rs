//! Google Cloud: IAM, Memorystore, Cloud Tasks and the client libraries.

use super::{HALF, LEAST, MOST, SECOND, Series};
use backoff_core::{
    Jitter, Policy,
    StopReason::{Attempts, Deadline},
    codes,
};
use std::time::Duration;

const IAM: Policy = Policy::exponential()
    .max_backoff(Duration::from_secs(64))
    .jitter(Jitter::Additive(SECOND))
    .deadline(Duration::from_secs(300))
    .on(codes![500, 502, 503, 504]);

const MEMORYSTORE: Policy = Policy::exponential()
    .max_backoff(Duration::from_secs(32))
    .jitter(Jitter::Additive(SECOND))
    .max_attempts(8)
    .on(codes![429, 500..=599]);

/// Doubles three times, then grows by eight times the first.
fn cloud_tasks(retry: u32) -> Duration {
    let first = 10 * SECOND;
    match retry {
        0..=3 => first * 2u32.pow(retry),
        _ => first * 8 * (retry - 2),
    }
}

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    ("Google Cloud IAM, retry strategy: least random fraction",
        IAM, LEAST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0], Some(Deadline)),
    ("Google Cloud IAM, retry strategy: a random fraction of a half",
        IAM, HALF,
        &[1.5, 2.5, 4.5, 8.5, 16.5, 32.5, 64.0, 64.0, 64.0], Some(Deadline)),
    ("Google Cloud IAM, retry strategy: greatest random fraction",
        IAM, MOST,
        &[2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 64.0, 64.0, 64.0], Some(Deadline)),
    ("Memorystore for Redis, exponential backoff: 0 ms drawn",
        MEMORYSTORE, LEAST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0], Some(Attempts)),
    ("Memorystore for Redis, exponential backoff: 500 ms drawn",
        MEMORYSTORE, HALF,
        &[1.5, 2.5, 4.5, 8.5, 16.5, 32.0, 32.0], Some(Attempts)),
    ("Memorystore for Redis, exponential backoff: 1000 ms drawn",
        MEMORYSTORE, MOST,
        &[2.0, 3.0, 5.0, 9.0, 17.0, 32.0, 32.0], Some(Attempts)),
    ("Google api-core for Python, test_exponential_sleep_generator_base_2",
        Policy::exponential().max_backoff(Duration::from_secs(60)).max_attempts(1_000), MOST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0], None),
    // 15 + 16 would pass it, so the wait of 16 s is not begun.
    ("Google api-core for Python, test___call___and_execute_retry_hitting_deadline",
        Policy::exponential().max_backoff(Duration::from_secs(1_024))
            .deadline(Duration::from_millis(30_900)), MOST,
        &[1.0, 2.0, 4.0, 8.0], Some(Deadline)),
    ("Google Cloud Tasks, max_doublings: 10 s, 300 s, 3 doublings",
        Policy::custom(cloud_tasks).max_backoff(Duration::from_secs(300)).jitter(Jitter::None)
            .max_attempts(1_000), LEAST,
        &[10.0, 20.0, 40.0, 80.0, 160.0, 240.0, 300.0, 300.0], None),
];

/// Google HTTP Client Library for Java, `ExponentialBackOff`: the table of its documentation, with
/// the ends that it cuts to milliseconds.
#[test]
fn google_http_client_table() {
    const POLICY: Policy = Policy::exponential()
        .base(Duration::from_millis(500))
        .factor(1.5)
        .max_backoff(Duration::from_secs(60))
        .jitter(Jitter::Proportional(0.5));
    let table = [
        (500, 250, 750),
        (750, 375, 1_125),
        (1_125, 562, 1_687),
        (1_687, 843, 2_531),
        (2_531, 1_265, 3_796),
        (3_796, 1_898, 5_695),
        (5_695, 2_847, 8_542),
        (8_542, 4_271, 12_814),
        (12_814, 6_407, 19_221),
    ];
    for (retry, (middle, least, most)) in (0u32..).zip(table) {
        for (random, expected) in [(LEAST, least), (HALF, middle), (MOST, most)] {
            let wait = POLICY.backoff(retry, Duration::ZERO, random).as_nanos();
            let expected = u128::from(expected as u64) * 1_000_000;
            assert!(
                wait.abs_diff(expected) <= 1_000_000,
                "retry {retry}: {wait} ns, not {expected}"
            );
        }
    }
}
