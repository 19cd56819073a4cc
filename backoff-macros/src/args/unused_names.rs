//! The names in an argument that cannot be read, so that the names count as used.

use proc_macro2::TokenStream;
use syn::Expr;

use super::split::pieces;
use super::value::{listed, of_unknown_key};

/// The value of an unknown key, and the paths in a list that also has other items.
pub(super) fn unused_names(argument: TokenStream) -> Vec<Expr> {
    let value = of_unknown_key(argument.clone()).filter(names_something);
    let items = pieces(listed(argument)).into_iter();
    let items = items.filter_map(|(item, _)| syn::parse2::<Expr>(item).ok());
    let is_path = |item: &Expr| matches!(item, Expr::Path(path) if path.path.segments.len() > 1);
    value.into_iter().chain(items.filter(is_path)).collect()
}

fn names_something(value: &Expr) -> bool {
    matches!(
        value,
        Expr::Path(_)
            | Expr::Closure(_)
            | Expr::Call(_)
            | Expr::MethodCall(_)
            | Expr::Reference(_)
            | Expr::Field(_)
    )
}
