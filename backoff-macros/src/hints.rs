//! The fields that an editor reads: rust-analyzer completes keys that are written as fields.
//!
//! rust-analyzer expands the macro while the user types, with the word at the cursor in place, and
//! looks for completions at the place of that word in the result. So the keys typed so far are written
//! as fields of a hidden struct, each with its span in the attribute. The struct comes before all code
//! that depends on the keys, because rust-analyzer compares the expansions before and after the last
//! letter by place.
//!
//! The condition `cfg(rust_analyzer)` alone would make rustc warn of an `unexpected_cfgs`, which an
//! `allow` cannot prevent if the user forbids it. So this is written only when rust-analyzer runs the
//! macro, and rustc never sees it.

use std::sync::OnceLock;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{Expr, ItemFn, Stmt};

use crate::args::split::pieces;

/// Whether rust-analyzer runs this macro, judged by the program's name.
fn is_asked() -> bool {
    static IS_ASKED: OnceLock<bool> = OnceLock::new();
    *IS_ASKED.get_or_init(|| {
        let program = std::env::current_exe().ok();
        let name = program
            .as_deref()
            .and_then(|path| path.file_name()?.to_str());
        name.is_some_and(|name| name.starts_with("rust-analyzer"))
    })
}

/// The function with the hints at the beginning of its body, because an item is allowed there in any
/// function.
pub(crate) fn in_body(library: &TokenStream, args: TokenStream, item: TokenStream) -> TokenStream {
    match of(library, args) {
        Some(hints) => before(hints, item),
        None => item,
    }
}

fn before(hints: TokenStream, item: TokenStream) -> TokenStream {
    let Ok(mut function) = syn::parse2::<ItemFn>(item.clone()) else {
        return item;
    };
    let hints = Stmt::Expr(Expr::Verbatim(hints), None);
    function.block.stmts.insert(0, hints);
    function.into_token_stream()
}

/// The hints for these arguments, if rust-analyzer reads them.
pub(crate) fn of(library: &TokenStream, args: TokenStream) -> Option<TokenStream> {
    is_asked().then(|| written(library, args))
}

pub(crate) fn written(library: &TokenStream, args: TokenStream) -> TokenStream {
    let keys = pieces(args).into_iter().filter_map(|(piece, _)| {
        let TokenTree::Ident(key) = piece.into_iter().next()? else {
            return None;
        };
        // A keyword of the language cannot be a field.
        syn::parse2::<Ident>(key.into_token_stream()).ok()
    });
    quote_spanned! {Span::mixed_site()=>
        #[cfg(rust_analyzer)]
        const _: fn(#library::__private::Keys) -> #library::__private::Keys =
            |__given| #library::__private::Keys { #(#keys: (),)* ..__given };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[test]
    fn every_key_is_a_field_also_one_that_is_begun_or_cannot_be_read() {
        let rows = [
            ("", ""),
            ("max_", "max_:(),"),
            ("policy = P, max_", "policy:(),max_:(),"),
            ("base =, on = [429] 3", "base:(),on:(),"),
            ("crate = lib, 3, clone(a, b)", "clone:(),"),
        ];
        for (keys, fields) in rows {
            let hints = written(&quote!(lib), keys.parse().unwrap());
            let hints = hints.to_string().replace(' ', "");
            assert!(hints.starts_with("#[cfg(rust_analyzer)]const_:"), "{hints}");
            let expected = format!("lib::__private::Keys{{{fields}..__given}}");
            assert!(hints.contains(&expected), "{keys}: {hints}");
        }
    }

    #[test]
    fn they_stand_first_in_the_body_and_the_rest_stays() {
        let rows = [
            (
                "fn f() { # ! [allow (unused)] g() }",
                "fn f() { # ! [allow (unused)] HINT g() }",
            ),
            ("struct S;", "struct S;"),
        ];
        for (item, expected) in rows {
            let [item, expected] = [item, expected].map(|it| it.parse::<TokenStream>().unwrap());
            assert_eq!(before(quote!(HINT), item).to_string(), expected.to_string());
        }
    }

    #[test]
    fn the_compiler_is_told_nothing() {
        assert!(of(&quote!(lib), quote!(max_)).is_none());
    }
}
