//! Operations that share one budget, one after the other, with the decision after each attempt.

use super::{SECOND, TestError, ms};
use backoff_core::{Budget, Decision, Policy, RetryState};
use std::cell::Cell;

/// Plays operations in words, parted by semicolons. An attempt is `500 0.05 486`, `502 attempts 472` or `ok 486`: how it
/// fails, unless it succeeds; how many seconds are waited, or why it ends; how many tokens are left. `503@250` has a hint
/// in milliseconds.
pub(super) fn play(source: &str, policy: Policy, budget: Budget, random: u64, words: &str) {
    let budget: &'static Budget = Box::leak(Box::new(budget));
    let policy = policy.budget(budget);
    for operation in words.split("; ") {
        let now = Cell::new(SECOND);
        let mut retry = RetryState::start(&policy, || now.get());
        for attempt in operation.split(", ") {
            let place = format!("{source}: {attempt} of {operation}");
            let words: Vec<_> = attempt.split(' ').collect();
            if let [failure, expected, _] = words[..] {
                let (failure, hint) = failure.split_once('@').unwrap_or((failure, ""));
                let failed = match failure {
                    "lost" => TestError::LOST,
                    "no" => TestError::status(503).asking_to_stop(),
                    status => TestError::status(status.parse().unwrap()),
                };
                let failed = hint.parse().map_or(failed, |hint| failed.after(ms(hint)));
                let verdict = policy.judge(&failed);
                let decided = match retry.failed(&policy, verdict, || now.get(), || random) {
                    Decision::Wait(wait) => {
                        now.set(now.get() + wait.delay);
                        wait.delay.as_secs_f64().to_string()
                    }
                    Decision::Stop(reason) => reason.name().to_owned(),
                };
                assert_eq!(decided, expected, "{place}");
            } else {
                assert_eq!(words[0], "ok", "{place}");
                retry.succeeded(&policy);
            }
            let tokens = words.last().unwrap().parse();
            assert_eq!(Ok(budget.tokens()), tokens, "{place}");
        }
    }
}
