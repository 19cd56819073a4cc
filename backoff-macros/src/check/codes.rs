//! Checks the items of a list of codes.

use syn::{Expr, Lit, RangeLimits};

use crate::args::numbers::signed;
use crate::errors::{Errors, show};

pub(super) fn check(items: &[Expr], errors: &mut Errors) {
    // The codes that are literals in the list: first and last of a range.
    let mut seen: Vec<(u64, u64, &Expr)> = Vec::new();
    for item in items {
        let (first, last) = match range(item) {
            Ok(Some(range)) => range,
            Ok(None) => continue,
            Err(message) => {
                errors.at(item, message);
                continue;
            }
        };
        match seen.iter().find(|it| it.0 <= last && first <= it.1) {
            Some((_, _, earlier)) => {
                let (this, that) = (show(item), show(earlier));
                let message =
                    format!("`{this}` names codes of `{that}` again: write each code once");
                errors.at(item, message);
            }
            None => seen.push((first, last, item)),
        }
    }
}

/// The codes that an item names, `None` if it is an expression, or a sentence about the mistake.
fn range(item: &Expr) -> Result<Option<(u64, u64)>, String> {
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
            Ok(Some((first, last)))
        }
        _ => Ok(code(item)?.map(|code| (code, code))),
    }
}

/// The status that a literal names.
fn code(expr: &Expr) -> Result<Option<u64>, String> {
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
