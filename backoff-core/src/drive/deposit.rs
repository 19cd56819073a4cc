//! What a budget has paid for a wait, and gets back if no attempt follows: because the call is
//! dropped while it waits, because a hook panics, or because the timer wakes too late.

use super::course::Course;
use crate::{budget::Budget, policy::Policy};

/// The course of a call, and whose budget pays for its waits. When it is dropped during a wait, the
/// budget gets its tokens back.
#[derive(Debug)]
pub struct Deposit<P: Payer> {
    /// Who pays.
    pub payer: P,
    /// The course.
    pub course: Course,
}

/// Whoever knows the budget that pays: a policy.
pub trait Payer {
    /// The budget.
    fn budget(&self) -> Option<&Budget>;
}

impl Payer for Policy {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.budget
    }
}

impl Payer for &Policy {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.budget
    }
}

/// For a policy that is a constant: a closure that names it takes no room, and what a constant
/// without a budget never does is not compiled.
impl<F: Fn() -> Option<&'static Budget>> Payer for F {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self()
    }
}

impl<P: Payer> Deposit<P> {
    /// Nothing is paid yet.
    #[inline]
    pub const fn new(payer: P) -> Self {
        Deposit {
            payer,
            course: Course::new(),
        }
    }
}

impl<P: Payer> Drop for Deposit<P> {
    #[inline]
    fn drop(&mut self) {
        if let Some(budget) = self.payer.budget()
            && let Some(kind) = self.course.take_held()
        {
            budget.give_back(kind);
        }
    }
}
