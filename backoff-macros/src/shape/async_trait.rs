//! A method that `#[async_trait]` has rewritten before this attribute saw it:
//!
//! ```text
//! fn get<'a>(&'a self, name: String) -> Pin<Box<dyn Future<Output = T> + Send + 'a>> {
//!     Box::pin(async move {
//!         let __self = self;
//!         let mut name = name;
//!         let __ret: T = { the body, with __self };
//!         __ret
//!     })
//! }
//! ```

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::ItemFn;

use crate::groups::{is_punct, is_word};

use super::Shape;
use super::ending::last_async;

/// `let __ret: T = { body };`
pub(super) fn body(before: &[TokenTree], group: &Group) -> Option<Option<TokenStream>> {
    let equals = before.split_last().filter(|(last, _)| is_punct(*last, '='));
    let_of_type("__ret", equals?.1, group).map(Some)
}

/// The type in `let name: T`, which is all that comes before the `=` and the braces of its value.
pub(super) fn let_of_type(name: &str, before: &[TokenTree], group: &Group) -> Option<TokenStream> {
    let named = before.iter().rposition(|token| is_word(token, name))?;
    let (colon, ty) = before.get(named + 1..)?.split_first()?;
    let is_let = named > 0 && is_word(&before[named - 1], "let") && is_punct(colon, ':');
    let ends_before = ty.iter().any(|token| is_punct(token, ';'));
    let is_it = group.delimiter() == Delimiter::Brace && is_let && !ends_before;
    is_it.then(|| ty.iter().cloned().collect())
}

/// The `let mut name = name;` that `#[async_trait]` writes for an argument `mut name`: the name, its
/// `mut`, and the place of the `mut` among the tokens. These statements come before its `let __ret`. In
/// a block without `let __ret`, the same statement is the user's own.
fn moved(tokens: &[TokenTree]) -> Vec<(Ident, Ident, usize)> {
    let Some(tokens) = before_ret(tokens) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (at, window) in tokens.windows(6).enumerate() {
        if let [
            TokenTree::Ident(word),
            TokenTree::Ident(mutable),
            TokenTree::Ident(name),
            TokenTree::Punct(equals),
            TokenTree::Ident(same),
            TokenTree::Punct(end),
        ] = window
            && word == "let"
            && mutable == "mut"
            && name == same
            && (equals.as_char(), end.as_char()) == ('=', ';')
        {
            found.push((name.clone(), mutable.clone(), at + 1));
        }
    }
    found
}

/// The statements before its `let __ret`, if `#[async_trait]` wrote these statements.
fn before_ret(tokens: &[TokenTree]) -> Option<&[TokenTree]> {
    let its_own = |pair: &[TokenTree]| is_word(&pair[0], "let") && is_word(&pair[1], "__ret");
    let end = tokens.windows(2).position(its_own)?;
    Some(&tokens[..end])
}

/// The arguments whose `mut` is in the body, because `#[async_trait]` has put it there.
pub(crate) fn moved_mut(function: &ItemFn) -> Vec<(Ident, Ident)> {
    let mut function = function.clone();
    if Shape::of(&function) != Shape::Future {
        return Vec::new();
    }
    let Some(block) = last_async(&mut function) else {
        return Vec::new();
    };
    let tokens: Vec<TokenTree> = super::statements(&block.block).into_iter().collect();
    let moved = moved(&tokens).into_iter();
    moved.map(|(name, mutable, _)| (name, mutable)).collect()
}

/// The name that `#[async_trait]` has given to `self`, if it has rewritten the function.
pub(crate) fn renamed_self(function: &ItemFn) -> Option<Ident> {
    let mut function = function.clone();
    if Shape::of(&function) != Shape::Future {
        return None;
    }
    renamed(super::statements(&last_async(&mut function)?.block))
}

/// `let __self = self;`, at any depth: `#[instrument]` puts it deeper.
fn renamed(tokens: TokenStream) -> Option<Ident> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut statements = before_ret(&tokens).unwrap_or_default().windows(2);
    let here = statements.find_map(|pair| match pair {
        [before, TokenTree::Ident(name)]
            if name == "__self" && (is_word(before, "let") || is_word(before, "mut")) =>
        {
            Some(name.clone())
        }
        _ => None,
    });
    here.or_else(|| {
        let groups = tokens.into_iter().filter_map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        });
        groups.into_iter().find_map(renamed)
    })
}

/// Whether `#[async_trait]` has rewritten this body.
pub(crate) fn is_rewritten(body: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    before_ret(&tokens).is_some()
}

/// The body with a `mut` for each of these arguments, `let mut name = name;`, and the arguments that
/// have such a statement in the body.
pub(crate) fn with_mut(body: TokenStream, names: &[Ident]) -> (TokenStream, Vec<Ident>) {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let end = before_ret(&tokens).map_or(0, <[_]>::len);
    let (mut written, mut found) = (TokenStream::new(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        let follows_let = (1..end).contains(&at) && is_word(&tokens[at - 1], "let");
        if let Some(
            [
                TokenTree::Ident(name),
                TokenTree::Punct(equals),
                TokenTree::Ident(same),
            ],
        ) = tokens.get(at..at + 3)
            && follows_let
            && (name == same && equals.as_char() == '=' && names.contains(name))
        {
            let mutable = Ident::new("mut", Span::mixed_site().located_at(name.span()));
            written.extend([TokenTree::Ident(mutable)]);
            found.push(name.clone());
        }
        written.extend([token.clone()]);
    }
    (written, found)
}

/// The body without the `mut` of these arguments, whose copies have it instead.
pub(crate) fn without_moved_mut(body: TokenStream, names: &[Ident]) -> TokenStream {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let dropped: Vec<usize> = moved(&tokens)
        .into_iter()
        .filter_map(|(name, _, at)| names.contains(&name).then_some(at))
        .collect();
    let kept = tokens.into_iter().enumerate();
    kept.filter(|(at, _)| !dropped.contains(at))
        .map(|(_, token)| token)
        .collect()
}
