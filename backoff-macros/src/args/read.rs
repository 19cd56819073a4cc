//! Reads the values of the attribute's own types.

use std::time::Duration;

use quote::ToTokens;
use syn::{Expr, Ident, Lit, Path, UnOp};

use super::bare::bare;
use super::given::{Jitter, Names, Time};
use crate::duration;
use crate::errors::did_you_mean;

pub(super) fn time(value: Expr) -> syn::Result<Time> {
    let value = bare(value);
    let read = |text: &str| {
        duration::parse(text).map_err(|message| syn::Error::new_spanned(&value, message))
    };
    let literal = match &value {
        Expr::Lit(literal) => Some(match &literal.lit {
            Lit::Str(text) => read(&text.value())?,
            Lit::Int(number) => read(&format!("{}{}", number.base10_digits(), number.suffix()))?,
            Lit::Float(number) => read(&format!("{}{}", number.base10_digits(), number.suffix()))?,
            _ => {
                let message = "this is no duration: write a number and a unit, such as `30s`";
                return Err(syn::Error::new_spanned(&value, message));
            }
        }),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            let positive = unary.expr.to_token_stream();
            let message = format!("a duration cannot be negative: write `{positive}`");
            return Err(syn::Error::new_spanned(&value, message));
        }
        _ => None,
    };
    let literal: Option<Duration> = literal;
    Ok(Time {
        expr: value,
        literal,
    })
}

pub(super) fn jitter(value: Expr) -> syn::Result<Jitter> {
    const NAMES: [(&str, &str); 6] = [
        ("full", "Full"),
        ("equal", "Equal"),
        ("decorrelated", "Decorrelated"),
        ("none", "None"),
        ("slots", "Slots"),
        ("whole_seconds", "WholeSeconds"),
    ];
    let value = bare(value);
    if let Expr::Path(path) = &value
        && let Some(name) = path.path.get_ident()
    {
        let word = name.to_string();
        if let Some((_, variant)) = NAMES.into_iter().find(|(own, _)| *own == word) {
            return Ok(Jitter::Named(name.clone(), variant));
        }
        let close = did_you_mean(&word.to_lowercase(), NAMES.into_iter().map(|(own, _)| own));
        // A name in capitals is a constant of the user.
        if let Some(own) = close.filter(|_| word.to_uppercase() != word) {
            let message = format!("unknown jitter `{word}`: write `jitter = {own}`");
            return Err(syn::Error::new_spanned(name, message));
        }
    }
    let list = || {
        let names: Vec<String> = NAMES.iter().map(|(own, _)| format!("`{own}`")).collect();
        names.join(", ")
    };
    if let Some(name) = lone_name(&value)
        && OTHER_JITTERS.contains(&name.as_str())
    {
        let message = format!("unknown jitter `{name}`: the names are {}", list());
        return Err(syn::Error::new_spanned(value, message));
    }
    if let Expr::Lit(literal) = &value {
        let message = match &literal.lit {
            Lit::Str(text) if NAMES.into_iter().any(|(own, _)| own == text.value()) => {
                Some(format!(
                    "a named jitter has no quotes: write `jitter = {}`",
                    text.value()
                ))
            }
            Lit::Str(text) if !text.value().contains(|c: char| c.is_ascii_digit()) => {
                Some(format!(
                    "unknown jitter `{}`: the names, without quotes, are {}",
                    text.value(),
                    list()
                ))
            }
            Lit::Bool(yes) if yes.value => Some(
                "`jitter` takes a name: write `jitter = full`, which is the default".to_owned(),
            ),
            Lit::Bool(_) => Some("`jitter` takes a name: write `jitter = none`".to_owned()),
            other => share(other),
        };
        if let Some(message) = message {
            return Err(syn::Error::new_spanned(&value, message));
        }
    }
    let is_negative = matches!(&value, Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)));
    if is_negative || matches!(value, Expr::Lit(_)) {
        return time(value).map(Jitter::Additive);
    }
    Ok(Jitter::Expr(value))
}

/// The names of jitters in other libraries, for names without a similar one here.
const OTHER_JITTERS: [&str; 9] = [
    "random",
    "randomized",
    "rand",
    "uniform",
    "proportional",
    "partial",
    "additive",
    "auto",
    "default",
];

fn lone_name(value: &Expr) -> Option<String> {
    match value {
        Expr::Path(path) => path.path.get_ident().map(Ident::to_string),
        _ => None,
    }
}

/// The message about a fraction of the wait, such as `0.2` or `"20%"`: it is no number of seconds.
fn share(literal: &Lit) -> Option<String> {
    let (share, shown) = match literal {
        Lit::Str(text) => {
            let percent: f64 = text.value().strip_suffix('%')?.trim().parse().ok()?;
            (percent / 100.0, None)
        }
        Lit::Float(number) if number.suffix().is_empty() => {
            let digits = number.base10_digits();
            (digits.parse().ok()?, Some(digits))
        }
        _ => return None,
    };
    if !(0.0..=1.0).contains(&share) {
        return None;
    }
    let percent = (share * 100_000.0).round() / 1_000.0;
    let seconds = match shown {
        Some(digits) => {
            format!(", or `jitter = \"{digits}s\"` for up to {digits} seconds on top of each wait")
        }
        None => String::new(),
    };
    Some(format!(
        "a share of the wait is no duration: write `jitter = Jitter::Proportional({share:?})` for \
         waits that are up to {percent} % shorter or longer{seconds}"
    ))
}

pub(super) fn path(value: Expr) -> syn::Result<Path> {
    match bare(value) {
        Expr::Path(path) if path.qself.is_none() => Ok(path.path),
        Expr::Lit(syn::ExprLit {
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

/// A name that the body can use.
pub(super) fn name(value: Expr) -> syn::Result<Ident> {
    if let Expr::Path(path) = bare(value.clone())
        && let Some(name) = path.path.get_ident()
    {
        return Ok(name.clone());
    }
    let message =
        "`attempt` takes the name by which the body sees the attempt: write `attempt = n`";
    Err(syn::Error::new_spanned(value, message))
}

/// The names, if none of them has a `mut`.
pub(super) fn without_mut(names: Names) -> syn::Result<Names> {
    match names.muts.first() {
        None => Ok(names),
        Some((word, name)) => {
            let message = format!("the `mut` stands in the arguments: write `keep({name})`");
            Err(syn::Error::new_spanned(word, message))
        }
    }
}
