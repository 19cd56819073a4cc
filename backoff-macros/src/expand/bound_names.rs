//! The names that code may bind itself, from the places where patterns and items stand.

use std::collections::HashSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::groups::{add_words, is_comma, is_punct, is_word};
use crate::shape::ending::begins_closure;

/// Items: all of their names are taken for bound.
const ITEMS: [&str; 9] = [
    "const", "enum", "fn", "impl", "mod", "static", "struct", "trait", "use",
];

/// The names in patterns, items and macros. A name that the code only may bind counts, too.
pub(super) fn bound_in(tokens: TokenStream, found: &mut HashSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_brace = |it: &TokenTree| matches!(it, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    // Where the pattern of the next arm of a `match` begins.
    let mut arm = 0;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &tokens[at]);
        let rest = &tokens[at + 1..];
        let mut bind = |tokens: &[TokenTree]| add_words(tokens.iter().cloned().collect(), found);
        let until = |ends: &dyn Fn(&TokenTree) -> bool| {
            &rest[..rest.iter().position(ends).unwrap_or(rest.len())]
        };
        match token {
            TokenTree::Ident(word) if word == "let" => {
                bind(until(&|it| is_punct(it, '=') || is_punct(it, ';')))
            }
            TokenTree::Ident(word) if word == "for" => {
                bind(until(&|it| is_word(it, "in") || is_brace(it)))
            }
            TokenTree::Ident(word) if ITEMS.iter().any(|it| word == it) => {
                let end = rest.iter().position(|it| is_punct(it, ';') || is_brace(it));
                bind(&rest[..end.map_or(rest.len(), |end| end + 1)]);
            }
            // A macro may bind the names in its input (`pin!(a);`). With a literal in its input, it only prints or
            // logs.
            TokenTree::Punct(mark) if mark.as_char() == '!' => {
                if let [TokenTree::Group(group), ..] = rest
                    && !group
                        .stream()
                        .into_iter()
                        .any(|it| matches!(it, TokenTree::Literal(_)))
                {
                    bind(&rest[..1]);
                }
            }
            _ if begins_closure(before, token) => bind(until(&|it| is_punct(it, '|'))),
            TokenTree::Punct(sign) if sign.as_char() == '=' && is_punct(rest.first(), '>') => {
                let pattern = &tokens[arm..at];
                let end = pattern.iter().position(|it| is_word(it, "if"));
                bind(&pattern[..end.unwrap_or(pattern.len())]);
            }
            _ if is_comma(token) || is_brace(token) && is_punct(before, '>') => arm = at + 1,
            _ => {}
        }
        if let TokenTree::Group(group) = token {
            bound_in(group.stream(), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_bind_and_uses_do_not() {
        let rows = [
            ("let a = b; c.d(e)", "a"),
            ("let Some(a) = b else { return c }; d", "a"),
            ("if let A { a, .. } = b { let (c, d); e }", "a c d"),
            ("while let Some(mut a) = b.next() { c(d) }", "a"),
            ("for (a, b) in c { d(e) }", "a b"),
            ("a.map(|b, (c, _)| d + b).or_else(move || e)", "b c"),
            ("let a = f | g; h(i || j, k)", "a"),
            (
                "match a { b => c, A(d) | B(d) if e => { f } G { g } => h }",
                "b d g",
            ),
            ("pin!(a); log!(\"{}\", b); vec![c]", "a c"),
            ("fn a(b: B) { c } d", "a b c"),
            ("use a::b; const C: c = d; e", "a b c d"),
            ("async move { a.b(c).await? }", ""),
        ];
        for (code, expected) in rows {
            let mut found = HashSet::new();
            bound_in(code.parse().unwrap(), &mut found);
            let small = |it: &String| it.starts_with(char::is_lowercase) && it != "mut";
            let mut found: Vec<String> = found.into_iter().filter(small).collect();
            found.sort();
            assert_eq!(found.join(" "), expected, "{code}");
        }
    }
}
