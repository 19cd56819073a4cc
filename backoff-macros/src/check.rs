//! Refuses contradictions at the place where they are written.

pub(crate) mod codes;
mod counts;
pub(crate) mod signature;

use std::time::Duration;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::{Block, Expr, ExprAsync, Item, ItemFn, ReturnType, Stmt, TraitItemFn};

use crate::args::Args;
use crate::args::block::closure;
use crate::args::key_names::usage;
use crate::args::key_value::{Given, Time};
use crate::args::on::On;
use crate::errors::{Errors, show};
use crate::groups::{is_comma, is_word, words};

/// The function to repeat, or a sentence about the item that has the attribute instead.
pub(crate) fn function(item: TokenStream) -> syn::Result<ItemFn> {
    let error = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => return Ok(function),
        Err(error) => error,
    };
    if let Ok(method) = syn::parse2::<TraitItemFn>(item.clone()) {
        let message = "there is no body to repeat here: put `#[retry]` on the function that implements this one";
        return Err(syn::Error::new_spanned(method.sig.ident, message));
    }
    let advice = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Fn(_)) => return Err(error),
        Err(_) if words(&item).contains("fn") => return Err(error),
        Ok(Item::Impl(_) | Item::Trait(_) | Item::Mod(_)) => {
            "put it on each function inside that must be repeated"
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

/// Puts an error at the end of a body that ends with `?;`, because the compiler says only that the types
/// differ. The error is an expression of any type.
pub(crate) fn tail(function: &mut ItemFn) {
    let stmts = &mut function.block.stmts;
    if let Some(last @ Stmt::Expr(Expr::Try(_), Some(_))) = stmts.last()
        && matches!(function.sig.output, ReturnType::Type(..))
    {
        let message = "the body ends here without a value: return `Ok(..)` after it";
        let error = syn::Error::new_spanned(last, message).into_compile_error();
        stmts.push(Stmt::Expr(Expr::Verbatim(error), None));
    }
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
        let message = "there is no block to repeat: write `retry_block!(max_attempts = 5, async { .. }).await`, \
                       or `retry_block!(max_attempts = 5, { .. })` to block this thread";
        return Err(syn::Error::new(Span::call_site(), message));
    };
    let after: TokenStream = (block.clone().into_iter())
        .skip_while(|token| !is_comma(token))
        .skip(1)
        .collect();
    if !after.is_empty() {
        let settings = show(&after);
        let message = format!(
            "the settings come first: write `retry_block!({settings}, async {{ .. }})`, or `{{ .. }}` to block \
             this thread"
        );
        return Err(syn::Error::new_spanned(after, message));
    }
    if let Some(closure) = closure(&block) {
        let message = "`retry_block!` repeats a block, not a closure: remove the `||`, and write braces with the \
                       code, after `async` if it awaits";
        return Err(syn::Error::new_spanned(closure, message));
    }
    if matches!(first, TokenTree::Group(_)) {
        not_blocking("block", args)?;
        return syn::parse2(block).map(Repeated::Blocking);
    }
    if !is_word(&first, "async")
        && let Ok(expr) = syn::parse2::<Expr>(block.clone())
    {
        return Err(syn::Error::new_spanned(block, no_block(&expr)));
    }
    syn::parse2(block).map(Repeated::Async)
}

/// Refuses keys that need an await.
pub(crate) fn not_blocking(what: &str, args: &Args) -> syn::Result<()> {
    let (key, message) = match (args.cuts(), args.signal()) {
        (Some((key, _)), _) => (
            key,
            format!(
                "`{key}` cannot cut short a blocking attempt: make the {what} `async`, or remove the key and give \
                 the client a timeout"
            ),
        ),
        (None, Some(Given { key, .. })) => (
            key,
            format!(
                "`{key}` takes a future, which a blocking {what} cannot await: make it `async`, or call \
                 `POLICY.blocking(|| ..).stop_on(&stop).call()` with a `backoff_core::Stop`"
            ),
        ),
        (None, None) => return Ok(()),
    };
    Err(syn::Error::new_spanned(key, message))
}

/// The message about an expression without a block around it.
fn no_block(expr: &Expr) -> String {
    let mut shown = show(expr);
    match expr {
        Expr::Await(_) => {
            return format!("`retry_block!` repeats a block: write `async {{ {shown} }}`");
        }
        Expr::Path(_) => shown += "()",
        _ => {}
    }
    format!(
        "`retry_block!` repeats a block: write `async {{ {shown}.await }}`, or `{{ {shown} }}` to block this \
         thread"
    )
}

/// Checks the arguments, each alone and all together.
pub(crate) fn arguments(args: &Args, errors: &mut Errors) {
    counts::check(args, errors);
    times(args, errors);
    for Given { key, value } in [&args.on, &args.also_on].into_iter().flatten() {
        if value.is_empty()
            && let Some(usage) = usage(key)
        {
            let message = format!(
                "an empty `{key}` retries nothing: name codes, such as `{usage}`, or remove it"
            );
            errors.at(key, message);
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
            let message =
                format!("`when` decides instead of the codes: remove `{key}`, or remove `when`");
            errors.at(key, message);
        }
    }
    if let Some(Given {
        value: On { patterns, .. },
        ..
    }) = &args.also_on
        && let Some(pattern) = patterns.first()
    {
        let message =
            "`also_on` adds codes to those of the policy: write patterns of the error in `on`";
        errors.at(&pattern.pat, message);
    }
    let is_judged = args.when.is_some() || args.on.is_some();
    let of_conflicts = args.retry_conflicts.as_ref().filter(|_| is_judged);
    for Given { key, .. } in of_conflicts.into_iter().chain(&args.responses) {
        if !args.asks_codes() {
            let message = format!(
                "no codes decide here, so `{key}` changes nothing: name codes in `on`, or a `policy`, or remove it"
            );
            errors.at(key, message);
        }
    }
    for (part, whole) in [(&args.sleep, &args.runtime), (&args.stop_on, &args.cut_on)] {
        if let (Some(Given { key: part, .. }), Some(Given { key, .. })) = (part, whole) {
            let message = format!("`{key}` includes `{part}`: remove one of them");
            errors.at(key, message);
        }
    }
    if let (Some(faults), Some(on)) = (&args.faults, &args.on)
        && !on.value.patterns.is_empty()
    {
        let message = "`faults` is for an error that hides its type, and patterns need the type: keep one of them";
        errors.at(&faults.key, message);
    }
}

/// The longest wait of `Policy::exponential()`.
const DEFAULT_MAX_BACKOFF: (Duration, &str) = (Duration::from_secs(64), "64s by default");

/// Compares durations that are literals in the attribute.
fn times(args: &Args, errors: &mut Errors) {
    let is_default = args.policy.is_none() && args.max_backoff.is_none();
    let (time, shown) = DEFAULT_MAX_BACKOFF;
    let default = (time, shown.to_owned(), Span::call_site());
    let longest = literal(&args.max_backoff).or(is_default.then_some(&default));
    let max_backoff = ("max_backoff", longest);
    let deadline = ("deadline", literal(&args.deadline));
    let timeout = ("timeout", literal(&args.timeout));
    for (part, wholes) in [
        (&args.base, [&max_backoff, &deadline, &timeout].as_slice()),
        (&args.throttled_base, &[&max_backoff]),
        (&args.attempt_timeout, &[&deadline, &timeout]),
    ] {
        let (Some(Given { key, .. }), Some((time, shown, place))) = (part, literal(part)) else {
            continue;
        };
        for (whole, limit) in wholes {
            if let Some((limit, limit_shown, _)) = limit
                && time > limit
            {
                let message = format!(
                    "`{key}` ({shown}) is longer than `{whole}` ({limit_shown}): write a shorter `{key}`, or a \
                     longer `{whole}`"
                );
                errors.push(syn::Error::new(*place, message));
            }
        }
    }
    for (given, so) in [
        (&args.deadline, "nothing is retried"),
        (&args.timeout, "each call would end at once"),
        (&args.attempt_timeout, "each call would end at once"),
    ] {
        if let Some(Given { key, .. }) = given
            && let Some((Duration::ZERO, _, place)) = literal(given)
            && let Some(usage) = usage(key)
        {
            let message = format!("`{key}` is zero, so {so}: write it like `{usage}`");
            errors.push(syn::Error::new(*place, message));
        }
    }
}

fn literal(given: &Option<Given<Time>>) -> Option<&(Duration, String, Span)> {
    given.as_ref()?.value.literal.as_ref()
}

#[cfg(test)]
mod tests;
