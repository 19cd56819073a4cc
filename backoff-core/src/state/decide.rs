//! The decision: how long to wait before the next attempt, or why to stop.

use super::{
    Next, Overrides, RetryState, is_over,
    packed::{Form, Packed, Paid},
};
use crate::{
    budget::Budget,
    delay::{Delay, draw::uniform},
    facts::fault::FaultKind,
    judge::{Ruled, Ruling},
    policy::{MOST_ATTEMPTS, NEVER, Policy},
    report::StopReason,
    runtime::nanos,
};
use core::time::Duration;

impl RetryState {
    /// Like [`failed`](Self::failed), under the overrides of a call.
    #[inline(always)]
    pub(crate) fn decide(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Next {
        // The fast path: only the policy's attempts and its backoff matter.
        let retry = self.failures();
        if policy.is_simple(retry) && ruling.is_plain() && overrides.is_none() {
            self.packed.add_failure();
            return Next::backoff(policy.simple_backoff(retry, random()));
        }
        self.decide_fully(policy, ruling, overrides, now, random)
    }

    #[cold]
    #[inline(never)]
    fn decide_fully(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Next {
        let has_rate = Overrides::rate(overrides).is_some();
        self.conclude(policy, ruling, overrides, now, |packed, kind, retry| {
            if kind == FaultKind::Conflict
                && let Some(range) = Overrides::conflict_range(overrides)
            {
                return Some(uniform(range.min(policy.max_backoff), random()));
            }
            if !policy.remembers() {
                return Some(policy.backoff_nanos(kind, retry, || 0, random));
            }
            let form = Form::of(policy.max_backoff, has_rate);
            let previous = || packed.previous(form);
            let backoff = policy.backoff_nanos(kind, retry, previous, random);
            packed.set_previous(backoff, form);
            Some(backoff)
        })
    }

    /// Draws the waits before the next one again, if the next one depends on them and they are not known.
    /// So the next wait is as long, and as random, as if they were known.
    pub(crate) fn draw_waits(&mut self, policy: &Policy, random: impl Fn() -> u64) {
        if policy.remembers() {
            // The draws of earlier waits than these hardly change the last one.
            let retries = 0..self.failures().min(64);
            let last = retries.fold(0, |previous, retry| {
                policy.backoff_nanos(FaultKind::Transient, retry, || previous, &random)
            });
            self.packed
                .set_previous(last, Form::of(policy.max_backoff, false));
        }
    }

    /// Like [`failed_with`](Self::failed_with), under the overrides of a call.
    pub(crate) fn decide_with(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
        delays: &impl Delay,
    ) -> Next {
        let overrides = overrides.map(Overrides::without_pace);
        let overrides = overrides.as_ref();
        let form = match Overrides::rate(overrides) {
            Some(_) => Form::Rated,
            None => Form::Wide,
        };
        self.conclude(policy, ruling, overrides, now, |packed, kind, retry| {
            let previous = Duration::from_nanos(packed.previous(form));
            let wait = nanos(delays.delay_after(kind, retry, previous, random())?);
            packed.set_previous(wait, form);
            Some(wait)
        })
    }

    #[inline(always)]
    fn conclude(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
        backoff: impl FnOnce(&mut Packed, FaultKind, u32) -> Option<u64>,
    ) -> Next {
        let retry = self.failures();
        let failures = (retry + 1).min(MOST_ATTEMPTS);
        self.packed.set_failures(failures.into());
        // The attempt used the previous payment.
        self.packed.spend();
        let budget = Overrides::budget(overrides, policy);
        let kind = match ruling.ruled {
            Ruled::Retry(kind) => kind,
            stop => return stopped(budget, stop),
        };
        // A conflict and a pending value show that the service works.
        let budget = budget.filter(|_| !matches!(kind, FaultKind::Conflict | FaultKind::Pending));
        if let Some(budget) = budget {
            budget.failed();
        }
        if failures >= Overrides::most_attempts(overrides, policy) {
            return Next::stop(StopReason::Attempts);
        }
        if Overrides::cannot_repeat(overrides) {
            return Next::stop(StopReason::Unrepeatable);
        }
        // The first wait does not depend on earlier waits, and later waits do not grow from it.
        let mut aside = Packed::UNTIMED;
        let memory = if Overrides::waits_as_first(overrides) {
            &mut aside
        } else {
            &mut self.packed
        };
        let rate = Overrides::rate(overrides);
        let turn = Overrides::turn(overrides, retry);
        let mut next = match rate {
            // Others wait: their probes find the rate. Alone, the waits of the policy space the probes.
            Some(rate) if kind == FaultKind::Throttled && rate.waiting() > 0 => Next::RATE,
            _ if policy.retry_after_alone && kind == FaultKind::Throttled && ruling.hint > 0 => {
                Next::backoff(0)
            }
            _ => match backoff(memory, kind, turn) {
                Some(backoff) => Next::backoff(backoff),
                None => return Next::stop(StopReason::Attempts),
            },
        };
        let backoff = next.delay();
        let deadline = Overrides::deadline_of_wait(overrides, policy);
        if ruling.hint > backoff {
            let longest = policy.longest_hint(deadline);
            next = hinted(policy, backoff, ruling.hint, longest);
            if next.reason().is_some() {
                return next;
            }
        }
        if deadline != NEVER {
            let now = now();
            let passes = |next, hint| self.passes(deadline, next, hint, overrides, || now);
            if let Some(reason) = passes(next, ruling.hint) {
                return Next::stop(reason);
            }
            if let Some(rate) = rate
                && let turn = nanos(rate.turn_after(next.wait(), now))
                && passes(Next::backoff(turn), 0).is_some()
            {
                return Next::stop(StopReason::Rate);
            }
        }
        match budget {
            Some(budget) => self.pay(budget, kind, next),
            None => next,
        }
    }

    /// The reason to stop if a wait would end after the deadline.
    #[inline]
    pub(super) fn passes(
        &self,
        deadline: u64,
        next: Next,
        hint: u64,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
    ) -> Option<StopReason> {
        let elapsed = self.elapsed_nanos(now);
        let passes = |wait: u64| is_over(deadline, overrides, elapsed.saturating_add(wait));
        if !passes(next.delay()) {
            return None;
        }
        let most = next.delay().min(hint);
        Some(if next.is_hinted() && passes(most) {
            StopReason::RetryAfter
        } else {
            StopReason::Deadline
        })
    }

    #[inline(never)]
    fn pay(&mut self, budget: &Budget, kind: FaultKind, next: Next) -> Next {
        if !budget.pay(kind) {
            return Next::stop(StopReason::Budget);
        }
        self.packed.set_paid(if kind == FaultKind::Throttled {
            Paid::Throttled
        } else {
            Paid::Transient
        });
        next
    }
}

/// The reason to stop after a failure that is not retried.
fn stopped(budget: Option<&Budget>, ruled: Ruled) -> Next {
    let reason = match ruled {
        Ruled::Permanent | Ruled::Retry(_) => return Next::stop(StopReason::Permanent),
        Ruled::NothingKnown => return Next::stop(StopReason::NothingKnown),
        Ruled::MaybeApplied => StopReason::MaybeApplied,
        Ruled::StoppedByServer => StopReason::StoppedByServer,
    };
    if let Some(budget) = budget {
        budget.failed();
    }
    Next::stop(reason)
}

/// The wait if the server asks for a longer wait than the backoff.
fn hinted(policy: &Policy, backoff: u64, hint: u64, longest: u64) -> Next {
    let most = backoff.saturating_add(policy.retry_after_slack);
    let hint = hint.min(most);
    if hint <= backoff.max(1) {
        return Next::backoff(backoff);
    }
    if hint > longest {
        return Next::stop(StopReason::RetryAfter);
    }
    let wait = if policy.spread_retry_after {
        hint.saturating_add(backoff).min(most)
    } else {
        hint
    };
    Next::retry_after(wait)
}
