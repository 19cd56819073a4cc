//! What every attempt of a call has in common.

use crate::{budget::Budget, policy::Policy, state::Overrides};

/// The rules of a call and the name of its operation. A constant, if it belongs to an annotated function
/// whose policy is a constant.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The rules of the call beside its policy: time limits, a budget, and rules of the operation.
    pub overrides: Option<Overrides<'a>>,
    /// The name of the operation in logs and metrics.
    pub operation: &'static str,
}

impl<'a> Context<'a> {
    /// A call that has only a policy.
    #[inline]
    pub(crate) const fn of(policy: &'a Policy, operation: &'static str) -> Self {
        Context {
            policy,
            overrides: None,
            operation,
        }
    }

    /// The budget that pays.
    #[inline]
    pub(crate) fn budget(&self) -> Option<&Budget> {
        Overrides::budget(self.overrides.as_ref(), self.policy)
    }
}
