//! Values that are not yet what is awaited.

use super::outcome::Outcome;
use crate::{drive::until::NotYet, judge::Stage};

/// The outcome, where a value that is not yet the awaited one is a failure; and its stage.
#[inline]
pub fn awaited<T, E: FromNotYet>(
    outcome: Result<T, E>,
    stage: Stage,
    is_done: impl FnOnce(&T) -> bool,
) -> (Result<T, E>, Stage) {
    match outcome {
        Ok(value) if !is_done(&value) => (Err(E::from_not_yet()), Stage::Pending),
        other => (other, stage),
    }
}

/// Gives the function of `until` its type, where another key is wrong and nothing is called.
#[inline]
pub fn is_awaited<R: Outcome>(_outcome: &R, _is_done: impl FnOnce(&R::Value) -> bool) {}

/// The error of a function that is repeated until its value is what is awaited.
#[diagnostic::on_unimplemented(
    message = "`until` makes an error of what is still awaited at the end: implement `From<NotYet>` for `{Self}`",
    label = "`{Self}` cannot be made from `NotYet`",
    note = "`impl From<NotYet> for {Self} {{ fn from(not_yet: NotYet) -> Self {{ .. }} }}`, or a variant with `#[from] NotYet`",
    note = "an error of another crate needs a wrapper of your own"
)]
pub trait FromNotYet {
    /// Makes it.
    fn from_not_yet() -> Self;
}

impl<E: From<NotYet>> FromNotYet for E {
    #[inline]
    fn from_not_yet() -> Self {
        NotYet.into()
    }
}
