//! What a function that gives back a future ends with, and whether it can end before.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, ExprAsync, ItemFn, Stmt};

/// The `async` block that the function ends with, if it does: by itself, in `Box::pin(..)` or before
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
        Expr::Call(call) if call.args.len() == 1 => {
            let pins = matches!(&*call.func, Expr::Path(path)
                if path.path.segments.last().is_some_and(|last| last.ident == "pin"));
            if pins {
                async_inside(call.args.first_mut()?)
            } else {
                None
            }
        }
        Expr::MethodCall(call) => {
            let boxes = call.method == "boxed" || call.method == "boxed_local";
            if boxes {
                async_inside(&mut call.receiver)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The `if` or the `match` that chooses among futures at the end of the function.
pub(crate) fn last_choice(function: &ItemFn) -> Option<Ident> {
    let (word, span) = match function.block.stmts.last()? {
        Stmt::Expr(Expr::If(either), None) => ("if", either.if_token.span),
        Stmt::Expr(Expr::Match(one_of), None) => ("match", one_of.match_token.span),
        _ => return None,
    };
    Some(Ident::new(word, span))
}

/// A `return` among the statements before the last: it would give back a future that is not
/// repeated.
pub(crate) fn early_return(function: &ItemFn) -> Option<Ident> {
    let (_, before) = function.block.stmts.split_last()?;
    let before = before.iter().filter(|stmt| !matches!(stmt, Stmt::Item(_)));
    before.map(ToTokens::to_token_stream).find_map(returned)
}

fn returned(tokens: TokenStream) -> Option<Ident> {
    let mut leaves_another = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(word) if word == "return" => return Some(word.clone()),
            // Out of a closure or an async block it leaves only that.
            TokenTree::Group(group) if !leaves_another => {
                if let Some(found) = returned(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
        leaves_another = match &token {
            TokenTree::Ident(word) => word == "async" || word == "move",
            TokenTree::Punct(punct) => punct.as_char() == '|',
            _ => false,
        };
    }
    None
}
