//! This project: the cost of each rule in a call that uses it.

use super::ours::{AtOnce, POLICY};
use crate::operation::{self, ApiError, UNAVAILABLE, ready_sleep, succeed};
#[cfg(feature = "rate")]
use backoff_core::Rate;
use backoff_core::{Budget, Jitter, Policy, Report, RetryError, TimedOut, retry};
use std::{cell::Cell, future::Future, hint::black_box, time::Duration};

impl From<TimedOut> for ApiError {
    fn from(_: TimedOut) -> Self {
        ApiError { code: 504 }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

const DEADLINE: Policy = POLICY.deadline(MINUTE);

pub fn deadline(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    DEADLINE.retry(move || async move { succeed(n) })
}

#[retry(policy = DEADLINE)]
pub async fn deadline_attribute(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

pub fn attempt_timeout(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    POLICY
        .retry(move || async move { succeed(n) })
        .attempt_timeout(MINUTE)
}

#[retry(policy = POLICY, attempt_timeout = "60s")]
pub async fn attempt_timeout_attribute(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

pub fn timeout(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    POLICY
        .retry(move || async move { succeed(n) })
        .timeout(MINUTE)
}

#[retry(policy = POLICY, timeout = "60s")]
pub async fn timeout_attribute(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

/// A policy and a limit that are known only at the call.
#[retry(policy = *policy, timeout = minute())]
pub async fn timeout_by(policy: &Policy, n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

fn minute() -> Duration {
    MINUTE
}

/// A rate that stays off, because no attempt is refused.
#[cfg(feature = "rate")]
static OFF: Rate = Rate::new();
#[cfg(feature = "rate")]
const RATE: Policy = POLICY.rate(&OFF);

#[cfg(feature = "rate")]
pub fn rate(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    RATE.retry(move || async move { succeed(n) })
}

#[cfg(feature = "rate")]
#[retry(policy = RATE)]
pub async fn rate_attribute(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

/// A bucket that stays full, because no attempt fails.
static FULL: Budget = Budget::aws();
const BUDGET_FULL: Policy = POLICY.budget(&FULL);

pub fn budget_full(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    BUDGET_FULL.retry(move || async move { succeed(n) })
}

#[retry(policy = BUDGET_FULL)]
pub async fn budget_full_attribute(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

/// A bucket that never becomes full again during the measurement.
static FILLING: Budget = Budget::costs(4_000_000, 14, 5).starting_with(0);
const BUDGET_FILLING: Policy = POLICY.budget(&FILLING);

pub fn budget_filling(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    BUDGET_FILLING.retry(move || async move { succeed(n) })
}

#[retry(policy = BUDGET_FILLING)]
pub async fn budget_filling_attribute(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

pub fn notify(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    POLICY
        .retry(move || async move { succeed(n) })
        .notify(|event| {
            black_box(event);
        })
}

#[retry(policy = POLICY, notify = |event| { black_box(event); })]
pub async fn notify_attribute(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

pub fn reported(n: u64) -> impl Future<Output = Result<(u64, Report), RetryError<ApiError>>> {
    POLICY.retry(move || async move { succeed(n) }).reported()
}

/// A call that fails a few times, with a timer that is ready at once, under any policy.
macro_rules! flaky {
    ($($(#[$doc:meta])* $function:ident, $attribute:ident = $policy:ident;)*) => {$(
        $(#[$doc])*
        pub fn $function(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
            $policy
                .retry(move || async move { operation::flaky(left) })
                .runtime(AtOnce)
        }

        #[retry(policy = $policy, sleep = ready_sleep)]
        pub async fn $attribute(left: &Cell<u32>) -> Result<u64, ApiError> {
            operation::flaky(left)
        }
    )*};
}

const ADDITIVE: Policy = POLICY.jitter(Jitter::Additive(Duration::from_millis(1)));
const DECORRELATED: Policy = POLICY.jitter(Jitter::Decorrelated);

/// The bucket is so large that the retries never empty it.
static DEEP: Budget = Budget::costs(4_000_000, 1, 1);
const BUDGET: Policy = POLICY.budget(&DEEP);

flaky! {
    flaky_additive, flaky_additive_attribute = ADDITIVE;
    flaky_decorrelated, flaky_decorrelated_attribute = DECORRELATED;
    flaky_deadline, flaky_deadline_attribute = DEADLINE;
    flaky_budget, flaky_budget_attribute = BUDGET;
}

/// Only the decision about a first failure.
pub mod decision {
    use super::*;
    use backoff_core::{Decision, RetryState, Verdict};

    pub type State = RetryState;

    pub fn started() -> State {
        RetryState::start(&POLICY, || Duration::ZERO)
    }

    pub fn verdict() -> Verdict {
        POLICY.judge(&UNAVAILABLE)
    }

    /// Judges an error and decides.
    #[inline(never)]
    pub fn of_error(state: &mut State, error: &ApiError) -> Decision {
        let verdict = POLICY.judge(error);
        state.failed(&POLICY, verdict, || Duration::ZERO, || fastrand::u64(..))
    }

    /// Decides about a verdict.
    #[inline(never)]
    pub fn of_verdict(state: &mut State, verdict: Verdict) -> Decision {
        state.failed(&POLICY, verdict, || Duration::ZERO, || fastrand::u64(..))
    }
}
