//! The end of a function that returns a future, and whether the function can return before.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, ExprAsync, ItemFn, Stmt};

use crate::groups::{flat, is_punct, is_word};

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
        Stmt::Expr(expr, None) => choice(expr)?,
        _ => return None,
    };
    Some(Ident::new(word, span))
}

fn choice(expr: &Expr) -> Option<(&'static str, Span)> {
    match expr {
        Expr::If(either) => Some(("if", either.if_token.span)),
        Expr::Match(one_of) => Some(("match", one_of.match_token.span)),
        Expr::Group(group) => choice(&group.expr),
        _ => None,
    }
}

/// A `return` among the statements before the last one: it would return a future that is not repeated.
pub(crate) fn early_return(function: &ItemFn) -> Option<Ident> {
    let (_, before) = function.block.stmts.split_last()?;
    let before = before.iter().filter(|stmt| !matches!(stmt, Stmt::Item(_)));
    before.map(ToTokens::to_token_stream).find_map(returned)
}

fn returned(tokens: TokenStream) -> Option<Ident> {
    let tokens: Vec<TokenTree> = flat(tokens).into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if is_word(token, "return") {
            return Some(Ident::new("return", token.span()));
        }
        let end = end_of_another(&tokens, at);
        if end.is_none()
            && let TokenTree::Group(group) = token
            && let Some(found) = returned(group.stream())
        {
            return Some(found);
        }
        at = end.unwrap_or(at + 1);
    }
    None
}

/// The end of the closure, the async block or the function that begins here. A `return` inside leaves
/// only this part.
fn end_of_another(tokens: &[TokenTree], at: usize) -> Option<usize> {
    let braces = |from: usize| {
        let rest = tokens.get(from..)?;
        let braces = rest.iter().position(
            |token| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace),
        );
        Some(from + braces? + 1)
    };
    match tokens.get(at)? {
        TokenTree::Ident(word) if word == "async" => {
            let is_moved = tokens.get(at + 1).is_some_and(|next| is_word(next, "move"));
            let block = at + 1 + usize::from(is_moved);
            let is_block = matches!(tokens.get(block)?, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
            is_block.then_some(block + 1)
        }
        TokenTree::Ident(word) if word == "fn" => match tokens.get(at + 1)? {
            TokenTree::Ident(_) => braces(at + 1),
            _ => None,
        },
        TokenTree::Punct(bar) if bar.as_char() == '|' && begins_value(tokens, at) => {
            let ends = |token: &TokenTree| is_punct(token, ',') || is_punct(token, ';');
            let body = at + 2 + tokens[at + 1..].iter().position(|it| is_punct(it, '|'))?;
            if tokens.get(body).is_some_and(|it| is_punct(it, '-')) {
                return braces(body);
            }
            let end = tokens[body..].iter().position(ends);
            let end = end.map_or(tokens.len(), |end| body + end);
            // Otherwise, tokens that begin with a bar are a pattern.
            let is_arm = tokens[body..end]
                .windows(2)
                .any(|pair| is_punct(&pair[0], '=') && is_punct(&pair[1], '>'));
            (!is_arm).then_some(end)
        }
        _ => None,
    }
}

/// Whether a value can begin here. After another value, a bar is an operator.
fn begins_value(tokens: &[TokenTree], at: usize) -> bool {
    const BEFORE_A_VALUE: [&str; 8] = [
        "move", "async", "static", "return", "break", "in", "else", "match",
    ];
    match at.checked_sub(1).and_then(|before| tokens.get(before)) {
        Some(TokenTree::Punct(punct)) => punct.as_char() != '|',
        None => true,
        Some(TokenTree::Ident(word)) => BEFORE_A_VALUE.iter().any(|it| word == it),
        Some(TokenTree::Group(_) | TokenTree::Literal(_)) => false,
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
            ("match x { | A | B => return 1, C => 2 }", true),
            ("let Some(x) = y else { return 1 };", true),
            ("if a || b || c { return 1; }", true),
            ("let c = a | { return 1 };", true),
            ("let a = || 1; return 2;", true),
            ("let f: fn(u8) -> u8 = g; { return 1 }", true),
        ];
        for (body, is_early) in cases {
            let found = returned(body.parse().unwrap()).is_some();
            assert_eq!(found, is_early, "{body}");
        }
    }
}
