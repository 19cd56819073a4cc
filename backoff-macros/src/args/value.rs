//! One argument: a key, and the value that belongs to it.

use std::time::Duration;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Lit, Path, Token, Type, UnOp};

use super::bare::bare;
use super::given::{Jitter, Time};
use super::keys;
use super::on::{self, On};
use crate::duration;
use crate::errors::{did_you_mean, show};

/// What follows a key.
pub(super) enum Value {
    /// Nothing: the key says it all.
    None,
    Expr(Expr),
    On(On),
    /// Names, and of those with `mut` both words.
    Names(Vec<Ident>, Vec<(Ident, Ident)>),
    Types(Vec<Type>),
}

/// Reads `key = value` or `key(names)`, or says how the argument becomes one.
pub(super) fn key_and_value(input: ParseStream<'_>) -> syn::Result<(Ident, Value)> {
    let fork = input.fork();
    let key = match fork.call(Ident::parse_any) {
        Ok(key) if !fork.peek(Token![::]) => key,
        _ => return Err(without_key(input)),
    };
    input.call(Ident::parse_any)?;
    let Some(usage) = keys::usage(&key) else {
        input.parse::<TokenStream>()?;
        return Err(keys::unknown(&key));
    };
    let rest: TokenStream = input.parse()?;
    if rest.is_empty() && keys::is_flag(&key) {
        return Ok((key, Value::None));
    }
    let write = |at: TokenStream| {
        let at = if at.is_empty() {
            key.to_token_stream()
        } else {
            at
        };
        missing_comma(&at, true).unwrap_or_else(|| {
            syn::Error::new_spanned(at, format!("`{key}` takes a value: write `{usage}`"))
        })
    };
    if keys::takes_parentheses(&key) {
        let (group, after) = match rest.clone().into_iter().next() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
                (group, rest.into_iter().skip(1).collect::<TokenStream>())
            }
            _ => return Err(write(rest)),
        };
        if !after.is_empty() || group.stream().is_empty() {
            return Err(write(after));
        }
        let value = if key == "faults" {
            let types = Punctuated::<Type, Token![,]>::parse_terminated.parse2(group.stream());
            types.map(|types| Value::Types(types.into_iter().collect()))
        } else {
            let names = Punctuated::<_, Token![,]>::parse_terminated_with;
            let names = |input: ParseStream<'_>| names(input, name_and_mut);
            names.parse2(group.stream()).map(|names| {
                let (muts, names): (Vec<_>, Vec<_>) = names.into_iter().unzip();
                let pairs = muts.into_iter().zip(names.iter().cloned());
                let muts = pairs.filter_map(|(word, name)| Some((word?, name)));
                Value::Names(names.clone(), muts.collect())
            })
        };
        return value.map(|value| (key.clone(), value)).map_err(|error| {
            let message = format!("`{key}` cannot be read ({error}): write it like `{usage}`");
            syn::Error::new(error.span(), message)
        });
    }
    let Some(value) = after_equals(&rest) else {
        return Err(write(rest));
    };
    if value.is_empty() {
        return Err(write(TokenStream::new()));
    }
    if key == "on" || key == "also_on" {
        return match on::list(&key.to_string(), value.clone()) {
            Ok(on) => Ok((key, Value::On(on))),
            Err(error) => Err(missing_comma(&value, false).unwrap_or(error)),
        };
    }
    let expr = syn::parse2::<Expr>(value.clone()).map_err(|error| {
        missing_comma(&value, false).unwrap_or_else(|| {
            let message = format!("`{key}` cannot be read ({error}): write it like `{usage}`");
            syn::Error::new(error.span(), message)
        })
    })?;
    Ok((key, Value::Expr(expr)))
}

/// `name` or `mut name`
fn name_and_mut(input: ParseStream<'_>) -> syn::Result<(Option<Ident>, Ident)> {
    let first = input.call(Ident::parse_any)?;
    if first == "mut" && input.peek(Ident::peek_any) {
        return Ok((Some(first), input.call(Ident::parse_any)?));
    }
    Ok((None, first))
}

/// The names, if none has a `mut`.
pub(super) fn without_mut(names: Vec<Ident>, muts: &[(Ident, Ident)]) -> syn::Result<Vec<Ident>> {
    match muts.first() {
        None => Ok(names),
        Some((word, name)) => {
            let message = format!("the `mut` stands in the arguments: write `keep({name})`");
            Err(syn::Error::new_spanned(word, message))
        }
    }
}

/// What stands behind a single `=`.
fn after_equals(tokens: &TokenStream) -> Option<TokenStream> {
    let mut rest = tokens.clone().into_iter();
    let TokenTree::Punct(equals) = rest.next()? else {
        return None;
    };
    let value: TokenStream = rest.collect();
    let compound = equals.spacing() == Spacing::Joint
        && matches!(value.clone().into_iter().next(),
            Some(TokenTree::Punct(next)) if matches!(next.as_char(), '=' | '>'));
    (equals.as_char() == '=' && !compound).then_some(value)
}

/// Where the next argument begins without a comma before it, if that is what is wrong.
fn missing_comma(tokens: &TokenStream, from_the_first: bool) -> Option<syn::Error> {
    let mut before = ' ';
    let mut tokens = tokens.clone().into_iter().enumerate().peekable();
    while let Some((at, token)) = tokens.next() {
        if let TokenTree::Punct(punct) = &token
            && punct.as_char() == ';'
        {
            let message = "arguments are separated by commas: write `,` instead of `;`";
            return Some(syn::Error::new_spanned(&token, message));
        }
        if let TokenTree::Ident(key) = &token
            && (at > 0 || from_the_first)
            && !matches!(before, '.' | ':')
            && keys::usage(key).is_some()
        {
            let is_argument = match tokens.peek() {
                Some((_, TokenTree::Punct(punct))) => {
                    punct.as_char() == '=' && punct.spacing() == Spacing::Alone
                }
                Some((_, TokenTree::Group(_))) => keys::takes_parentheses(key),
                None => keys::is_flag(key),
                _ => false,
            };
            if is_argument {
                let message = format!("a comma is missing: write `, {key}`");
                return Some(syn::Error::new_spanned(key, message));
            }
        }
        before = match token {
            TokenTree::Punct(punct) => punct.as_char(),
            _ => ' ',
        };
    }
    None
}

/// An argument that does not begin with a key: guesses the key that was left out.
fn without_key(input: ParseStream<'_>) -> syn::Error {
    let tokens: TokenStream = match input.parse() {
        Ok(tokens) => tokens,
        Err(error) => return error,
    };
    let shown = show(&tokens);
    let guess = match syn::parse2::<Expr>(tokens.clone()).map(bare) {
        Ok(Expr::Path(_)) => Some("policy"),
        Ok(Expr::Closure(closure)) if closure.inputs.len() == 1 => Some("when"),
        Ok(Expr::Array(_)) => Some("on"),
        Ok(Expr::Lit(literal)) => match literal.lit {
            Lit::Int(number) if number.suffix().is_empty() => Some("max_attempts"),
            _ => None,
        },
        _ => None,
    };
    let message = match guess {
        Some(key) => format!("an argument is `key = value`: write `{key} = {shown}`"),
        None => format!(
            "an argument is `key = value`: put a key before `{shown}`; {}",
            keys::list()
        ),
    };
    syn::Error::new_spanned(tokens, message)
}

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
        // A word in capitals is a constant of the user's.
        if let Some(own) = close.filter(|_| word.to_uppercase() != word) {
            let message = format!("unknown jitter `{word}`: write `jitter = {own}`");
            return Err(syn::Error::new_spanned(name, message));
        }
    }
    if let Expr::Lit(literal) = &value
        && let Lit::Str(text) = &literal.lit
        && NAMES.into_iter().any(|(own, _)| own == text.value())
    {
        let message = format!(
            "a named jitter has no quotes: write `jitter = {}`",
            text.value()
        );
        return Err(syn::Error::new_spanned(&value, message));
    }
    match &value {
        Expr::Lit(_) | Expr::Unary(_) => time(value).map(Jitter::Additive),
        _ => Ok(Jitter::Expr(value)),
    }
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

/// A name that the body is to see.
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
