//! tokio-retry. The argument of its `from_millis` is the base of powers: the waits are 2 ms, 4 ms, 8 ms.

use crate::operation::{self, ApiError, CAP, RETRIES, fail, succeed};
use std::{cell::Cell, future::Future, time::Duration};
use tokio_retry::{
    Retry,
    strategy::{ExponentialBackoff, jitter},
};

pub fn policy() -> ExponentialBackoff {
    ExponentialBackoff::from_millis(2).max_delay(CAP)
}

fn waits(policy: ExponentialBackoff) -> impl Iterator<Item = Duration> {
    policy.map(jitter).take(RETRIES as usize)
}

pub fn success(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    success_by(&policy(), n)
}

pub fn success_by(
    policy: &ExponentialBackoff,
    n: u64,
) -> impl Future<Output = Result<u64, ApiError>> + use<> {
    Retry::start(waits(policy.clone()), move || async move { succeed(n) })
}

pub fn flaky(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
    Retry::start(
        waits(policy()),
        move || async move { operation::flaky(left) },
    )
}

pub fn failing(n: u64) -> impl Future<Output = Result<u64, ApiError>> + Send {
    Retry::start(waits(policy()), move || async move { fail(n) })
}

pub fn delays() -> impl Iterator<Item = Duration> {
    policy().map(jitter)
}
