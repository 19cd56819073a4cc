//! What contradicts itself, refused where it is written.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Expr, ExprAsync, FnArg, Item, ItemFn, Lit, Pat, PatIdent, PatType, RangeLimits, TraitItemFn,
    UnOp,
};

use crate::args::{Args, Given, Time, bare};
use crate::errors::Errors;
use std::time::Duration;

/// The function to repeat, or a sentence about what the attribute was put on instead.
pub(crate) fn function(item: TokenStream) -> syn::Result<ItemFn> {
    let error = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => return Ok(function),
        Err(error) => error,
    };
    if let Ok(method) = syn::parse2::<TraitItemFn>(item.clone()) {
        let message = "there is no body to repeat here: put `#[retry]` on the function that \
                       implements this one";
        return Err(syn::Error::new_spanned(method.sig.ident, message));
    }
    let Ok(other) = syn::parse2::<Item>(item.clone()) else {
        return Err(error);
    };
    let advice = match other {
        Item::Fn(_) => return Err(error),
        Item::Impl(_) | Item::Trait(_) | Item::Mod(_) => {
            "put it on each function inside that is to be repeated"
        }
        _ => "put it on a `fn`, or write `retry_block!` around an `async` block",
    };
    let header: TokenStream = item
        .into_iter()
        .take_while(
            |token| !matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace),
        )
        .collect();
    Err(syn::Error::new_spanned(
        header,
        format!("`#[retry]` repeats a function: {advice}"),
    ))
}

/// The block to repeat, or a sentence about what is missing.
pub(crate) fn block(block: TokenStream) -> syn::Result<ExprAsync> {
    if block.is_empty() {
        let message = "there is no block to repeat: write \
                       `retry_block!(max_attempts = 5, async { .. }).await`";
        return Err(syn::Error::new(Span::call_site(), message));
    }
    syn::parse2(block)
}

/// What cannot be repeated, or not with these arguments.
pub(crate) fn signature(function: &ItemFn, args: &Args, errors: &mut Errors) {
    if let Some(constness) = &function.sig.constness {
        errors.at(
            constness,
            "a `const fn` cannot wait between attempts: remove `const` or `#[retry]`",
        );
    }
    for input in &function.sig.inputs {
        if let FnArg::Typed(PatType { pat, .. }) = input
            && let Pat::Ident(PatIdent {
                mutability: Some(mutable),
                ident,
                by_ref: None,
                ..
            }) = &**pat
        {
            errors.at(
                mutable,
                format!(
                    "what one attempt changes in `{ident}` the next one would see: remove `mut`, \
                     and begin the body with `let mut {ident} = {ident}.clone();`"
                ),
            );
        }
    }
    if function.sig.asyncness.is_none()
        && let Some(timeout) = &args.attempt_timeout
    {
        errors.at(
            &timeout.key,
            "`attempt_timeout` cannot cut short a blocking attempt: make the function `async`, \
             or remove the key and give the client a timeout",
        );
    }
}

/// What the arguments say, each by itself and together.
pub(crate) fn arguments(args: &Args, errors: &mut Errors) {
    if let Some(Given {
        value: Expr::Lit(literal),
        ..
    }) = &args.policy
    {
        errors.at(
            literal,
            "`policy` takes a `Policy`: write `policy = iam::REQUEST`",
        );
    }
    if let Some(attempts) = &args.max_attempts {
        max_attempts(&attempts.value, errors);
    }
    if let Some(given) = &args.factor {
        factor(&given.value, errors);
    }
    times(args, errors);
    if let Some(on) = &args.on {
        if on.value.is_empty() {
            errors.at(
                &on.key,
                "an empty `on` retries nothing: name codes, such as `on = [429, 500..=504]`, or \
                 remove it",
            );
        }
        codes(&on.value, errors);
    }
    match (&args.when, &args.on) {
        (
            Some(Given {
                value: Expr::Lit(literal),
                ..
            }),
            _,
        ) => {
            errors.at(
                literal,
                "`when` takes a function or a closure: write `when = |error| error.is_busy()`",
            );
        }
        (Some(_), Some(on)) => errors.at(
            &on.key,
            "`when` decides instead of the codes: remove `on`, or remove `when`",
        ),
        _ => {}
    }
}

/// That of `Policy::exponential()`.
const DEFAULT_MAX_BACKOFF: Duration = Duration::from_secs(64);

fn times(args: &Args, errors: &mut Errors) {
    if let (Some((base, shown)), Some((cap, cap_shown))) =
        (literal(&args.base), literal(&args.max_backoff))
        && base.1 > cap.1
    {
        errors.at(
            base.0,
            format_args!(
                "`base` ({shown}) is longer than `max_backoff` ({cap_shown}): write a `base` of at \
                 most {cap_shown}, or a longer `max_backoff`"
            ),
        );
    }
    if let (Some((deadline, shown)), Some((base, base_shown))) =
        (literal(&args.deadline), literal(&args.base))
        && deadline.1 < base.1
    {
        errors.at(
            deadline.0,
            format_args!(
                "`deadline` ({shown}) is shorter than `base` ({base_shown}), the first wait: write \
                 a `deadline` above {base_shown}, or a shorter `base`"
            ),
        );
    }
    if let Some((base, shown)) = literal(&args.base)
        && args.policy.is_none()
        && args.max_backoff.is_none()
        && base.1 > DEFAULT_MAX_BACKOFF
    {
        errors.at(
            base.0,
            format_args!(
                "`base` ({shown}) is longer than the default `max_backoff` of 64s: write a \
                 `max_backoff` too"
            ),
        );
    }
    if let (Some((timeout, shown)), Some((deadline, deadline_shown))) =
        (literal(&args.attempt_timeout), literal(&args.deadline))
        && timeout.1 > deadline.1
    {
        errors.at(
            timeout.0,
            format_args!(
                "`attempt_timeout` ({shown}) is longer than `deadline` ({deadline_shown}), which \
                 cuts attempts too: write a shorter `attempt_timeout`, or a longer `deadline`"
            ),
        );
    }
    if let Some((timeout, _)) = literal(&args.attempt_timeout)
        && timeout.1.is_zero()
    {
        errors.at(
            timeout.0,
            "an `attempt_timeout` of zero ends every attempt at once: write the time that one \
             attempt may take, such as `10s`",
        );
    }
}

type LiteralTime<'a> = (&'a Expr, Duration);

/// A time that stands in the attribute as a literal, and how it reads.
fn literal(given: &Option<Given<Time>>) -> Option<(LiteralTime<'_>, String)> {
    let time = &given.as_ref()?.value;
    let shown = match &time.expr {
        Expr::Lit(syn::ExprLit {
            lit: Lit::Str(text),
            ..
        }) => text.value(),
        other => other.to_token_stream().to_string(),
    };
    Some(((&time.expr, time.literal?), shown))
}

/// A literal with its sign.
fn signed(expr: &Expr) -> Option<(bool, &Lit)> {
    match expr {
        Expr::Lit(literal) => Some((false, &literal.lit)),
        Expr::Group(group) => signed(&group.expr),
        Expr::Paren(paren) => signed(&paren.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            signed(&unary.expr).map(|(negative, literal)| (!negative, literal))
        }
        _ => None,
    }
}

fn max_attempts(value: &Expr, errors: &mut Errors) {
    let Some((negative, literal)) = signed(value) else {
        return;
    };
    let count = match literal {
        Lit::Int(number) if !negative && ["", "u32"].contains(&number.suffix()) => {
            number.base10_parse::<u32>().ok()
        }
        _ => None,
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

/// A `factor` that is a literal, as the number it stands for.
pub(crate) fn number(value: &Expr) -> Option<f64> {
    let (negative, literal) = signed(value)?;
    let size: f64 = match literal {
        Lit::Int(number) if ["", "f64"].contains(&number.suffix()) => {
            number.base10_digits().parse().ok()?
        }
        Lit::Float(number) if ["", "f64"].contains(&number.suffix()) => {
            number.base10_digits().parse().ok()?
        }
        _ => return None,
    };
    Some(if negative { -size } else { size })
}

fn factor(value: &Expr, errors: &mut Errors) {
    let is_nan = matches!(value, Expr::Path(path)
        if path.path.segments.last().is_some_and(|last| last.ident == "NAN"));
    match number(value) {
        Some(factor) if factor < 1.0 => errors.at(
            value,
            "a `factor` below 1 makes each wait shorter than the one before: write 1 or more, \
             such as `factor = 2.0`",
        ),
        Some(factor) if factor.is_finite() => {}
        None if signed(value).is_none() && !is_nan => {}
        _ => errors.at(
            value,
            "`factor` multiplies each wait: write a number of 1 or more, such as `factor = 2.0`",
        ),
    }
}

/// Codes that stand in the list as literals: first and last of a range.
struct Seen<'a> {
    first: u64,
    last: u64,
    item: &'a Expr,
}

fn codes(items: &[Expr], errors: &mut Errors) {
    let mut seen: Vec<Seen<'_>> = Vec::new();
    for item in items {
        let (first, last) = match range(item) {
            Ok(Some(range)) => range,
            Ok(None) => continue,
            Err(message) => {
                errors.at(item, message);
                continue;
            }
        };
        match seen
            .iter()
            .find(|earlier| earlier.first <= last && first <= earlier.last)
        {
            Some(earlier) => {
                let (this, that) = (show(item), show(earlier.item));
                errors.at(
                    item,
                    if this == that {
                        format!("`{this}` stands here twice: remove one of them")
                    } else if earlier.first <= first && last <= earlier.last {
                        format!("`{this}` is in `{that}` already: remove it")
                    } else {
                        let (first, last) = (first.min(earlier.first), last.max(earlier.last));
                        format!("`{this}` overlaps `{that}`: write `{first}..={last}` for both")
                    },
                );
            }
            None => seen.push(Seen { first, last, item }),
        }
    }
}

/// The codes an item names, `None` if it is an expression, or a sentence about what is wrong.
fn range(item: &Expr) -> Result<Option<(u64, u64)>, String> {
    match item {
        Expr::Infer(_) => Err(
            "`_` names no code: write codes, or leave out `on` and `policy` to retry every error"
                .into(),
        ),
        Expr::Range(range) => {
            let (Some(start), Some(end)) = (&range.start, &range.end) else {
                return Err("a range needs both its ends: write it like `500..=504`".into());
            };
            let (Some(first), Some(last)) = (code(start)?, code(end)?) else {
                return Err("the ends of a range are numbers: write it like `500..=504`".into());
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
    let expr = bare(expr.clone());
    let Some((negative, literal)) = signed(&expr) else {
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
            "`{}` is no HTTP status: write codes from 400 to 599, or name a gRPC code, such as \
             `Codes::ABORTED`",
            show(&expr)
        )),
    }
}

fn show(tokens: impl ToTokens) -> String {
    tokens
        .to_token_stream()
        .to_string()
        .replace(" ..= ", "..=")
        .replace(" .. ", "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn messages(args: TokenStream, function: TokenStream) -> Vec<String> {
        let mut errors = Errors::default();
        let args = crate::args::parse(args, &mut errors);
        arguments(&args, &mut errors);
        signature(&syn::parse2(function).unwrap(), &args, &mut errors);
        errors.messages()
    }

    fn on_async(args: TokenStream) -> Vec<String> {
        messages(
            args,
            quote!(
                async fn f() {}
            ),
        )
    }

    #[test]
    fn sensible_arguments_pass() {
        let good = [
            quote!(),
            quote!(base = "1s", max_backoff = "1s", deadline = "1s"),
            quote!(base = "2s", policy = P, max_attempts = 1, factor = 1),
            quote!(factor = 1.5, max_attempts = LIMIT),
            quote!(factor = FACTOR, attempt_timeout = TIMEOUT),
            quote!(on = [408, 429, 500..=504, Codes::ABORTED, MINE]),
            quote!(when = Error::is_busy, policy = P),
            quote!(jitter = equal),
        ];
        for args in good {
            let shown = args.to_string();
            assert_eq!(on_async(args), [""; 0], "{shown}");
        }
    }

    #[test]
    fn contradictions_are_refused_with_what_to_write() {
        let cases = [
            (quote!(max_attempts = 0), "write 1 for one call"),
            (quote!(max_attempts = -1), "a whole number"),
            (quote!(max_attempts = 5s), "a whole number"),
            (quote!(max_attempts = "5"), "a whole number"),
            (quote!(max_attempts = 4294967296), "a whole number"),
            (quote!(factor = 0.5), "write 1 or more"),
            (quote!(factor = -2), "write 1 or more"),
            (quote!(factor = f64::NAN), "a number of 1 or more"),
            (quote!(factor = "2"), "a number of 1 or more"),
            (quote!(factor = 2s), "a number of 1 or more"),
            (
                quote!(base = 2m, max_backoff = "64s"),
                "a `base` of at most 64s",
            ),
            (quote!(base = 2s, deadline = "1s"), "a `deadline` above 2s"),
            (quote!(attempt_timeout = 0s), "such as `10s`"),
            (quote!(policy = "iam"), "write `policy = iam::REQUEST`"),
            (quote!(when = "is_busy"), "write `when = |error|"),
            (
                quote!(when = f, on = [429]),
                "remove `on`, or remove `when`",
            ),
            (quote!(on = []), "an empty `on`"),
            (quote!(on = [504..=500]), "write `500..=504`"),
            (quote!(on = [500..505]), "write `500..=504`"),
            (quote!(on = [500..]), "both its ends"),
            (quote!(on = [A..=B]), "the ends of a range are numbers"),
            (quote!(on = [_]), "leave out `on`"),
            (quote!(on = [200]), "200 is not the status of a failure"),
            (
                quote!(on = [302..=599]),
                "302 is not the status of a failure",
            ),
            (quote!(on = [14]), "`Codes::ABORTED`"),
            (quote!(on = [600]), "codes from 400 to 599"),
            (quote!(on = ["429"]), "codes from 400 to 599"),
            (quote!(on = [-429]), "codes from 400 to 599"),
            (quote!(on = [429, 429]), "`429` stands here twice"),
            (
                quote!(on = [500..=504, 503]),
                "`503` is in `500..=504` already",
            ),
            (
                quote!(on = [500..=504, 502..=509]),
                "write `500..=509` for both",
            ),
        ];
        for (args, part) in cases {
            let shown = args.to_string();
            let messages = on_async(args);
            assert_eq!(messages.len(), 1, "{shown}: {messages:?}");
            assert!(messages[0].contains(part), "{shown}: {messages:?}");
        }
    }

    #[test]
    fn what_the_function_cannot_do_is_refused() {
        let sync = messages(
            quote!(attempt_timeout = "1s"),
            quote!(
                fn f() {}
            ),
        );
        assert!(sync[0].contains("make the function `async`"), "{sync:?}");
        let constant = messages(
            quote!(),
            quote!(
                const fn f() {}
            ),
        );
        assert!(constant[0].contains("remove `const`"), "{constant:?}");
    }

    #[test]
    fn what_is_no_function_is_told_where_to_go() {
        let cases = [
            (
                quote!(
                    struct A {
                        a: u8,
                    }
                ),
                "put it on a `fn`",
            ),
            (quote!(impl A { fn f() {} }), "each function inside"),
            (
                quote!(
                    async fn f(&self) -> Result<(), E>;
                ),
                "no body to repeat",
            ),
            (quote!(fn f), "expected"),
        ];
        for (item, part) in cases {
            let message = function(item).err().unwrap().to_string();
            assert!(message.contains(part), "{message}");
        }
        assert!(
            function(quote!(
                pub(crate) async fn f() {}
            ))
            .is_ok()
        );
    }
}
