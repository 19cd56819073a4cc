//! Variables of which an attempt is the only borrower: arguments, and what the `async` block at the end of a
//! function captures. An attempt borrows the variables that it reads.
//! A shared reference is `Send` only if its value is `Sync`; a unique reference is `Send` if its value
//! is `Send`, like the plain function's future.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, FnArg, Pat, PatIdent, Stmt, Type};

use super::bound_names::bound_in;
use crate::args::split::pieces;
use crate::bindings::{cfgs, is_small};
use crate::groups::{inside, words};
use crate::hygiene::{at, mixed};
use crate::patterns::is_constant;
use crate::shape::async_trait::rebound;
use crate::shape::ending::last_async;
use crate::shape::{Function, Shape};

/// The variables of one function that its attempts borrow mutably, although they only read them.
#[derive(Default)]
pub(super) struct Unique(Vec<(Ident, Vec<Attribute>)>);

impl Unique {
    /// The variables that the body names and no value in the attribute names, because such a value may
    /// borrow for longer than an attempt. They are made mutable where they are declared, or in the body if
    /// `#[async_trait]` has moved them there. If the body may have them under other variables, they stay unchanged.
    pub(super) fn of(function: &mut Function, given: &TokenStream) -> Self {
        let given = words(&values(given.clone()));
        let shape = function.shape;
        let is_moved = function.is_of_async_trait();
        let mut hidden = HashSet::new();
        let mut captured = None;
        if shape == Shape::Future {
            let block = last_async(&mut function.item);
            let Some(block) = block.filter(|block| block.capture.is_some()) else {
                return Self::default();
            };
            let body = block.block.to_token_stream();
            if !is_moved {
                bound_in(body.clone(), &mut hidden);
            }
            captured = Some(words(&body));
        }
        let body = captured.as_ref().unwrap_or(&function.words);
        let mut found = Vec::new();
        let mut ask = |pat: &mut Pat, ty: Option<&Type>, attrs: &[Attribute]| {
            let bound = words(&*pat);
            if let Some(pat) = plain(pat)
                && let word = pat.ident.to_string()
                && !hidden.contains(&word)
                && !ty.is_some_and(is_sync)
                && !given.contains(&word)
                && body.contains(&word)
            {
                found.push((pat.ident.clone(), cfgs(attrs)));
                if !is_moved {
                    make_mutable(pat);
                }
            }
            hidden.extend(bound);
        };
        // The last one comes first, because the body sees the last variable of a name.
        if shape == Shape::Future {
            for stmt in function.item.block.stmts.iter_mut().rev() {
                match stmt {
                    Stmt::Local(local) => match &mut local.pat {
                        Pat::Type(typed) => ask(&mut typed.pat, Some(&typed.ty), &local.attrs),
                        pat => ask(pat, None, &local.attrs),
                    },
                    // A macro may bind the names in its input.
                    Stmt::Macro(made) => {
                        ask(&mut Pat::Verbatim(made.mac.tokens.clone()), None, &[])
                    }
                    _ => {}
                }
            }
        }
        for input in function.item.sig.inputs.iter_mut().rev() {
            if let FnArg::Typed(typed) = input {
                ask(&mut typed.pat, Some(&typed.ty), &typed.attrs);
            }
        }
        found.reverse();
        if is_moved {
            let mut moved = rebound(function);
            found.retain(|(name, _)| {
                let pat = moved.iter_mut().find(|pat| pat.ident == *name);
                pat.map(|pat| make_mutable(pat)).is_some()
            });
        }
        Self(found)
    }

    /// Statements that never run and borrow them mutably.
    pub(super) fn borrowed(&self) -> TokenStream {
        let mut borrowed = TokenStream::new();
        for (name, cfgs) in &self.0 {
            borrowed.extend(mixed!(#(#cfgs)* let _ = &mut #name;));
        }
        borrowed
    }
}

/// The tokens of the attribute without the names of keys, because an argument may have the name of a
/// key.
fn values(given: TokenStream) -> TokenStream {
    let pieces = pieces(given).into_iter().flat_map(|(piece, comma)| {
        let mut rest = piece.clone().into_iter();
        let is_keyed = matches!(rest.next(), Some(TokenTree::Ident(_)))
            && match rest.next() {
                Some(TokenTree::Punct(punct)) => punct.as_char() == '=',
                Some(TokenTree::Group(_)) | None => true,
                Some(_) => false,
            };
        piece.into_iter().skip(usize::from(is_keyed)).chain(comma)
    });
    pieces.collect()
}

/// The name, if the pattern is only a name.
fn plain(pat: &mut Pat) -> Option<&mut PatIdent> {
    match pat {
        Pat::Ident(it) if it.by_ref.is_none() && it.mutability.is_none() && it.subpat.is_none() => {
            Some(it).filter(|it| !is_constant(it))
        }
        _ => None,
    }
}

fn make_mutable(pat: &mut PatIdent) {
    pat.mutability = Some(syn::token::Mut(at(pat.ident.span())));
}

/// Whether no statement is needed: the type is a reference, which may have other borrowers, or it has only
/// names in small letters (primitive types, modules) and the names in `SYNC`, which are `Sync`. For another
/// type the statement costs nothing at run time.
fn is_sync(ty: &Type) -> bool {
    const SYNC: [&str; 4] = ["String", "Vec", "Option", "Box"];
    let is_other = |word: &String| !is_small(word) && !SYNC.contains(&&**word);
    matches!(inside(ty), Type::Reference(_)) || !words(ty).iter().any(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn asked(function: &syn::ItemFn, given: &str) -> String {
        let mut function = Function::of(function.clone());
        let found = Unique::of(&mut function, &given.parse().unwrap());
        let found = found.0.into_iter();
        let found: Vec<String> = found.map(|(name, _)| name.to_string()).collect();
        found.join(" ")
    }

    #[test]
    fn a_key_with_the_name_of_an_argument_names_no_argument() {
        let function = parse_quote! {
            async fn f(base: Cell<u8>, operation: Job, clone: Job, idempotent: Job) { f(base, operation, clone, idempotent) }
        };
        let cases = [
            (
                "base = 1s, idempotent, clone(x)",
                "base operation clone idempotent",
            ),
            ("operation = \"a\"", "base operation clone idempotent"),
            ("base = base.get(), clone(operation)", "clone idempotent"),
            ("when = |a, base| b == clone", "operation idempotent"),
            ("operation = \"{base}\"", "operation clone idempotent"),
            ("P.base(base)", "operation clone idempotent"),
        ];
        for (given, expected) in cases {
            assert_eq!(asked(&function, given), expected, "{given}");
        }
    }

    #[test]
    fn a_constant_in_the_place_of_a_name_is_no_variable() {
        let function = parse_quote! {
            async fn f(Marker: Marker, marker: Marker, _Odd: Marker) { f(Marker, marker, _Odd) }
        };
        assert_eq!(asked(&function, ""), "marker _Odd");
    }

    #[test]
    fn a_block_at_the_end_captures_the_last_variable_of_each_name() {
        let function = parse_quote! {
            fn f(a: Job, b: Job, c: Job, d: Job, e: Job, x: Job) -> impl Future<Output = R> {
                let client = a.client();
                let count: u64 = 1;
                let (b, _) = split(b);
                let mut c = c;
                let d = d;
                pin!(e);
                async move { f(a, b, c, d, e, client, count) }
            }
        };
        assert_eq!(asked(&function, ""), "a client d");
    }

    #[test]
    fn references_and_types_of_well_known_names_need_no_statement() {
        let cases = [
            ("u64", true),
            ("&Cell<u8>", true),
            ("Vec<Option<[std::string::String; 4]>>", true),
            ("Vec<T>", false),
            ("std::cell::Cell<u8>", false),
            ("Box<dyn Fn()>", false),
            ("Uuid", false),
        ];
        for (ty, expected) in cases {
            assert_eq!(is_sync(&syn::parse_str(ty).unwrap()), expected, "{ty}");
        }
    }
}
