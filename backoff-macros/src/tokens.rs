//! Any tokens can be between the parentheses: no parser panics on any input.

use proc_macro2::{Delimiter, Group, TokenStream};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use quote::{ToTokens, quote};

/// Words with a meaning for a macro, in addition to the keys of the attribute, signs and literals.
const WORDS: &str = "status forward transient retry_after async move self mut if impl Future Output __ret __self let x \
    = , , | < > . : - & + ! ? @ # -> :: => == ..= 7 64s 1.5s 0x1fs 1e3 500..=504 'a 'c' \"\" \"1m 3x\" \"64\"";

fn token() -> impl Strategy<Value = TokenStream> {
    let words = WORDS.split(' ').chain(crate::args::key_names::names());
    let words = words.filter_map(|word| word.parse().ok());
    let leaf = select(words.collect::<Vec<TokenStream>>());
    leaf.prop_recursive(3, 24, 6, |inner| {
        use Delimiter::{Brace, Bracket, None, Parenthesis};
        let delimiter = select(vec![Parenthesis, Brace, Bracket, None]);
        (delimiter, vec(inner, 0..6)).prop_map(|(delimiter, inner)| {
            Group::new(delimiter, inner.into_iter().collect()).into_token_stream()
        })
    })
}

fn tokens() -> impl Strategy<Value = TokenStream> {
    vec(token(), 0..24).prop_map(|tokens| tokens.into_iter().collect())
}

proptest! {
    #[test]
    fn the_attribute(args in tokens(), body in tokens(), ty in tokens()) {
        let functions = [
            quote!(async fn f(mut a: A, (b, mut c): &T) -> Result<T, E> { g(a) }),
            quote!(fn f(mut self, a: &mut A) -> Result<&mut T, E> { g(a) }),
            quote!(fn f() -> Pin<Box<dyn Future<Output = T>>> { Box::pin(async move { #body }) }),
            quote!(fn f(#ty) -> #ty { #body }),
            body,
        ];
        for function in functions {
            crate::retry_in("backoff_core", args.clone(), function);
        }
        crate::hints::written(&quote!(lib), args);
    }

    #[test]
    fn the_block(args in tokens(), body in tokens()) {
        crate::retry_block_in(quote!((backoff_core) #args, async { #body }));
        crate::retry_block_in(quote!((backoff_core) #args, { #body }));
        crate::retry_block_in(args);
    }

    #[test]
    fn the_derive(args in tokens(), item in tokens()) {
        let items = [
            quote!(#[fault(#args)] struct E { status: u16, #[fault(#args)] b: B }),
            quote!(enum E<T> { #[fault(#args)] A(T), #[fault #args] B { c: T }, C }),
            item,
        ];
        for item in items {
            crate::fault::derive("backoff_core", item);
        }
    }
}
