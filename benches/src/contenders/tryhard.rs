//! tryhard. It has no jitter.

use crate::operation::{self, ApiError, BASE, CAP, RETRIES, fail, succeed};
use std::{cell::Cell, future::Future, time::Duration};
use tryhard::{
    NoOnRetry, RetryFutureConfig,
    backoff_strategies::{BackoffStrategy, ExponentialBackoff},
};

pub type Policy = RetryFutureConfig<ExponentialBackoff, NoOnRetry>;

pub fn policy() -> Policy {
    RetryFutureConfig::new(RETRIES)
        .exponential_backoff(BASE)
        .max_delay(CAP)
}

pub fn success(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    success_by(&policy(), n)
}

pub fn success_by(policy: &Policy, n: u64) -> impl Future<Output = Result<u64, ApiError>> + use<> {
    tryhard::retry_fn(move || async move { succeed(n) }).with_config(*policy)
}

pub fn flaky(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
    tryhard::retry_fn(move || async move { operation::flaky(left) }).with_config(policy())
}

pub fn failing(n: u64) -> impl Future<Output = Result<u64, ApiError>> + Send {
    tryhard::retry_fn(move || async move { fail(n) }).with_config(policy())
}

pub fn delays() -> impl Iterator<Item = Duration> {
    let mut backoff = ExponentialBackoff::new(BASE);
    (0..).map(move |attempt| backoff.delay(attempt, &operation::UNAVAILABLE).min(CAP))
}
