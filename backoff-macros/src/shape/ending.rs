//! The end of a function that returns a future, and whether the function can return before.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Block, Expr, ExprAsync, ItemFn, Stmt};

use crate::groups::{is_punct, is_word, last_name};

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

/// A `return` before the last statement: it would return a future that is not repeated.
pub(crate) fn early_return(function: &ItemFn) -> Option<Ident> {
    let (_, before) = function.block.stmts.split_last()?;
    before
        .iter()
        .find_map(|stmt| returned(stmt.to_token_stream()))
}

/// The first `return` that is not in a closure, an `async` block or a function.
fn returned(tokens: TokenStream) -> Option<Ident> {
    let (mut before, mut in_another) = (None, false);
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        if begins_closure(before.as_ref(), &token) {
            in_another = true;
            // The commas between its arguments do not end the closure.
            before = tokens.find(|it| is_punct(it, '|'));
            continue;
        }
        in_another |= is_word(&token, "async") || is_word(&token, "fn");
        match &token {
            TokenTree::Ident(word) if !in_another && word == "return" => return Some(word.clone()),
            TokenTree::Group(group) if !in_another => {
                if let found @ Some(_) = returned(group.stream()) {
                    return found;
                }
            }
            TokenTree::Punct(sign) if ",;".contains(sign.as_char()) => in_another = false,
            _ => {}
        }
        before = Some(token);
    }
    None
}

/// Whether this `|` is the first sign of a closure: another one follows a value or a pattern.
pub(crate) fn begins_closure(before: Option<&TokenTree>, token: &TokenTree) -> bool {
    is_punct(token, '|')
        && match before {
            None => true,
            Some(TokenTree::Ident(word)) => word == "move" || word == "return",
            Some(TokenTree::Punct(sign)) => "=,:(;>&".contains(sign.as_char()),
            Some(_) => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("let Some(x) = y else { return 1 };", true),
            ("if a || b || c { return 1; }", true),
            ("let c = a | { return 1 };", true),
            ("let a = || 1; return 2;", true),
            ("let f: fn(u8) -> u8 = g; { return 1 }", true),
        ];
        for (body, is_early) in cases {
            let found = returned(body.parse().unwrap());
            assert_eq!(found.is_some(), is_early, "{body}");
        }
    }
}
