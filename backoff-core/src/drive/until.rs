//! Asking again until a value is what is awaited.

use super::{Call, Operation, Pace, setup::Setup};
use crate::{Attempt, Class, Clock, Decision, Fault, Judge, Notify, Random, Retry, Verdict};
use core::fmt;

/// An operation that is repeated until its value is what is awaited. Made by
/// [`Retrying::until`](crate::Retrying::until) and [`Blocking::until`](crate::Blocking::until).
#[derive(Clone, Copy, Debug)]
pub struct Until<O, F> {
    pub(super) operation: O,
    pub(super) is_done: F,
}

impl<O, F> Until<O, F> {
    fn error_of<T, E: From<NotYet>>(&mut self, value: &T) -> Option<E>
    where
        F: FnMut(&T) -> bool,
    {
        (!(self.is_done)(value)).then(|| NotYet.into())
    }
}

impl<R, O, F> Operation<R> for Until<O, F>
where
    O: Operation<R>,
    O::Error: From<NotYet>,
    F: FnMut(&O::Value) -> bool,
{
    type Value = O::Value;
    type Error = O::Error;
    type Attempt = O::Attempt;
    const TIMED: bool = O::TIMED;

    fn not_yet(&mut self, value: &O::Value) -> Option<O::Error> {
        self.error_of(value)
    }

    fn expired(&self, attempt: &Attempt) -> Option<O::Error> {
        self.operation.expired(attempt)
    }

    #[inline]
    fn begin(&mut self, runtime: &R, attempt: impl FnOnce() -> Attempt) -> O::Attempt {
        self.operation.begin(runtime, attempt)
    }

    fn name() -> &'static str {
        O::name()
    }
}

impl<O, F> Call for Until<O, F>
where
    O: Call,
    O::Error: From<NotYet>,
    F: FnMut(&O::Value) -> bool,
{
    type Value = O::Value;
    type Error = O::Error;
    const TIMED: bool = O::TIMED;

    fn call(&mut self, attempt: impl FnOnce() -> Attempt) -> Result<O::Value, O::Error> {
        self.operation.call(attempt)
    }

    fn not_yet(&mut self, value: &O::Value) -> Option<O::Error> {
        self.error_of(value)
    }

    fn name() -> &'static str {
        O::name()
    }
}

impl<O, J, N, R: Clock + Random, P> Setup<O, J, N, R, P> {
    /// What comes after a value that is not yet what is awaited, whatever the judge thinks of the
    /// error that stands for it.
    #[cold]
    #[inline(never)]
    pub(super) fn not_yet<E>(&mut self, retry: &mut Retry, name: &str, error: E) -> (E, Decision)
    where
        J: Judge<E>,
        N: Notify<E>,
        P: Pace,
    {
        let decision = self.conclude_as(retry, name, &error, |_| Verdict::PENDING);
        (error, decision)
    }
}

/// What is awaited has not come, and attempts or time are used up: the error of an operation that
/// was repeated [until](crate::Retrying::until) its value is what is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotYet;

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what is awaited has not come yet")
    }
}

impl core::error::Error for NotYet {}

impl Fault for NotYet {
    fn class(&self) -> Option<Class> {
        Some(Class::Pending)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}
