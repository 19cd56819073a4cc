//! AWS: the Architecture Blog's "Exponential Backoff And Jitter", and Step Functions.

use super::{EXPONENTIAL, HALF, LEAST, MOST, Series};
use backoff_core::{Jitter, Policy, StopReason::Attempts};
use std::time::Duration;

const AWS_BLOG: Policy = Policy::exponential()
    .base(Duration::from_millis(10))
    .max_backoff(Duration::from_millis(100))
    .max_attempts(1_000);

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    ("AWS Architecture Blog, Exponential Backoff And Jitter: no jitter",
        AWS_BLOG.jitter(Jitter::None), HALF,
        &[0.01, 0.02, 0.04, 0.08, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: no backoff",
        AWS_BLOG.jitter(Jitter::None).base(Duration::ZERO), HALF,
        &[0.0, 0.0, 0.0], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: full jitter",
        AWS_BLOG.jitter(Jitter::Full), HALF,
        &[0.005, 0.01, 0.02, 0.04, 0.05, 0.05], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: full jitter at its least",
        AWS_BLOG.jitter(Jitter::Full), LEAST,
        &[0.0, 0.0, 0.0], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: full jitter at its most",
        AWS_BLOG.jitter(Jitter::Full), MOST,
        &[0.01, 0.02, 0.04, 0.08, 0.1, 0.1], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: equal jitter",
        AWS_BLOG.jitter(Jitter::Equal), HALF,
        &[0.0075, 0.015, 0.03, 0.06, 0.075, 0.075], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: equal jitter at its least",
        AWS_BLOG.jitter(Jitter::Equal), LEAST,
        &[0.005, 0.01, 0.02, 0.04, 0.05, 0.05], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: equal jitter at its most",
        AWS_BLOG.jitter(Jitter::Equal), MOST,
        &[0.01, 0.02, 0.04, 0.08, 0.1, 0.1], None),
    // Half of the way from 10 ms to three times the last wait.
    ("AWS Architecture Blog, Exponential Backoff And Jitter: decorrelated jitter",
        AWS_BLOG.jitter(Jitter::Decorrelated), HALF,
        &[0.02, 0.035, 0.0575, 0.09125, 0.1, 0.1], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: decorrelated at its least",
        AWS_BLOG.jitter(Jitter::Decorrelated), LEAST,
        &[0.01, 0.01, 0.01, 0.01], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: decorrelated at its most",
        AWS_BLOG.jitter(Jitter::Decorrelated), MOST,
        &[0.03, 0.09, 0.1, 0.1], None),
    ("AWS Step Functions, RetryState: IntervalSeconds 3, BackoffRate 1.5, two retries",
        EXPONENTIAL.base(Duration::from_secs(3)).factor(1.5).max_attempts(3), LEAST,
        &[3.0, 4.5], Some(Attempts)),
];
