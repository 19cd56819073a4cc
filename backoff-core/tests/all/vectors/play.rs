//! Operations that share one budget, one after the other, with the decision after each attempt.

use super::{SECOND, TestError, leak};
use backoff_core::{Budget, Decision, Policy, RetryState, StopReason};
use std::{cell::Cell, time::Duration};

/// One attempt of a row: how it failed, unless it succeeded, what is to be decided, and how many tokens are left
/// then.
pub(super) type Step = (Option<(TestError, Result<Duration, StopReason>)>, f64);

pub(super) fn wait(failed: impl Into<TestError>, seconds: f64, tokens: impl Into<f64>) -> Step {
    let wait = Duration::from_secs_f64(seconds);
    (Some((failed.into(), Ok(wait))), tokens.into())
}

pub(super) fn stop(
    failed: impl Into<TestError>,
    reason: StopReason,
    tokens: impl Into<f64>,
) -> Step {
    (Some((failed.into(), Err(reason))), tokens.into())
}

pub(super) fn done(tokens: impl Into<f64>) -> Step {
    (None, tokens.into())
}

/// Plays operations, one after the other, on one budget.
pub(super) fn play(
    source: &str,
    policy: Policy,
    budget: Budget,
    random: u64,
    operations: &[&[Step]],
) {
    let budget = leak(budget);
    let policy = policy.budget(budget);
    for (o, operation) in operations.iter().enumerate() {
        let now = Cell::new(SECOND);
        let mut retry = RetryState::start(&policy, || now.get());
        for (s, (failed, tokens)) in operation.iter().enumerate() {
            let place = format!("{source}: operation {o}, attempt {s}");
            if let Some((failed, expected)) = failed {
                let verdict = policy.judge(failed);
                let decision = retry.failed(&policy, verdict, || now.get(), || random);
                let decided = match decision {
                    Decision::Wait(wait) => Ok(wait.delay),
                    Decision::Stop(reason) => Err(reason),
                };
                assert_eq!(decided, *expected, "{place}");
                now.set(now.get() + decided.unwrap_or_default());
            } else {
                retry.succeeded(&policy);
            }
            assert_eq!(budget.tokens(), *tokens, "{place}");
        }
    }
}
