//! The names that a pattern binds.

use syn::{Pat, PatIdent};

/// Calls `each` for the names that a pattern binds. A name alone may also be a unit struct or a constant.
pub(crate) fn each_name(pat: &mut Pat, each: &mut dyn FnMut(&mut PatIdent)) {
    let inside: Vec<&mut Pat> = match pat {
        Pat::Ident(name) => {
            each(name);
            name.subpat.iter_mut().map(|(_, pat)| &mut **pat).collect()
        }
        Pat::Paren(pat) => vec![&mut pat.pat],
        Pat::Reference(pat) => vec![&mut pat.pat],
        Pat::Type(pat) => vec![&mut pat.pat],
        Pat::Or(pat) => pat.cases.iter_mut().collect(),
        Pat::Slice(pat) => pat.elems.iter_mut().collect(),
        Pat::Struct(pat) => pat.fields.iter_mut().map(|field| &mut *field.pat).collect(),
        Pat::Tuple(pat) => pat.elems.iter_mut().collect(),
        Pat::TupleStruct(pat) => pat.elems.iter_mut().collect(),
        _ => Vec::new(),
    };
    for pat in inside {
        each_name(pat, each);
    }
}

/// Whether a name alone in a pattern is, by its letters, a unit struct or a constant.
pub(crate) fn is_constant(name: &PatIdent) -> bool {
    let is_alone = name.by_ref.is_none() && name.mutability.is_none() && name.subpat.is_none();
    is_alone && name.ident.to_string().starts_with(char::is_uppercase)
}
