//! Names that are made at run time. They are kept for the life of the process, so that an error, an event and a label of
//! metrics hold one as they hold a literal.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// The most names that are kept: a program that names its breakers by what strangers send must not fill its memory.
const MOST: usize = 10_000;

static KEPT: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// The same name for the life of the process; `other` if there are too many.
pub(crate) fn kept(name: String) -> &'static str {
    let mut names = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
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
