//! Operations that share one budget, one after the other, with the decision after each attempt.

use super::{Failed, SECOND, leak};
use backoff_core::{Budget, Decision, Delivery, Policy, RetryState, StopReason};
use std::{cell::Cell, time::Duration};

pub(super) const TIMEOUT: Failed = Failed {
    status: None,
    kind: None,
    transport: Some(Delivery::MaybeSent),
    hint: None,
    stop: false,
};

/// One attempt of a row: what it gave, what is to be decided, and how many tokens are left then.
pub(super) struct Step {
    outcome: Result<(), Failed>,
    then: Then,
    tokens: f64,
}

#[derive(Debug, PartialEq)]
pub(super) enum Then {
    Waits(Duration),
    Stops(StopReason),
    Done,
}

pub(super) fn waits(failed: Failed, seconds: f64, tokens: f64) -> Step {
    Step {
        outcome: Err(failed),
        then: Then::Waits(Duration::from_secs_f64(seconds)),
        tokens,
    }
}

pub(super) fn stops(failed: Failed, reason: StopReason, tokens: f64) -> Step {
    Step {
        outcome: Err(failed),
        then: Then::Stops(reason),
        tokens,
    }
}

pub(super) fn succeeds(tokens: f64) -> Step {
    Step {
        outcome: Ok(()),
        then: Then::Done,
        tokens,
    }
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
        for (s, step) in operation.iter().enumerate() {
            let then = match &step.outcome {
                Ok(()) => {
                    retry.succeeded(&policy);
                    Then::Done
                }
                Err(failed) => {
                    let verdict = policy.judge(failed);
                    match retry.failed(&policy, verdict, || now.get(), || random) {
                        Decision::Wait(wait) => {
                            now.set(now.get() + wait.delay);
                            Then::Waits(wait.delay)
                        }
                        Decision::Stop(reason) => Then::Stops(reason),
                    }
                }
            };
            let place = format!("{source}: operation {o}, attempt {s}");
            assert_eq!(then, step.then, "{place}");
            assert_eq!(budget.tokens(), step.tokens, "{place}");
        }
    }
}
