//! Arguments that an attempt would consume, so that the next one could not have them.
//!
//! A macro knows no types. Where an argument is handed over by value, the library is asked whether
//! its type is `Copy`, and the compiler then says in the words of the library what to write. What is
//! consumed by a method (`body.into_text()`) or by a block (`async move`) is not seen here; of that,
//! the compiler says in its own words that it is moved.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::{FnArg, ItemFn};

use super::library::{Library, at};
use crate::args::Args;
use crate::bindings::Binding;
use crate::groups::{flat, is_punct, is_word};

/// Types of which a call that is handed the value takes it for good. Any other type may hold a `&mut`,
/// which such a call only borrows.
const OWNERS: [&str; 11] = [
    "String", "Vec", "PathBuf", "OsString", "HashMap", "HashSet", "BTreeMap", "BTreeSet",
    "VecDeque", "Rc", "Arc",
];

/// The name of an argument of such a type.
fn sure_owner(input: &FnArg) -> Option<String> {
    let FnArg::Typed(typed) = input else {
        return None;
    };
    let (syn::Pat::Ident(pat), syn::Type::Path(path)) = (&*typed.pat, &*typed.ty) else {
        return None;
    };
    let last = path.path.segments.last()?.ident.to_string();
    OWNERS
        .contains(&last.as_str())
        .then(|| pat.ident.to_string())
}

/// The arguments that surely own their values and that no key names.
pub(super) fn candidates(function: &ItemFn, bound: &[Binding], args: &Args) -> HashSet<String> {
    let named = [&args.clone, &args.keep].into_iter().flatten();
    let named: Vec<&Ident> = named.flat_map(|given| &given.value.names).collect();
    let owned = bound.iter().filter(|binding| {
        !binding.is_reference && binding.cfgs.is_empty() && !named.contains(&&binding.name)
    });
    let owned = owned.map(|it| it.name.to_string());
    let surely: HashSet<String> = function.sig.inputs.iter().filter_map(sure_owner).collect();
    owned.filter(|name| surely.contains(name)).collect()
}

/// Statements that are never run: each asks whether an argument that the body hands over is `Copy`.
pub(super) fn asked(
    library: &Library,
    body: &TokenStream,
    candidates: &HashSet<String>,
) -> Option<TokenStream> {
    if candidates.is_empty() {
        return None;
    }
    let questions: Vec<TokenStream> = consumed(body, candidates)
        .into_iter()
        .map(|name| {
            let name_at = at(name.span());
            let k = library.at(name_at);
            quote_spanned!(name_at=> #k::__private::Shared::by_all_attempts(&#name);)
        })
        .collect();
    let here = Span::mixed_site();
    (!questions.is_empty()).then(|| quote_spanned!(here=> if false { #(#questions)* }))
}

/// The arguments that the body surely hands over, each once.
fn consumed(body: &TokenStream, candidates: &HashSet<String>) -> Vec<Ident> {
    let mut seen = Seen::default();
    seen.look(flat(body.clone()), candidates);
    let mut names = HashSet::new();
    seen.consumed.retain(|name| {
        let name = name.to_string();
        !seen.is_unsure && !seen.bound.contains(&name) && names.insert(name)
    });
    seen.consumed
}

#[derive(Default)]
struct Seen {
    /// Names that stand alone as an argument of a call, or after `in`.
    consumed: Vec<Ident>,
    /// Names that stand in a pattern, and so may be others in the body.
    bound: HashSet<String>,
    /// Parts of the body may be left out.
    is_unsure: bool,
}

impl Seen {
    fn look(&mut self, tokens: TokenStream, candidates: &HashSet<String>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        self.patterns(&tokens);
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| tokens.get(before));
            match token {
                TokenTree::Group(group) => {
                    // A macro may do anything with its tokens, and a `cfg` may remove a call.
                    if is_punct(before, '!') {
                        continue;
                    }
                    if is_punct(before, '#') {
                        self.is_unsure |= group.stream().to_string().contains("cfg");
                        continue;
                    }
                    if group.delimiter() == Delimiter::Parenthesis && calls(before) {
                        self.handed_over(group.stream(), candidates);
                    }
                    self.look(group.stream(), candidates);
                }
                TokenTree::Ident(name)
                    if is_word(before, "in")
                        && candidates.contains(&name.to_string())
                        && matches!(tokens.get(at + 1), Some(TokenTree::Group(_))) =>
                {
                    self.consumed.push(name.clone());
                }
                _ => {}
            }
        }
    }

    /// The names among arguments of a call that are an argument by themselves.
    fn handed_over(&mut self, arguments: TokenStream, candidates: &HashSet<String>) {
        for (argument, _) in crate::args::split::pieces(arguments) {
            let mut argument = argument.into_iter();
            if let (Some(TokenTree::Ident(name)), None) = (argument.next(), argument.next())
                && candidates.contains(&name.to_string())
            {
                self.consumed.push(name);
            }
        }
    }

    /// The names in patterns: after `let`, `for` and `fn`, before `=>`, and between `|`.
    fn patterns(&mut self, tokens: &[TokenTree]) {
        let mut start = 0;
        let mut bars = 0_usize;
        let mut binds = false;
        // The `>` of `=>`, and not that of `Some::<T>(a)`.
        let is_arrow = |at: Option<usize>| {
            at.is_some_and(|at| {
                at > 0 && is_punct(tokens.get(at), '>') && is_punct(tokens.get(at - 1), '=')
            })
        };
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == "let" || word == "for" || word == "fn" => {
                    binds = true;
                }
                TokenTree::Ident(word) if word == "in" => binds = false,
                TokenTree::Punct(punct) => match punct.as_char() {
                    '>' if is_arrow(Some(at)) => {
                        self.bind(&tokens[start..at]);
                        start = at + 1;
                    }
                    '=' | ';' => binds = false,
                    ',' if !binds => start = at + 1,
                    '|' => bars += 1,
                    _ => {}
                },
                // The body of the arm before.
                TokenTree::Group(_) if is_arrow(at.checked_sub(1)) => {
                    start = at + 1;
                }
                _ => {}
            }
            if binds || bars % 2 == 1 {
                self.bind(std::slice::from_ref(token));
            }
        }
    }

    fn bind(&mut self, tokens: &[TokenTree]) {
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    self.bound.insert(name.to_string());
                }
                TokenTree::Group(group) => {
                    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.bind(&inside);
                }
                _ => {}
            }
        }
    }
}

/// Whether what stands before parentheses is called.
fn calls(before: Option<&TokenTree>) -> bool {
    const WORDS: [&str; 12] = [
        "if", "match", "while", "return", "in", "let", "for", "fn", "break", "else", "mut", "ref",
    ];
    matches!(before, Some(TokenTree::Ident(word)) if !WORDS.iter().any(|it| word == it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str) -> String {
        let candidates = ["a", "b", "self"].map(str::to_owned).into();
        let names = consumed(&body.parse().unwrap(), &candidates);
        let names: Vec<String> = names.iter().map(Ident::to_string).collect();
        names.join(" ")
    }

    #[test]
    fn arguments_that_are_handed_over_are_seen_and_names_that_may_be_others_are_not() {
        let cases = [
            ("post(a).await", "a"),
            ("client.post(url, a).send(b)", "a b"),
            ("Ok(a)", "a"),
            ("if c { f(a) } else { g(a) }", "a"),
            ("drop(self)", "self"),
            ("for x in a { f(x) }", "a"),
            ("if c { f(&a) } else { f(a.b) }", ""),
            ("f(a + 1, -b, *self)", ""),
            ("println!(\"{}\", a); vec![f(a)]", ""),
            ("#[cfg(unix)] f(a);", ""),
            ("match x { A => { f(1) } B => f(a) }", "a"),
            ("let a = a.clone(); f(a)", ""),
            ("if let Some(a) = x { f(a) }", ""),
            ("match x { Some(a) => f(a), None => f(b) }", "b"),
            ("match x { Y { a, .. } if z => f(a) }", ""),
            ("match x { Some::<String>(a) => f(a), _ => f(b) }", "b"),
            ("match x { A => (1), V::<u8, u8> { a } => f(a) }", ""),
            ("x.map(|a| f(a))", ""),
            ("x.map(|(c, a)| f(a))", ""),
            ("for (a, c) in x { f(a) }", ""),
            ("fn g(a: u8) { f(a) } g(1)", ""),
            ("return (a)", ""),
            ("a.into_bytes()", ""),
        ];
        for (body, expected) in cases {
            assert_eq!(shown(body), expected, "{body}");
        }
    }
}
