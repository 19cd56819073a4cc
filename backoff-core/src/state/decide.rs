//! The decision: how long to wait before the next attempt, or why to stop.

use super::{Decision, RetryState, Rules, THROTTLED, WaitSource, flag};
use crate::{
    breaker::Breaker,
    budget::Budget,
    delay::{Pace, draw::uniform},
    facts::fault::FaultKind,
    judge::Verdict,
    policy::{NEVER, Policy},
    report::StopReason,
    runtime::nanos,
};
use core::time::Duration;

impl RetryState {
    /// Like [`failed`](Self::failed), under the rules of a call.
    #[inline(always)]
    pub(crate) fn decide(
        &mut self,
        rules: &Rules<'_>,
        verdict: Verdict,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision {
        let Verdict::Retry { kind, retry_after } = verdict else {
            self.ended();
            return Decision::Stop(refused(rules.shared.budget, verdict));
        };
        // Where only the number of attempts limits the call, the wait is all that is left to decide.
        let retry = self.failures();
        if rules.limits_attempts_only()
            && retry + 1 < rules.attempts
            && retry_after.is_none()
            && let Some(most) = rules.policy.doubled(retry)
        {
            self.set_failures(retry + 1);
            return Decision::after(uniform(most, random()), WaitSource::Backoff);
        }
        // A copy, so that the rules need no memory above.
        self.decide_by_all_rules(*rules, (kind, retry_after), now, random)
    }

    /// Every reason to stop after a failure that is retried, in the order in which it matters. Compiled once for each
    /// runtime.
    #[cold]
    #[inline(never)]
    fn decide_by_all_rules(
        &mut self,
        rules: Rules<'_>,
        (kind, retry_after): (FaultKind, Option<Duration>),
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision {
        let (policy, retry) = (rules.policy, self.failures());
        let hint = retry_after.map_or(0, nanos);
        self.ended();
        // A conflict and a pending value show that the service works.
        let works = matches!(kind, FaultKind::Conflict | FaultKind::Pending);
        let budget = rules.shared.budget.filter(|_| !works);
        if let Some(budget) = budget {
            budget.failed();
        }
        if self.failures() >= rules.attempts {
            return Decision::Stop(StopReason::Attempts);
        }
        if rules.shared.breaker.is_some_and(Breaker::is_open) {
            return Decision::Stop(StopReason::Breaker);
        }
        if rules.is_unrepeatable {
            return Decision::Stop(StopReason::Unrepeatable);
        }
        let is_throttled = kind == FaultKind::Throttled;
        let (backoff, source) = match rules.shared.rate {
            // Others wait: their probes find the rate. Alone, the waits of the policy space the probes.
            Some(rate) if is_throttled && rate.waiting() > 0 => (0, WaitSource::Rate),
            // At least the first wait, so that a hint of zero is no loop.
            _ if policy.retry_after_alone && is_throttled && retry_after.is_some() => {
                let first = policy.backoff_nanos(FaultKind::Transient, 0, || 0, random);
                (first, WaitSource::Backoff)
            }
            _ => match self.backoff(&rules, kind, retry, random) {
                Some(backoff) => (backoff, WaitSource::Backoff),
                None => return Decision::Stop(StopReason::Attempts),
            },
        };
        let Some(wait) = hinted(policy, backoff, hint, rules.deadline) else {
            return Decision::Stop(StopReason::RetryAfter);
        };
        let source = match wait > backoff {
            true => WaitSource::RetryAfter,
            false => source,
        };
        let decision = Decision::after(wait, source);
        if rules.deadline != NEVER {
            let now = now();
            if let Some(reason) = self.passes(&rules, decision, hint, now) {
                return Decision::Stop(reason);
            }
            if let Some(rate) = rules.shared.rate
                && let turn = rate.turn_after(decision.wait(), rules.shared.tokens, now)
                && self
                    .passes(&rules, decision.lasting(turn), 0, now)
                    .is_some()
            {
                return Decision::Stop(StopReason::Rate);
            }
        }
        match budget {
            Some(budget) if !self.takes_tokens(budget, kind) => Decision::Stop(StopReason::Budget),
            _ => decision,
        }
    }

    /// The wait, and nothing if another algorithm ends the attempts. The first wait does not depend on earlier waits,
    /// and later waits do not grow from it.
    #[inline(always)]
    fn backoff(
        &mut self,
        rules: &Rules<'_>,
        kind: FaultKind,
        retry: u32,
        random: impl FnOnce() -> u64,
    ) -> Option<u64> {
        let (policy, turn, is_first) = (rules.policy, rules.turn(retry), rules.is_first_wait);
        let previous = || match is_first {
            true => Duration::ZERO,
            false => self.last(),
        };
        let wait = match rules.delays {
            Some(delays) => nanos(delays.delay_after(kind, turn, previous(), random())?),
            None => {
                if kind == FaultKind::Conflict
                    && let Some(range) = rules.pace.and_then(Pace::range)
                {
                    return Some(uniform(range.min(policy.max_backoff), random()));
                }
                policy.backoff_nanos(kind, turn, || nanos(previous()), random)
            }
        };
        if !is_first && (rules.delays.is_some() || policy.remembers()) {
            self.set_last(wait);
        }
        Some(wait)
    }

    /// Draws the waits before the next one again, if the next one depends on them and they are not known.
    /// So the next wait is as long, and as random, as if they were known.
    pub(crate) fn draw_waits(&mut self, policy: &Policy, random: impl Fn() -> u64) {
        if policy.remembers() {
            // The draws of earlier waits than these hardly change the last one.
            let retries = 0..self.failures().min(64);
            self.set_last(retries.fold(0, |previous, retry| {
                policy.backoff_nanos(FaultKind::Transient, retry, || previous, &random)
            }));
        }
    }

    /// The reason to stop if a wait would end after the deadline.
    pub(super) fn passes(
        &self,
        rules: &Rules<'_>,
        decision: Decision,
        hint: u64,
        now: Duration,
    ) -> Option<StopReason> {
        let (elapsed, delay) = (self.elapsed_nanos(|| now), nanos(decision.wait()));
        let passes = |wait: u64| rules.is_over(elapsed.saturating_add(wait));
        let is_hinted =
            matches!(decision, Decision::Wait(wait) if wait.source == WaitSource::RetryAfter);
        passes(delay).then(|| match is_hinted && passes(delay.min(hint)) {
            true => StopReason::RetryAfter,
            false => StopReason::Deadline,
        })
    }

    #[inline(never)]
    fn takes_tokens(&mut self, budget: &Budget, kind: FaultKind) -> bool {
        let has_taken = budget.take(kind);
        if has_taken {
            let throttled = match kind {
                FaultKind::Throttled => THROTTLED,
                _ => 0,
            };
            self.last[2] = self.last[2] & !THROTTLED | throttled;
            self.failures[2] |= flag::TAKEN | flag::HELD;
        }
        has_taken
    }
}

/// The reason to stop after a failure that is not retried.
fn refused(budget: Option<&Budget>, verdict: Verdict) -> StopReason {
    let reason = match verdict {
        Verdict::Permanent | Verdict::Retry { .. } => return StopReason::Permanent,
        Verdict::NothingKnown => return StopReason::NothingKnown,
        Verdict::MaybeApplied => StopReason::MaybeApplied,
        Verdict::StoppedByServer => StopReason::StoppedByServer,
    };
    if let Some(budget) = budget {
        budget.failed();
    }
    reason
}

/// The wait: the backoff, or a longer one for which the server asks; nothing if that is too long for the policy. A call
/// that never ends waits as long as the policy allows.
fn hinted(policy: &Policy, backoff: u64, hint: u64, deadline: u64) -> Option<u64> {
    let longest = policy.longest_hint(deadline);
    let most = backoff.saturating_add(policy.retry_after_slack);
    let hint = match policy.never_ends(deadline) {
        true => hint.min(most).min(longest),
        false => hint.min(most),
    };
    if hint <= backoff {
        return Some(backoff);
    }
    (hint <= longest).then(|| match policy.spread_retry_after {
        true => hint.saturating_add(backoff).min(most),
        false => hint,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::jitter::Jitter;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_call_that_only_its_attempts_limit_waits_as_all_rules_say(
            base in 1u64..u64::MAX,
            cap in 1u64..u64::MAX,
            attempts in 1u32..100,
            failures in 0u32..100,
            jitter in prop_oneof![Just(Jitter::Full), Just(Jitter::Equal)],
            kind in prop_oneof![Just(FaultKind::Transient), Just(FaultKind::Conflict)],
            random: u64,
        ) {
            let policy = Policy::exponential()
                .base(Duration::from_nanos(base.min(cap)))
                .max_backoff(Duration::from_nanos(cap))
                .jitter(jitter)
                .max_attempts(attempts);
            let rules = Rules::of(&policy);
            let retry_after = None;
            let mut short = RetryState::resumed(Duration::ZERO, failures);
            let mut long = short;
            let now = || Duration::ZERO;
            let verdict = Verdict::Retry { kind, retry_after };
            let next = short.decide(&rules, verdict, now, || random);
            let kind = (kind, retry_after);
            let expected = long.decide_by_all_rules(rules, kind, now, || random);
            prop_assert_eq!(next, expected);
            prop_assert_eq!(short.failures(), long.failures());
        }
    }
}
