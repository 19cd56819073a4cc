//! Values that are not yet the awaited one.

use super::{context::Context, ending::Ending, made_errors::FromNotYet};
use crate::{
    call::settings::until::{self, ConsecutiveCount},
    facts::fault::Fault,
};

/// The outcome and how the attempt ended. A value that is not yet the awaited one is a failure. `is_retried` says that a value
/// in a row is a failure by the policy's codes.
#[inline]
pub fn awaited<T, E: FromNotYet>(
    row: &mut ConsecutiveCount,
    outcome: Result<T, E>,
    ending: Ending,
    is_retried: bool,
    is_done: impl FnOnce(&T) -> bool,
) -> (Result<T, E>, Ending) {
    match outcome {
        Ok(value) => match row.settle(value, is_done, |_| is_retried) {
            Ok(value) => (Ok(value), ending),
            Err(not_yet) => (Err(E::made_from(not_yet)), Ending::Value),
        },
        failed => {
            row.end();
            (failed, ending)
        }
    }
}

/// Whether the policy retries the value of an outcome with these facts.
#[inline]
#[must_use]
pub fn is_retried(context: &Context<'_>, value: Option<&dyn Fault>) -> bool {
    until::is_retried(context.policy, value)
}
