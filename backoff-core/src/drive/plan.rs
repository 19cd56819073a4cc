//! The policy of a call, the budget that pays for its waits, and the name of its operation; and the guard
//! that gives tokens back.

use super::call_state::CallState;
use crate::rate::Rate;
use crate::{budget::Budget, policy::Policy, state::Overrides};
use core::fmt;

/// The holder of the budget that pays for a call's waits, and of its rate.
pub trait Pays {
    /// The budget.
    fn budget(&self) -> Option<&Budget>;

    /// The rate that says when an attempt begins.
    fn rate(&self) -> Option<&Rate>;

    /// Whether there may be a budget or a rate, as far as the compiler can tell.
    #[inline]
    fn may_pay(&self) -> bool {
        true
    }
}

/// The policy of a call, and perhaps a budget of the call and the name of its operation: `&Policy`,
/// `Policy`, or one of them [`Funded`] or [`Named`].
pub trait Plan: Pays + Clone {
    /// The same plan with a policy of its own.
    type Owned: Plan;

    /// The policy.
    fn policy(&self) -> &Policy;

    /// The same plan with a copy of the policy.
    fn owned(&self) -> Self::Owned;

    /// The name of the operation, if the call gives one.
    #[inline]
    fn operation(&self) -> Option<&'static str> {
        None
    }

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

    #[inline]
    fn rate(&self) -> Option<&Rate> {
        self.shared_rate()
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

    #[inline]
    fn rate(&self) -> Option<&Rate> {
        self.shared_rate()
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

/// A plan that several calls share.
#[cfg(feature = "tower")]
impl<P: Pays> Pays for std::sync::Arc<P> {
    fn budget(&self) -> Option<&Budget> {
        (**self).budget()
    }

    #[inline]
    fn rate(&self) -> Option<&Rate> {
        (**self).rate()
    }

    #[inline]
    fn may_pay(&self) -> bool {
        (**self).may_pay()
    }
}

#[cfg(feature = "tower")]
impl<P: Plan> Plan for std::sync::Arc<P> {
    type Owned = Self;

    #[inline]
    fn policy(&self) -> &Policy {
        (**self).policy()
    }

    fn owned(&self) -> Self {
        self.clone()
    }

    #[inline]
    fn operation(&self) -> Option<&'static str> {
        (**self).operation()
    }

    #[inline]
    fn overrides<'b>(&'b self, of_operation: Option<Overrides<'b>>) -> Option<Overrides<'b>> {
        (**self).overrides(of_operation)
    }
}

/// A plan with a budget of the call. Made by [`Retrying::budget`](super::future::Retrying::budget).
#[derive(Clone, Copy, Debug)]
pub struct Funded<'b, P> {
    pub(super) plan: P,
    pub(super) budget: &'b Budget,
}

impl<P: Pays> Pays for Funded<'_, P> {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        Some(self.budget)
    }

    #[inline]
    fn rate(&self) -> Option<&Rate> {
        self.plan.rate()
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
    fn operation(&self) -> Option<&'static str> {
        self.plan.operation()
    }

    #[inline]
    fn overrides<'b>(&'b self, of_operation: Option<Overrides<'b>>) -> Option<Overrides<'b>> {
        let overrides = self.plan.overrides(of_operation);
        Some(Overrides::with_budget(overrides.as_ref(), self.budget))
    }
}

/// A plan with a rate of the call. Made by [`Retrying::rate`](super::future::Retrying::rate).
#[cfg(feature = "rate")]
#[derive(Clone, Copy, Debug)]
pub struct Rated<'r, P> {
    pub(super) plan: P,
    pub(super) rate: &'r Rate,
}

#[cfg(feature = "rate")]
impl<P: Pays> Pays for Rated<'_, P> {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.plan.budget()
    }

    #[inline]
    fn rate(&self) -> Option<&Rate> {
        Some(self.rate)
    }
}

#[cfg(feature = "rate")]
impl<'f, P: Plan> Plan for Rated<'f, P> {
    type Owned = Rated<'f, P::Owned>;

    #[inline]
    fn policy(&self) -> &Policy {
        self.plan.policy()
    }

    fn owned(&self) -> Self::Owned {
        Rated {
            plan: self.plan.owned(),
            rate: self.rate,
        }
    }

    #[inline]
    fn operation(&self) -> Option<&'static str> {
        self.plan.operation()
    }

    #[inline]
    fn overrides<'b>(&'b self, of_operation: Option<Overrides<'b>>) -> Option<Overrides<'b>> {
        let overrides = self.plan.overrides(of_operation);
        Some(Overrides::with_rate(overrides.as_ref(), self.rate))
    }
}

/// A plan with the name of the operation. Made by
/// [`Retrying::operation`](super::future::Retrying::operation).
#[derive(Clone, Copy, Debug)]
pub struct Named<P> {
    pub(super) plan: P,
    pub(super) operation: &'static str,
}

impl<P: Pays> Pays for Named<P> {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.plan.budget()
    }

    #[inline]
    fn rate(&self) -> Option<&Rate> {
        self.plan.rate()
    }

    #[inline]
    fn may_pay(&self) -> bool {
        self.plan.may_pay()
    }
}

impl<P: Plan> Plan for Named<P> {
    type Owned = Named<P::Owned>;

    #[inline]
    fn policy(&self) -> &Policy {
        self.plan.policy()
    }

    fn owned(&self) -> Self::Owned {
        Named {
            plan: self.plan.owned(),
            operation: self.operation,
        }
    }

    #[inline]
    fn operation(&self) -> Option<&'static str> {
        Some(self.operation)
    }

    #[inline]
    fn overrides<'b>(&'b self, of_operation: Option<Overrides<'b>>) -> Option<Overrides<'b>> {
        self.plan.overrides(of_operation)
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
    fn rate(&self) -> Option<&Rate> {
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

    #[inline]
    fn rate(&self) -> Option<&Rate> {
        self.policy().shared_rate()
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

    /// The wait is over: the attempt begins, or the call asks its rate first.
    #[inline]
    pub(crate) fn begins(&mut self) {
        if self.plan.may_pay() && self.plan.rate().is_none() {
            self.state.spend();
        }
    }

    /// Takes the state out. The guard gives nothing back then.
    pub(super) const fn release(&mut self) -> CallState {
        core::mem::replace(&mut self.state, CallState::new())
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
        if self.plan.may_pay() && self.state.is_held() {
            self.state.cancelled(self.plan.budget());
        }
    }
}
