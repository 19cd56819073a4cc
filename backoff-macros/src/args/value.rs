//! One argument: a key and its value.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Lit, Token, Type};

use super::bare::bare;
use super::given::{Form, Given, Names, Value};
use super::keys;
use super::misread;
use super::on;
use super::table::Key;
use crate::errors::show;

/// An argument: its key in the table, and the value as it is written.
pub(super) type Argument = (&'static Key, Given<Value>);

/// Reads `key = value` or `key(names)`, or says how to correct the argument.
pub(super) fn key_and_value(input: ParseStream<'_>) -> syn::Result<Argument> {
    let fork = input.fork();
    let key = match fork.call(Ident::parse_any) {
        Ok(key) if !fork.peek(Token![::]) => key,
        _ => return Err(without_key(input)),
    };
    input.call(Ident::parse_any)?;
    let rest: TokenStream = input.parse()?;
    let Some(known) = keys::find(&key) else {
        let given = after_equals(&rest).or_else(|| in_brackets(&rest));
        return Err(keys::unknown(&key, given.as_ref()));
    };
    let value = value(known, &key, rest)?;
    Ok((known, Given { key, value }))
}

/// The value of an unknown key.
pub(super) fn of_unknown_key(argument: TokenStream) -> Option<Expr> {
    let (key, value) = halves(argument)?;
    match keys::find(&key) {
        Some(_) => None,
        None => syn::parse2(value).ok(),
    }
}

/// The items of a list after a known key, in any kind of brackets.
pub(super) fn listed(argument: TokenStream) -> TokenStream {
    let halves = halves(argument).filter(|(key, _)| keys::find(key).is_some());
    let list = halves.and_then(|(_, value)| in_brackets(&value));
    list.unwrap_or_default()
}

/// `key = value`
fn halves(argument: TokenStream) -> Option<(Ident, TokenStream)> {
    let mut tokens = argument.into_iter();
    let key = Ident::parse_any.parse2(tokens.next()?.into()).ok()?;
    Some((key, after_equals(&tokens.collect())?))
}

fn value(known: &Key, key: &Ident, rest: TokenStream) -> syn::Result<Value> {
    let usage = known.usage;
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
    let unreadable = |error: syn::Error| {
        let message = format!("`{key}` cannot be read ({error}): write it like `{usage}`");
        syn::Error::new(error.span(), message)
    };
    let after_equals = || match after_equals(&rest) {
        Some(value) if value.is_empty() => Err(write(value)),
        Some(value) => Ok(value),
        None => Err(write(rest.clone())),
    };
    let expr = || {
        let value = after_equals()?;
        syn::parse2::<Expr>(value.clone())
            .map_err(|error| missing_comma(&value, false).unwrap_or_else(|| unreadable(error)))
    };
    let inside = || {
        let mut tokens = rest.clone().into_iter();
        let group = match tokens.next() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => group,
            _ => return Err(write(rest.clone())),
        };
        let after: TokenStream = tokens.collect();
        if !after.is_empty() || group.stream().is_empty() {
            return Err(write(after));
        }
        Ok(group.stream())
    };
    match known.form {
        Form::Expr => expr().map(Value::Expr),
        Form::Text => expr().map(Value::Text),
        Form::Flag if rest.is_empty() => Ok(Value::Flag(None)),
        Form::Flag => expr().map(|value| Value::Flag(Some(value))),
        Form::On => {
            let value = match in_brackets(&rest) {
                Some(list) => {
                    let list = misread::codes(&list).unwrap_or_else(|| show(&list));
                    let message = format!("`{key}` takes a list: write `{key} = [{list}]`");
                    return Err(syn::Error::new_spanned(rest, message));
                }
                None => after_equals()?,
            };
            on::list(known.name, value.clone())
                .map(Value::On)
                .map_err(|error| missing_comma(&value, false).unwrap_or(error))
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
pub(super) fn check_literal(known: &Key, value: &Value) -> syn::Result<()> {
    let Key { name, usage, .. } = known;
    let (Value::Expr(expr) | Value::Text(expr) | Value::Flag(Some(expr))) = value else {
        return Ok(());
    };
    let Expr::Lit(literal) = expr else {
        return Ok(());
    };
    let message = match (value, &literal.lit, known.no_literal) {
        (Value::Text(_), Lit::Str(_), _) | (Value::Flag(_), Lit::Bool(_), _) => return Ok(()),
        (Value::Text(_), ..) => format!("`{name}` takes a text: write `{usage}`"),
        (Value::Flag(_), ..) => {
            format!("`{name}` is `true` or `false`: write `{name} = true`")
        }
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
fn name_and_mut(input: ParseStream<'_>) -> syn::Result<(Option<Ident>, Ident)> {
    let first = input.call(Ident::parse_any)?;
    if first == "mut" && input.peek(Ident::peek_any) {
        return Ok((Some(first), input.call(Ident::parse_any)?));
    }
    Ok((None, first))
}

/// The tokens after a single `=`.
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

/// The tokens in brackets, if nothing follows the brackets.
fn in_brackets(tokens: &TokenStream) -> Option<TokenStream> {
    let mut rest = tokens.clone().into_iter();
    match (rest.next(), rest.next()) {
        (Some(TokenTree::Group(group)), None) => Some(group.stream()),
        _ => None,
    }
}

/// The place where the next argument begins without a comma before it, if this is the mistake.
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
            && let Some(known) = keys::find(key)
        {
            let is_argument = match tokens.peek() {
                Some((_, TokenTree::Punct(punct))) => {
                    punct.as_char() == '=' && punct.spacing() == Spacing::Alone
                }
                Some((_, TokenTree::Group(_))) => known.takes_parentheses(),
                None => known.form == Form::Flag,
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

/// An argument that does not begin with a key: guesses the missing key.
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
