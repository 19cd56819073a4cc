//! Expressions as they were before `macro_rules!` handed them on.

use syn::Expr;

/// The expression without the invisible groups that `macro_rules!` puts around what it matched.
pub(crate) fn bare(mut expr: Expr) -> Expr {
    while let Expr::Group(group) = expr {
        expr = *group.expr;
    }
    expr
}
