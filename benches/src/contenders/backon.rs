//! backon, and its attribute from backon-macros.

use crate::operation::{self, ApiError, BASE, CAP, RETRIES, fail, ready_sleep, succeed};
use backon::{BackoffBuilder, BlockingRetryable, ExponentialBuilder, Retryable};
use std::{cell::Cell, future::Future, time::Duration};

pub const POLICY: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(BASE)
    .with_max_delay(CAP)
    .with_max_times(RETRIES as usize)
    .with_jitter();

pub fn success(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    (move || async move { succeed(n) }).retry(POLICY)
}

pub fn success_by(
    policy: &ExponentialBuilder,
    n: u64,
) -> impl Future<Output = Result<u64, ApiError>> + use<> {
    (move || async move { succeed(n) }).retry(*policy)
}

pub fn flaky(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
    (move || async move { operation::flaky(left) }).retry(POLICY)
}

pub fn flaky_ready(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
    (move || async move { operation::flaky(left) })
        .retry(POLICY)
        .sleep(ready_sleep)
}

pub fn failing(n: u64) -> impl Future<Output = Result<u64, ApiError>> + Send {
    (move || async move { fail(n) }).retry(POLICY)
}

pub fn blocking(n: u64) -> Result<u64, ApiError> {
    (|| succeed(n)).retry(POLICY).call()
}

pub fn blocking_by(policy: &ExponentialBuilder, n: u64) -> Result<u64, ApiError> {
    (|| succeed(n)).retry(*policy).call()
}

pub fn delays() -> impl Iterator<Item = Duration> {
    POLICY.without_max_times().build()
}

/// The attribute.
pub mod attribute {
    use super::*;
    use backon_macros::backon;

    fn policy() -> ExponentialBuilder {
        POLICY
    }

    #[backon(backoff = policy)]
    pub async fn success(n: u64) -> Result<u64, ApiError> {
        succeed(n)
    }

    #[backon(backoff = policy)]
    pub async fn flaky(left: &Cell<u32>) -> Result<u64, ApiError> {
        operation::flaky(left)
    }

    #[backon(backoff = policy, sleep = ready_sleep)]
    pub async fn flaky_ready(left: &Cell<u32>) -> Result<u64, ApiError> {
        operation::flaky(left)
    }

    #[backon(backoff = policy)]
    pub async fn failing(n: u64) -> Result<u64, ApiError> {
        fail(n)
    }

    #[backon(backoff = policy)]
    pub fn blocking(n: u64) -> Result<u64, ApiError> {
        succeed(n)
    }
}
