//! Functions in keys that are held in variables: each attempt borrows them.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Ident};

use super::library::at;
use crate::args::Args;
use crate::bindings::{Binding, is_small, named};

/// The names that exist around the written code.
pub(super) enum Around {
    /// In a function: its arguments.
    Arguments(Vec<Binding>),
    /// In a block: any name, so a single name in small letters counts as a variable.
    Unknown,
}

impl Around {
    /// The arguments. Those in `clone(..)` are not mutable themselves.
    pub(super) fn arguments(mut bound: Vec<Binding>, args: &Args) -> Self {
        for binding in &mut bound {
            let mut given = args.clone.iter();
            if given.any(|clone| clone.value.names.contains(&binding.name)) {
                binding.mutable = None;
            }
        }
        Around::Arguments(bound)
    }

    /// The value of `when` or `until`, which reads its captured values only.
    pub(super) fn read(&self, value: &Expr) -> TokenStream {
        let is_variable = match value {
            Expr::Field(_) => true,
            _ => lone(value).is_some_and(|name| match self {
                Around::Arguments(bound) => named(bound, name).is_some_and(|it| !it.is_reference),
                Around::Unknown => is_small(&name.to_string()),
            }),
        };
        lent(value, is_variable, quote_spanned!(at(value.span())=> &))
    }

    /// The value of `notify`, which may change its captured values.
    pub(super) fn changed(&self, value: &Expr) -> TokenStream {
        let here = at(value.span());
        let plain = quote_spanned!(here=> &);
        let (is_variable, borrow) = match (self, lone(value)) {
            (_, None) => (matches!(value, Expr::Field(_)), plain),
            (Around::Unknown, Some(_)) => (false, plain),
            (Around::Arguments(bound), Some(name)) => match named(bound, name) {
                Some(it) if it.is_mut_reference => (true, quote_spanned!(here=> &mut *)),
                Some(it) if it.mutable.is_some() => (true, quote_spanned!(here=> &mut)),
                Some(it) => (!it.is_reference, plain),
                None => (false, plain),
            },
        };
        lent(value, is_variable, borrow)
    }
}

fn lent(value: &Expr, is_variable: bool, borrow: TokenStream) -> TokenStream {
    if is_variable {
        quote_spanned!(at(value.span())=> #borrow #value)
    } else {
        value.to_token_stream()
    }
}

fn lone(value: &Expr) -> Option<&Ident> {
    match value {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}
