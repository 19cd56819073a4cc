//! The end of a function that returns a future, and whether the function can return before.

use proc_macro2::Ident;
use syn::{Block, Expr, ExprAsync, ItemFn, Stmt};

use crate::groups::last_name;
use crate::seen::Seen;

/// The `async` block at the end of the function, if there is one: alone, in `Box::pin(..)` or before
/// `.boxed()`.
pub(crate) fn last_async(function: &mut ItemFn) -> Option<&mut ExprAsync> {
    match function.block.stmts.last_mut()? {
        Stmt::Expr(expr, None) => async_inside(expr),
        _ => None,
    }
}

/// The `async` block that an expression is, or that it puts in a box.
pub(super) fn async_inside(expr: &mut Expr) -> Option<&mut ExprAsync> {
    match expr {
        Expr::Async(block) => Some(block),
        Expr::Paren(paren) => async_inside(&mut paren.expr),
        Expr::Group(group) => async_inside(&mut group.expr),
        Expr::Call(call) if call.args.len() == 1 => match &*call.func {
            Expr::Path(path) if last_name(&path.path) == "pin" => async_inside(&mut call.args[0]),
            _ => None,
        },
        Expr::MethodCall(call) if call.method == "boxed" || call.method == "boxed_local" => {
            async_inside(&mut call.receiver)
        }
        _ => None,
    }
}

/// The expression at the end of a block.
pub(crate) fn value(block: &Block) -> Option<&Expr> {
    match block.stmts.last()? {
        Stmt::Expr(expr, None) => Some(expr),
        _ => None,
    }
}

/// The `if` or the `match` that chooses among futures.
pub(crate) fn choice(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::If(either) => Some(Ident::new("if", either.if_token.span)),
        Expr::Match(one_of) => Some(Ident::new("match", one_of.match_token.span)),
        Expr::Group(group) => choice(&group.expr),
        _ => None,
    }
}

/// A `return` among the statements before the last one: it would return a future that is not repeated.
pub(crate) fn early_return(function: &ItemFn) -> Option<Ident> {
    let (_, before) = function.block.stmts.split_last()?;
    Seen::of(before).returned
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse::Parser;

    #[test]
    fn a_return_counts_where_it_leaves_the_function() {
        let cases = [
            ("let a = || -> u8 { return 1 };", false),
            ("let a = move |x: u8, y| return x;", false),
            ("list.map(|x| if x { return 1 } else { 2 });", false),
            ("let a = f(|x| { return x; }, 1);", false),
            ("spawn(async move { return 1 });", false),
            ("spawn(async { return 1 });", false),
            ("spawn(async move |x| -> u8 { return x });", false),
            ("{ fn inner() -> u8 { return 1 } }", false),
            ("if a { return 1; }", true),
            ("match x { A | B => { return 1 } C => 2 }", true),
            ("match x { | A | B => return 1, C => 2 }", true),
            ("let Some(x) = y else { return 1 };", true),
            ("if a || b || c { return 1; }", true),
            ("let c = a | { return 1 };", true),
            ("let a = || 1; return 2;", true),
            ("let f: fn(u8) -> u8 = g; { return 1 }", true),
        ];
        for (body, is_early) in cases {
            let stmts = Block::parse_within.parse_str(body).unwrap();
            let found = Seen::of(&stmts).returned.is_some();
            assert_eq!(found, is_early, "{body}");
        }
    }
}
