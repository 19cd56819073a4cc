//! Numbers that are literals in the attribute.

use syn::{Expr, Lit, UnOp};

/// A literal with its sign.
pub(crate) fn signed(expr: &Expr) -> Option<(bool, &Lit)> {
    match expr {
        Expr::Lit(literal) => Some((false, &literal.lit)),
        Expr::Group(group) => signed(&group.expr),
        Expr::Paren(paren) => signed(&paren.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            signed(&unary.expr).map(|(negative, literal)| (!negative, literal))
        }
        _ => None,
    }
}

/// The number of a `factor` that is a literal.
pub(crate) fn number(value: &Expr) -> Option<f64> {
    let (negative, literal) = signed(value)?;
    let size: f64 = match literal {
        Lit::Int(number) if ["", "f64"].contains(&number.suffix()) => {
            number.base10_digits().parse().ok()?
        }
        Lit::Float(number) if ["", "f64"].contains(&number.suffix()) => {
            number.base10_digits().parse().ok()?
        }
        _ => return None,
    };
    Some(if negative { -size } else { size })
}
