//! Finds the body after other attributes have rewritten the function.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

use super::Shape;
use crate::groups::{dense, is_punct, is_word, with};

/// A part of a body that another attribute has put deeper: its statements, and their type, if the type
/// is written beside them.
pub(crate) struct Part {
    pub(crate) body: TokenStream,
    pub(crate) returns: Option<TokenStream>,
    pub(crate) at: Span,
}

/// Writes the loop at the place of the body: where another attribute has put the body, or around the
/// whole.
pub(crate) fn around_body(
    shape: Shape,
    words: &HashSet<String>,
    tokens: TokenStream,
    at: Span,
    write: &mut dyn FnMut(Part) -> TokenStream,
) -> TokenStream {
    let finders: &[Finder] = match shape {
        Shape::InRuntime => &[|before, group| in_let("body", before, group)],
        _ if is_resolver(&tokens) => &[|before, group| in_let("value", before, group)],
        _ if words.contains("__ret") || words.contains(INSTRUMENT) => {
            &[|before, group| in_let("__ret", before, group), instrument]
        }
        _ => &[],
    };
    let found = finders
        .iter()
        .find_map(|finder| replace(tokens.clone(), *finder, write));
    found.unwrap_or_else(|| {
        write(Part {
            body: tokens,
            returns: None,
            at,
        })
    })
}

/// Whether a group after these tokens is the body, and the type of the body.
type Finder = fn(&[TokenTree], &Group) -> Option<Option<TokenStream>>;

/// `let name = { body };`, where a type may follow the name, and `async` or `async move` the `=`.
pub(super) fn in_let(
    name: &str,
    before: &[TokenTree],
    group: &Group,
) -> Option<Option<TokenStream>> {
    let equals = before.iter().rposition(|token| is_punct(token, '='))?;
    let (before, after) = before.split_at(equals);
    let named = before.iter().rposition(|token| is_word(token, name))?;
    let is_value = after[1..]
        .iter()
        .all(|it| is_word(it, "async") || is_word(it, "move"));
    let is_let = named > 0 && is_word(&before[named - 1], "let");
    if group.delimiter() != Delimiter::Brace || !is_value || !is_let {
        return None;
    }
    match &before[named + 1..] {
        [] => Some(None),
        [colon, ty @ ..] if is_punct(colon, ':') && !ty.iter().any(|it| is_punct(it, ';')) => {
            Some(Some(ty.iter().cloned().collect()))
        }
        _ => None,
    }
}

/// The tokens with the written code at the place of the body, `None` without such a place.
fn replace(
    tokens: TokenStream,
    finder: Finder,
    write: &mut dyn FnMut(Part) -> TokenStream,
) -> Option<TokenStream> {
    let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for at in 0..tokens.len() {
        let TokenTree::Group(group) = &tokens[at] else {
            continue;
        };
        let inside = match finder(&tokens[..at], group) {
            Some(returns) => Some(write(Part {
                body: group.stream(),
                returns,
                at: group.span(),
            })),
            None => replace(group.stream(), finder, write),
        };
        if let Some(inside) = inside {
            tokens[at] = with(group, inside);
            return Some(tokens.into_iter().collect());
        }
    }
    None
}

/// The name by which a body that `#[instrument]` has rewritten is known.
const INSTRUMENT: &str = "__tracing_attr_fake_return";

/// `{ if false { let __tracing_attr_fake_return: T = ..; .. } { body } }`
fn instrument(_before: &[TokenTree], group: &Group) -> Option<Option<TokenStream>> {
    let names_it = |token: TokenTree| matches!(token, TokenTree::Ident(word) if word == INSTRUMENT);
    let is_marked = group.stream().into_iter().any(|token| {
        matches!(token, TokenTree::Group(inner) if inner.stream().into_iter().any(names_it))
    });
    (group.delimiter() == Delimiter::Brace && is_marked).then_some(None)
}

/// Whether async-graphql's `#[Object]` has rewritten this body. For a resolver whose return type is
/// another name than `Result` it writes one of these, always `Ok` to the function's caller:
///
/// ```text
/// { ::std::result::Result::Ok(async move { let value: T = { body }; value }.await) }
/// { let value: T = async move { body }.await; ::std::result::Result::Ok(value) }
/// ```
fn is_resolver(body: &TokenStream) -> bool {
    let mut tokens = body.clone().into_iter();
    let (Some(TokenTree::Group(group)), None) = (tokens.next(), tokens.next()) else {
        return false;
    };
    let text = dense(group.stream());
    text.starts_with("::std::result::Result::Ok(asyncmove{letvalue:")
        || text.starts_with("letvalue:") && text.ends_with("::std::result::Result::Ok(value)")
}
