//! The steps of a read-modify-write, which [`Updating`](super::Updating) goes through.

use super::{Bounded, Timed};
use crate::{Attempt, Class, Fault, Sleep, TimedOut};
use core::{fmt, future::Future, time::Duration};

/// What a change may return: nothing, whether it changed anything, or a `Result` of either.
#[diagnostic::on_unimplemented(
    message = "a change returns `bool`: whether it changed anything",
    label = "`{Self}` does not say that",
    note = "nothing counts as a change; `Result<bool, E>` and `Result<(), E>` may fail"
)]
pub trait Changed<E> {
    /// Whether there is something to write.
    ///
    /// # Errors
    /// The change's own.
    fn changed(self) -> Result<bool, E>;
}

impl<E> Changed<E> for () {
    fn changed(self) -> Result<bool, E> {
        Ok(true)
    }
}

impl<E> Changed<E> for bool {
    fn changed(self) -> Result<bool, E> {
        Ok(self)
    }
}

impl<E> Changed<E> for Result<(), E> {
    fn changed(self) -> Result<bool, E> {
        self.map(|()| true)
    }
}

impl<E> Changed<E> for Result<bool, E> {
    fn changed(self) -> Result<bool, E> {
        self
    }
}

/// The three steps of a read-modify-write, under a runtime `R`.
///
/// Implemented for what [`Policy::update`](crate::Policy::update) is given.
pub trait Series<R> {
    /// What is read.
    type Value;
    /// What a write gives.
    type Written;
    /// What a failure gives.
    type Error;
    /// One read.
    type Read: Future<Output = Result<Self::Value, Self::Error>>;
    /// One write.
    type Write: Future<Output = Result<Self::Written, Self::Error>>;

    /// Begins a read.
    fn read(&mut self, runtime: &R, attempt: impl FnOnce() -> Attempt) -> Self::Read;

    /// Changes what was read; whether there is something to write.
    ///
    /// # Errors
    /// The change's own.
    fn change(&mut self, value: &mut Self::Value) -> Result<bool, Self::Error>;

    /// Begins a write.
    fn write(
        &mut self,
        value: Self::Value,
        runtime: &R,
        attempt: impl FnOnce() -> Attempt,
    ) -> Self::Write;

    /// The error for a reply that says, without being an error, that somebody else was faster.
    fn conflict(&mut self, written: &Self::Written) -> Option<Self::Error> {
        let _ = written;
        None
    }

    /// The error to give up with where no time remains for a step that would be cut.
    fn expired(&self, attempt: &Attempt) -> Option<Self::Error> {
        let _ = attempt;
        None
    }

    /// How logs name it.
    fn name() -> &'static str;
}

/// The three functions of a read-modify-write. Made by [`Policy::update`](crate::Policy::update).
#[derive(Clone, Copy)]
pub struct Steps<Read, Change, Write> {
    pub(super) read: Read,
    pub(super) change: Change,
    pub(super) write: Write,
}

impl<R, Read, Change, Write, Reading, Changes, Writing, V, W, E> Series<R>
    for Steps<Read, Change, Write>
where
    Read: FnMut() -> Reading,
    Reading: Future<Output = Result<V, E>>,
    Change: FnMut(&mut V) -> Changes,
    Changes: Changed<E>,
    Write: FnMut(V) -> Writing,
    Writing: Future<Output = Result<W, E>>,
{
    type Value = V;
    type Written = W;
    type Error = E;
    type Read = Reading;
    type Write = Writing;

    #[inline]
    fn read(&mut self, _runtime: &R, _attempt: impl FnOnce() -> Attempt) -> Reading {
        (self.read)()
    }

    #[inline]
    fn change(&mut self, value: &mut V) -> Result<bool, E> {
        (self.change)(value).changed()
    }

    #[inline]
    fn write(&mut self, value: V, _runtime: &R, _attempt: impl FnOnce() -> Attempt) -> Writing {
        (self.write)(value)
    }

    fn name() -> &'static str {
        core::any::type_name::<Write>()
    }
}

impl<R, S> Series<R> for Bounded<S>
where
    S: Series<R>,
    S::Error: From<TimedOut>,
    R: Sleep,
{
    type Value = S::Value;
    type Written = S::Written;
    type Error = S::Error;
    type Read = Timed<S::Read, R::Sleep>;
    type Write = Timed<S::Write, R::Sleep>;

    fn read(&mut self, runtime: &R, attempt: impl FnOnce() -> Attempt) -> Self::Read {
        let attempt = attempt();
        let limit = attempt.bounded(self.limit);
        Timed::new(self.operation.read(runtime, || attempt), limit, runtime)
    }

    fn change(&mut self, value: &mut S::Value) -> Result<bool, S::Error> {
        self.operation.change(value)
    }

    fn write(
        &mut self,
        value: S::Value,
        runtime: &R,
        attempt: impl FnOnce() -> Attempt,
    ) -> Self::Write {
        let attempt = attempt();
        let limit = attempt.bounded(self.limit);
        let write = self.operation.write(value, runtime, || attempt);
        Timed::new(write, limit, runtime)
    }

    fn conflict(&mut self, written: &S::Written) -> Option<S::Error> {
        self.operation.conflict(written)
    }

    fn expired(&self, attempt: &Attempt) -> Option<S::Error> {
        let is_over = attempt.remaining().is_zero();
        is_over.then(|| TimedOut::new(Duration::ZERO).into())
    }

    fn name() -> &'static str {
        S::name()
    }
}

/// A read-modify-write whose write can tell a conflict in its reply. Made by
/// [`Updating::conflict_if`](crate::Updating::conflict_if).
#[derive(Clone, Copy)]
pub struct ConflictIf<S, F> {
    pub(super) series: S,
    pub(super) is_conflict: F,
}

impl<R, S, F> Series<R> for ConflictIf<S, F>
where
    S: Series<R>,
    S::Error: From<Conflict>,
    F: FnMut(&S::Written) -> bool,
{
    type Value = S::Value;
    type Written = S::Written;
    type Error = S::Error;
    type Read = S::Read;
    type Write = S::Write;

    fn read(&mut self, runtime: &R, attempt: impl FnOnce() -> Attempt) -> S::Read {
        self.series.read(runtime, attempt)
    }

    fn change(&mut self, value: &mut S::Value) -> Result<bool, S::Error> {
        self.series.change(value)
    }

    fn write(
        &mut self,
        value: S::Value,
        runtime: &R,
        attempt: impl FnOnce() -> Attempt,
    ) -> S::Write {
        self.series.write(value, runtime, attempt)
    }

    fn conflict(&mut self, written: &S::Written) -> Option<S::Error> {
        (self.is_conflict)(written).then(|| Conflict.into())
    }

    fn expired(&self, attempt: &Attempt) -> Option<S::Error> {
        self.series.expired(attempt)
    }

    fn name() -> &'static str {
        S::name()
    }
}

/// Somebody else was faster, every time: the error of an update whose conflicts are replies and
/// not errors ([`Updating::conflict_if`](crate::Updating::conflict_if)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict;

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("somebody else has changed it meanwhile")
    }
}

impl core::error::Error for Conflict {}

impl Fault for Conflict {
    fn class(&self) -> Option<Class> {
        Some(Class::Conflict)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}
