//! The tokens that a budget has paid for a wait. The budget gets them back if no attempt follows:
//! because the call is dropped while it waits, because a hook panics, because the timer wakes too late,
//! or because a signal ends the call.

use super::course::Course;
use crate::{budget::Budget, policy::Policy};
use core::fmt;

/// The course of a call, and the budget that pays for its waits. If this is dropped during a wait, the
/// budget gets its tokens back.
#[derive(Debug)]
pub struct Deposit<P: Payer> {
    /// The holder of the budget that pays.
    pub payer: P,
    /// The course.
    pub course: Course,
}

/// A holder of the budget that pays: a policy.
pub trait Payer {
    /// The budget.
    fn budget(&self) -> Option<&Budget>;

    /// Whether there may be a budget, as far as the compiler can tell.
    #[inline]
    fn may_pay(&self) -> bool {
        true
    }
}

/// No budget pays: the rules of the call name none.
#[derive(Clone, Copy, Debug)]
pub struct Unfunded;

impl Payer for Unfunded {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        None
    }

    #[inline]
    fn may_pay(&self) -> bool {
        false
    }
}

impl Payer for Policy {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.budget
    }
}

/// A reference to a policy, without alignment. Next to the 15 bytes of a course the reference leaves no
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

impl Payer for Borrowed<'_> {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.policy().budget
    }
}

impl Payer for &Policy {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.budget
    }
}

impl<P: Payer> Deposit<P> {
    /// A course without a payment.
    #[inline]
    pub const fn new(payer: P) -> Self {
        Self::of(payer, Course::new())
    }

    /// The attempt after the wait begins. No handler holds a budget.
    #[inline]
    pub(crate) fn begins(&mut self) {
        if self.payer.may_pay() {
            self.course.spend();
        }
    }

    /// The course so far.
    #[inline]
    pub(super) const fn of(payer: P, course: Course) -> Self {
        Deposit { payer, course }
    }
}

impl<P: Payer> Drop for Deposit<P> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.payer.may_pay() {
            self.course.cancelled(self.payer.budget());
        }
    }
}
