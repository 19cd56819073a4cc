//! Arguments that an attempt would consume, so that the next attempt could not use them.
//!
//! A macro knows no types. If an argument is passed by value, the written code asks the library whether
//! this consumes the value; the compiler's message then contains the library's text about what to
//! write. If a method (`body.into_text()`) or a block (`async move`) consumes an argument, this module
//! does not see it. Then the compiler reports a moved value in its own words.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{FnArg, ItemFn, Pat, Receiver, Type};

use super::library::{Library, at};
use crate::args::Args;
use crate::bindings::Binding;
use crate::groups::{flat, inside, is_punct, is_word};
use crate::shape::Shape;
use crate::shape::async_trait::is_rewritten;
use crate::shape::ending::last_async;

/// The names of `self` as the user and as `#[async_trait]` write it.
const RECEIVERS: [&str; 2] = ["self", "__self"];

/// Whether the receiver is `self`, or has a type that is no reference. This reads the tokens, because
/// syn 2 and syn 3 keep the parts of a receiver in different fields.
fn is_value(receiver: &Receiver) -> bool {
    let mut plain = receiver.clone();
    plain.attrs.clear();
    let mut tokens = plain.into_token_stream().into_iter().peekable();
    if is_punct(tokens.peek(), '&') {
        return false;
    }
    !tokens.any(|token| is_punct(&token, ':'))
        || syn::parse2::<Type>(tokens.collect())
            .is_ok_and(|ty| !matches!(inside(&ty), Type::Reference(_)))
}

/// The arguments that may own their values and that no key names.
pub(super) fn candidates(function: &mut ItemFn, bound: &[Binding], args: &Args) -> HashSet<String> {
    let named = [&args.clone, &args.keep].into_iter().flatten();
    let named: HashSet<String> = named
        .flat_map(|given| given.value.names.iter().map(Ident::to_string))
        .collect();
    let owned = bound
        .iter()
        .filter(|it| !it.is_reference && it.cfgs.is_empty());
    let mut found: HashSet<String> = owned.map(|it| it.name.to_string()).collect();
    for input in &function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                if is_value(receiver) {
                    found.extend(RECEIVERS.map(str::to_owned));
                }
            }
            FnArg::Typed(typed) => {
                if let (Pat::Ident(pat), true) = (&*typed.pat, is_primitive(&typed.ty)) {
                    found.remove(&pat.ident.to_string());
                }
            }
        }
    }
    found.retain(|name| !named.contains(name));
    if !found.is_empty() && Shape::of(function) == Shape::Future {
        not_captured(function, &mut found);
    }
    found
}

/// Whether the type has a name in small letters, such as `u64`: such types are `Copy`, so no question
/// must be compiled.
fn is_primitive(ty: &Type) -> bool {
    let Type::Path(path) = inside(ty) else {
        return false;
    };
    let name = path.path.get_ident().map(Ident::to_string);
    name.is_some_and(|name| name.starts_with(char::is_lowercase))
}

/// Removes questions that would mean something else in the `async` block of this function: a name that
/// is bound before the block, because its type may not be known yet, and any name in a block without
/// `move`, because the block would borrow the argument for the question but does not own it.
fn not_captured(function: &mut ItemFn, found: &mut HashSet<String>) {
    let Some(block) = last_async(function) else {
        return found.clear();
    };
    if block.capture.is_none() {
        return found.clear();
    }
    let stmts = &block.block.stmts;
    if !is_rewritten(quote!(#(#stmts)*)) {
        let mut seen = Seen::default();
        seen.look(flat(function.block.to_token_stream()), &HashSet::new());
        found.retain(|name| !seen.bound.contains(name));
    }
}

/// Statements that never run: each asks about one argument that the body passes by value.
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
            let needed = if RECEIVERS.iter().any(|it| name == it) {
                "SharedSelf"
            } else {
                "Shared"
            };
            let needed = Ident::new(needed, name_at);
            quote_spanned! {name_at=>
                #k::__private::#needed::by_all_attempts(
                    #k::__private::HandedOver::of(&#name).__backoff_taken()
                );
            }
        })
        .collect();
    let here = Span::mixed_site();
    (!questions.is_empty()).then(|| quote_spanned!(here=> if false { #(#questions)* }))
}

/// The arguments that the body surely passes by value, each once.
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
    /// Names that are alone as an argument of a call, or after `in`.
    consumed: Vec<Ident>,
    /// Names in a pattern, which may be other variables in the body.
    bound: HashSet<String>,
    /// Whether parts of the body may be left out.
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
                    // A macro may change its tokens in any way, and a `cfg` may remove a call.
                    if is_punct(before, '!') {
                        self.may_bind(group, tokens.get(at + 1));
                        continue;
                    }
                    if at > 2 && is_word(tokens.get(at - 3), "macro_rules") {
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

    /// A macro that is a statement may bind the names in its input (`pin!(a);`). A macro with a string
    /// literal prints or logs.
    fn may_bind(&mut self, group: &Group, next: Option<&TokenTree>) {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let is_text = |token: &TokenTree| matches!(token, TokenTree::Literal(_));
        let is_statement = group.delimiter() == Delimiter::Brace || is_punct(next, ';');
        if is_statement && !tokens.iter().any(is_text) {
            self.bind(&tokens);
        }
    }

    /// The names in the arguments of a call that are an argument alone.
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

    /// The names in patterns and of items: after `let`, `for`, `fn` and the like, before `=>`, and
    /// between `|`.
    fn patterns(&mut self, tokens: &[TokenTree]) {
        let mut start = 0;
        let mut bars = 0_usize;
        let mut binds = false;
        // The `>` of `=>`, and not the `>` of `Some::<T>(a)`.
        let is_arrow = |at: Option<usize>| {
            at.is_some_and(|at| {
                at > 0 && is_punct(tokens.get(at), '>') && is_punct(tokens.get(at - 1), '=')
            })
        };
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if BINDING.iter().any(|it| word == it) => binds = true,
                TokenTree::Ident(word) if word == "in" => binds = false,
                TokenTree::Punct(punct) => match punct.as_char() {
                    '>' if is_arrow(Some(at)) => {
                        self.bind(&tokens[start..at]);
                        start = at + 1;
                    }
                    '=' => binds = false,
                    ';' => (binds, bars) = (false, 0),
                    ',' if !binds => start = at + 1,
                    '|' => bars += 1,
                    _ => {}
                },
                // The body of the previous arm.
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

/// Keywords after which a new variable may be bound in the body.
const BINDING: [&str; 7] = ["let", "for", "fn", "const", "static", "struct", "use"];

/// Whether the token before the parentheses is called.
fn calls(before: Option<&TokenTree>) -> bool {
    const WORDS: [&str; 16] = [
        "if", "match", "while", "return", "in", "let", "for", "fn", "break", "else", "mut", "ref",
        "pub", "Fn", "FnMut", "FnOnce",
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
            ("shadow_clone!(a); f(a)", ""),
            ("info!(%a, \"sent\"); f(a)", "a"),
            ("bind! { a } f(a)", ""),
            ("macro_rules! unused { () => { f(a) } } g(b)", "b"),
            ("let m = c | d; let g = |a| h(1) | f(a);", ""),
            ("use g::a; f(a)", ""),
            ("const a: u8 = 1; f(a)", ""),
            ("struct S; impl S { fn g(self) { f(self) } }", ""),
            ("pub(self) mod x {} g::<dyn Fn(a)>(1); g(b)", "b"),
        ];
        for (body, expected) in cases {
            assert_eq!(shown(body), expected, "{body}");
        }
    }
}
