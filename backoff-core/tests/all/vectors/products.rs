//! Other services and libraries. Each has one row or two.

use super::{EXPONENTIAL, HALF, LEAST, MOST, SECOND, Series, ms};
use backoff_core::{Jitter, Policy, StopReason::Attempts};
use std::time::Duration;

/// The retry's number squared, times 3 s.
fn graph(retry: u32) -> Duration {
    3 * SECOND * (retry + 1).pow(2)
}

/// Nothing before the first retry.
fn urllib3(retry: u32) -> Duration {
    match retry {
        0 => Duration::ZERO,
        _ => ms(100) * 2u32.pow(retry),
    }
}

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    ("Kubernetes, CrashLoopBackOff: 10 s, doubling, capped at five minutes",
        EXPONENTIAL.base(Duration::from_secs(10)).max_backoff(Duration::from_secs(300)), LEAST,
        &[10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0], None),
    ("Microsoft Graph, retry handler: 3 s times n², at most 180 s, 10 retries",
        Policy::custom(graph).max_backoff(Duration::from_secs(180)).jitter(Jitter::None)
            .max_attempts(11), LEAST,
        &[3.0, 12.0, 27.0, 48.0, 75.0, 108.0, 147.0, 180.0, 180.0, 180.0], Some(Attempts)),
    // Stripe waits at least 0.5 s, so that only at the upper end the two agree from the start.
    ("Stripe for Ruby, sleep_time: 0.5 s to 5 s, half of it drawn",
        Policy::exponential().base(Duration::from_millis(500))
            .max_backoff(Duration::from_secs(5)).jitter(Jitter::Equal).max_attempts(1_000), MOST,
        &[0.5, 1.0, 2.0, 4.0, 5.0, 5.0], None),
    ("Polly, wait and retry: 2 to the power of the retry's number",
        EXPONENTIAL.base(Duration::from_secs(2)).max_attempts(6), LEAST,
        &[2.0, 4.0, 8.0, 16.0, 32.0], Some(Attempts)),
    ("urllib3 1.26, RetryState: a backoff_factor of 0.1",
        Policy::custom(urllib3).max_backoff(Duration::from_secs(120)).jitter(Jitter::None)
            .max_attempts(6), LEAST,
        &[0.0, 0.2, 0.4, 0.8, 1.6], Some(Attempts)),
    // Envoy draws below 25, 75 and 175 ms; here the ends belong to the range.
    ("Envoy, retry back-off: 25 ms times 2^n − 1, at most 250 ms, fully jittered",
        Policy::slots(Duration::from_millis(25)).max_backoff(Duration::from_millis(250))
            .jitter(Jitter::Full), MOST,
        &[0.025, 0.075, 0.175, 0.25, 0.25], None),
    ("Stevens and Rago, Advanced Programming in the UNIX Environment, connect_retry",
        Policy::connect_retry(), HALF,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], Some(Attempts)),
    ("tokio-retry, from_millis(1): doubled, and not raised to a power",
        EXPONENTIAL.base(Duration::from_millis(1)), LEAST,
        &[0.001, 0.002, 0.004, 0.008, 0.016], None),
    ("Leonardo of Pisa, Liber Abaci: the months of the rabbits, as seconds",
        Policy::fibonacci(SECOND).jitter(Jitter::None).max_attempts(1_000), LEAST,
        &[1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0, 64.0, 64.0], None),
];
