//! Counts: of attempts, and of values in a row.

use syn::{Expr, Lit};

use super::numbers::signed;
use crate::args::Args;
use crate::args::given::Given;
use crate::errors::Errors;

/// How many attempts `Policy::exponential()` makes.
const DEFAULT_MAX_ATTEMPTS: u32 = 5;

/// The number of values in a row, and whether `max_attempts` allows as many attempts.
pub(super) fn consecutive(args: &Args, errors: &mut Errors) {
    let Some(Given { key, value }) = &args.consecutive else {
        return;
    };
    if args.until.is_none() {
        errors.at(
            key,
            "`consecutive` counts values that `until` accepts: write `until = |value| ..` too, or \
             remove `consecutive`",
        );
    }
    let wanted = match count(value) {
        None => return,
        Some(Some(0)) => {
            return errors.at(
                value,
                "`consecutive = 0` awaits no value at all: write a number from 1, such as \
                 `consecutive = 3`",
            );
        }
        Some(None) => {
            return errors.at(
                value,
                "`consecutive` counts values: write a whole number from 1 to 4294967295, such as \
                 `consecutive = 3`",
            );
        }
        Some(Some(wanted)) => wanted,
    };
    let (at, attempts) = match &args.max_attempts {
        Some(given) => match count(&given.value) {
            Some(Some(attempts @ 1..)) => (&given.value, attempts),
            _ => return,
        },
        None if args.policy.is_some() || args.deadline.is_some() || args.timeout.is_some() => {
            return;
        }
        None => (value, DEFAULT_MAX_ATTEMPTS),
    };
    if attempts < wanted {
        let (by_default, or) = match args.max_attempts {
            Some(_) => ("", "a smaller `consecutive`"),
            None => (" by default", "a `deadline`"),
        };
        errors.at(
            at,
            format_args!(
                "{attempts} attempts{by_default} never give {wanted} values in a row: write \
                 `max_attempts = {wanted}` or more, or {or}"
            ),
        );
    }
}

/// A count that is a literal in the attribute. The inner value is `None` if the literal is no count.
fn count(value: &Expr) -> Option<Option<u32>> {
    let (negative, literal) = signed(value)?;
    Some(match literal {
        Lit::Int(number) if !negative && ["", "u32"].contains(&number.suffix()) => {
            number.base10_parse().ok()
        }
        _ => None,
    })
}

/// The maximum number of calls of the function.
pub(super) fn max_attempts(value: &Expr, errors: &mut Errors) {
    let Some(count) = count(value) else {
        return;
    };
    match count {
        Some(0) => errors.at(
            value,
            "`max_attempts = 0` never calls the function: write 1 for one call without a retry",
        ),
        Some(_) => {}
        None => errors.at(
            value,
            "`max_attempts` counts calls, the first one too: write a whole number from 1 to \
             4294967295, such as `max_attempts = 5`",
        ),
    }
}
