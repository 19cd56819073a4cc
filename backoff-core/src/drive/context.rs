//! What every attempt of a call has in common.

use crate::{budget::Budget, policy::Policy, state::Overrides};
use core::time::Duration;

/// The rules of a call and its name. A constant, if it belongs to an annotated function whose policy is
/// a constant.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The rules of the call beside its policy: time limits, a budget, and rules of the operation.
    pub overrides: Option<Overrides<'a>>,
    /// The name in logs.
    pub name: &'static str,
}

impl<'a> Context<'a> {
    /// A call that has only a policy.
    #[inline]
    pub(crate) const fn of(policy: &'a Policy, name: &'static str) -> Self {
        Context {
            policy,
            overrides: None,
            name,
        }
    }

    /// By how much this time is after the deadline.
    pub(crate) fn late(&self, elapsed: Option<Duration>) -> Option<Duration> {
        let deadline = Overrides::deadline(self.overrides.as_ref(), self.policy);
        elapsed?
            .checked_sub(Duration::from_nanos(deadline))
            .filter(|late| !late.is_zero())
    }

    /// The budget that pays.
    #[inline]
    pub(crate) fn budget(&self) -> Option<&Budget> {
        Overrides::budget(self.overrides.as_ref(), self.policy)
    }
}
