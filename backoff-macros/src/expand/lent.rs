//! Functions in keys that are held in variables: each attempt borrows them.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Ident};

use crate::args::Args;
use crate::bindings::{Binding, is_small, named};
use crate::hygiene::at;
use crate::place::Scope;

/// The arguments as an attempt sees them: those in `clone(..)` are not mutable themselves.
pub(super) fn without_mut_of_copies(mut bound: Vec<Binding>, args: &Args) -> Vec<Binding> {
    for binding in &mut bound {
        let mut given = args.clone.iter();
        if given.any(|clone| clone.value.names.contains(&binding.name)) {
            binding.mutable = None;
        }
    }
    bound
}

/// The value of `when` or `until`, which reads its captured values only.
pub(super) fn read(scope: &Scope, value: &Expr) -> TokenStream {
    let is_variable = match value {
        Expr::Field(_) => true,
        _ => lone(value).is_some_and(|name| match scope {
            Scope::Function { bound, .. } => named(bound, name).is_some_and(|it| !it.is_reference),
            Scope::Block => is_small(name),
        }),
    };
    let borrow = is_variable.then(|| quote_spanned!(at(value.span())=> &));
    quote!(#borrow #value)
}

/// The value of `notify`, which may change its captured values.
pub(super) fn changed(scope: &Scope, value: &Expr) -> TokenStream {
    let here = at(value.span());
    let plain = quote_spanned!(here=> &);
    let borrow = match (scope, lone(value)) {
        (_, None) => matches!(value, Expr::Field(_)).then_some(plain),
        (Scope::Block, Some(_)) => None,
        (Scope::Function { bound, .. }, Some(name)) => match named(bound, name) {
            Some(it) if it.is_mut_reference => Some(quote_spanned!(here=> &mut *)),
            Some(it) if it.mutable.is_some() => Some(quote_spanned!(here=> &mut)),
            Some(it) if !it.is_reference => Some(plain),
            _ => None,
        },
    };
    quote!(#borrow #value)
}

fn lone(value: &Expr) -> Option<&Ident> {
    match value {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}
