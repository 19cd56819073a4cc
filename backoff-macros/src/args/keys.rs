//! The names of the keys, and the messages about other names.

use proc_macro2::TokenStream;
use syn::Ident;

use super::aliases;
use super::table::{KEYS, Key};
use crate::errors::did_you_mean;

/// The key of this name, if there is one.
pub(super) fn find(key: &(impl PartialEq<str> + ?Sized)) -> Option<&'static Key> {
    KEYS.iter().find(|known| *key == *known.name)
}

/// How to write the key, if it is one.
pub(crate) fn usage(key: &Ident) -> Option<&'static str> {
    find(key).map(|known| known.usage)
}

/// The names of all keys.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|known| known.name)
}

/// The message about an unknown key. All keys are listed only if there is no better hint.
pub(super) fn unknown(key: &Ident, value: Option<TokenStream>) -> syn::Error {
    let word = key.to_string();
    let hint = aliases::instead(&word, value)
        .or_else(|| did_you_mean(&word, names()).map(|meant| format!("write `{meant}`")))
        .unwrap_or_else(list);
    syn::Error::new(key.span(), format!("unknown key `{word}`: {hint}"))
}

/// Whether this is a key, or was meant to be one.
pub(super) fn is_near(word: &Ident) -> bool {
    did_you_mean(&word.to_string(), names()).is_some()
}

/// "the keys are …"
pub(super) fn list() -> String {
    let names: Vec<String> = names().map(|name| format!("`{name}`")).collect();
    format!("the keys are {}", names.join(", "))
}
