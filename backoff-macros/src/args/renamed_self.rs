//! Replaces `self` in the values of keys, if another attribute has renamed it.

use proc_macro2::{TokenStream, TokenTree};

use super::key_names;
use super::split::pieces;
use super::table::Key;
use crate::groups::with;

/// The arguments with `this` for `self`. The names in `clone(..)` and `keep(..)` stay.
pub(crate) fn with_self(tokens: TokenStream, this: &TokenTree) -> TokenStream {
    let mut written = TokenStream::new();
    for (piece, comma) in pieces(tokens) {
        let names = matches!(piece.clone().into_iter().next(),
            Some(TokenTree::Ident(key)) if key_names::find(&key).is_some_and(Key::takes_parentheses));
        written.extend(if names { piece } else { renamed(piece, this) });
        written.extend(comma);
    }
    written
}

fn renamed(tokens: TokenStream, this: &TokenTree) -> TokenStream {
    let renamed = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(word) if word == "self" => {
            let mut this = this.clone();
            this.set_span(this.span().located_at(word.span()));
            this
        }
        TokenTree::Group(group) => with(&group, renamed(group.stream(), this)),
        other => other,
    });
    renamed.collect()
}
