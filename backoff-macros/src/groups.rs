//! What is asked of tokens, types and paths, and the invisible groups that `macro_rules!` puts around its matches: a type from `$t:ty` or an
//! expression from `$e:expr` is one token tree with `Delimiter::None`.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Path, Type};

/// The same tokens without invisible groups. Use the result only for reading: in written code, `2 * $e`
/// may then mean something else.
pub(crate) fn flat(tokens: TokenStream) -> TokenStream {
    let mut written = TokenStream::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                written.extend(flat(group.stream()));
            }
            TokenTree::Group(group) => written.extend([with(&group, flat(group.stream()))]),
            other => written.extend([other]),
        }
    }
    written
}

/// The tokens without the invisible groups that change nothing: around a single token, and around all
/// tokens between two separators.
pub(crate) fn needless(tokens: TokenStream) -> TokenStream {
    let mut written = TokenStream::new();
    let (mut begins, mut after_word) = (true, false);
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let begun = begins;
        // After any token but a word, `=` is the end of another operator.
        begins = is_comma(&token)
            || after_word
                && matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '=' && punct.spacing() == Spacing::Alone);
        after_word = matches!(token, TokenTree::Ident(_));
        let TokenTree::Group(group) = token else {
            written.extend([token]);
            continue;
        };
        // Code in braces is the user's code, and stays unchanged.
        let inside = match group.delimiter() {
            Delimiter::Brace => group.stream(),
            _ => needless(group.stream()),
        };
        let ends = tokens.peek().is_none_or(is_comma);
        let is_one = inside.clone().into_iter().nth(1).is_none();
        let is_alone = begun && ends && !inside.clone().into_iter().any(|token| is_comma(&token));
        if group.delimiter() == Delimiter::None && (is_one || is_alone) {
            written.extend(inside);
        } else {
            written.extend([with(&group, inside)]);
        }
    }
    written
}

/// Whether the answer is yes for a token, at any depth. The question gets the tokens of a group up to this token.
pub(crate) fn any_deep(tokens: TokenStream, ask: &mut dyn FnMut(&[TokenTree]) -> bool) -> bool {
    let mut before = Vec::new();
    tokens.into_iter().any(|token| {
        before.push(token.clone());
        ask(&before) || matches!(token, TokenTree::Group(group) if any_deep(group.stream(), ask))
    })
}

/// The names in the tokens, without those of methods, fields and lifetimes. Each literal is one too, and so are the
/// names between braces in a text.
pub(crate) fn words(tokens: &impl ToTokens) -> HashSet<String> {
    let mut found = HashSet::new();
    add_words(tokens.to_token_stream(), &mut found);
    found
}

/// Adds the names in the tokens.
pub(crate) fn add_words(tokens: TokenStream, found: &mut HashSet<String>) {
    any_deep(tokens, &mut |tokens| {
        match tokens {
            [.., mark, TokenTree::Ident(_)] if is_punct(mark, '.') || is_punct(mark, '\'') => {}
            [.., TokenTree::Ident(name)] => {
                found.insert(name.to_string());
            }
            [.., TokenTree::Literal(text)] => {
                let text = text.to_string();
                let is_end = |char: char| !char.is_alphanumeric() && char != '_';
                let named = text.split('{').skip(1);
                found.extend(named.filter_map(|it| Some(it.split(is_end).next()?.to_owned())));
                found.insert(text);
            }
            _ => {}
        }
        false
    });
}

/// The number of tokens before the `,`, `;` or `>` that ends a type.
pub(crate) fn length_of_type(tokens: impl Iterator<Item = TokenTree>) -> usize {
    let (mut open, mut after_minus) = (0_usize, false);
    let is_inside = |token: &TokenTree| {
        let sign = match token {
            TokenTree::Punct(punct) => punct.as_char(),
            _ => ' ',
        };
        match sign {
            // The end of `->`.
            '>' if after_minus => {}
            ',' | ';' | '>' if open == 0 => return false,
            '>' => open -= 1,
            '<' => open += 1,
            _ => {}
        }
        after_minus = sign == '-';
        true
    };
    tokens.take_while(is_inside).count()
}

/// A group like this one, with other tokens inside.
pub(crate) fn with(group: &Group, inside: TokenStream) -> TokenTree {
    let mut written = Group::new(group.delimiter(), inside);
    written.set_span(group.span());
    TokenTree::Group(written)
}

/// The text of the tokens without white space.
pub(crate) fn dense(tokens: TokenStream) -> String {
    let mut text = tokens.to_string();
    text.retain(|char| !char.is_whitespace());
    text
}

/// The type inside of its invisible groups.
pub(crate) fn inside(mut ty: &Type) -> &Type {
    while let Type::Group(group) = ty {
        ty = &group.elem;
    }
    ty
}

/// The last name of a path.
pub(crate) fn last_name(path: &Path) -> String {
    let last = path.segments.last();
    last.map_or_else(String::new, |last| last.ident.to_string())
}

/// `maybe_sent` as `MaybeSent`.
pub(crate) fn camel(word: &str) -> String {
    let words = word.split('_');
    let words = words.map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}

/// Whether there is a token and it is this word.
pub(crate) fn is_word<'a>(token: impl Into<Option<&'a TokenTree>>, text: &str) -> bool {
    matches!(token.into(), Some(TokenTree::Ident(word)) if word == text)
}

/// Whether there is a token and it is this sign.
pub(crate) fn is_punct<'a>(token: impl Into<Option<&'a TokenTree>>, char: char) -> bool {
    matches!(token.into(), Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

/// Whether there is a token and it is a comma.
pub(crate) fn is_comma<'a>(token: impl Into<Option<&'a TokenTree>>) -> bool {
    is_punct(token, ',')
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn group(inside: TokenStream) -> TokenStream {
        TokenTree::Group(Group::new(Delimiter::None, inside)).into()
    }

    #[test]
    fn what_changes_no_meaning_is_unwrapped() {
        let (sum, path) = (group(quote!(1 + 2)), group(quote!(POLICY)));
        let value =
            needless(quote!(policy = #path.base(B), max_attempts = #sum, x = #sum * 2, y == #sum));
        let expected =
            quote!(policy = POLICY.base(B), max_attempts = 1 + 2, x = #sum * 2, y == #sum);
        assert_eq!(value.to_string(), expected.to_string());
        // A text does not show the groups: the last two stay.
        let mut groups = 0;
        any_deep(value, &mut |tokens| {
            let is_invisible = |it: &TokenTree| matches!(it, TokenTree::Group(group) if group.delimiter() == Delimiter::None);
            groups += u32::from(tokens.last().is_some_and(is_invisible));
            false
        });
        assert_eq!(groups, 2);
    }

    #[test]
    fn a_look_sees_no_group() {
        let ty = group(quote!(dyn Future<Output = u8>));
        let boxed = flat(quote!((Pin<Box<#ty>>))).to_string();
        assert_eq!(boxed.replace(' ', ""), "(Pin<Box<dynFuture<Output=u8>>>)");
    }
}
