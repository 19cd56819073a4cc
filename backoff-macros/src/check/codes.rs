//! Checks the items of a list of codes.

use syn::{Expr, Lit, RangeLimits};

use crate::args::numbers::signed;
use crate::errors::{Errors, show};

pub(super) fn check(items: &[Expr], errors: &mut Errors) {
    for item in items {
        if let Err(message) = range(item) {
            errors.at(item, message);
        }
    }
}

/// A sentence about the mistake in an item, if there is one.
fn range(item: &Expr) -> Result<(), String> {
    match item {
        Expr::Infer(_) => Err(
            "`_` is not a code: write codes, or leave out `on` and `policy` to retry every error"
                .into(),
        ),
        Expr::Range(range) => {
            let end = |end: &Option<Box<Expr>>| end.as_deref().map_or(Ok(None), code);
            let (Some(first), Some(last)) = (end(&range.start)?, end(&range.end)?) else {
                return Err("a range needs a number at each end: write it like `500..=504`".into());
            };
            if matches!(range.limits, RangeLimits::HalfOpen(_)) {
                let last = if last > first { last - 1 } else { last };
                return Err(format!(
                    "`{}` leaves out its last code: write `{first}..={last}`",
                    show(item)
                ));
            }
            if first > last {
                return Err(format!(
                    "`{}` is empty: write `{last}..={first}`",
                    show(item)
                ));
            }
            Ok(())
        }
        _ => code(item).map(drop),
    }
}

/// The status that a literal names.
pub(crate) fn code(expr: &Expr) -> Result<Option<u64>, String> {
    let Some((negative, literal)) = signed(expr) else {
        return Ok(None);
    };
    let code = match literal {
        Lit::Int(number) if !negative && ["", "u16"].contains(&number.suffix()) => {
            number.base10_parse::<u64>().ok()
        }
        _ => None,
    };
    match code {
        Some(400..=599) => Ok(code),
        Some(code @ 100..=399) => Err(format!(
            "{code} is not the status of a failure: write codes from 400 to 599"
        )),
        _ => Err(format!(
            "`{}` is not an HTTP status: write codes from 400 to 599, or name a gRPC code, such as \
             `Codes::ABORTED`",
            show(expr)
        )),
    }
}
