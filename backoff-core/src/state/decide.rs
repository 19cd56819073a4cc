//! The decision: how long to wait before the next attempt, or why to stop.

use super::{Decision, Overrides, RetryState, WaitSource, flag, is_over};
use crate::{
    budget::Budget,
    delay::{Delay, draw::uniform},
    facts::fault::FaultKind,
    judge::{Ruled, Ruling},
    policy::{NEVER, Policy},
    report::StopReason,
    runtime::nanos,
};
use core::time::Duration;

impl RetryState {
    /// Like [`failed`](Self::failed) and [`failed_with`](Self::failed_with), under the overrides of a call.
    #[inline(always)]
    pub(crate) fn decide(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        delays: Option<&dyn Delay>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision {
        // The fast path: only the policy's attempts and its backoff matter.
        let retry = self.failures();
        let is_policys = overrides.is_none() && delays.is_none();
        if policy.is_simple(retry) && ruling.is_plain() && is_policys {
            self.set_failures(retry + 1);
            return Decision::after(policy.simple_backoff(retry, random()), WaitSource::Backoff);
        }
        self.decide_fully(policy, ruling, overrides, delays, now, random)
    }

    /// Every stop is here, in the order in which it matters. Compiled once for each runtime.
    #[cold]
    #[inline(never)]
    fn decide_fully(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        delays: Option<&dyn Delay>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision {
        // A pace belongs to the waits of the policy.
        let plain = overrides
            .filter(|_| delays.is_some())
            .map(Overrides::without_pace);
        let overrides = plain.as_ref().or(overrides);
        let retry = self.failures();
        self.ended();
        let budget = Overrides::budget(overrides, policy);
        let kind = match ruling.ruled {
            Ruled::Retry(kind) => kind,
            stop => return Decision::Stop(refused(budget, stop)),
        };
        // A conflict and a pending value show that the service works.
        let budget = budget.filter(|_| !matches!(kind, FaultKind::Conflict | FaultKind::Pending));
        if let Some(budget) = budget {
            budget.failed();
        }
        if self.failures() >= Overrides::most_attempts(overrides, policy) {
            return Decision::Stop(StopReason::Attempts);
        }
        if Overrides::cannot_repeat(overrides) {
            return Decision::Stop(StopReason::Unrepeatable);
        }
        let is_throttled = kind == FaultKind::Throttled;
        let rate = Overrides::rate(overrides);
        let (backoff, source) = match rate {
            // Others wait: their probes find the rate. Alone, the waits of the policy space the probes.
            Some(rate) if is_throttled && rate.waiting() > 0 => (0, WaitSource::Rate),
            _ if policy.retry_after_alone && is_throttled && ruling.hint > 0 => {
                (0, WaitSource::Backoff)
            }
            _ => match self.backoff(policy, overrides, kind, retry, random, delays) {
                Some(backoff) => (backoff, WaitSource::Backoff),
                None => return Decision::Stop(StopReason::Attempts),
            },
        };
        let deadline = Overrides::deadline_of_wait(overrides, policy);
        let Some(wait) = hinted(policy, backoff, ruling.hint, deadline) else {
            return Decision::Stop(StopReason::RetryAfter);
        };
        let decision = Decision::after(
            wait,
            if wait > backoff {
                WaitSource::RetryAfter
            } else {
                source
            },
        );
        if deadline != NEVER {
            let now = now();
            let passes = |decision, hint| self.passes(deadline, decision, hint, overrides, now);
            if let Some(reason) = passes(decision, ruling.hint) {
                return Decision::Stop(reason);
            }
            if let Some(rate) = rate
                && let turn = rate.turn_after(decision.wait(), now)
                && passes(decision.lasting(turn), 0).is_some()
            {
                return Decision::Stop(StopReason::Rate);
            }
        }
        match budget {
            Some(budget) if !self.pays(budget, kind) => Decision::Stop(StopReason::Budget),
            _ => decision,
        }
    }

    /// The wait, and nothing if another algorithm ends the attempts. The first wait does not depend on earlier waits,
    /// and later waits do not grow from it.
    #[inline(always)]
    fn backoff(
        &mut self,
        policy: &Policy,
        overrides: Option<&Overrides<'_>>,
        kind: FaultKind,
        retry: u32,
        random: impl FnOnce() -> u64,
        delays: Option<&dyn Delay>,
    ) -> Option<u64> {
        let turn = Overrides::turn(overrides, retry);
        let is_first = Overrides::waits_as_first(overrides);
        let previous = if is_first {
            Duration::ZERO
        } else {
            self.last()
        };
        let wait = match delays {
            Some(delays) => nanos(delays.delay_after(kind, turn, previous, random())?),
            None => {
                if kind == FaultKind::Conflict
                    && let Some(range) = Overrides::conflict_range(overrides)
                {
                    return Some(uniform(range.min(policy.max_backoff), random()));
                }
                policy.backoff_nanos(kind, turn, || nanos(previous), random)
            }
        };
        if !is_first && (delays.is_some() || policy.remembers()) {
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
        deadline: u64,
        decision: Decision,
        hint: u64,
        overrides: Option<&Overrides<'_>>,
        now: Duration,
    ) -> Option<StopReason> {
        let (elapsed, delay) = (self.elapsed_nanos(|| now), nanos(decision.wait()));
        let passes = |wait: u64| is_over(deadline, overrides, elapsed.saturating_add(wait));
        let is_hinted =
            matches!(decision, Decision::Wait(wait) if wait.source == WaitSource::RetryAfter);
        passes(delay).then(|| match is_hinted && passes(delay.min(hint)) {
            true => StopReason::RetryAfter,
            false => StopReason::Deadline,
        })
    }

    #[inline(never)]
    fn pays(&mut self, budget: &Budget, kind: FaultKind) -> bool {
        let has_paid = budget.pay(kind);
        if has_paid {
            let throttled = match kind {
                FaultKind::Throttled => flag::THROTTLED,
                _ => 0,
            };
            let others = self.failures[2] & !flag::THROTTLED;
            self.failures[2] = others | flag::PAID | flag::HELD | throttled;
        }
        has_paid
    }
}

/// The reason to stop after a failure that is not retried.
fn refused(budget: Option<&Budget>, ruled: Ruled) -> StopReason {
    let reason = match ruled {
        Ruled::Permanent | Ruled::Retry(_) => return StopReason::Permanent,
        Ruled::NothingKnown => return StopReason::NothingKnown,
        Ruled::MaybeApplied => StopReason::MaybeApplied,
        Ruled::StoppedByServer => StopReason::StoppedByServer,
    };
    if let Some(budget) = budget {
        budget.failed();
    }
    reason
}

/// The wait: the backoff, or a longer one for which the server asks; nothing if that is too long for the policy.
fn hinted(policy: &Policy, backoff: u64, hint: u64, deadline: u64) -> Option<u64> {
    let most = backoff.saturating_add(policy.retry_after_slack);
    let hint = hint.min(most);
    if hint <= backoff.max(1) {
        return Some(backoff);
    }
    (hint <= policy.longest_hint(deadline)).then(|| match policy.spread_retry_after {
        true => hint.saturating_add(backoff).min(most),
        false => hint,
    })
}
