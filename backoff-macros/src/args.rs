//! What stands in the parentheses of the attribute, read into one value a key.

mod keys;
mod on;
mod this;
mod value;

use std::time::Duration;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::{Expr, ExprClosure, Ident, Path, Type};

pub(crate) use on::{On, Pattern};
pub(crate) use this::with_self;
pub(crate) use value::bare;

use crate::errors::Errors;
use value::{Value, key_and_value};

/// The arguments, each with the key as the user wrote it.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) policy: Option<Given<Expr>>,
    pub(crate) base: Option<Given<Time>>,
    pub(crate) throttled_base: Option<Given<Time>>,
    pub(crate) factor: Option<Given<Expr>>,
    pub(crate) max_backoff: Option<Given<Time>>,
    pub(crate) jitter: Option<Given<Jitter>>,
    pub(crate) max_attempts: Option<Given<Expr>>,
    pub(crate) deadline: Option<Given<Time>>,
    pub(crate) max_retry_after: Option<Given<Time>>,
    pub(crate) attempt_timeout: Option<Given<Time>>,
    pub(crate) on: Option<Given<On>>,
    pub(crate) also_on: Option<Given<On>>,
    pub(crate) when: Option<Given<Expr>>,
    pub(crate) faults: Option<Given<Vec<Type>>>,
    pub(crate) until: Option<Given<Expr>>,
    /// Without a value it is `true`.
    pub(crate) idempotent: Option<Given<Option<Expr>>>,
    /// Without a value it is `true`.
    pub(crate) retry_conflicts: Option<Given<Option<Expr>>>,
    pub(crate) budget: Option<Given<Expr>>,
    pub(crate) clone: Option<Given<Vec<Ident>>>,
    /// The `mut` and the name of each in `clone(mut name)`.
    pub(crate) clone_mut: Vec<(Ident, Ident)>,
    pub(crate) keep: Option<Given<Vec<Ident>>>,
    pub(crate) attempt: Option<Given<Ident>>,
    pub(crate) notify: Option<Given<Expr>>,
    pub(crate) sleep: Option<Given<Expr>>,
    pub(crate) name: Option<Given<Expr>>,
    pub(crate) krate: Option<Path>,
}

/// The names of all keys.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    keys::KEYS.into_iter().map(|(name, _)| name)
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

/// What the block macro is given: the path of the library, which comes first in parentheses, the
/// arguments, and the block, which is the last thing.
pub(crate) struct AroundBlock {
    pub(crate) library: TokenStream,
    pub(crate) args: TokenStream,
    pub(crate) block: TokenStream,
}

impl AroundBlock {
    pub(crate) fn of(input: TokenStream) -> Self {
        let mut input = input.into_iter();
        let library = match input.next() {
            Some(TokenTree::Group(group)) => group.stream(),
            other => other.into_iter().collect(),
        };
        let mut args: Vec<TokenTree> = input.collect();
        if is_comma(args.last()) {
            args.pop();
        }
        let is_async = |token: &TokenTree| matches!(token, TokenTree::Ident(i) if i == "async");
        let is_braced = matches!(args.last(),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace);
        let last = args.len().saturating_sub(1);
        // A closure's braces, or those of a `match`, do not follow a comma.
        let stands_alone = is_braced && (last == 0 || is_comma(args.get(last - 1)));
        let piece = args.iter().rposition(|token| is_comma(Some(token)));
        let piece = piece.map_or(0, |comma| comma + 1);
        let start = match args.iter().rposition(is_async) {
            _ if stands_alone => last,
            // What is said about that is not that it lacks a key.
            _ if closure(&args[piece..].iter().cloned().collect()).is_some() => piece,
            Some(start) => start,
            None => args.len(),
        };
        let block = args.split_off(start);
        AroundBlock {
            library,
            args: args.into_iter().collect(),
            block: block.into_iter().collect(),
        }
    }
}

/// What stands in the place of a block, if it is a closure of nothing.
pub(crate) fn closure(block: &TokenStream) -> Option<ExprClosure> {
    let closure: ExprClosure = syn::parse2(block.clone()).ok()?;
    closure.inputs.is_empty().then_some(closure)
}

fn is_comma(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ',')
}

impl Args {
    /// Whether the policy's codes are asked which errors are retried.
    pub(crate) fn asks_codes(&self) -> bool {
        let on = self
            .on
            .as_ref()
            .is_some_and(|on| !on.value.codes.is_empty());
        let by_policy = self.policy.is_some() && self.on.is_none();
        self.when.is_none() && (on || by_policy || self.also_on.is_some())
    }

    fn set(&mut self, key: Ident, value: Value, errors: &mut Errors) {
        fn put<T>(
            slot: &mut Option<Given<T>>,
            key: Ident,
            value: syn::Result<T>,
        ) -> syn::Result<()> {
            *slot = Some(Given { key, value: value? });
            Ok(())
        }
        let done = match (key.to_string().as_str(), value) {
            ("policy", Value::Expr(value)) => put(&mut self.policy, key, Ok(value)),
            ("base", Value::Expr(value)) => put(&mut self.base, key, value::time(value)),
            ("throttled_base", Value::Expr(value)) => {
                put(&mut self.throttled_base, key, value::time(value))
            }
            ("factor", Value::Expr(value)) => put(&mut self.factor, key, Ok(value)),
            ("max_backoff", Value::Expr(value)) => {
                put(&mut self.max_backoff, key, value::time(value))
            }
            ("jitter", Value::Expr(value)) => put(&mut self.jitter, key, value::jitter(value)),
            ("max_attempts", Value::Expr(value)) => put(&mut self.max_attempts, key, Ok(value)),
            ("deadline", Value::Expr(value)) => put(&mut self.deadline, key, value::time(value)),
            ("max_retry_after", Value::Expr(value)) => {
                put(&mut self.max_retry_after, key, value::time(value))
            }
            ("attempt_timeout", Value::Expr(value)) => {
                put(&mut self.attempt_timeout, key, value::time(value))
            }
            ("on", Value::On(on)) => put(&mut self.on, key, Ok(on)),
            ("also_on", Value::On(on)) => put(&mut self.also_on, key, Ok(on)),
            ("when", Value::Expr(value)) => put(&mut self.when, key, Ok(value)),
            ("until", Value::Expr(value)) => put(&mut self.until, key, Ok(value)),
            ("faults", Value::Types(types)) => put(&mut self.faults, key, Ok(types)),
            ("idempotent", Value::None) => put(&mut self.idempotent, key, Ok(None)),
            ("idempotent", Value::Expr(value)) => put(&mut self.idempotent, key, Ok(Some(value))),
            ("retry_conflicts", Value::None) => put(&mut self.retry_conflicts, key, Ok(None)),
            ("retry_conflicts", Value::Expr(value)) => {
                put(&mut self.retry_conflicts, key, Ok(Some(value)))
            }
            ("budget", Value::Expr(value)) => put(&mut self.budget, key, Ok(value)),
            ("clone", Value::Names(names, muts)) => {
                self.clone_mut = muts;
                put(&mut self.clone, key, Ok(names))
            }
            ("keep", Value::Names(names, muts)) => {
                put(&mut self.keep, key, value::without_mut(names, &muts))
            }
            ("attempt", Value::Expr(value)) => put(&mut self.attempt, key, value::name(value)),
            ("notify", Value::Expr(value)) => put(&mut self.notify, key, Ok(value)),
            ("sleep", Value::Expr(value)) => put(&mut self.sleep, key, Ok(value)),
            ("name", Value::Expr(value)) => put(&mut self.name, key, Ok(value)),
            ("crate", Value::Expr(value)) => value::path(value).map(|path| self.krate = Some(path)),
            _ => Err(keys::unknown(&key)),
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
pub(crate) type Piece = (TokenStream, Option<TokenTree>);

pub(crate) fn pieces(tokens: TokenStream) -> Vec<Piece> {
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

#[cfg(test)]
mod tests;
