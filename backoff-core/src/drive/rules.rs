//! Rules about values: a value that is not yet the awaited one, a reply that reports a conflict, a
//! response that is judged as an error.

use super::{
    consecutive::{ConsecutiveCount, NotYet, is_retried},
    opaque::named_in_debug,
    operation::Failed,
};
use crate::{
    facts::fault::{Fault, FaultKind},
    judge::{Stage, is_success},
    policy::Policy,
    report::Updated,
    state::Overrides,
};
use core::fmt;

/// The policy's codes, and the facts of a value that they judge.
pub struct Codes<'p, T> {
    pub(super) policy: &'p Policy,
    pub(super) fault: fn(&T) -> Option<&dyn Fault>,
}

impl<T> Clone for Codes<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Codes<'_, T> {}

/// Rules about the values of a call whose outcome is a `Result<T, E>`: none (`()`), one rule, or two
/// (a tuple).
#[diagnostic::on_unimplemented(
    message = "the rules of this call do not fit its values, `{T}`, or its errors, `{E}`",
    label = "see the error at `until`, `conflict_if` or `responses`"
)]
pub trait Rules<T, E> {
    /// The value, or a failure in its place. `codes` says whether the policy's codes refuse the value.
    ///
    /// # Errors
    /// The value counts as this failure.
    #[inline]
    fn check(&mut self, value: T, codes: Codes<'_, T>) -> Result<T, Failed<E>> {
        let _ = codes;
        Ok(value)
    }

    /// An attempt failed at this stage.
    #[inline]
    fn failed(&mut self, stage: Stage) {
        let _ = stage;
    }

    /// The rules for the next wait.
    #[inline]
    fn overrides(&self, before: Option<Overrides<'static>>) -> Option<Overrides<'static>> {
        before
    }

    /// The facts of a value, if values are judged as errors are.
    #[inline]
    fn fault(value: &T) -> Option<&dyn Fault> {
        let _ = value;
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T, E> Rules<T, E> for () {}

#[diagnostic::do_not_recommend]
impl<T, E, A: Rules<T, E>, B: Rules<T, E>> Rules<T, E> for (A, B) {
    #[inline]
    fn check(&mut self, value: T, codes: Codes<'_, T>) -> Result<T, Failed<E>> {
        match self.0.check(value, codes) {
            Ok(value) => self.1.check(value, codes),
            Err(failed) => {
                // Whatever this failure is, the second rule got no value.
                self.1.failed(Stage::Whole);
                Err(failed)
            }
        }
    }

    #[inline]
    fn failed(&mut self, stage: Stage) {
        self.0.failed(stage);
        self.1.failed(stage);
    }

    #[inline]
    fn overrides(&self, before: Option<Overrides<'static>>) -> Option<Overrides<'static>> {
        self.1.overrides(self.0.overrides(before))
    }

    #[inline]
    fn fault(value: &T) -> Option<&dyn Fault> {
        A::fault(value).or_else(|| B::fault(value))
    }
}

/// The operation is repeated until its value is the awaited one, as many times in a row as required. Made
/// by [`Retrying::until`](crate::Retrying::until) and [`Blocking::until`](crate::Blocking::until).
#[derive(Clone, Copy)]
pub struct Until<F> {
    is_done: F,
    count: ConsecutiveCount,
}

impl<F> Until<F> {
    /// One awaited value is enough.
    pub(super) const fn new(is_done: F) -> Self {
        Until {
            is_done,
            count: ConsecutiveCount::new(1),
        }
    }
}

impl<F> fmt::Debug for Until<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Until").field(&self.count).finish()
    }
}

#[diagnostic::do_not_recommend]
impl<T, E: From<NotYet>, F: FnMut(&T) -> bool> Rules<T, E> for Until<F> {
    #[inline]
    fn check(&mut self, value: T, codes: Codes<'_, T>) -> Result<T, Failed<E>> {
        let refused = |value: &T| is_retried(codes.policy, (codes.fault)(value));
        let settled = self.count.settle(value, &mut self.is_done, refused);
        settled.map_err(|not_yet| Failed::at(Stage::Pending, not_yet.into()))
    }

    #[inline]
    fn failed(&mut self, stage: Stage) {
        self.count.failed(stage);
    }

    #[inline]
    fn overrides(&self, before: Option<Overrides<'static>>) -> Option<Overrides<'static>> {
        self.count.overrides(before)
    }
}

/// Rules that wait for a value, which can be required several times in a row.
#[diagnostic::on_unimplemented(
    message = "`consecutive` counts awaited values: write `.until(..)` before it",
    label = "this call awaits no value"
)]
pub trait Counts {
    /// The same rules; so many awaited values in a row end the call.
    #[must_use]
    fn counting(self, count: ConsecutiveCount) -> Self;
}

#[diagnostic::do_not_recommend]
impl<X, F> Counts for (X, Until<F>) {
    fn counting(mut self, count: ConsecutiveCount) -> Self {
        self.1.count = count;
        self
    }
}

#[diagnostic::do_not_recommend]
impl<X: Counts> Counts for (X, Responses) {
    fn counting(self, count: ConsecutiveCount) -> Self {
        (self.0.counting(count), self.1)
    }
}

/// The reply of a write can report a conflict. Made by
/// [`Retrying::conflict_if`](crate::Retrying::conflict_if).
#[derive(Clone, Copy)]
pub struct ConflictIf<F>(pub(super) F);

#[diagnostic::do_not_recommend]
impl<V, W, E, F> Rules<Updated<V, W>, E> for ConflictIf<F>
where
    E: From<Conflict>,
    F: FnMut(&W) -> bool,
{
    #[inline]
    fn check(
        &mut self,
        updated: Updated<V, W>,
        _codes: Codes<'_, Updated<V, W>>,
    ) -> Result<Updated<V, W>, Failed<E>> {
        match &updated {
            Updated::Written(reply) if (self.0)(reply) => {
                Err(Failed::at(Stage::Conflict, Conflict.into()))
            }
            _ => Ok(updated),
        }
    }
}

named_in_debug!(ConflictIf);

/// Values are judged as errors are. Made by [`Retrying::responses`](crate::Retrying::responses) and
/// [`Blocking::responses`](crate::Blocking::responses).
#[derive(Clone, Copy, Debug, Default)]
pub struct Responses;

#[diagnostic::do_not_recommend]
impl<T: Fault, E> Rules<T, E> for Responses {
    #[inline]
    fn fault(value: &T) -> Option<&dyn Fault> {
        (!is_success(value)).then_some(value)
    }
}

/// Another writer was faster in every attempt: the error of an update whose conflicts are replies and
/// not errors ([`Retrying::conflict_if`](crate::Retrying::conflict_if)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict;

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another writer changed the value")
    }
}

impl core::error::Error for Conflict {}

impl Fault for Conflict {
    fn kind(&self) -> Option<FaultKind> {
        Some(FaultKind::Conflict)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}
