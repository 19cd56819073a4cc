//! Whether the error or the value of an attempt is a `Fault`.
//!
//! These methods exist for some types only, without a trait: if the bounds do not hold, the compiler
//! goes on to the type behind `Deref`. No trait must be imported into an annotated function, and no
//! method of a user's trait can be called by mistake.

use super::{
    made_errors::{Itself, Nobody},
    outcome::{Outcome, placeholder},
};
use crate::facts::fault::Fault;
use core::ops::Deref;

/// Finds the facts of an error or a value.
pub(super) type Find<T> = fn(&T) -> Option<&dyn Fault>;

/// The outcome of an attempt. Its methods return a function, because a function compiles faster than a
/// closure in each annotated function.
pub struct Outcomes<'o, R>(Unknown<'o, R>);

/// The error, or the value, is no `Fault`.
pub struct Unknown<'o, R>(NoOutcome<'o, R>);

/// The type is no outcome: the judge refuses it, and one compile error is enough.
pub struct NoOutcome<'o, R>(&'o R);

impl<'o, R> Outcomes<'o, R> {
    /// The outcome.
    #[inline]
    pub const fn of(outcome: &'o R) -> Self {
        Outcomes(Unknown(NoOutcome(outcome)))
    }
}

/// A fault. If the compiler knows the type of the error, it does not choose a method that needs this for
/// any other type.
#[diagnostic::on_unimplemented(
    message = "the type of the error, `{Self}`, is known only outside of this block",
    label = "end the block with `Ok::<_, {Self}>(..)`"
)]
pub trait KnownInside: Fault {}

#[diagnostic::do_not_recommend]
impl<E: Fault> KnownInside for E {}

impl<R: Outcome<Error: KnownInside>> Outcomes<'_, R> {
    /// Finds the error.
    #[inline]
    pub fn __backoff_find(&self) -> Find<R::Error> {
        |error| Some(error)
    }

    /// The error says how it is made.
    #[inline]
    pub fn __backoff_asked(&self) -> Itself {
        Itself
    }
}

impl<'o, R: Outcome<Value: Fault>> Outcomes<'o, R> {
    /// The value, if there is one.
    #[inline]
    pub fn __backoff_value(&self) -> Option<&'o dyn Fault> {
        let value = self.0.0.0.value()?;
        Some(value)
    }
}

impl<'o, R> Deref for Outcomes<'o, R> {
    type Target = Unknown<'o, R>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<R: Outcome> Unknown<'_, R> {
    /// Finds nothing.
    #[inline]
    pub fn __backoff_find(&self) -> Find<R::Error> {
        |_| None
    }

    /// The error cannot be asked.
    #[inline]
    pub fn __backoff_asked(&self) -> Nobody {
        Nobody
    }
}

impl<'o, R> Unknown<'o, R> {
    /// Nothing.
    #[inline]
    pub fn __backoff_value(&self) -> Option<&'o dyn Fault> {
        None
    }
}

impl<'o, R> Deref for Unknown<'o, R> {
    type Target = NoOutcome<'o, R>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<R> NoOutcome<'_, R> {
    /// Never called.
    pub fn __backoff_find<T>(&self) -> T {
        placeholder()
    }

    /// Never called.
    pub fn __backoff_asked(&self) -> Nobody {
        Nobody
    }
}
