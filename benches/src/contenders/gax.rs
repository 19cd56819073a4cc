//! google-cloud-gax: the loop in Google's own clients. Users do not call this loop directly.

use crate::operation::{self, BASE, CAP, RETRIES, ready_sleep, succeed};
use google_cloud_gax::{
    backoff_policy::BackoffPolicy,
    error::{
        Error,
        rpc::{Code, Status},
    },
    exponential_backoff::ExponentialBackoffBuilder,
    retry_loop_internal::retry_loop,
    retry_policy::{Aip194Strict, RetryPolicy, RetryPolicyExt},
    retry_state::RetryState,
    retry_throttler::{CircuitBreaker, RetryThrottler},
};
use std::{
    cell::Cell,
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

/// The values that a client keeps and gives to each call.
#[derive(Clone)]
pub struct Policy {
    retry: Arc<dyn RetryPolicy>,
    backoff: Arc<dyn BackoffPolicy>,
    throttler: Arc<Mutex<dyn RetryThrottler>>,
}

pub fn policy() -> Policy {
    let backoff = ExponentialBackoffBuilder::new()
        .with_initial_delay(BASE)
        .with_maximum_delay(CAP)
        .build();
    Policy {
        retry: Arc::new(Aip194Strict.with_attempt_limit(RETRIES + 1)),
        backoff: Arc::new(backoff.expect("the policy makes sense")),
        // This throttler never refuses: after a refusal, the loop would wait again.
        throttler: Arc::new(Mutex::new(CircuitBreaker::clamp(1_000, 0, 0))),
    }
}

fn as_google(outcome: Result<u64, operation::ApiError>) -> Result<u64, Error> {
    outcome.map_err(|_| Error::service(Status::default().set_code(Code::Unavailable)))
}

fn retried<'a>(
    policy: Policy,
    operation: impl AsyncFnMut(Option<Duration>) -> Result<u64, Error> + Send + 'a,
    sleep: impl AsyncFn(Duration) + Send + 'a,
) -> impl Future<Output = Result<u64, Error>> + 'a {
    let Policy {
        retry,
        backoff,
        throttler,
    } = policy;
    retry_loop(operation, sleep, true, throttler, retry, backoff)
}

pub fn success(n: u64) -> impl Future<Output = Result<u64, Error>> {
    success_by(&policy(), n)
}

pub fn success_by(policy: &Policy, n: u64) -> impl Future<Output = Result<u64, Error>> + use<> {
    retried(
        policy.clone(),
        async move |_| as_google(succeed(n)),
        async |wait| tokio::time::sleep(wait).await,
    )
}

/// The loop must be `Send`, and a cell is not `Send`, so the thread keeps the remaining failures.
pub fn flaky(left: &Cell<u32>) -> impl Future<Output = Result<u64, Error>> + use<> {
    LEFT.set(left.get());
    retried(
        policy(),
        async |_| as_google(LEFT.with(operation::flaky)),
        async |wait| tokio::time::sleep(wait).await,
    )
}

pub fn flaky_ready(left: &Cell<u32>) -> impl Future<Output = Result<u64, Error>> + use<> {
    LEFT.set(left.get());
    retried(
        policy(),
        async |_| as_google(LEFT.with(operation::flaky)),
        async |wait| ready_sleep(wait).await,
    )
}

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

pub fn delays() -> impl Iterator<Item = Duration> {
    let backoff = policy().backoff;
    (1_u32..).map(move |n| backoff.on_failure(&RetryState::new(true).set_attempt_count(n)))
}
