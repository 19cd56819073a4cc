//! Finds where one argument ends and the next one begins.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;

use super::value::{after_equals, key_and_value, of_unknown_key};
use crate::errors::Errors;

/// Splits at the commas that separate arguments. The tokens also have commas inside of `<A, B>` or
/// `|a, b|`. So if an argument cannot be read, the pieces after it without a key are added, if the
/// argument then becomes complete.
pub(super) fn arguments(tokens: TokenStream, errors: &mut Errors) -> Vec<TokenStream> {
    let pieces = pieces(tokens);
    let mut arguments = Vec::new();
    let mut at = 0;
    while let Some((piece, comma)) = pieces.get(at) {
        let (argument, taken) = whole(&pieces[at..]).unwrap_or_else(|| (piece.clone(), 1));
        if argument.is_empty() {
            errors.at(comma, "this comma has no argument before it: remove it");
        } else {
            arguments.push(argument);
        }
        at += taken;
    }
    arguments
}

/// The pieces between commas, each with the comma after it.
pub(crate) type Piece = (TokenStream, Option<TokenTree>);

pub(crate) fn pieces(tokens: TokenStream) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut piece = TokenStream::new();
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                pieces.push((std::mem::take(&mut piece), Some(token)));
            }
            _ => piece.extend([token]),
        }
    }
    if !piece.is_empty() {
        pieces.push((piece, None));
    }
    pieces
}

/// The argument that begins with the first piece, and the number of its pieces.
fn whole(pieces: &[Piece]) -> Option<(TokenStream, usize)> {
    // This piece is an argument in any case. Most arguments are such, so they are not parsed twice.
    if pieces.get(1).is_none_or(|(next, _)| begins_with_key(next)) {
        return pieces.first().map(|(piece, _)| (piece.clone(), 1));
    }
    let mut argument = TokenStream::new();
    for (taken, (piece, _)) in pieces.iter().enumerate() {
        if begins_with_key(piece) != (taken == 0) {
            return None;
        }
        if taken > 0 {
            argument.extend(pieces[taken - 1].1.clone());
        }
        argument.extend(piece.clone());
        if key_and_value.parse2(argument.clone()).is_ok()
            || of_unknown_key(argument.clone()).is_some()
        {
            return Some((argument, taken + 1));
        }
    }
    None
}

fn begins_with_key(tokens: &TokenStream) -> bool {
    let mut tokens = tokens.clone().into_iter();
    matches!(tokens.next(), Some(TokenTree::Ident(_))) && after_equals(&tokens.collect()).is_some()
}
