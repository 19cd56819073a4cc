//! Refuses contradictions at the place where they are written.

mod codes;
mod counts;
pub(crate) mod numbers;
pub(crate) mod signature;

use std::time::Duration;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Block, Expr, ExprAsync, Item, ItemFn, Lit, TraitItemFn};

use crate::args::Args;
use crate::args::block::closure;
use crate::args::given::{Given, Time};
use crate::args::keys::usage;
use crate::args::on::On;
use crate::errors::{Errors, show};
use counts::{consecutive, max_attempts};
use numbers::{number, signed};

/// The function to repeat, or a sentence about the item that has the attribute instead.
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
        Item::Mod(made) if made.ident.to_string().starts_with("__") => {
            return Err(syn::Error::new_spanned(made.mod_token, signature::COPIED));
        }
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

/// The block that `retry_block!` repeats.
pub(crate) enum Repeated {
    /// `async { .. }`
    Async(ExprAsync),
    /// `{ .. }`, run at once.
    Blocking(Block),
}

/// The block to repeat, or a sentence about what is missing.
pub(crate) fn block(block: TokenStream, args: &Args) -> syn::Result<Repeated> {
    let Some(first) = block.clone().into_iter().next() else {
        let message = "there is no block to repeat: write \
                       `retry_block!(max_attempts = 5, async { .. }).await`, or \
                       `retry_block!(max_attempts = 5, { .. })` to block this thread";
        return Err(syn::Error::new(Span::call_site(), message));
    };
    if let Some(closure) = closure(&block) {
        let message = match &*closure.body {
            Expr::Block(_) | Expr::Async(_) => {
                "`retry_block!` repeats a block and no closure: remove the `||` before the braces"
                    .to_owned()
            }
            body if closure.asyncness.is_some() => {
                let body = show(body);
                format!("`retry_block!` repeats a block and no closure: write `async {{ {body} }}`")
            }
            body => no_block(body),
        };
        return Err(syn::Error::new_spanned(closure, message));
    }
    if !matches!(&first, TokenTree::Group(_))
        && first.to_string() != "async"
        && let Ok(expr) = syn::parse2::<Expr>(block.clone())
    {
        return Err(syn::Error::new_spanned(block, no_block(&expr)));
    }
    if matches!(&first, TokenTree::Group(_)) {
        if let Some((key, _)) = args.cuts() {
            let message = format!(
                "`{key}` cannot cut short a blocking attempt: write `async` before the block, or \
                 remove the key and give the client a timeout"
            );
            return Err(syn::Error::new_spanned(key, message));
        }
        if let Some(Given { key, .. }) = args.signal() {
            let message = format!(
                "`{key}` takes a future, which a blocking block cannot await: write `async` before \
                 the block, or call `POLICY.blocking(|| ..).stop_on(&stop).call()` with a \
                 `backoff_core::Stop`"
            );
            return Err(syn::Error::new_spanned(key, message));
        }
        return syn::parse2(block).map(Repeated::Blocking);
    }
    syn::parse2(block).map(Repeated::Async)
}

/// The message about an expression without a block around it.
fn no_block(expr: &Expr) -> String {
    let shown = show(expr);
    let shown = match expr {
        Expr::Path(_) => format!("{shown}()"),
        _ => shown,
    };
    match expr {
        Expr::Await(_) => {
            format!("`retry_block!` repeats a block: write `async {{ {shown} }}`")
        }
        _ => format!(
            "`retry_block!` repeats a block: write `async {{ {shown}.await }}`, or `{{ {shown} }}` \
             to block this thread"
        ),
    }
}

/// Checks the arguments, each alone and all together.
pub(crate) fn arguments(args: &Args, errors: &mut Errors) {
    if let Some(attempts) = &args.max_attempts {
        max_attempts(&attempts.value, errors);
    }
    consecutive(args, errors);
    if let Some(given) = &args.factor {
        factor(&given.value, errors);
    }
    times(args, errors);
    for Given { key, value } in [&args.on, &args.also_on].into_iter().flatten() {
        if value.is_empty()
            && let Some(usage) = usage(key)
        {
            errors.at(
                key,
                format_args!(
                    "an empty `{key}` retries nothing: name codes, such as `{usage}`, or remove it"
                ),
            );
        }
        codes::check(&value.codes, errors);
    }
    judges(args, errors);
}

/// Checks the judge of the errors, and keys that have no effect.
fn judges(args: &Args, errors: &mut Errors) {
    if args.when.is_some() {
        for on in [&args.on, &args.also_on].into_iter().flatten() {
            let key = &on.key;
            errors.at(
                key,
                format_args!(
                    "`when` decides instead of the codes: remove `{key}`, or remove `when`"
                ),
            );
        }
    }
    if let Some(Given {
        value: On { patterns, .. },
        ..
    }) = &args.also_on
        && let Some(pattern) = patterns.first()
    {
        errors.at(
            &pattern.pat,
            "`also_on` adds codes to those of the policy: write patterns of the error in `on`",
        );
    }
    if let Some(Given { key, .. }) = &args.retry_conflicts
        && (args.when.is_some() || !args.asks_codes() && args.on.is_some())
    {
        let instead = if args.when.is_some() {
            "`when` decides"
        } else {
            "patterns decide"
        };
        errors.at(
            key,
            format_args!(
                "{instead} instead of the policy, so `{key}` changes nothing: name codes, or \
                 remove it"
            ),
        );
    }
    if let Some(Given { key, .. }) = &args.responses
        && !args.asks_codes()
    {
        errors.at(
            key,
            "values are judged by codes: name them in `on`, or a `policy`, or remove \
             `responses`",
        );
    }
    for Given { key, value } in [&args.responses, &args.attempt_spans].into_iter().flatten() {
        if value.as_ref().is_some_and(|value| !is_bool(value)) {
            errors.at(
                key,
                format_args!("`{key}` decides what is written here, so it is `true` or `false`"),
            );
        }
    }
    if let (Some(_), Some(runtime)) = (&args.sleep, &args.runtime) {
        errors.at(
            &runtime.key,
            "`runtime` brings a timer too: remove `sleep`, or remove `runtime`",
        );
    }
    if let (Some(_), Some(cut_on)) = (&args.stop_on, &args.cut_on) {
        errors.at(
            &cut_on.key,
            "`cut_on` ends the waits, too: remove `stop_on`, or remove `cut_on` if the attempt \
             that is running shall be finished",
        );
    }
    if let (Some(faults), Some(on)) = (&args.faults, &args.on)
        && !on.value.patterns.is_empty()
    {
        errors.at(
            &faults.key,
            "`faults` is for an error that hides its type, and patterns are for one that does \
             not: keep one of them",
        );
    }
}

fn is_bool(value: &Expr) -> bool {
    matches!(value, Expr::Lit(literal) if matches!(literal.lit, Lit::Bool(_)))
}

/// The base of `Policy::exponential()`.
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
    let Some((timeout, shown)) = literal(&args.timeout) else {
        return;
    };
    if timeout.1.is_zero() {
        errors.at(
            timeout.0,
            "a `timeout` of zero ends the call at once: write the time that the whole call may \
             take, such as `60s`",
        );
    }
    for given in [&args.base, &args.attempt_timeout] {
        if let (Some(given), Some((part, part_shown))) = (given, literal(given))
            && part.1 > timeout.1
        {
            let key = &given.key;
            errors.at(
                part.0,
                format_args!(
                    "`{key}` ({part_shown}) is longer than `timeout` ({shown}), which ends the \
                     whole call: write a shorter `{key}`, or a longer `timeout`"
                ),
            );
        }
    }
}

type LiteralTime<'a> = (&'a Expr, Duration);

/// A time that is a literal in the attribute, and its text.
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

#[cfg(test)]
mod tests;
