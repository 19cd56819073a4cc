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
    keep(
        &mut KEPT.lock().unwrap_or_else(PoisonError::into_inner),
        name,
    )
}

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

#[cfg(test)]
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
