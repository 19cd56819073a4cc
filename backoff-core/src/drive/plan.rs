//! The policy of a call and the budget that pays for its waits, and the guard that gives tokens back.

use super::call_state::CallState;
use crate::{budget::Budget, policy::Policy, state::Overrides};
use core::fmt;

/// The holder of the budget that pays for a call's waits.
pub trait Pays {
    /// The budget.
    fn budget(&self) -> Option<&Budget>;

    /// Whether there may be a budget, as far as the compiler can tell.
    #[inline]
    fn may_pay(&self) -> bool {
        true
    }
}

/// The policy of a call, and perhaps a budget of the call: `&Policy`, `Policy`, or one of them
/// [`Funded`].
pub trait Plan: Pays + Clone {
    /// The same plan with a policy of its own.
    type Owned: Plan;

    /// The policy.
    fn policy(&self) -> &Policy;

    /// The same plan with a copy of the policy.
    fn owned(&self) -> Self::Owned;

    /// The rules of the call beside its policy: those of the operation, and a budget.
    #[inline]
    fn overrides<'b>(&'b self, of_operation: Option<Overrides<'b>>) -> Option<Overrides<'b>> {
        of_operation
    }
}

impl Pays for Policy {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.budget
    }
}

impl Plan for Policy {
    type Owned = Policy;

    #[inline]
    fn policy(&self) -> &Policy {
        self
    }

    fn owned(&self) -> Policy {
        *self
    }
}

impl Pays for &Policy {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.budget
    }
}

impl Plan for &Policy {
    type Owned = Policy;

    #[inline]
    fn policy(&self) -> &Policy {
        self
    }

    fn owned(&self) -> Policy {
        **self
    }
}

/// A policy that several calls share.
#[cfg(feature = "tower")]
impl Pays for std::sync::Arc<Policy> {
    fn budget(&self) -> Option<&Budget> {
        self.budget
    }
}

#[cfg(feature = "tower")]
impl Plan for std::sync::Arc<Policy> {
    type Owned = Self;

    #[inline]
    fn policy(&self) -> &Policy {
        self
    }

    fn owned(&self) -> Self {
        self.clone()
    }
}

/// A plan with a budget of the call. Made by [`Retrying::budget`](super::future::Retrying::budget).
#[derive(Clone, Copy, Debug)]
pub struct Funded<'b, P> {
    pub(super) plan: P,
    pub(super) budget: &'b Budget,
}

impl<P> Pays for Funded<'_, P> {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        Some(self.budget)
    }
}

impl<'f, P: Plan> Plan for Funded<'f, P> {
    type Owned = Funded<'f, P::Owned>;

    #[inline]
    fn policy(&self) -> &Policy {
        self.plan.policy()
    }

    fn owned(&self) -> Self::Owned {
        Funded {
            plan: self.plan.owned(),
            budget: self.budget,
        }
    }

    #[inline]
    fn overrides<'b>(&'b self, of_operation: Option<Overrides<'b>>) -> Option<Overrides<'b>> {
        Some(Overrides::with_budget(of_operation.as_ref(), self.budget))
    }
}

/// No budget pays: the rules of the call name none.
#[derive(Clone, Copy, Debug)]
pub struct Unfunded;

impl Pays for Unfunded {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        None
    }

    #[inline]
    fn may_pay(&self) -> bool {
        false
    }
}

/// A reference to a policy, without alignment. Next to the 15 bytes of a call's state the reference leaves no
/// gap. A gap would make the future of an annotated function larger by 8 bytes.
#[derive(Clone, Copy)]
#[repr(Rust, packed)]
pub struct Borrowed<'p>(&'p Policy);

impl<'p> Borrowed<'p> {
    /// The reference.
    #[inline]
    pub const fn new(policy: &'p Policy) -> Self {
        Borrowed(policy)
    }

    /// The policy.
    #[inline]
    pub const fn policy(&self) -> &'p Policy {
        self.0
    }
}

impl fmt::Debug for Borrowed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.policy().fmt(f)
    }
}

impl Pays for Borrowed<'_> {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.policy().budget
    }
}

/// The state of a call, and the plan that pays for its waits. If the guard is dropped during a wait,
/// because the call is dropped or a hook panics, the budget gets its tokens back.
#[derive(Debug)]
pub struct Guard<P: Pays> {
    /// The plan.
    pub plan: P,
    /// The state of the call.
    pub state: CallState,
}

impl<P: Pays> Guard<P> {
    /// A call that has not begun.
    #[inline]
    pub const fn new(plan: P) -> Self {
        Self::of(plan, CallState::new())
    }

    /// The attempt after the wait begins.
    #[inline]
    pub(crate) fn begins(&mut self) {
        if self.plan.may_pay() {
            self.state.spend();
        }
    }

    /// A call in this state.
    #[inline]
    pub(super) const fn of(plan: P, state: CallState) -> Self {
        Guard { plan, state }
    }
}

impl<P: Pays> Drop for Guard<P> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.plan.may_pay() {
            self.state.cancelled(self.plan.budget());
        }
    }
}
