//! backoff 0.4. This crate does not count attempts but limits the time; here it has no limit.

use crate::operation::{self, ApiError, BASE, CAP, fail, ready_sleep, succeed};
use backoff::{
    Error, ExponentialBackoff, ExponentialBackoffBuilder,
    backoff::Backoff,
    future::{Retry, Sleeper},
};
use std::{
    cell::Cell,
    future::{Future, Ready},
    iter,
    time::Duration,
};

pub fn policy() -> ExponentialBackoff {
    ExponentialBackoffBuilder::new()
        .with_initial_interval(BASE)
        .with_multiplier(2.0)
        .with_max_interval(CAP)
        .with_max_elapsed_time(None)
        .build()
}

fn transient(outcome: Result<u64, ApiError>) -> Result<u64, Error<ApiError>> {
    outcome.map_err(Error::transient)
}

pub fn success(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    success_by(&policy(), n)
}

pub fn success_by(
    policy: &ExponentialBackoff,
    n: u64,
) -> impl Future<Output = Result<u64, ApiError>> + use<> {
    backoff::future::retry(policy.clone(), move || async move { transient(succeed(n)) })
}

pub fn flaky(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
    backoff::future::retry(policy(), move || async move {
        transient(operation::flaky(left))
    })
}

struct AtOnce;

impl Sleeper for AtOnce {
    type Sleep = Ready<()>;
    fn sleep(&self, wait: Duration) -> Ready<()> {
        ready_sleep(wait)
    }
}

pub fn flaky_ready(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
    let told = |_: ApiError, _: Duration| {};
    Retry::new(AtOnce, policy(), told, move || async move {
        transient(operation::flaky(left))
    })
}

pub fn failing(n: u64) -> impl Future<Output = Result<u64, ApiError>> + Send {
    backoff::future::retry(policy(), move || async move { transient(fail(n)) })
}

pub fn blocking(n: u64) -> Result<u64, Error<ApiError>> {
    backoff::retry(policy(), || transient(succeed(n)))
}

pub fn blocking_by(policy: &ExponentialBackoff, n: u64) -> Result<u64, Error<ApiError>> {
    backoff::retry(policy.clone(), || transient(succeed(n)))
}

pub fn delays() -> impl Iterator<Item = Duration> {
    let mut policy = policy();
    iter::from_fn(move || policy.next_backoff())
}
