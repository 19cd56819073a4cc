//! The input of the block macro: arguments, and then the block.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Expr, ExprClosure};

use super::key_names;
use crate::groups::{is_comma, is_word};

/// The whole input of the block macro: the path of the library in parentheses, the arguments, and the
/// block at the end.
pub(crate) struct AroundBlock {
    pub(crate) library: TokenStream,
    pub(crate) args: TokenStream,
    pub(crate) block: TokenStream,
}

impl AroundBlock {
    pub(crate) fn of(input: TokenStream) -> Self {
        let mut input = input.into_iter();
        let library = match input.next() {
            Some(TokenTree::Group(group)) => group.stream(),
            other => other.into_iter().collect(),
        };
        let mut args: Vec<TokenTree> = input.collect();
        if is_comma(args.last()) {
            args.pop();
        }
        let is_async = |token: &TokenTree| is_word(token, "async");
        let is_braced = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace);
        let last = args.len().saturating_sub(1);
        // The braces of a closure or of a `match` do not follow a comma.
        let stands_alone = is_braced(args.last()) && (last == 0 || is_comma(args.get(last - 1)));
        let piece = args.iter().rposition(is_comma);
        let piece = piece.map_or(0, |comma| comma + 1);
        let start = match args.iter().rposition(is_async) {
            _ if stands_alone => last,
            // `check::block` reports that the settings come first.
            _ if is_braced(args.first()) => 0,
            // `check::block` reports the closure, not a missing key.
            _ if closure(&args[piece..].iter().cloned().collect()).is_some() => piece,
            Some(start) => start,
            None if stands_for_a_block(&args[piece..]) => piece,
            None => args.len(),
        };
        let block = args.split_off(start);
        AroundBlock {
            library,
            args: args.into_iter().collect(),
            block: block.into_iter().collect(),
        }
    }
}

/// The expression in place of a block, if it is a closure without arguments.
pub(crate) fn closure(block: &TokenStream) -> Option<ExprClosure> {
    let closure: ExprClosure = syn::parse2(block.clone()).ok()?;
    closure.inputs.is_empty().then_some(closure)
}

/// Whether this is the code to repeat, without a block around it, and not an argument.
fn stands_for_a_block(piece: &[TokenTree]) -> bool {
    match piece {
        [TokenTree::Ident(word)] => !key_names::is_near(word),
        [TokenTree::Ident(word), TokenTree::Group(_)] => key_names::usage(word).is_none(),
        [TokenTree::Ident(_), TokenTree::Punct(equals), ..] if equals.as_char() == '=' => false,
        _ => matches!(
            syn::parse2(piece.iter().cloned().collect()),
            Ok(Expr::Await(_)
                | Expr::Call(_)
                | Expr::MethodCall(_)
                | Expr::Try(_)
                | Expr::Macro(_))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_what_comes_last() {
        let rows = [
            ("base = 1s, async move { a },", "async move { a }"),
            ("base = 1s, { async { a } }", "{ async { a } }"),
            ("{ a }", "{ a }"),
            ("{ a }, base = 1s", "{ a } , base = 1s"),
            ("async { a }, base = 1s", "async { a } , base = 1s"),
            ("when = |e| { a }", ""),
            ("base = 1s, call()", "call ()"),
            ("base = 1s, a.call().await", "a . call () . await"),
            ("base = 1s, clone(a)", ""),
            ("base = 1s, max_back", ""),
            ("base = 1s, on = [503]", ""),
        ];
        for (input, expected) in rows {
            let read = AroundBlock::of(format!("(k) {input}").parse().unwrap());
            assert_eq!(read.block.to_string(), expected, "{input}");
        }
    }
}
