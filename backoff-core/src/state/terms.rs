//! What one call says beside its policy.

use crate::{
    budget::Budget,
    policy::{MOST_DEADLINE, NEVER, Policy},
    runtime::nanos,
};
use core::time::Duration;

/// What one call says beside its policy: a time limit, whether its attempts are cut, and
/// a budget. A call that says nothing has none, which is the short way.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'b> {
    timeout: u64,
    cut: bool,
    budget: Option<&'b Budget>,
}

impl<'b> Terms<'b> {
    const PLAIN: Self = Terms {
        timeout: NEVER,
        cut: false,
        budget: None,
    };

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
            budget: None,
        }
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
            policy.attempts()
        } else {
            policy.attempts_in_time()
        }
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
