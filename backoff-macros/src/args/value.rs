//! One argument: a key and its value.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Lit, Token, Type, UnOp, parse_quote_spanned};

use super::aliases;
use super::key_names;
use super::key_value::{Form, Given, Names, Value};
use super::on;
use super::read::policy;
use super::table::{Args, Key};
use crate::bindings::is_small;
use crate::duration;
use crate::errors::show;
use crate::hygiene::at;

/// An argument: its key in the table, and the value as it is written.
pub(super) type Argument = (&'static Key, Given<Value>);

/// Reads `key = value` or `key(names)`, or says how to correct the argument.
pub(super) fn key_and_value(input: ParseStream<'_>) -> syn::Result<Argument> {
    let (start, fork) = (input.fork(), input.fork());
    let key = match fork.call(Ident::parse_any) {
        Ok(key) if !fork.peek(Token![::]) => key,
        _ => return Err(without_key(input.parse()?)),
    };
    input.call(Ident::parse_any)?;
    let rest: TokenStream = input.parse()?;
    let Some(known) = key_names::find(&key) else {
        let (argument, given) = (start.parse()?, after_equals(&rest));
        let given = given.or_else(|| in_brackets(&rest));
        return Err(match guessed(&argument) {
            Some(_) if given.is_none() => without_key(argument),
            _ => aliases::unknown(&key, given, &|argument| {
                let (known, given) = key_and_value.parse2(argument)?;
                (known.put)(&mut Args::default(), given)
            }),
        });
    };
    let value = value(known, &key, rest)?;
    check_literal(known, &value)?;
    Ok((known, Given { key, value }))
}

/// The value of an unknown key.
pub(super) fn of_unknown_key(argument: TokenStream) -> Option<Expr> {
    let mut tokens = argument.into_iter();
    let key = Ident::parse_any.parse2(tokens.next()?.into()).ok()?;
    let value = after_equals(&tokens.collect()).filter(|_| key_names::find(&key).is_none());
    syn::parse2(value?).ok()
}

fn value(known: &Key, key: &Ident, rest: TokenStream) -> syn::Result<Value> {
    let usage = known.usage;
    let write = |at: TokenStream| {
        let given = in_brackets(&rest).filter(|given| !given.is_empty());
        let usage = match given.filter(|_| !known.takes_parentheses()) {
            Some(given) => format!("{key} = {}", show(given)),
            None => usage.to_owned(),
        };
        let message = format!("`{key}` takes a value: write `{usage}`");
        match at.is_empty() {
            true => syn::Error::new_spanned(key, message),
            false if known.form == Form::Flag => syn::Error::new_spanned(at, message + COMMA),
            false => syn::Error::new_spanned(at, message),
        }
    };
    let unreadable = |error: syn::Error| {
        let message = format!("`{key}` cannot be read ({error}): write it like `{usage}`{COMMA}");
        syn::Error::new(error.span(), message)
    };
    let after_equals = || match after_equals(&rest) {
        Some(value) if value.is_empty() => Err(write(value)),
        Some(value) => Ok(value),
        None => Err(write(rest.clone())),
    };
    let expr = || syn::parse2::<Expr>(after_equals()?).map_err(unreadable);
    let inside = || {
        let inside = in_brackets(&rest).filter(|inside| !inside.is_empty());
        let first = rest.clone().into_iter().next();
        let is_open = matches!(first, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
        inside
            .filter(|_| is_open)
            .ok_or_else(|| write(rest.clone().into_iter().skip(1).collect()))
    };
    match known.form {
        Form::Expr => expr().map(Value::Expr),
        Form::Text => expr().map(Value::Text),
        // A key without a value means `true`.
        Form::Flag if rest.is_empty() => {
            Ok(Value::Flag(parse_quote_spanned!(at(key.span())=> true)))
        }
        Form::Flag => expr().map(Value::Flag),
        Form::On => {
            if let Some(inside) = in_brackets(&rest) {
                return Err(on::no_list(known.name, &inside));
            }
            on::list(known.name, after_equals()?).map(Value::On)
        }
        Form::Names => names
            .parse2(inside()?)
            .map(Value::Names)
            .map_err(unreadable),
        Form::Types => Punctuated::<Type, Token![,]>::parse_terminated
            .parse2(inside()?)
            .map(|types| Value::Types(types.into_iter().collect()))
            .map_err(unreadable),
    }
}

/// Refuses a literal of a type that no key takes.
fn check_literal(known: &Key, value: &Value) -> syn::Result<()> {
    let Key { name, usage, .. } = known;
    let (Value::Expr(expr) | Value::Text(expr) | Value::Flag(expr)) = value else {
        return Ok(());
    };
    let Expr::Lit(literal) = expr else {
        return Ok(());
    };
    let message = match (value, &literal.lit, known.no_literal) {
        (Value::Text(_), Lit::Str(_), _) | (Value::Flag(_), Lit::Bool(_), _) => return Ok(()),
        (Value::Text(_), ..) => format!("`{name}` takes a text: write `{usage}`"),
        (Value::Flag(_), ..) => format!("`{name}` is `true` or `false`: write `{usage}`"),
        (.., Some(takes)) => format!("`{name}` takes {takes}: write `{usage}`"),
        (.., None) => return Ok(()),
    };
    Err(syn::Error::new_spanned(literal, message))
}

fn names(input: ParseStream<'_>) -> syn::Result<Names> {
    let named = Punctuated::<_, Token![,]>::parse_terminated_with(input, name_and_mut)?;
    let (mut names, mut muts) = (Vec::new(), Vec::new());
    for (word, name) in named {
        muts.extend(word.map(|word| (word, name.clone())));
        names.push(name);
    }
    Ok(Names { names, muts })
}

/// `name` or `mut name`
fn name_and_mut(input: ParseStream<'_>) -> syn::Result<(Option<Token![mut]>, Ident)> {
    let has_mut = input.peek(Token![mut]) && input.peek2(Ident::peek_any);
    let word = has_mut.then(|| input.parse()).transpose()?;
    Ok((word, input.call(Ident::parse_any)?))
}

/// The tokens after a single `=`.
pub(super) fn after_equals(tokens: &TokenStream) -> Option<TokenStream> {
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

/// The tokens in brackets, if nothing follows the brackets.
fn in_brackets(tokens: &TokenStream) -> Option<TokenStream> {
    let mut rest = tokens.clone().into_iter();
    match (rest.next(), rest.next()) {
        (Some(TokenTree::Group(group)), None) => Some(group.stream()),
        _ => None,
    }
}

/// The end of a message about a value that cannot be read, since one comma too few is the usual reason.
const COMMA: &str = "; a comma must be between two arguments";

/// The message about an argument that does not begin with a key: it guesses the missing key.
fn without_key(argument: TokenStream) -> syn::Error {
    if let Ok(value) = syn::parse2(argument.clone())
        && let Err(error) = policy(value)
    {
        return error;
    }
    let message = match guessed(&argument) {
        Some(meant) => format!("an argument is `key = value`: write `{meant}`"),
        None => format!(
            "an argument is `key = value`: put a key before `{}`; {}",
            show(&argument),
            key_names::list()
        ),
    };
    syn::Error::new_spanned(argument, message)
}

/// The whole argument that is meant by a value alone.
fn guessed(value: &TokenStream) -> Option<String> {
    let key = match syn::parse2(value.clone()).ok()? {
        Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
            return Some(format!("{} = false", show(unary.expr)));
        }
        Expr::Path(path) if path.path.get_ident().is_some_and(is_small) => {
            return None;
        }
        Expr::Path(_) | Expr::Call(_) | Expr::MethodCall(_) => "policy",
        Expr::Closure(closure) if closure.inputs.len() == 1 => "when",
        Expr::Array(_) => "on",
        Expr::Lit(literal) if matches!(&literal.lit, Lit::Int(it) if it.suffix().is_empty()) => {
            "max_attempts"
        }
        Expr::Lit(literal) if matches!(&literal.lit, Lit::Str(it) if duration::parse(&it.value()).is_ok()) => {
            "deadline"
        }
        _ => return None,
    };
    Some(format!("{key} = {}", show(value)))
}
