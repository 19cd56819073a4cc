//! What stands in the parentheses of the attribute, read into one value a key.

use std::time::Duration;

use proc_macro2::{Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, Ident, Lit, Path, Token, UnOp};

use crate::duration;
use crate::errors::{Errors, did_you_mean};

/// Every key with a value that shows its shape.
const KEYS: [(&str, &str); 11] = [
    ("policy", "iam::REQUEST"),
    ("base", "\"1s\""),
    ("factor", "2.0"),
    ("max_backoff", "\"64s\""),
    ("jitter", "full"),
    ("max_attempts", "5"),
    ("deadline", "\"300s\""),
    ("attempt_timeout", "\"10s\""),
    ("on", "[429, 500..=504]"),
    ("when", "|error| error.is_busy()"),
    ("crate", "backoff_core"),
];

/// What the keys are called elsewhere.
const ELSEWHERE: [(&str, &str); 14] = [
    ("retries", "max_attempts"),
    ("max_retries", "max_attempts"),
    ("attempts", "max_attempts"),
    ("times", "max_attempts"),
    ("timeout", "attempt_timeout"),
    ("max_delay", "max_backoff"),
    ("max_interval", "max_backoff"),
    ("cap", "max_backoff"),
    ("delay", "base"),
    ("min_delay", "base"),
    ("initial_interval", "base"),
    ("multiplier", "factor"),
    ("codes", "on"),
    ("retry_if", "when"),
];

/// The arguments, each with the key as the user wrote it.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) policy: Option<Given<Expr>>,
    pub(crate) base: Option<Given<Time>>,
    pub(crate) factor: Option<Given<Expr>>,
    pub(crate) max_backoff: Option<Given<Time>>,
    pub(crate) jitter: Option<Given<Jitter>>,
    pub(crate) max_attempts: Option<Given<Expr>>,
    pub(crate) deadline: Option<Given<Time>>,
    pub(crate) attempt_timeout: Option<Given<Time>>,
    pub(crate) on: Option<Given<Vec<Expr>>>,
    pub(crate) when: Option<Given<Expr>>,
    pub(crate) krate: Option<Path>,
}

/// A key and its value.
pub(crate) struct Given<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
}

/// A length of time.
pub(crate) struct Time {
    pub(crate) expr: Expr,
    /// What the expression says if it is a literal.
    pub(crate) literal: Option<Duration>,
}

/// How waits are spread.
pub(crate) enum Jitter {
    /// A name of the attribute's own, with its variant of `Jitter`.
    Named(Ident, &'static str),
    /// A random time up to this one on top of the wait.
    Additive(Time),
    /// Anything of type `Jitter`.
    Expr(Expr),
}

/// Reads all arguments; those that cannot be read are reported and left out.
pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Args {
    let mut args = Args::default();
    let mut seen: Vec<Ident> = Vec::new();
    for argument in arguments(tokens, errors) {
        match key_and_value.parse2(argument) {
            Ok((key, _)) if seen.contains(&key) => {
                errors.at(
                    &key,
                    format_args!("`{key}` is given twice: keep one of them"),
                );
            }
            Ok((key, value)) => {
                seen.push(key.clone());
                args.set(key, value, errors);
            }
            Err(error) => errors.push(error),
        }
    }
    args
}

/// Takes the input of the block macro apart: the path of the library, which comes first in
/// parentheses, the arguments, and the block, which is what begins with the last `async`.
pub(crate) fn around_block(input: TokenStream) -> (TokenStream, TokenStream, TokenStream) {
    let mut input = input.into_iter();
    let library = match input.next() {
        Some(TokenTree::Group(group)) => group.stream(),
        other => other.into_iter().collect(),
    };
    let mut args: Vec<TokenTree> = input.collect();
    let is_async = |token: &TokenTree| matches!(token, TokenTree::Ident(i) if i == "async");
    let start = args.iter().rposition(is_async).unwrap_or(args.len());
    let mut block = args.split_off(start);
    if matches!(block.last(), Some(TokenTree::Punct(punct)) if punct.as_char() == ',') {
        block.pop();
    }
    (
        library,
        args.into_iter().collect(),
        block.into_iter().collect(),
    )
}

impl Args {
    fn set(&mut self, key: Ident, value: Expr, errors: &mut Errors) {
        fn put<T>(
            slot: &mut Option<Given<T>>,
            key: Ident,
            value: syn::Result<T>,
        ) -> syn::Result<()> {
            *slot = Some(Given { key, value: value? });
            Ok(())
        }
        let done = match key.to_string().as_str() {
            "policy" => put(&mut self.policy, key, Ok(value)),
            "base" => put(&mut self.base, key, time(value)),
            "factor" => put(&mut self.factor, key, Ok(value)),
            "max_backoff" => put(&mut self.max_backoff, key, time(value)),
            "jitter" => put(&mut self.jitter, key, jitter(value)),
            "max_attempts" => put(&mut self.max_attempts, key, Ok(value)),
            "deadline" => put(&mut self.deadline, key, time(value)),
            "attempt_timeout" => put(&mut self.attempt_timeout, key, time(value)),
            "on" => put(&mut self.on, key, list(value)),
            "when" => put(&mut self.when, key, Ok(value)),
            "crate" => path(value).map(|path| self.krate = Some(path)),
            _ => Err(unknown(&key)),
        };
        if let Err(error) = done {
            errors.push(error);
        }
    }
}

/// Splits at the commas that separate arguments. A comma inside `<A, B>` or `|a, b|` stands bare
/// among the tokens too: an argument that cannot be read takes in the pieces without a key that
/// follow, if they make it whole.
fn arguments(tokens: TokenStream, errors: &mut Errors) -> Vec<TokenStream> {
    let pieces = pieces(tokens);
    let mut arguments = Vec::new();
    let mut at = 0;
    while let Some((piece, comma)) = pieces.get(at) {
        let (argument, taken) = whole(&pieces[at..]).unwrap_or_else(|| (piece.clone(), 1));
        if argument.is_empty() {
            errors.at(comma, "this comma has no argument before it: remove it");
        } else {
            arguments.push(argument);
        }
        at += taken;
    }
    arguments
}

/// What stands between commas, each piece with the comma after it.
type Piece = (TokenStream, Option<TokenTree>);

fn pieces(tokens: TokenStream) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut piece = TokenStream::new();
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                pieces.push((std::mem::take(&mut piece), Some(token)));
            }
            _ => piece.extend([token]),
        }
    }
    if !piece.is_empty() {
        pieces.push((piece, None));
    }
    pieces
}

/// The argument that begins with the first piece, and of how many pieces it is made.
fn whole(pieces: &[Piece]) -> Option<(TokenStream, usize)> {
    let mut argument = TokenStream::new();
    for (taken, (piece, _)) in pieces.iter().enumerate() {
        if begins_with_key(piece) != (taken == 0) {
            return None;
        }
        if taken > 0 {
            argument.extend(pieces[taken - 1].1.clone());
        }
        argument.extend(piece.clone());
        if key_and_value.parse2(argument.clone()).is_ok() {
            return Some((argument, taken + 1));
        }
    }
    None
}

fn begins_with_key(tokens: &TokenStream) -> bool {
    let mut tokens = tokens.clone().into_iter();
    let (Some(TokenTree::Ident(_)), Some(TokenTree::Punct(equals))) =
        (tokens.next(), tokens.next())
    else {
        return false;
    };
    let compound = equals.spacing() == Spacing::Joint
        && matches!(tokens.next(), Some(TokenTree::Punct(next)) if matches!(next.as_char(), '=' | '>'));
    equals.as_char() == '=' && !compound
}

/// Reads `key = value`, or says how the argument becomes one.
fn key_and_value(input: ParseStream<'_>) -> syn::Result<(Ident, Expr)> {
    let fork = input.fork();
    let key = match fork.call(Ident::parse_any) {
        Ok(key) if !fork.peek(Token![::]) => key,
        _ => return Err(without_key(input)),
    };
    input.call(Ident::parse_any)?;
    let Some((_, sample)) = KEYS.into_iter().find(|(name, _)| key == name) else {
        input.parse::<TokenStream>()?;
        return Err(unknown(&key));
    };
    let write = |at: TokenStream| {
        syn::Error::new_spanned(
            at,
            format!("`{key}` takes a value: write `{key} = {sample}`"),
        )
    };
    if !input.peek(Token![=]) || input.peek(Token![==]) || input.peek(Token![=>]) {
        let rest: TokenStream = input.parse()?;
        return Err(write(if rest.is_empty() {
            key.to_token_stream()
        } else {
            rest
        }));
    }
    input.parse::<Token![=]>()?;
    if input.is_empty() {
        return Err(write(key.to_token_stream()));
    }
    let tokens: TokenStream = input.parse()?;
    let value = syn::parse2::<Expr>(tokens).map_err(|error| {
        let message = format!("`{key}` cannot be read ({error}): write it like `{key} = {sample}`");
        syn::Error::new(error.span(), message)
    })?;
    Ok((key, value))
}

/// An argument that does not begin with a key: guesses the key that was left out.
fn without_key(input: ParseStream<'_>) -> syn::Error {
    let tokens: TokenStream = match input.parse() {
        Ok(tokens) => tokens,
        Err(error) => return error,
    };
    let shown = tokens.to_string().replace(" :: ", "::");
    let guess = match syn::parse2::<Expr>(tokens.clone()).map(bare) {
        Ok(Expr::Path(_)) => Some("policy"),
        Ok(Expr::Closure(_)) => Some("when"),
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
            keys()
        ),
    };
    syn::Error::new_spanned(tokens, message)
}

/// What a policy can be told, but not the attribute.
const SETTERS: [&str; 9] = [
    "also_on",
    "budget",
    "idempotent",
    "max_retry_after",
    "retry_after_slack",
    "retry_conflicts",
    "scaled",
    "throttled_base",
    "without_budget",
];

fn unknown(key: &Ident) -> syn::Error {
    let word = key.to_string();
    if SETTERS.contains(&word.as_str()) {
        let message = format!(
            "`{word}` is a rule of a policy and no key: write `policy = POLICY.{word}(..)` with \
             the policy that you use"
        );
        return syn::Error::new(key.span(), message);
    }
    let meant = ELSEWHERE
        .into_iter()
        .find_map(|(other, ours)| (other == word).then_some(ours))
        .or_else(|| did_you_mean(&word, KEYS.into_iter().map(|(name, _)| name)));
    let hint = meant
        .map(|name| format!(" write `{name}`;"))
        .unwrap_or_default();
    syn::Error::new(
        key.span(),
        format!("unknown key `{word}`:{hint} {}", keys()),
    )
}

fn keys() -> String {
    let names: Vec<String> = KEYS.iter().map(|(name, _)| format!("`{name}`")).collect();
    format!("the keys are {}", names.join(", "))
}

/// The expression without the invisible groups that `macro_rules!` puts around what it matched.
pub(crate) fn bare(mut expr: Expr) -> Expr {
    while let Expr::Group(group) = expr {
        expr = *group.expr;
    }
    expr
}

fn time(value: Expr) -> syn::Result<Time> {
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
    Ok(Time {
        expr: value,
        literal,
    })
}

fn jitter(value: Expr) -> syn::Result<Jitter> {
    const NAMES: [(&str, &str); 4] = [
        ("full", "Full"),
        ("equal", "Equal"),
        ("decorrelated", "Decorrelated"),
        ("none", "None"),
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

fn list(value: Expr) -> syn::Result<Vec<Expr>> {
    match bare(value) {
        Expr::Array(array) => Ok(array.elems.into_iter().map(bare).collect()),
        other => {
            let shown = other.to_token_stream().to_string();
            let shown = shown.replace(" ..= ", "..=").replace(" :: ", "::");
            let message = format!("`on` takes a list: write `on = [{shown}]`");
            Err(syn::Error::new_spanned(other, message))
        }
    }
}

fn path(value: Expr) -> syn::Result<Path> {
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

#[cfg(test)]
mod tests;
