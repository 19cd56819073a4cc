//! Arguments that an attempt would consume, so that the next attempt could not use them.
//!
//! A macro knows no types. If an argument is passed on by value, the written code asks the library whether
//! this consumes the value; the compiler's message then contains the library's text about what to
//! write. Where the body does not show by its form that it passes a value on (`body + more`, a macro's
//! input), the compiler reports a moved value in its own words.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::{Block, FnArg, ItemFn, Pat, Receiver, Signature, Type};

use crate::args::Args;
use crate::bindings::{Binding, is_small};
use crate::groups::{dense, inside, is_punct};
use crate::hygiene::{at, mixed};
use crate::seen::{Consumed, Owned, Seen, taken, words};
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

/// Without the names that keys copy, or bind inside of the loop.
fn owned(mut names: HashSet<String>, args: &Args) -> Owned {
    let copied = args.clone.iter().flat_map(|given| &given.value.names);
    for name in copied.chain(args.attempt.iter().map(|attempt| &attempt.value)) {
        names.remove(&name.to_string());
    }
    let kept = args.keep.iter().flat_map(|given| &given.value.names);
    Owned {
        names,
        kept: kept.map(Ident::to_string).collect(),
        ..Owned::default()
    }
}

/// The names in a block that may be variables around it: those in small letters, but not `self`: it is a
/// reference in most blocks, and then the compiler's own message says more.
pub(super) fn in_block(body: &TokenStream, args: &Args) -> Owned {
    let mut found = words(body);
    found.retain(|name| is_small(name) && name != "self");
    Owned {
        in_block: true,
        ..owned(found, args)
    }
}

/// The arguments of a function that may own their values.
pub(super) fn arguments(function: &mut ItemFn, bound: &[Binding], args: &Args) -> Owned {
    let by_value = bound
        .iter()
        .filter(|it| !it.is_reference && !it.is_constant && it.cfgs.is_empty());
    let mut found: HashSet<String> = by_value.map(|it| it.name.to_string()).collect();
    let mut once = HashSet::new();
    for input in &function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                if is_value(receiver) {
                    found.extend(RECEIVERS.map(str::to_owned));
                }
            }
            FnArg::Typed(typed) => {
                let Pat::Ident(pat) = &*typed.pat else {
                    continue;
                };
                if is_primitive(&typed.ty) {
                    found.remove(&pat.ident.to_string());
                }
                if is_called_once(&function.sig, &typed.ty) {
                    once.insert(pat.ident.to_string());
                }
            }
        }
    }
    if !found.is_empty() && Shape::of(function) == Shape::Future {
        not_captured(function, &mut found);
    }
    Owned {
        once,
        ..owned(found, args)
    }
}

/// Whether the type has a name in small letters, such as `u64`: such types are `Copy`, so no question is
/// needed.
fn is_primitive(ty: &Type) -> bool {
    matches!(inside(ty), Type::Path(path)
        if path.path.get_ident().is_some_and(|name| is_small(&name.to_string())))
}

/// Whether the type is `FnOnce`, or a parameter that is.
fn is_called_once(sig: &Signature, ty: &Type) -> bool {
    let bounds = [
        sig.generics.params.to_token_stream(),
        sig.generics.where_clause.to_token_stream(),
    ];
    let name = dense(ty.to_token_stream());
    let is_once = |bound: &str| {
        let before = bound.split('(').next();
        before.is_some_and(|before| before.ends_with("FnOnce"))
    };
    let of_name = |bound: &str| bound.strip_prefix(&format!("{name}:")).is_some_and(is_once);
    let bounds = bounds.map(dense).join(",").replace("where", ",");
    is_once(&name) || bounds.split(',').any(of_name)
}

/// Removes questions that would mean something else in the `async` block of this function: a name that
/// is bound before the block, because its type may not be known yet, and any name in a block without
/// `move`, because the block would borrow the argument for the question but does not own it.
fn not_captured(function: &mut ItemFn, found: &mut HashSet<String>) {
    let Some(block) = last_async(function).filter(|it| it.capture.is_some()) else {
        return found.clear();
    };
    if !is_rewritten(&block.block) {
        let bound = Seen::of(&Owned::default(), &function.block.stmts).bound;
        found.retain(|name| !bound.contains(name));
    }
}

/// Statements that never run: each asks about one value that the body passes on.
pub(super) fn asked(body: &TokenStream, owned: &Owned) -> Option<TokenStream> {
    let questions = consumed(body, owned);
    let questions: Vec<TokenStream> = questions.iter().map(|it| question(it, owned)).collect();
    (!questions.is_empty()).then(|| mixed!(if false { #(#questions)* }))
}

fn question(consumed: &Consumed, owned: &Owned) -> TokenStream {
    let Consumed {
        name,
        place,
        pat,
        call,
        cfgs,
    } = consumed;
    let name_at = at(name.span());
    let needed = if call.as_ref().is_some_and(|call| call.method == "get_mut") {
        "SharedPin"
    } else if owned.kept.contains(&name.to_string()) {
        "Kept"
    } else if RECEIVERS.iter().any(|it| name == it) {
        "SharedSelf"
    } else {
        "Shared"
    };
    let needed = Ident::new(needed, name_at);
    // What consumes the value makes a closure that can be called only once.
    let question = match (call, pat) {
        (Some(call), _) => quote_spanned!(name_at=> || { let __called = #call; }),
        (None, Some(pat)) => {
            let parts = taken(pat);
            // With a condition, the pattern may match each value.
            quote_spanned! {name_at=>
                || match #place {
                    #pat if true => { let __taken = (#(#parts,)*); }
                    _ => {}
                }
            }
        }
        // A `&mut` that is passed on is borrowed again, but a closure would take it.
        (None, None) => {
            quote_spanned!(name_at=> __backoff::HandedOver::of(&#place).__backoff_taken())
        }
    };
    quote_spanned!(name_at=> #cfgs __backoff::#needed::by_all_attempts(#question);)
}

/// The variables, and fields of variables, that the body surely passes by value, each once.
fn consumed(body: &TokenStream, owned: &Owned) -> Vec<Consumed> {
    if owned.names.is_empty() {
        return Vec::new();
    }
    let Ok(stmts) = Block::parse_within.parse2(body.clone()) else {
        return Vec::new();
    };
    let mut seen = Seen::of(owned, &stmts);
    let mut places = HashSet::new();
    seen.consumed.retain(|it| {
        let (place, pat, call, cfgs) = (&it.place, &it.pat, &it.call, &it.cfgs);
        places.insert(quote!(#cfgs #place #pat #call).to_string())
    });
    seen.consumed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str, owned: &Owned) -> String {
        let places = consumed(&body.parse().unwrap(), owned).into_iter();
        let places: Vec<String> = places
            .map(|it| {
                let pat = it.pat.map(|pat| format!("@{}", pat.to_token_stream()));
                let (cfgs, place) = (it.cfgs, it.place);
                format!("{cfgs}{place}{}", pat.unwrap_or_default()).replace(' ', "")
            })
            .collect();
        places.join(" ")
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
            ("if c { f(&a) } else { f(a.b) }", "a.b"),
            ("f(a + 1, -b, *self)", ""),
            ("println!(\"{}\", a); vec![f(a)]", ""),
            ("#[cfg(unix)] f(a); f(b)", "#[cfg(unix)]a b"),
            ("a.send().await; b.send(1); self.send(x)", "a b"),
            (
                "a.commit(); b.unwrap_or(1); self.get_mut(); a.unwrap_or(x)",
                "a b self",
            ),
            (
                "let S { x, .. } = a; match b { T(y) | U(y) => y, V => 1 }",
                "a@S{x,..} b@T(y)|U(y)",
            ),
            (
                "if let Some(x) = a.b { x }; match self { T(ref x) => 1, _ => 2 }",
                "a.b@Some(x)",
            ),
            (
                "match a { 1 => 2, T(1, x) => x, &y => y, mut z => z, Z => 3 }",
                "a@T(1,x) a@&y",
            ),
            ("f(a); let a = 1; f(a, b)", "a b"),
            ("use X::*; match a { T(x) => x } f(b)", "b"),
            ("struct T(u8); let T(x) = a;", ""),
            ("match x { A => { f(1) } B => f(a) }", "a"),
            ("let a = a.clone(); f(a)", ""),
            ("let a = a.into_inner(); f(a)", "a"),
            ("if let Some(a) = x { f(a) }", ""),
            ("match x { Some(a) => f(a), None => f(b) }", "b"),
            ("match x { Y { a, .. } if z => f(a) }", ""),
            ("match x { Some::<String>(a) => f(a), _ => f(b) }", "b"),
            ("match x { A => (1), V::<u8, u8> { a } => f(a) }", ""),
            ("x.map(|a| f(a))", ""),
            ("x.map(|(c, a)| f(a))", ""),
            ("for (a, c) in x { f(a) }", ""),
            ("fn g(a: u8) { f(a) } g(1)", ""),
            ("return (&a)", ""),
            ("a.into_bytes()", "a"),
            ("a.into(); b.clone().into()", "a"),
            (
                "self.0.into_bytes(); f(self.0, self.1 .2); g(a.len)",
                "self.0 self.1.2 a.len",
            ),
            ("f(a().b, &self.0, self.len())", ""),
            ("spawn(async move { a.send(b.c).await })", "a b.c"),
            ("spawn(async { a.send(1).await })", "a"),
            ("let c = move || b(g(&a).len()) + 1; c()", "b a"),
            ("let c = move |a: &str| a.len() + self.0; c(b)", "b"),
            ("let c = a; let mut d: B = b; let _ = self;", "a b"),
            (
                "let ref c = a; let &d = b; let (e, _) = self;",
                "b@&d self@(e,_)",
            ),
            ("c = a; _ = b", ""),
            ("S { a, c: b }; S { ..self }", "a b"),
            ("T { f: (1, a), g: [b] }", "a b"),
            ("[a; 3]; [0, b]; (a)", "b a"),
            ("if c { a } else { b }", "a b"),
            ("match a { X => b, _ => return self }", "b self"),
            ("loop { break a }", "a"),
            ("f::<A, a, B>(1)", ""),
            ("items.map(a).sort_by_key(b)", "a b"),
            (
                "#[allow(unused)] #[cfg(unix)] f(a); match x { #[cfg(unix)] A => f(self), B => f(b) }",
                "#[cfg(unix)]a #[cfg(unix)]self b",
            ),
            (
                "for x in y { S { #[cfg(unix)] x: a, y: b } }",
                "#[cfg(unix)]a b",
            ),
            ("a(1); b(1)", "b"),
            ("let x = y.s::<a>() else { f(a) }; unsafe { f(b) }", "a"),
            ("shadow_clone!(a); f(a)", ""),
            ("info!(%a, \"sent\"); f(a)", "a"),
            ("bind! { a } f(a)", ""),
            ("macro_rules! unused { () => { f(a) } } g(b)", "b"),
            ("let m = c | d; let g = |a| h(1) | f(a);", ""),
            ("use g::a; f(a)", ""),
            ("const a: u8 = 1; f(a)", ""),
            ("struct S; impl S { fn g(self) { f(self) } }", ""),
            ("pub(in a) mod x {} g::<dyn Fn(a)>(1); g(b)", "b"),
        ];
        let names = ["a", "b", "self"].map(str::to_owned).into();
        let mut owned = owned(names, &Args::default());
        owned.once.insert("b".to_owned());
        for (body, expected) in cases {
            assert_eq!(shown(body, &owned), expected, "{body}");
        }
    }

    #[test]
    fn in_a_block_each_name_in_small_letters_may_be_a_variable() {
        let cases = [
            ("post(body).await", "body"),
            ("Ok(Body)", ""),
            ("let value = f(); Ok(value)", ""),
            ("f(copied, n, true, u8::MAX)", ""),
            ("self.send(body).map_err(wrap).or_insert_with(make)", "body"),
            ("fn g() {} list.push(g); f(list)", "list"),
            ("spawn(async move { call(&url) })", "url"),
        ];
        let mut errors = crate::errors::Errors::default();
        let keys = "clone(copied), attempt = n".parse().unwrap();
        let args = crate::args::parse(keys, &mut errors);
        for (body, expected) in cases {
            let owned = in_block(&body.parse().unwrap(), &args);
            assert_eq!(shown(body, &owned), expected, "{body}");
        }
    }
}
