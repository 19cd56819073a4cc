//! Counts: of attempts, of tokens, and of values in a row.

use syn::{Expr, Lit};

use crate::args::Args;
use crate::args::key_names::usage;
use crate::args::key_value::Given;
use crate::args::numbers::signed;
use crate::errors::Errors;

/// How many attempts `Policy::exponential()` makes.
const DEFAULT_MAX_ATTEMPTS: u32 = 5;

/// The numbers of attempts, of tokens and of values in a row, and whether there can be as many values.
pub(super) fn check(args: &Args, errors: &mut Errors) {
    let queue = args
        .max_queue_time
        .as_ref()
        .map(|it| (&it.key, "limits the wait in the queue of a rate"));
    let tokens = args
        .tokens
        .as_ref()
        .map(|it| (&it.key, "counts for the quotas of a rate"));
    for (key, does) in queue.into_iter().chain(tokens) {
        if !args.may_have_rate() {
            let message = format!("`{key}` {does}: write `rate = RATE` too, or remove `{key}`");
            errors.at(key, message);
        }
    }
    let mut counted = |given: &Option<Given<Expr>>| given.as_ref().and_then(|it| count(it, errors));
    counted(&args.tokens);
    let (attempts, wanted) = (counted(&args.max_attempts), counted(&args.consecutive));
    let Some(Given { key, .. }) = &args.consecutive else {
        return;
    };
    if args.until.is_none() {
        let message = "`consecutive` counts values that `until` accepts: write `until = |value| ..` too, or \
                       remove `consecutive`";
        errors.at(key, message);
    }
    let is_default = args.max_attempts.is_none()
        && args.policy.is_none()
        && args.deadline.is_none()
        && args.timeout.is_none();
    let attempts = attempts.or(is_default.then_some(DEFAULT_MAX_ATTEMPTS));
    if let (Some(attempts), Some(wanted)) = (attempts, wanted)
        && attempts < wanted
    {
        let message = format!(
            "{attempts} attempts never give {wanted} values in a row: write `max_attempts = {wanted}` or more, or \
             a smaller `consecutive`"
        );
        errors.at(key, message);
    }
}

/// A count that is a literal in the attribute. A literal that is no count is refused.
fn count(given: &Given<Expr>, errors: &mut Errors) -> Option<u32> {
    let Given { key, value } = given;
    if let Expr::Path(path) = value
        && let Some(word) = path.path.get_ident()
        && ["None", "none", "infinite", "forever"]
            .iter()
            .any(|it| word == it)
        && key == "max_attempts"
    {
        errors.at(value, "for no limit write `max_attempts = unlimited`");
    }
    let (negative, literal) = signed(value)?;
    let count = match literal {
        Lit::Int(number) if !negative && ["", "u32"].contains(&number.suffix()) => {
            number.base10_parse().ok().filter(|count| *count > 0)
        }
        _ => None,
    };
    let is_zero = matches!(literal, Lit::Int(number) if number.base10_digits() == "0");
    if key == "max_attempts" && (negative || is_zero) {
        let message = "`max_attempts` counts the first call too: write 1 to never retry; for no limit write \
                       `max_attempts = unlimited`";
        errors.at(value, message);
    } else if count.is_none() {
        let usage = usage(key).unwrap_or_default();
        let or = match key == "max_attempts" {
            true => ", or `unlimited`",
            false => "",
        };
        let message =
            format!("`{key}` is a whole number from 1 to 4294967295{or}: write it like `{usage}`");
        errors.at(value, message);
    }
    count
}
