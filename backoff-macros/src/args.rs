//! What stands in the parentheses of the attribute, read into one value a key.

pub(crate) mod bare;
pub(crate) mod block;
pub(crate) mod given;
mod keys;
pub(crate) mod on;
pub(crate) mod split;
pub(crate) mod this;
mod value;

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::{Expr, Ident, Path, Type};

use crate::errors::Errors;
use given::{Given, Jitter, Time};
use on::On;
use split::arguments;
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
    pub(crate) timeout: Option<Given<Time>>,
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
    /// Without a value it is `true`.
    pub(crate) responses: Option<Given<Option<Expr>>>,
    pub(crate) budget: Option<Given<Expr>>,
    pub(crate) clone: Option<Given<Vec<Ident>>>,
    /// The `mut` and the name of each in `clone(mut name)`.
    pub(crate) clone_mut: Vec<(Ident, Ident)>,
    pub(crate) keep: Option<Given<Vec<Ident>>>,
    pub(crate) attempt: Option<Given<Ident>>,
    pub(crate) notify: Option<Given<Expr>>,
    pub(crate) sleep: Option<Given<Expr>>,
    pub(crate) runtime: Option<Given<Expr>>,
    pub(crate) name: Option<Given<Expr>>,
    pub(crate) krate: Option<Path>,
}

/// The names of all keys.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    keys::KEYS.into_iter().map(|(name, _)| name)
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

impl Args {
    /// The key that has attempts cut, and the limit of one attempt if one is given.
    pub(crate) fn cuts(&self) -> Option<(&Ident, Option<&Time>)> {
        match (&self.attempt_timeout, &self.timeout) {
            (Some(limit), _) => Some((&limit.key, Some(&limit.value))),
            (None, Some(whole)) => Some((&whole.key, None)),
            (None, None) => None,
        }
    }

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
            ("timeout", Value::Expr(value)) => put(&mut self.timeout, key, value::time(value)),
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
            ("responses", Value::None) => put(&mut self.responses, key, Ok(None)),
            ("responses", Value::Expr(value)) => put(&mut self.responses, key, Ok(Some(value))),
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
            ("runtime", Value::Expr(value)) => put(&mut self.runtime, key, Ok(value)),
            ("name", Value::Expr(value)) => put(&mut self.name, key, Ok(value)),
            ("crate", Value::Expr(value)) => value::path(value).map(|path| self.krate = Some(path)),
            _ => Err(keys::unknown(&key)),
        };
        if let Err(error) = done {
            errors.push(error);
        }
    }
}

#[cfg(test)]
mod tests;
