//! Settings about values: a reply that reports a conflict, a response that is judged as an error.

use crate::{
    call::{
        operation::Failed,
        setting::{Setting, surrounds_nothing},
    },
    facts::fault::{Fault, FaultKind, message},
    judge::is_success,
    named_debug::named_in_debug,
    report::Updated,
    stage::Stage,
};
use core::fmt;

/// The reply of a write can report a conflict. Made by
/// [`Retrying::conflict_if`](crate::Retrying::conflict_if).
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct ConflictIf<F>(pub(crate) F);

surrounds_nothing!(ConflictIf<F>: F);
surrounds_nothing!(Responses);

#[diagnostic::do_not_recommend]
impl<V, W, E, F> Setting<Updated<V, W>, E> for ConflictIf<F>
where
    E: From<Conflict>,
    F: FnMut(&W) -> bool,
{
    #[inline]
    fn conflict(&mut self, updated: &Updated<V, W>) -> Option<Failed<E>> {
        match updated {
            Updated::Written(reply) if (self.0)(reply) => {
                Some(Failed::at(Stage::Reply, Conflict.into()))
            }
            _ => None,
        }
    }
}

named_in_debug!(ConflictIf);

/// Values are judged as errors are. Made by [`Retrying::responses`](crate::Retrying::responses).
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct Responses;

#[diagnostic::do_not_recommend]
impl<T: Fault, E> Setting<T, E> for Responses {
    const ANSWERS: bool = true;

    #[inline]
    fn answer(value: &T) -> Option<&dyn Fault> {
        (!is_success(value)).then_some(value)
    }

    fn observe(value: &T) {
        value.observe_quotas();
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

    message!();
}
