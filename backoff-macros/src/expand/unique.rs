//! Arguments of which an attempt is the only borrower. An attempt borrows what it reads, and a shared
//! reference is `Send` only where its value is `Sync`; a unique one is where its value is `Send`, as
//! the plain function's future is.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{Attribute, FnArg, ItemFn, Pat, Type};

use super::library::at;
use crate::groups::flat;
use crate::shape::Shape;
use crate::shape::async_trait::{is_rewritten, with_mut};
use crate::shape::ending::last_async;

/// Types that are `Sync` if all that they are made of is.
const SYNC: [&str; 27] = [
    "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128",
    "isize", "f32", "f64", "str", "String", "Vec", "Option", "Box", "Duration", "Instant",
    "PathBuf", "Uuid", "std", "time",
];

/// The arguments of one function that its attempts borrow as if they changed them.
#[derive(Default)]
pub(super) struct Unique(Vec<(Ident, Vec<Attribute>)>);

impl Unique {
    /// Those that the body names and the attribute, whose values may borrow for longer than an
    /// attempt, does not. They must become mutable.
    pub(super) fn of(function: &ItemFn, given: &TokenStream) -> Self {
        let body = function.block.to_token_stream();
        let inputs = function.sig.inputs.iter();
        let found = inputs.filter_map(|input| {
            let FnArg::Typed(typed) = input else {
                return None;
            };
            let name = plain(&typed.pat)?;
            let word = name.to_string();
            let is_asked = !is_sync(&typed.ty) && !names(given, &word) && names(&body, &word);
            let cfgs = typed.attrs.iter().filter(|it| it.path().is_ident("cfg"));
            is_asked.then(|| (name.clone(), cfgs.cloned().collect()))
        });
        Unique(found.collect())
    }

    /// Makes them mutable among the arguments, or where `#[async_trait]` has moved them into the body;
    /// where the body may have them under other variables they are left alone.
    pub(super) fn made_mutable(
        self,
        shape: Shape,
        function: &mut ItemFn,
        body: TokenStream,
    ) -> (Self, TokenStream) {
        if is_rewritten(body.clone()) {
            let asked: Vec<Ident> = self.0.iter().map(|(name, _)| name.clone()).collect();
            let (body, found) = with_mut(body, &asked);
            let kept = self.0.into_iter().filter(|(name, _)| found.contains(name));
            return (Unique(kept.collect()), body);
        }
        let mut kept = self.0;
        if shape == Shape::Future {
            let is_moved_in = function.block.stmts.len() == 1
                && last_async(function).is_some_and(|block| block.capture.is_some());
            kept.retain(|(name, _)| is_moved_in && !binds(body.clone(), name));
        }
        for input in &mut function.sig.inputs {
            if let FnArg::Typed(typed) = input
                && let Pat::Ident(pat) = &mut *typed.pat
                && kept.iter().any(|(name, _)| *name == pat.ident)
            {
                pat.mutability = Some(syn::token::Mut(at(pat.ident.span())));
            }
        }
        (Unique(kept), body)
    }

    /// Statements that never run and borrow them so.
    pub(super) fn borrowed(&self) -> TokenStream {
        let borrowed = self
            .0
            .iter()
            .map(|(name, cfgs)| quote_spanned!(Span::mixed_site()=> #(#cfgs)* let _ = &mut #name;));
        borrowed.collect()
    }
}

/// Whether a `let` makes a variable of this name, at any depth.
fn binds(tokens: TokenStream, name: &Ident) -> bool {
    let mut after_let = false;
    tokens.into_iter().any(|token| {
        let is_bound = after_let && matches!(&token, TokenTree::Ident(word) if word == name);
        after_let = matches!(&token, TokenTree::Ident(word) if word == "let");
        is_bound || matches!(token, TokenTree::Group(group) if binds(group.stream(), name))
    })
}

/// The name, if the pattern is nothing else.
fn plain(pat: &Pat) -> Option<&Ident> {
    match pat {
        Pat::Ident(pat) => {
            let is_plain = pat.by_ref.is_none() && pat.mutability.is_none() && pat.subpat.is_none();
            is_plain.then_some(&pat.ident)
        }
        _ => None,
    }
}

/// Whether the type shows that a value is `Sync`, or is a reference, of which nobody is the only
/// borrower.
fn is_sync(ty: &Type) -> bool {
    fn all(tokens: TokenStream) -> bool {
        tokens.into_iter().all(|token| match token {
            TokenTree::Ident(word) => SYNC.iter().any(|it| word == it),
            TokenTree::Punct(_) | TokenTree::Literal(_) => true,
            TokenTree::Group(group) => all(group.stream()),
        })
    }
    let tokens = flat(ty.to_token_stream());
    let first = tokens.clone().into_iter().next();
    matches!(first, Some(TokenTree::Punct(punct)) if punct.as_char() == '&') || all(tokens)
}

/// Whether the tokens name a variable; a text may do so between braces.
fn names(tokens: &TokenStream, name: &str) -> bool {
    let in_text = format!("{{{}", name.trim_start_matches("r#"));
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == name,
        TokenTree::Group(group) => names(&group.stream(), name),
        TokenTree::Literal(text) => text.to_string().contains(&in_text),
        TokenTree::Punct(_) => false,
    })
}
