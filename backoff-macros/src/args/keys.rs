//! The names of the keys, and what is said about any other name.

use syn::Ident;

use super::table::{KEYS, Key};
use crate::errors::did_you_mean;

/// What the keys are called elsewhere.
const ELSEWHERE: [(&str, &str); 15] = [
    ("retries", "max_attempts"),
    ("max_retries", "max_attempts"),
    ("attempts", "max_attempts"),
    ("times", "max_attempts"),
    ("executor", "runtime"),
    ("max_delay", "max_backoff"),
    ("max_interval", "max_backoff"),
    ("cap", "max_backoff"),
    ("delay", "base"),
    ("min_delay", "base"),
    ("initial_interval", "base"),
    ("multiplier", "factor"),
    ("codes", "on"),
    ("retry_if", "when"),
    ("context", "clone"),
];

/// What a policy can be told, but not the attribute.
const SETTERS: [&str; 3] = ["retry_after_slack", "scaled", "without_budget"];

/// The key of this name, if there is one.
pub(super) fn find(key: &Ident) -> Option<&'static Key> {
    KEYS.iter().find(|known| *key == known.name)
}

/// How the key is written, if it is one.
pub(crate) fn usage(key: &Ident) -> Option<&'static str> {
    find(key).map(|known| known.usage)
}

/// The names of all keys.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|known| known.name)
}

pub(super) fn unknown(key: &Ident) -> syn::Error {
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
        .or_else(|| did_you_mean(&word, names()));
    let hint = meant
        .map(|name| format!(" write `{name}`;"))
        .unwrap_or_default();
    syn::Error::new(
        key.span(),
        format!("unknown key `{word}`:{hint} {}", list()),
    )
}

/// "the keys are …"
pub(super) fn list() -> String {
    let names: Vec<String> = names().map(|name| format!("`{name}`")).collect();
    format!("the keys are {}", names.join(", "))
}
