//! The rules of one call: its policy, and what the plan, the settings and the operation of the call change of it.

use crate::{
    breaker::Breaker,
    budget::Budget,
    delay::{Delay, Pace},
    policy::{MOST_DEADLINE, NEVER, Policy},
    rate::{NO_TOKENS, Rate, Tokens},
    runtime::nanos,
};
use core::time::Duration;

/// What a call shares with other calls.
#[derive(Clone, Copy, Debug)]
pub struct SharedLimits<'s> {
    /// The budget whose tokens the retries take.
    pub budget: Option<&'s Budget>,
    /// The rate that says when an attempt begins.
    pub rate: Option<&'s Rate>,
    /// The breaker that ends the call while a service is down.
    pub breaker: Option<&'s Breaker>,
    /// How many tokens of a quota an attempt uses.
    pub tokens: Tokens,
}

impl<'s> SharedLimits<'s> {
    pub(crate) const NOTHING: Self = SharedLimits {
        budget: None,
        rate: None,
        breaker: None,
        tokens: NO_TOKENS,
    };

    /// What the calls of a policy share.
    #[inline]
    pub(crate) const fn of(policy: &Policy) -> Self {
        SharedLimits {
            budget: policy.budget,
            rate: policy.shared_rate(),
            breaker: policy.shared_breaker(),
            tokens: policy.tokens,
        }
    }

    /// Whether an attempt asks a rate or a breaker before it begins.
    #[inline]
    pub(crate) const fn needs_admission(&self) -> bool {
        self.rate.is_some() || self.breaker.is_some()
    }

    /// What is missing here is taken from there.
    #[inline]
    pub(crate) fn or(self, other: Self) -> Self {
        SharedLimits {
            budget: self.budget.or(other.budget),
            rate: self.rate.or(other.rate),
            breaker: self.breaker.or(other.breaker),
            tokens: self.tokens.max(other.tokens),
        }
    }
}

/// The policy of a call and the changes of the call. The value is made anew whenever somebody asks for the rules, and
/// is not stored, so the future of a call does not grow by it. On the path of a success the compiler leaves out what
/// nobody reads.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Rules<'a> {
    pub(crate) policy: &'a Policy,
    /// Only the decision reads the rate; there is none if the attempt has no number at the rate.
    pub(crate) shared: SharedLimits<'a>,
    pub(crate) delays: Option<&'a dyn Delay>,
    pub(super) pace: Option<&'a Pace>,
    /// No attempt begins, and no wait ends, later than this number of nanoseconds after the start.
    pub(crate) deadline: u64,
    /// The limit of one attempt, in nanoseconds.
    pub(crate) attempt_timeout: u64,
    /// The longest wait in the queue of the rate; nothing if no error can be made when this time is over.
    pub(crate) max_queue_time: Option<Duration>,
    /// The highest number of attempts.
    pub(crate) attempts: u32,
    /// The number of earlier failures that do not lengthen the waits.
    pub(crate) uncounted: u32,
    /// The next wait is the policy's first wait, as if nothing had failed.
    pub(crate) is_first_wait: bool,
    /// Whether attempts are cut at the deadline.
    pub(crate) cuts: bool,
    pub(crate) is_unrepeatable: bool,
}

impl<'a> Rules<'a> {
    /// The rules of the policy.
    #[inline]
    pub(crate) const fn of(policy: &'a Policy) -> Self {
        Rules {
            policy,
            shared: SharedLimits {
                rate: None,
                ..SharedLimits::of(policy)
            },
            delays: None,
            pace: None,
            deadline: policy.deadline,
            attempt_timeout: NEVER,
            max_queue_time: None,
            attempts: policy.attempts(),
            uncounted: 0,
            is_first_wait: false,
            cuts: false,
            is_unrepeatable: false,
        }
    }

    /// After a conflict, this pace gives the wait, up to the policy's cap. After another failure the pace says
    /// which wait of the policy follows. Waits that replace those of the policy have no pace. Conflicts whose waits were those of
    /// the pace do not count as attempts, unless the time is limited.
    #[inline]
    pub(crate) fn keep_pace(&mut self, pace: &'a Pace) {
        if self.delays.is_none() && pace.has_failed() {
            self.pace = Some(pace);
            if self.deadline == NEVER {
                let more = pace.kept().min(self.policy.more_at_pace());
                self.attempts = self.attempts.saturating_add(more);
            }
        }
    }

    /// The call is over after this time, and attempts are cut then; of two limits the shorter one holds. Zero counts as a
    /// nanosecond, because the first attempt always begins.
    #[inline]
    pub(crate) fn limit(&mut self, timeout: Duration) {
        self.cuts = true;
        let timeout = nanos(timeout).clamp(1, MOST_DEADLINE);
        if timeout < self.deadline {
            self.deadline = timeout;
            self.attempts = self.policy.attempts_in_time();
        }
    }

    /// Whether an attempt would begin too late, so many nanoseconds after the start. An attempt that is cut at the
    /// deadline needs some time before the deadline.
    #[inline]
    pub(crate) fn is_over(&self, elapsed: u64) -> bool {
        elapsed > self.deadline || self.cuts && elapsed == self.deadline
    }

    /// The index of the wait after this number of failures, counted from 0.
    #[inline]
    pub(crate) fn turn(&self, failures: u32) -> u32 {
        if self.is_first_wait {
            return 0;
        }
        let turn = self.pace.and_then(|pace| pace.turn().checked_sub(1));
        turn.map_or(failures, u32::from)
            .saturating_sub(self.uncounted)
    }

    /// Whether nothing but the number of attempts limits the call, and the policy gives its waits.
    #[inline(always)]
    pub(super) const fn limits_attempts_only(&self) -> bool {
        self.deadline == NEVER
            && self.shared.budget.is_none()
            && !self.shared.needs_admission()
            && self.delays.is_none()
            && self.pace.is_none()
            && self.uncounted == 0
            && !self.is_first_wait
            && !self.is_unrepeatable
    }
}
