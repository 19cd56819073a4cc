//! Reads the arguments in the parentheses of the attribute, one value for each key.

mod aliases;
pub(crate) mod block;
pub(crate) mod key_names;
pub(crate) mod key_value;
mod names;
pub(crate) mod numbers;
pub(crate) mod on;
mod read;
pub(crate) mod renamed_self;
pub(crate) mod split;
pub(crate) mod table;
mod value;

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::{Expr, Ident};

use crate::errors::Errors;
use key_value::{Given, Time};
use split::arguments;
pub(crate) use table::Args;
use value::key_and_value;

/// Reads all arguments. Arguments that cannot be read are reported and left out.
pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Args {
    let mut args = Args::default();
    let mut seen: Vec<Ident> = Vec::new();
    for argument in arguments(tokens, errors) {
        let Some((known, given)) = errors.take(key_and_value.parse2(argument)) else {
            continue;
        };
        let key = &given.key;
        if seen.contains(key) {
            let message = format!("`{key}` is given twice: keep one of them");
            errors.at(key, message);
            continue;
        }
        seen.push(key.clone());
        errors.take((known.put)(&mut args, given));
    }
    args
}

impl Args {
    /// The key by which attempts are cut, and the limit of one attempt if there is one.
    pub(crate) fn cuts(&self) -> Option<(&Ident, Option<&Time>)> {
        match (&self.attempt_timeout, &self.timeout) {
            (Some(limit), _) => Some((&limit.key, Some(&limit.value))),
            (None, Some(whole)) => Some((&whole.key, None)),
            (None, None) => None,
        }
    }

    /// The key that names a signal, and the signal.
    pub(crate) fn signal(&self) -> Option<&Given<Expr>> {
        self.stop_on.as_ref().or(self.cut_on.as_ref())
    }

    /// Whether the policy may have a rate or a breaker, as far as the attribute can tell.
    pub(crate) fn may_have_rate(&self) -> bool {
        self.policy.is_some() || self.rate.is_some() || self.breaker.is_some()
    }

    /// The key that makes an error when the wait for a turn takes too long, or the breaker is open.
    pub(crate) fn queue_key(&self) -> Option<&Ident> {
        let max_queue_time = self.max_queue_time.as_ref().map(|it| &it.key);
        let shared = self.rate.as_ref().or(self.breaker.as_ref());
        max_queue_time.or(shared.map(|it| &it.key))
    }

    /// Whether the policy's codes decide which errors are retried.
    pub(crate) fn asks_codes(&self) -> bool {
        let on = self
            .on
            .as_ref()
            .is_some_and(|on| !on.value.codes.is_empty());
        let by_policy = self.policy.is_some() && self.on.is_none();
        self.when.is_none() && (on || by_policy || self.also_on.is_some())
    }
}

#[cfg(test)]
mod tests;
