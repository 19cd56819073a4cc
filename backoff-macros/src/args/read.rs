//! Reads the values of the attribute's own types.

use proc_macro2::Literal;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, Ident, Lit, Path, UnOp, parse_quote_spanned};

use super::key_value::{Names, Time};
use super::numbers::{number, signed};
use crate::duration;
use crate::errors::{did_you_mean, listed, show};
use crate::groups::{camel, dense, last_name, words};
use crate::hygiene::at;

pub(super) fn time(expr: Expr) -> syn::Result<Time> {
    let text = match &expr {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => text.value(),
        Expr::Lit(_) => show(&expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => show(&expr),
        _ => {
            let literal = None;
            return Ok(Time { expr, literal });
        }
    };
    let time = duration::parse(&text);
    let time = time.map_err(|message| syn::Error::new_spanned(&expr, message))?;
    let (seconds, nanos) = (time.as_secs(), time.subsec_nanos());
    Ok(Time {
        expr: parse_quote_spanned! {at(expr.span())=>
            __backoff::Duration::new(#seconds, #nanos)
        },
        literal: Some((time, text, expr.span())),
    })
}

/// A literal is written with a decimal point, since the setter takes an `f64`.
pub(super) fn factor(value: Expr) -> syn::Result<Expr> {
    let is_nan = matches!(&value, Expr::Path(path) if last_name(&path.path) == "NAN");
    match number(&value) {
        Some(number) if (1.0..f64::MAX).contains(&number) => {
            let mut literal = Literal::f64_suffixed(number);
            literal.set_span(at(value.span()));
            syn::parse2(literal.into_token_stream())
        }
        None if signed(&value).is_none() && !is_nan => Ok(value),
        _ => {
            let message = "`factor` multiplies each wait: write a number of 1 or more, such as `factor = 2.0`";
            Err(syn::Error::new_spanned(value, message))
        }
    }
}

/// Variants of `Jitter` and of `LogLevel`.
const JITTERS: &[&str] = &[
    "full",
    "equal",
    "decorrelated",
    "none",
    "slots",
    "whole_seconds",
];
const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

pub(super) fn jitter(value: Expr) -> syn::Result<Expr> {
    if let Some(named) = choice("jitter", "Jitter", ["none", "full"], JITTERS, &value)? {
        return Ok(named);
    }
    if let Expr::Lit(literal) = &value
        && let Lit::Float(share) = &literal.lit
        && share.to_string().starts_with("0.")
        && share.suffix().is_empty()
    {
        let message = format!(
            "a share of the wait is not a duration: write `jitter = \
             Jitter::Proportional({share})`, or `jitter = \"{share}s\"` for up to {share} \
             seconds on top of each wait"
        );
        return Err(syn::Error::new_spanned(share, message));
    }
    let Time { expr, literal } = time(value)?;
    Ok(match literal {
        Some(_) => parse_quote_spanned!(at(expr.span())=> __backoff::Jitter::Additive(#expr)),
        None => expr,
    })
}

/// A number, or the word for no limit.
pub(super) fn attempts(value: Expr) -> syn::Result<Expr> {
    match &value {
        Expr::Path(path) if path.path.is_ident("unlimited") => Ok(parse_quote_spanned!(
            at(value.span())=> __backoff::Policy::UNLIMITED
        )),
        _ => Ok(value),
    }
}

pub(super) fn level(value: Expr) -> syn::Result<Expr> {
    match choice("log_waits", "LogLevel", ["off", "info"], LEVELS, &value)? {
        Some(named) => Ok(named),
        None if matches!(value, Expr::Lit(_)) => {
            let names = listed(LEVELS.iter().copied());
            let message = format!("`log_waits` takes a level: {names}, or a `LogLevel`");
            Err(syn::Error::new_spanned(value, message))
        }
        None => Ok(value),
    }
}

/// The variant of `ty` that the word in the value names. A text and a misspelled word are refused. `no_or_yes` are the
/// words that `false` and `true` mean.
fn choice(
    key: &str,
    ty: &str,
    no_or_yes: [&str; 2],
    names: &[&str],
    value: &Expr,
) -> syn::Result<Option<Expr>> {
    let own = |word: &str| names.iter().copied().find(|own| *own == word);
    let meant = match value {
        Expr::Path(path) => {
            let Some(name) = path.path.get_ident() else {
                return Ok(None);
            };
            let word = name.to_string();
            if own(&word).is_some() {
                let name_at = at(name.span());
                let [ty, variant] = [ty, &camel(&word)].map(|word| Ident::new(word, name_at));
                return Ok(Some(
                    parse_quote_spanned!(name_at=> __backoff::#ty::#variant),
                ));
            }
            let lower = word.to_lowercase();
            // A name in capitals is a constant of the user, unless it is one of the words.
            let is_constant = word.to_uppercase() == word && own(&lower).is_none();
            did_you_mean(&lower, names.iter().copied()).filter(|_| !is_constant)
        }
        Expr::Lit(literal) => match &literal.lit {
            Lit::Bool(yes) => Some(no_or_yes[usize::from(yes.value)]),
            Lit::Str(text) => match own(&text.value().to_lowercase()) {
                Some(own) => Some(own),
                None if text.value().contains(|c: char| c.is_ascii_digit()) => None,
                None => {
                    let names = listed(names.iter().copied());
                    let message = format!("`{key}` takes one of these, without quotes: {names}");
                    return Err(syn::Error::new_spanned(text, message));
                }
            },
            _ => None,
        },
        _ => None,
    };
    match meant {
        Some(own) => {
            let shown = show(value);
            let message = format!("`{key}` takes no `{shown}`: write `{key} = {own}`");
            Err(syn::Error::new_spanned(value, message))
        }
        None => Ok(None),
    }
}

pub(super) fn path(value: Expr) -> syn::Result<Path> {
    match value {
        Expr::Path(path) if path.qself.is_none() => Ok(path.path),
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => {
            let message = format!("a path has no quotes: write `crate = {}`", text.value());
            Err(syn::Error::new_spanned(text, message))
        }
        other => {
            let message = "`crate` takes the path of this library: write `crate = backoff_core`";
            Err(syn::Error::new_spanned(other, message))
        }
    }
}

/// Types of other libraries that people give in place of a policy.
const BUILDERS: [&str; 14] = [
    "ConstantBackoff",
    "ConstantBuilder",
    "Exponential",
    "ExponentialBackoff",
    "ExponentialBackoffBuilder",
    "ExponentialBuilder",
    "ExponentialFactorBackoff",
    "FibonacciBackoff",
    "FibonacciBuilder",
    "Fixed",
    "FixedInterval",
    "RetryFutureConfig",
    "RetryPolicy",
    "RetryStrategy",
];

/// A policy, which is not the builder of another library.
pub(super) fn policy(value: Expr) -> syn::Result<Expr> {
    let names = words(&value);
    let text = dense(value.to_token_stream());
    // `RetryPolicy::HTTP` is a constant of the user.
    let is_made = |name: &&str| {
        let after = text
            .split_once(&format!("{name}::"))
            .map(|(_, after)| after);
        names.contains(*name) && after.is_none_or(|after| after.starts_with(char::is_lowercase))
    };
    match BUILDERS.into_iter().find(is_made) {
        Some(name) => {
            let message = format!(
                "`{name}` belongs to another library: write the rules as keys, such as `base = \"1s\", \
                 max_backoff = \"64s\", max_attempts = 5`"
            );
            Err(syn::Error::new_spanned(value, message))
        }
        None => Ok(value),
    }
}

/// What calls share, which is in a `static`.
pub(super) fn shared(value: Expr) -> syn::Result<Expr> {
    if let Expr::Call(call) = &value
        && let Expr::Path(path) = &*call.func
        && let Some(ty) = path.path.segments.iter().rev().nth(1)
        && let Some(own) = ["Budget", "Rate", "Breaker"]
            .iter()
            .find(|own| ty.ident == **own)
    {
        let message = format!(
            "each call would have a `{own}` of its own: write `static SHARED: {own} = {};`, and `SHARED` here",
            show(&value)
        );
        return Err(syn::Error::new_spanned(value, message));
    }
    Ok(value)
}

/// A name that the body can use.
pub(super) fn name(value: Expr) -> syn::Result<Ident> {
    if let Expr::Path(path) = &value
        && let Some(name) = path.path.get_ident()
    {
        return Ok(name.clone());
    }
    let message = "`attempt` takes a name for the attempt: write `attempt = n`";
    Err(syn::Error::new_spanned(value, message))
}

/// The names, if none of them has a `mut`.
pub(super) fn without_mut(names: Names) -> syn::Result<Names> {
    match names.muts.first() {
        None => Ok(names),
        Some((word, name)) => {
            let message =
                format!("the function's argument has the `mut`: write `keep({name})` here");
            Err(syn::Error::new_spanned(word, message))
        }
    }
}

/// A function of the error.
pub(super) fn judge(value: Expr) -> syn::Result<Expr> {
    match &value {
        Expr::Closure(closure) if closure.inputs.len() != 1 => {
            let body = show(&closure.body);
            let message = format!(
                "`when` takes a function of one argument, the error: write `when = |error| {body}`"
            );
            Err(syn::Error::new_spanned(value, message))
        }
        _ => Ok(value),
    }
}

/// A flag that the macro must know while it writes the code.
pub(super) fn written(flag: Expr) -> syn::Result<Expr> {
    match &flag {
        Expr::Lit(_) => Ok(flag),
        value => {
            let message = "this key must be a literal `true` or `false`";
            Err(syn::Error::new_spanned(value, message))
        }
    }
}
