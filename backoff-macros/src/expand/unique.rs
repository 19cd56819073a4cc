//! Arguments of which an attempt is the only borrower. An attempt borrows what it reads, and a shared
//! reference is `Send` only where its value is `Sync`; a unique one is where its value is `Send`, as
//! the plain function's future is.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{Attribute, FnArg, ItemFn, Pat, Type};

use super::library::at;
use crate::groups::flat;

/// Types that are `Sync` if all that they are made of is.
const SYNC: [&str; 27] = [
    "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128",
    "isize", "f32", "f64", "str", "String", "Vec", "Option", "Box", "Duration", "Instant", "PathBuf",
    "Uuid", "std", "time",
];

/// The arguments of one function that its attempts borrow as if they changed them.
#[derive(Default)]
pub(super) struct Unique(Vec<(Ident, Vec<Attribute>)>);

impl Unique {
    /// Makes those arguments mutable that the body names and the attribute, whose values may borrow
    /// for longer than an attempt, does not.
    pub(super) fn of(function: &mut ItemFn, given: &TokenStream) -> Self {
        let body = function.block.to_token_stream();
        let mut found = Vec::new();
        for input in &mut function.sig.inputs {
            let FnArg::Typed(typed) = input else { continue };
            let Pat::Ident(pat) = &mut *typed.pat else {
                continue;
            };
            let is_plain = pat.by_ref.is_none() && pat.mutability.is_none() && pat.subpat.is_none();
            let name = pat.ident.to_string();
            let is_asked = is_plain && !may_be_assumed(&typed.ty) && names(given, &name) == 0;
            if is_asked && names(&body, &name) > 0 {
                pat.mutability = Some(syn::token::Mut(at(pat.ident.span())));
                let cfgs = typed.attrs.iter().filter(|it| it.path().is_ident("cfg"));
                found.push((pat.ident.clone(), cfgs.cloned().collect()));
            }
        }
        Unique(found)
    }

    /// Statements that never run and borrow them so.
    pub(super) fn borrowed(&self) -> TokenStream {
        let borrowed = self.0.iter().map(|(name, cfgs)| {
            quote_spanned!(Span::mixed_site()=> #(#cfgs)* let _ = &mut #name;)
        });
        borrowed.collect()
    }
}

/// Whether a value of this type is `Sync`, or borrowed already.
fn may_be_assumed(ty: &Type) -> bool {
    fn all(tokens: TokenStream) -> bool {
        tokens.into_iter().all(|token| match token {
            TokenTree::Ident(word) => SYNC.iter().any(|it| word == it),
            TokenTree::Punct(_) | TokenTree::Literal(_) => true,
            TokenTree::Group(group) => all(group.stream()),
        })
    }
    let tokens = flat(ty.to_token_stream());
    let is_reference = matches!(tokens.clone().into_iter().next(),
        Some(TokenTree::Punct(punct)) if punct.as_char() == '&');
    is_reference || all(tokens)
}

/// How often the tokens name a variable; a text may do so between braces.
fn names(tokens: &TokenStream, name: &str) -> usize {
    let plain = name.trim_start_matches("r#");
    let named = tokens.clone().into_iter().map(|token| match token {
        TokenTree::Ident(word) => usize::from(word == name),
        TokenTree::Group(group) => names(&group.stream(), name),
        TokenTree::Literal(text) => text.to_string().matches(&format!("{{{plain}")).count(),
        TokenTree::Punct(_) => 0,
    });
    named.sum()
}
