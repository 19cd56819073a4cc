//! Values that are not yet what is awaited.

use super::Counted;
use crate::{NotYet, Retry};

/// The outcome, where a value that is not yet what is awaited is a failure; and whether it is.
#[inline]
pub fn awaited<T, E: FromNotYet>(
    outcome: Result<T, E>,
    is_done: impl FnOnce(&T) -> bool,
) -> (Result<T, E>, bool) {
    match outcome {
        Ok(value) if !is_done(&value) => (Err(E::from_not_yet()), true),
        other => (other, false),
    }
}

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

/// The count of a function whose value is awaited, and whether it has not come.
#[derive(Debug)]
pub struct Awaited<C>(pub C, pub bool);

impl<C: Counted> Counted for Awaited<C> {
    #[inline]
    fn count(&mut self) -> &mut Retry {
        self.0.count()
    }

    #[inline]
    fn is_late(&self) -> bool {
        self.0.is_late()
    }

    #[inline]
    fn is_pending(&self) -> bool {
        self.1
    }
}
