//! The names of the keys.

use syn::Ident;

use super::table::{KEYS, Key};
use crate::errors::{did_you_mean, listed};

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

/// Whether this is a key, or was meant to be one.
pub(super) fn is_near(word: &Ident) -> bool {
    did_you_mean(&word.to_string(), names()).is_some()
}

/// "the keys are …"
pub(super) fn list() -> String {
    format!("the keys are {}", listed(names()))
}
