//! The names that a pattern binds.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::Parser;
use syn::{Attribute, FnArg, ItemFn, Pat, Signature};

use crate::groups::{flat, with};
use crate::shape::async_trait::moved_mut;

/// A name that an argument binds.
pub(crate) struct Binding {
    pub(crate) name: Ident,
    /// The `mut` of a name that owns its value.
    pub(crate) mutable: Option<Ident>,
    /// Whether the type of the whole argument begins with `&`.
    pub(crate) is_reference: bool,
    /// Whether that type begins with `&mut` or `&'a mut`.
    pub(crate) is_mut_reference: bool,
    /// The `#[cfg(..)]` of the argument: if its condition is false, the name does not exist.
    pub(crate) cfgs: Vec<Attribute>,
}

/// All names that the arguments bind, except `self`. `#[async_trait]` has moved their `mut` into the
/// body.
pub(crate) fn of(function: &ItemFn) -> Vec<Binding> {
    let mut bound = of_signature(&function.sig);
    for (name, mutable) in moved_mut(function) {
        if let Some(binding) = bound.iter_mut().find(|binding| binding.name == name) {
            binding.mutable = Some(mutable);
        }
    }
    bound
}

fn of_signature(sig: &Signature) -> Vec<Binding> {
    let mut found = Vec::new();
    for input in &sig.inputs {
        let FnArg::Typed(typed) = input else { continue };
        let mut ty = flat(typed.ty.to_token_stream()).into_iter();
        let first = ty.next();
        let is_mut = ty
            .take(3)
            .any(|token| matches!(token, TokenTree::Ident(it) if it == "mut"));
        let is_plain = matches!(&*typed.pat, Pat::Ident(_));
        let is_reference =
            is_plain && matches!(first, Some(TokenTree::Punct(punct)) if punct.as_char() == '&');
        let before = found.len();
        among(flat(typed.pat.to_token_stream()), is_reference, &mut found);
        let cfgs = typed
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("cfg"));
        let cfgs: Vec<Attribute> = cfgs.cloned().collect();
        for binding in &mut found[before..] {
            binding.cfgs.clone_from(&cfgs);
            binding.is_mut_reference = is_reference && is_mut;
        }
    }
    found
}

/// A name is an identifier in small letters that is neither part of a path nor the name of a field.
fn among(pattern: TokenStream, is_reference: bool, found: &mut Vec<Binding>) {
    let mut before = String::new();
    let mut mutable = None;
    let mut tokens = pattern.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let shown = match &token {
            TokenTree::Group(group) => {
                among(group.stream(), is_reference, found);
                String::new()
            }
            other => other.to_string(),
        };
        if let TokenTree::Ident(name) = token {
            let is_path = match tokens.peek() {
                Some(TokenTree::Punct(next)) => matches!(next.as_char(), ':' | '!'),
                Some(TokenTree::Group(group)) => group.delimiter() != Delimiter::Bracket,
                _ => false,
            };
            match shown.as_str() {
                "mut" if before != "&" => mutable = Some(name),
                "mut" | "ref" | "_" => {}
                _ if is_path
                    || before == "::"
                    || !shown.starts_with(|c: char| {
                        c == '_' || c.is_lowercase() || shown.starts_with("r#")
                    }) => {}
                _ => {
                    let mutable = mutable.take().filter(|_| before == "mut");
                    found.push(Binding {
                        name,
                        mutable,
                        is_reference,
                        is_mut_reference: false,
                        cfgs: Vec::new(),
                    });
                }
            }
        }
        before = if before == ":" && shown == ":" {
            "::".to_owned()
        } else {
            shown
        };
    }
}

/// The arguments without the `mut` before these names.
pub(crate) fn without_mut(sig: &mut Signature, names: &[Ident]) {
    for input in &mut sig.inputs {
        let FnArg::Typed(typed) = input else { continue };
        let pattern = stripped(typed.pat.to_token_stream(), names);
        if let Ok(pattern) = Pat::parse_single.parse2(pattern) {
            *typed.pat = pattern;
        }
    }
}

/// The tokens without each `mut` before one of these names.
pub(crate) fn stripped(tokens: TokenStream, names: &[Ident]) -> TokenStream {
    let mut kept = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "mut" => {
                let is_named =
                    matches!(tokens.peek(), Some(TokenTree::Ident(name)) if names.contains(name));
                if !is_named {
                    kept.extend([TokenTree::Ident(word)]);
                }
            }
            TokenTree::Group(group) => {
                kept.extend([with(&group, stripped(group.stream(), names))]);
            }
            other => kept.extend([other]),
        }
    }
    kept
}
