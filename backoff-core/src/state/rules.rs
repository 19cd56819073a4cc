//! The rules of one call: its policy, and what the plan, the settings and the operation of the call change of it.

use crate::{
    breaker::Breaker,
    budget::Budget,
    delay::{Delay, Pace},
    policy::{MOST_DEADLINE, NEVER, Policy},
    rate::{Rate, Tokens},
    runtime::nanos,
};
use core::time::Duration;

/// The policy of a call and the changes of the call. The value is made anew whenever somebody asks for the rules, and
/// is not stored, so the future of a call does not grow by it. On the path of a success the compiler leaves out what
/// nobody reads.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) budget: Option<&'a Budget>,
    /// The rate whose queue comes before the next attempt. A loop that does not ask its policy's rate has none.
    pub(crate) rate: Option<&'a Rate>,
    /// The breaker that ends the retries while it is open.
    pub(crate) breaker: Option<&'a Breaker>,
    pub(crate) delays: Option<&'a dyn Delay>,
    pace: Option<&'a Pace>,
    /// The number of conflicts whose wait was the pace's.
    paced: u32,
    pub(super) timeout: u64,
    /// The limit of one attempt, in nanoseconds.
    pub(crate) attempt_timeout: u64,
    /// The longest wait in the queue of the rate; nothing if no error can be made when this time is over.
    pub(crate) max_queue_time: Option<Duration>,
    /// How many tokens of a quota an attempt uses.
    pub(crate) tokens: Tokens,
    /// The highest number of attempts; 0: the number of the policy.
    attempts: u32,
    /// The number of earlier failures that do not lengthen the waits; [`ALL`]: the next wait is the first.
    uncounted: u32,
    /// Whether attempts are cut at the deadline.
    pub(crate) cuts: bool,
    pub(crate) is_unrepeatable: bool,
    /// Whether anything differs from the policy that matters for the next wait.
    is_changed: bool,
}

/// More than the highest number of failures.
const ALL: u32 = u32::MAX;

impl<'a> Rules<'a> {
    /// The rules of the policy.
    #[inline(always)]
    pub(crate) const fn of(policy: &'a Policy) -> Self {
        Rules {
            policy,
            budget: policy.budget,
            rate: None,
            breaker: policy.shared_breaker(),
            delays: None,
            pace: None,
            paced: 0,
            timeout: NEVER,
            attempt_timeout: NEVER,
            max_queue_time: None,
            tokens: policy.tokens,
            attempts: 0,
            uncounted: 0,
            cuts: false,
            is_unrepeatable: false,
            is_changed: false,
        }
    }

    /// The rules of the policy, with this budget.
    #[inline(always)]
    pub(crate) const fn with_budget(policy: &'a Policy, budget: Option<&'a Budget>) -> Self {
        Rules {
            budget,
            is_changed: budget.is_some(),
            ..Rules::of(policy)
        }
    }

    /// Whether the policy alone gives the next wait.
    #[inline(always)]
    pub(crate) const fn are_the_policys(&self) -> bool {
        !self.is_changed
    }

    /// The queue of this rate comes before the next attempt, which uses so many tokens.
    #[inline]
    pub(crate) const fn enter(&mut self, rate: &'a Rate, tokens: Tokens) {
        self.rate = Some(rate);
        self.tokens = tokens;
        self.is_changed = true;
    }

    /// This breaker replaces the policy's.
    #[inline]
    pub(crate) const fn stop_by(&mut self, breaker: Option<&'a Breaker>) {
        if breaker.is_some() {
            self.breaker = breaker;
            self.is_changed = true;
        }
    }

    /// These waits replace those of the policy.
    #[inline]
    pub(crate) fn wait_by(&mut self, delays: &'a dyn Delay) {
        self.delays = Some(delays);
        self.is_changed = true;
    }

    /// After a conflict, this pace gives the wait, up to the policy's cap. After another failure the pace says
    /// which wait of the policy follows.
    #[inline]
    pub(crate) fn keep_pace(&mut self, pace: &'a Pace) {
        self.pace = Some(pace);
        self.count_paced(pace.kept());
    }

    /// The waits after so many conflicts were those of a pace.
    pub(crate) const fn count_paced(&mut self, conflicts: u32) {
        self.paced = conflicts;
        self.is_changed = true;
    }

    /// Attempts are cut at the deadline.
    #[inline]
    pub(crate) const fn cut(&mut self) {
        self.cuts = true;
        self.is_changed = true;
    }

    /// The call is over after this time; of two limits the shorter one holds. Zero counts as a nanosecond, because
    /// the first attempt always begins.
    #[inline]
    pub(crate) fn limit(&mut self, timeout: Duration) {
        self.timeout = self.timeout.min(nanos(timeout).clamp(1, MOST_DEADLINE));
        self.cut();
    }

    /// This number of attempts, instead of the policy's number.
    #[cfg(feature = "combine")]
    pub(crate) const fn set_attempts(&mut self, attempts: u32) {
        self.attempts = attempts;
        self.is_changed = true;
    }

    /// This number of earlier failures does not lengthen the waits.
    #[inline]
    pub(crate) const fn leave_out(&mut self, failures: u32) {
        self.uncounted = self.uncounted.saturating_add(failures);
        self.is_changed = true;
    }

    /// The next wait is the policy's first wait, as if nothing had failed.
    #[inline]
    pub(crate) const fn wait_as_first(&mut self) {
        self.leave_out(ALL);
    }

    /// No attempt can follow, because the input of the operation is used up.
    #[cfg(feature = "tower")]
    #[inline]
    pub(crate) const fn end(&mut self) {
        self.is_unrepeatable = true;
        self.is_changed = true;
    }

    /// No attempt begins, and no wait ends, later than this number of nanoseconds after the start.
    #[inline]
    pub(crate) fn deadline(&self) -> u64 {
        self.policy.deadline.min(self.timeout)
    }

    /// Whether an attempt would begin too late, so many nanoseconds after the start. An attempt that is cut at the
    /// deadline needs some time before the deadline.
    #[inline]
    pub(crate) fn is_over(&self, elapsed: u64) -> bool {
        let deadline = self.deadline();
        elapsed > deadline || self.cuts && elapsed == deadline
    }

    /// The highest number of attempts.
    #[inline]
    pub(crate) fn most_attempts(&self) -> u32 {
        let policy = self.policy;
        if self.attempts > 0 {
            self.attempts
        } else if self.deadline() != policy.deadline {
            policy.attempts_in_time()
        } else if self.delays.is_none() {
            let more = policy.more_at_pace().min(self.paced);
            policy.attempts().saturating_add(more)
        } else {
            policy.attempts()
        }
    }

    /// The pace, which belongs to the waits of the policy.
    fn pace(&self) -> Option<&Pace> {
        self.pace.filter(|_| self.delays.is_none())
    }

    /// The index of the wait after this number of failures, counted from 0.
    #[inline]
    pub(crate) fn turn(&self, failures: u32) -> u32 {
        let turn = self.pace().and_then(|pace| pace.turn().checked_sub(1));
        turn.map_or(failures, u32::from)
            .saturating_sub(self.uncounted)
    }

    /// The range of the wait after a conflict, in nanoseconds from 0, unless the policy gives the wait.
    #[inline]
    pub(crate) fn conflict_range(&self) -> Option<u64> {
        self.pace().and_then(Pace::range)
    }

    /// Whether the next wait is the policy's first wait.
    #[inline]
    pub(crate) const fn waits_as_first(&self) -> bool {
        self.uncounted == ALL
    }
}
