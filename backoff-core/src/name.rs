//! The name of a budget, a rate or a breaker: a literal, or a text that is made at run time. Such texts are kept for the
//! life of the process, so that an error, an event and a label of metrics hold one as they hold a literal.

use core::fmt;
#[cfg(feature = "std")]
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// A name, or none.
#[derive(Clone, Copy)]
pub(crate) struct Name {
    text: Option<&'static str>,
    /// Whether metrics count it as `other`.
    #[cfg_attr(
        not(feature = "metrics"),
        allow(dead_code, reason = "only metrics ask")
    )]
    is_other: bool,
}

impl Name {
    pub(crate) const NONE: Self = Name {
        text: None,
        is_other: false,
    };

    pub(crate) const fn literal(text: &'static str) -> Self {
        Name {
            text: Some(text),
            is_other: false,
        }
    }

    /// A name that is made at run time.
    #[cfg(feature = "std")]
    pub(crate) fn made(text: String) -> Self {
        Self::literal(kept(text))
    }

    /// Metrics show the name, or `other`.
    #[cfg(feature = "std")]
    pub(crate) const fn shown(mut self, is_shown: bool) -> Self {
        self.is_other = !is_shown;
        self
    }

    pub(crate) const fn get(self) -> Option<&'static str> {
        self.text
    }

    /// The name in metrics.
    #[cfg(feature = "metrics")]
    pub(crate) const fn in_metrics(self) -> Option<&'static str> {
        match self.text {
            Some(_) if self.is_other => Some("other"),
            text => text,
        }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// The most names that are kept: a program that names its breakers by what strangers send must not fill its memory.
#[cfg(feature = "std")]
const MOST: usize = 10_000;

#[cfg(feature = "std")]
static KEPT: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// The same name for the life of the process; `other` if there are too many.
#[cfg(feature = "std")]
fn kept(name: String) -> &'static str {
    keep(
        &mut KEPT.lock().unwrap_or_else(PoisonError::into_inner),
        name,
    )
}

#[cfg(feature = "std")]
fn keep(names: &mut BTreeSet<&'static str>, name: String) -> &'static str {
    if let Some(name) = names.get(&*name) {
        return name;
    }
    if names.len() >= MOST {
        return "other";
    }
    let name = String::leak(name);
    names.insert(name);
    name
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_not_all_are_kept() {
        let mut names = BTreeSet::new();
        let first = keep(&mut names, "a".to_owned());
        assert!(std::ptr::eq(first, keep(&mut names, "a".to_owned())));
        for n in 1..MOST {
            assert_eq!(keep(&mut names, n.to_string()), n.to_string());
        }
        assert_eq!(keep(&mut names, "b".to_owned()), "other");
        assert!(std::ptr::eq(first, keep(&mut names, "a".to_owned())));
    }
}
