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

    fn shown(args: TokenStream) -> String {
        let library = quote!(lib);
        written(&library, args).to_string().replace(' ', "")
    }

    #[test]
    fn every_key_is_a_field_also_one_that_is_begun_or_cannot_be_read() {
        let cases = [
            (quote!(), "Keys{..__given}"),
            (quote!(max_), "Keys{max_:(),..__given}"),
            (
                quote!(policy = P, max_),
                "Keys{policy:(),max_:(),..__given}",
            ),
            (
                quote!(base =, on = [429] 3),
                "Keys{base:(),on:(),..__given}",
            ),
            (
                quote!(crate = lib, 3, clone(a, b)),
                "Keys{clone:(),..__given}",
            ),
        ];
        for (args, expected) in cases {
            let shown = shown(args);
            assert!(shown.starts_with("#[cfg(rust_analyzer)]const_:"), "{shown}");
            assert!(
                shown.contains(&format!("lib::__private::{expected}")),
                "{shown}"
            );
        }
    }

    #[test]
    fn they_stand_first_in_the_body_and_the_rest_stays() {
        let item = quote!(
            async fn f(&self) -> Result<(), E> {
                #![allow(unused)]
                self.g().await
            }
        );
        let hinted = before(
            quote!(
                const HINT: () = ();
            ),
            item,
        )
        .to_string();
        assert!(
            hinted.contains("{ # ! [allow (unused)] const HINT : () = () ; self . g"),
            "{hinted}"
        );
        let other = quote!(
            struct S;
        );
        assert_eq!(
            before(quote!(HINT), other.clone()).to_string(),
            other.to_string()
        );
    }

    #[test]
    fn the_compiler_is_told_nothing() {
        assert!(of(&quote!(lib), quote!(max_)).is_none());
    }
}
