//! What one call says beside its policy.

use crate::{
    budget::Budget,
    delay::Pace,
    policy::{MOST_DEADLINE, NEVER, Policy},
    runtime::nanos,
};
use core::time::Duration;

/// What one call says beside its policy: a time limit, whether its attempts are cut, a budget,
/// what the wait after a conflict is drawn from, which failures do not lengthen its waits, and whether
/// it can be repeated at all. Most calls have none, which is faster.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'b> {
    timeout: u64,
    cut: bool,
    /// So many of the failures before do not lengthen the waits; [`ALL`]: the next wait is the first.
    uncounted: u32,
    /// So many conflicts were waited after at the pace of the resource.
    paced: u32,
    /// What the wait after a conflict is drawn from, in nanoseconds from 0; [`NEVER`]: the policy's own.
    conflict_range: u64,
    /// The operation cannot be repeated: what it sends is used up.
    unrepeatable: bool,
    budget: Option<&'b Budget>,
}

/// More failures than there can be.
const ALL: u32 = u32::MAX;

impl<'b> Terms<'b> {
    const PLAIN: Self = Terms {
        timeout: NEVER,
        cut: false,
        uncounted: 0,
        paced: 0,
        conflict_range: NEVER,
        unrepeatable: false,
        budget: None,
    };

    /// No attempt can follow, whatever the policy says: what the operation sends is used up.
    #[cfg(feature = "tower")]
    pub(crate) const UNREPEATABLE: Self = Terms {
        unrepeatable: true,
        ..Self::PLAIN
    };

    /// The wait after a conflict is this pace's, as far as the policy's cap allows. The conflicts after
    /// which the pace was kept do not lengthen the waits after other failures.
    #[inline]
    pub(crate) fn paced(pace: &Pace) -> Self {
        Terms {
            paced: pace.kept(),
            conflict_range: pace.range().map_or(NEVER, |range| range.min(NEVER - 1)),
            ..Self::PLAIN
        }
    }

    /// The same terms where the waits are neither the policy's nor a pace's.
    pub(crate) const fn without_pace(&self) -> Self {
        Terms {
            paced: 0,
            conflict_range: NEVER,
            ..*self
        }
    }

    /// Attempts are cut at the deadline, and at `timeout`, if there is one; and what was said before.
    #[inline]
    pub(crate) const fn cut(timeout: Option<Duration>, before: Option<Self>) -> Self {
        let before = match before {
            Some(before) => before,
            None => Self::PLAIN,
        };
        let earlier = before.timeout;
        let timeout = match timeout {
            None => NEVER,
            Some(timeout) => match nanos(timeout) {
                // A limit of zero counts as a nanosecond: the first attempt is always begun.
                0 => 1,
                nanos if nanos > MOST_DEADLINE => MOST_DEADLINE,
                nanos => nanos,
            },
        };
        Terms {
            timeout: if timeout < earlier { timeout } else { earlier },
            cut: true,
            uncounted: before.uncounted,
            paced: before.paced,
            conflict_range: before.conflict_range,
            unrepeatable: before.unrepeatable,
            budget: None,
        }
    }

    /// So many of the failures before do not lengthen the waits; and what was said before.
    #[inline]
    pub(crate) const fn uncounted(failures: u32, before: Option<Self>) -> Self {
        let before = match before {
            Some(before) => before,
            None => Self::PLAIN,
        };
        Terms {
            uncounted: before.uncounted.saturating_add(failures),
            ..before
        }
    }

    /// The next wait is the policy's first one, as if nothing had failed; and what was said before.
    #[inline]
    pub(crate) const fn first_wait(before: Option<Self>) -> Self {
        Self::uncounted(ALL, before)
    }

    /// The same terms and this budget, unless they have one; or a budget alone.
    #[inline]
    pub(crate) fn with_budget(terms: Option<&Self>, budget: &'b Budget) -> Self {
        let terms = *terms.unwrap_or(&Terms::PLAIN);
        Terms {
            budget: terms.budget.or(Some(budget)),
            ..terms
        }
    }
}

/// What holds for a call: its policy's rule, or what it says itself.
pub(crate) trait Holds<'b> {
    /// No attempt begins later than so many nanoseconds after the start.
    fn deadline(self, policy: &Policy) -> u64;
    /// Whether an attempt is cut at the deadline, and so needs some time before it.
    fn cut_at_deadline(self) -> bool;
    /// How many attempts there are at most.
    fn attempts(self, policy: &Policy) -> u32;
    /// Which of the policy's waits follows after so many failures, counted from 0.
    fn turn(self, failures: u32) -> u32;
    /// Whether the next wait is the policy's first one, as if nothing had failed.
    fn waits_as_first(self) -> bool;
    /// Whether no attempt can follow, whatever the policy says.
    fn cannot_repeat(self) -> bool;
    /// What the wait after a conflict is drawn from, in nanoseconds from 0, if not by the policy.
    fn conflict_range(self) -> Option<u64>;
    /// What retries are paid from.
    fn budget<'a>(self, policy: &'a Policy) -> Option<&'a Budget>
    where
        'b: 'a;
}

impl<'b> Holds<'b> for Option<&Terms<'b>> {
    #[inline]
    fn deadline(self, policy: &Policy) -> u64 {
        match self {
            Some(terms) => policy.deadline.min(terms.timeout),
            None => policy.deadline,
        }
    }

    #[inline]
    fn cut_at_deadline(self) -> bool {
        self.is_some_and(|terms| terms.cut)
    }

    #[inline]
    fn attempts(self, policy: &Policy) -> u32 {
        if self.deadline(policy) == policy.deadline {
            let paced = self.map_or(0, |terms| terms.paced);
            let more = paced.min(policy.more_at_pace());
            policy.attempts().saturating_add(more)
        } else {
            policy.attempts_in_time()
        }
    }

    #[inline]
    fn turn(self, failures: u32) -> u32 {
        match self {
            Some(terms) => failures
                .saturating_sub(terms.uncounted)
                .saturating_sub(terms.paced),
            None => failures,
        }
    }

    #[inline]
    fn conflict_range(self) -> Option<u64> {
        let range = self?.conflict_range;
        (range != NEVER).then_some(range)
    }

    #[inline]
    fn cannot_repeat(self) -> bool {
        self.is_some_and(|terms| terms.unrepeatable)
    }

    #[inline]
    fn waits_as_first(self) -> bool {
        self.is_some_and(|terms| terms.uncounted == ALL)
    }

    #[inline]
    fn budget<'a>(self, policy: &'a Policy) -> Option<&'a Budget>
    where
        'b: 'a,
    {
        match self {
            Some(Terms {
                budget: Some(budget),
                ..
            }) => Some(budget),
            _ => policy.budget,
        }
    }
}
