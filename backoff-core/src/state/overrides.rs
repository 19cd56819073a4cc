//! The rules of one call that override the rules of its policy.

use crate::{
    budget::Budget,
    delay::Pace,
    policy::{MOST_DEADLINE, NEVER, Policy},
    rate::Rate,
    runtime::nanos,
};
use core::time::Duration;

/// The rules of one call beside its policy: a time limit, whether attempts are cut, a number of
/// attempts, a budget, a rate, the range of the wait after a conflict, which failures do not lengthen the waits,
/// and whether the call can be repeated at all. Most calls have no such settings, which is faster.
#[derive(Clone, Copy, Debug)]
pub struct Overrides<'b> {
    timeout: u64,
    cut: bool,
    /// The policy's deadline does not limit the waits.
    replaces_deadline: bool,
    /// The highest number of attempts; 0: the policy's number.
    attempts: u32,
    /// The number of earlier failures that do not lengthen the waits; [`ALL`]: the next wait is the
    /// first.
    uncounted: u32,
    /// The number of conflicts whose wait was the pace's. These numbers are small, because a future holds the
    /// overrides.
    paced: u16,
    /// Which wait of the policy follows, counted from 1, whatever failed before; 0: the failures are counted.
    turn: u16,
    /// The range of the wait after a conflict, in nanoseconds from 0; [`NEVER`]: the policy's own wait.
    conflict_range: u64,
    /// The operation cannot be repeated, because its input is used up.
    unrepeatable: bool,
    budget: Option<&'b Budget>,
    #[cfg(feature = "rate")]
    rate: Option<&'b Rate>,
}

/// More than the highest number of failures.
const ALL: u32 = u32::MAX;

impl<'b> Overrides<'b> {
    const PLAIN: Self = Overrides {
        timeout: NEVER,
        cut: false,
        replaces_deadline: false,
        attempts: 0,
        uncounted: 0,
        paced: 0,
        turn: 0,
        conflict_range: NEVER,
        unrepeatable: false,
        budget: None,
        #[cfg(feature = "rate")]
        rate: None,
    };

    /// No attempt can follow, whatever the policy says, because the operation's input is used up.
    #[cfg(feature = "tower")]
    pub(crate) const UNREPEATABLE: Self = Overrides {
        unrepeatable: true,
        ..Self::PLAIN
    };

    /// After a conflict, this pace gives the wait, up to the policy's cap. After another failure the pace says
    /// which wait of the policy follows.
    #[inline]
    pub(crate) fn paced(pace: &Pace) -> Self {
        Overrides {
            paced: pace.kept().try_into().unwrap_or(u16::MAX),
            turn: pace.turn(),
            conflict_range: pace.range().map_or(NEVER, |range| range.min(NEVER - 1)),
            ..Self::PLAIN
        }
    }

    /// The same overrides without a pace, for waits of another algorithm.
    pub(crate) const fn without_pace(&self) -> Self {
        Overrides {
            paced: 0,
            turn: 0,
            conflict_range: NEVER,
            ..*self
        }
    }

    /// Attempts are cut at the deadline and at `timeout`, if there is one. The other overrides stay.
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
                // A limit of zero counts as a nanosecond: the first attempt always begins.
                0 => 1,
                nanos if nanos > MOST_DEADLINE => MOST_DEADLINE,
                nanos => nanos,
            },
        };
        Overrides {
            timeout: if timeout < earlier { timeout } else { earlier },
            cut: true,
            budget: None,
            #[cfg(feature = "rate")]
            rate: None,
            ..before
        }
    }

    /// This number of attempts, instead of the policy's number. The other overrides stay.
    #[cfg(feature = "std")]
    pub(crate) const fn attempts(self, attempts: u32) -> Self {
        Overrides { attempts, ..self }
    }

    /// One more conflict whose wait was the pace's.
    #[cfg(feature = "std")]
    pub(super) const fn count_paced(&mut self) {
        self.paced = self.paced.saturating_add(1);
    }

    /// The limits of several calls together, instead of the policy's limits: attempts are made until
    /// `deadline`, counted from the start; without one, no further attempt is made. The other overrides
    /// stay.
    #[cfg(feature = "std")]
    pub(crate) fn together(self, deadline: Option<Duration>) -> Self {
        Overrides {
            timeout: deadline.map_or(NEVER, nanos),
            cut: true,
            replaces_deadline: true,
            attempts: if deadline.is_some() { u32::MAX } else { 1 },
            ..self
        }
    }

    /// This number of earlier failures does not lengthen the waits. The other overrides stay.
    #[inline]
    pub(crate) const fn uncounted(failures: u32, before: Option<Self>) -> Self {
        let before = match before {
            Some(before) => before,
            None => Self::PLAIN,
        };
        Overrides {
            uncounted: before.uncounted.saturating_add(failures),
            ..before
        }
    }

    /// The next wait is the policy's first wait, as if nothing had failed. The other overrides stay.
    #[inline]
    pub(crate) const fn first_wait(before: Option<Self>) -> Self {
        Self::uncounted(ALL, before)
    }

    /// The same overrides with this budget; without overrides, the budget alone.
    #[inline]
    pub(crate) fn with_budget(overrides: Option<&Self>, budget: &'b Budget) -> Self {
        let overrides = *overrides.unwrap_or(&Overrides::PLAIN);
        Overrides {
            budget: Some(budget),
            ..overrides
        }
    }
}

#[cfg(feature = "rate")]
impl<'b> Overrides<'b> {
    /// The same overrides with this rate; without overrides, the rate alone.
    #[inline]
    pub(crate) fn with_rate(overrides: Option<&Self>, rate: &'b Rate) -> Self {
        let overrides = *overrides.unwrap_or(&Overrides::PLAIN);
        Overrides {
            rate: Some(rate),
            ..overrides
        }
    }

    /// The rate whose queue comes before the next attempt. A loop that does not ask its policy's rate has none.
    #[inline]
    pub(crate) fn rate(this: Option<&Self>) -> Option<&'b Rate> {
        this?.rate
    }
}

#[cfg(not(feature = "rate"))]
impl<'b> Overrides<'b> {
    pub(crate) fn with_rate(_: Option<&Self>, rate: &'b Rate) -> Self {
        match *rate {}
    }

    #[inline]
    pub(crate) fn rate(_: Option<&Self>) -> Option<&'b Rate> {
        None
    }
}

/// The rules of a call: its own one, if the call has overrides that name one, or the policy's.
impl<'b> Overrides<'b> {
    /// No attempt begins later than this number of nanoseconds after the start.
    #[inline]
    pub(crate) fn deadline(this: Option<&Self>, policy: &Policy) -> u64 {
        match this {
            Some(overrides) => policy.deadline.min(overrides.timeout),
            None => policy.deadline,
        }
    }

    /// No wait ends later than this number of nanoseconds after the start. This differs from the deadline
    /// only for the limits of several calls [together](Overrides::together).
    #[inline]
    pub(crate) fn deadline_of_wait(this: Option<&Self>, policy: &Policy) -> u64 {
        match this {
            Some(overrides) if overrides.replaces_deadline => overrides.timeout,
            overrides => Self::deadline(overrides, policy),
        }
    }

    /// Whether an attempt is cut at the deadline, and so needs some time before the deadline.
    #[inline]
    pub(crate) fn cut_at_deadline(this: Option<&Self>) -> bool {
        this.is_some_and(|overrides| overrides.cut)
    }

    /// The highest number of attempts.
    #[inline]
    pub(crate) fn most_attempts(this: Option<&Self>, policy: &Policy) -> u32 {
        if let Some(Overrides { attempts, .. }) = this
            && *attempts > 0
        {
            *attempts
        } else if Self::deadline(this, policy) == policy.deadline {
            let paced = this.map_or(0, |overrides| overrides.paced.into());
            let more = policy.more_at_pace().min(paced);
            policy.attempts().saturating_add(more)
        } else {
            policy.attempts_in_time()
        }
    }

    /// The index of the policy's wait after this number of failures, counted from 0.
    #[inline]
    pub(crate) fn turn(this: Option<&Self>, failures: u32) -> u32 {
        match this {
            Some(overrides) => {
                let turn = u32::from(overrides.turn).checked_sub(1);
                turn.unwrap_or(failures).saturating_sub(overrides.uncounted)
            }
            None => failures,
        }
    }

    /// The range of the wait after a conflict, in nanoseconds from 0, unless the policy gives the wait.
    #[inline]
    pub(crate) fn conflict_range(this: Option<&Self>) -> Option<u64> {
        let range = this?.conflict_range;
        (range != NEVER).then_some(range)
    }

    /// Whether no attempt can follow, whatever the policy says.
    #[inline]
    pub(crate) fn cannot_repeat(this: Option<&Self>) -> bool {
        this.is_some_and(|overrides| overrides.unrepeatable)
    }

    /// Whether the next wait is the policy's first wait, as if nothing had failed.
    #[inline]
    pub(crate) fn waits_as_first(this: Option<&Self>) -> bool {
        this.is_some_and(|overrides| overrides.uncounted == ALL)
    }

    /// The budget that pays for retries.
    #[inline]
    pub(crate) fn budget<'a>(this: Option<&Self>, policy: &'a Policy) -> Option<&'a Budget>
    where
        'b: 'a,
    {
        match this {
            Some(Overrides {
                budget: Some(budget),
                ..
            }) => Some(budget),
            _ => policy.budget,
        }
    }
}
