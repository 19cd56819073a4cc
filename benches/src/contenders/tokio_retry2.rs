//! tokio-retry2. The argument of its `from_millis` is the base of powers too.

use crate::operation::{self, ApiError, CAP, RETRIES, fail, succeed};
use std::{cell::Cell, future::Future, time::Duration};
use tokio_retry2::{
    MapErr, Retry, RetryError,
    strategy::{ExponentialBackoff, jitter},
};

pub fn policy() -> ExponentialBackoff {
    ExponentialBackoff::from_millis(2).max_delay(CAP)
}

fn waits(policy: ExponentialBackoff) -> impl Iterator<Item = Duration> {
    policy.map(jitter).take(RETRIES as usize)
}

/// Every error is transient. In this crate, the error says whether it is retried.
fn transient(outcome: Result<u64, ApiError>) -> Result<u64, RetryError<ApiError>> {
    outcome.map_transient_err()
}

pub fn success(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    success_by(&policy(), n)
}

pub fn success_by(
    policy: &ExponentialBackoff,
    n: u64,
) -> impl Future<Output = Result<u64, ApiError>> + use<> {
    Retry::spawn(waits(policy.clone()), move || async move {
        transient(succeed(n))
    })
}

pub fn flaky(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
    Retry::spawn(waits(policy()), move || async move {
        transient(operation::flaky(left))
    })
}

pub fn failing(n: u64) -> impl Future<Output = Result<u64, ApiError>> + Send {
    Retry::spawn(waits(policy()), move || async move { transient(fail(n)) })
}

pub fn delays() -> impl Iterator<Item = Duration> {
    policy().map(jitter)
}
