//! Removes from expressions what `macro_rules!` has added around them.

use syn::Expr;

/// The expression without the invisible groups that `macro_rules!` puts around its matches.
pub(crate) fn bare(mut expr: Expr) -> Expr {
    while let Expr::Group(group) = expr {
        expr = *group.expr;
    }
    expr
}
