//! Any tokens can be between the parentheses: no parser panics on any input.

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream};
use proptest::prelude::*;
use quote::{ToTokens, quote};

/// Words with a meaning for a macro, in addition to the keys of the attribute.
const WORDS: [&str; 15] = [
    "status",
    "forward",
    "transient",
    "retry_after",
    "async",
    "move",
    "self",
    "mut",
    "if",
    "impl",
    "Future",
    "Output",
    "__ret",
    "__self",
    "let",
];

fn token() -> impl Strategy<Value = TokenStream> {
    let keys: Vec<_> = crate::args::keys::names().chain(WORDS).collect();
    let keys = proptest::sample::select(keys);
    let puncts = proptest::sample::select("=,,|<>.:-&+!?@#".chars().collect::<Vec<_>>());
    let leaf = prop_oneof![
        keys.prop_map(|key| Ident::new(key, Span::call_site()).into_token_stream()),
        "[a-z_]{1,8}"
            .prop_filter("`_` alone is no identifier", |word| word != "_")
            .prop_map(
                |word| Ident::new(&format!("{word}x"), Span::call_site()).into_token_stream()
            ),
        (puncts, any::<bool>()).prop_map(|(char, joint)| {
            let spacing = if joint {
                Spacing::Joint
            } else {
                Spacing::Alone
            };
            Punct::new(char, spacing).into_token_stream()
        }),
        any::<u64>().prop_map(|number| Literal::u64_unsuffixed(number).into_token_stream()),
        "[0-9a-z .-]{0,12}".prop_map(|text| Literal::string(&text).into_token_stream()),
        proptest::sample::select(vec![
            "64s",
            "1.5s",
            "0x1fs",
            "1e3",
            "500..=504",
            "'a",
            "'c'"
        ])
        .prop_map(|text| text.parse().unwrap()),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let delimiter = proptest::sample::select(vec![
            Delimiter::Parenthesis,
            Delimiter::Brace,
            Delimiter::Bracket,
            Delimiter::None,
        ]);
        (delimiter, proptest::collection::vec(inner, 0..6)).prop_map(|(delimiter, inner)| {
            Group::new(delimiter, inner.into_iter().collect()).into_token_stream()
        })
    })
}

fn tokens() -> impl Strategy<Value = TokenStream> {
    proptest::collection::vec(token(), 0..24).prop_map(|tokens| tokens.into_iter().collect())
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
