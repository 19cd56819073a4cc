//! Operations that share one budget, one after the other, with the decision after each attempt.

use super::{SECOND, TestError, leak};
use backoff_core::{Budget, Decision, Policy, RetryState, StopReason};
use std::{cell::Cell, time::Duration};

/// One attempt: how it failed, unless it succeeded, what is to be decided, and how many tokens are left then.
pub(super) type Step = (Option<(TestError, Result<Duration, StopReason>)>, f64);

/// Attempts in words: `500 0.05 486, 502 attempts 472` fail, wait or end, and leave so many tokens; `ok 486` succeeds.
pub(super) fn attempts(words: &str) -> Vec<Step> {
    let reasons = [
        StopReason::Attempts,
        StopReason::Budget,
        StopReason::Permanent,
        StopReason::StoppedByServer,
    ];
    let step = |words: &str| match words.split(' ').collect::<Vec<_>>()[..] {
        ["ok", tokens] => (None, tokens.parse().unwrap()),
        [failure, decided, tokens] => {
            let failed = match failure {
                "lost" => TestError::LOST,
                "no" => TestError::status(503).asking_to_stop(),
                status => TestError::status(status.parse().unwrap()),
            };
            let reason = reasons.iter().find(|reason| reason.name() == decided);
            let wait = || Duration::from_secs_f64(decided.parse().unwrap());
            let decided = reason.map_or_else(|| Ok(wait()), |reason| Err(*reason));
            (Some((failed, decided)), tokens.parse().unwrap())
        }
        _ => panic!("`{words}` is no attempt"),
    };
    words.split(", ").map(step).collect()
}

/// Plays operations in words, parted by semicolons.
pub(super) fn play_words(source: &str, policy: Policy, budget: Budget, random: u64, words: &str) {
    let operations: Vec<_> = words.split("; ").map(attempts).collect();
    let operations: Vec<_> = operations.iter().map(Vec::as_slice).collect();
    play(source, policy, budget, random, &operations);
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
