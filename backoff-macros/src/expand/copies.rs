//! The copies for `clone(..)`: made before an attempt, and moved into the attempt.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::{Attribute, Token};

use crate::args::Args;
use crate::args::key_value::Given;
use crate::bindings::Binding;
use crate::hygiene::{at, mixed};

/// All copies of one loop.
pub(super) struct Copies(Vec<Copied>);

struct Copied {
    name: Ident,
    /// The name of the copy until it is inside of the attempt.
    copy: Ident,
    mutable: Option<Token![mut]>,
    cfgs: Vec<Attribute>,
}

impl Copies {
    /// The copies, each with the `mut` and the `#[cfg]` of its argument. Variables around a block have neither.
    pub(super) fn of(bound: &[Binding], args: &Args) -> Self {
        let mut copies = Vec::new();
        let Some(Given { value: given, .. }) = &args.clone else {
            return Self(copies);
        };
        for name in &given.names {
            let arguments: Vec<&Binding> = bound.iter().filter(|it| it.name == *name).collect();
            let mutable = arguments.iter().find_map(|it| it.mutable);
            let given = given.muts.iter().find(|(_, it)| it == name);
            let plain = name.to_string();
            let plain = plain.trim_start_matches("r#");
            copies.push(Copied {
                name: name.clone(),
                copy: Ident::new(&format!("__copy_of_{plain}"), Span::mixed_site()),
                mutable: mutable.or(given.map(|(word, _)| *word)),
                // One name with several conditions is several arguments, of which only one exists.
                cfgs: match arguments.as_slice() {
                    [only] => only.cfgs.clone(),
                    _ => Vec::new(),
                },
            });
        }
        Self(copies)
    }

    /// The statements that make the copies.
    pub(super) fn made(&self) -> TokenStream {
        let mut made = TokenStream::new();
        for it in &self.0 {
            let (name, copy, cfgs) = (&it.name, &it.copy, &it.cfgs);
            made.extend(quote_spanned! {at(name.span())=>
                #(#cfgs)* let #copy = ::core::clone::Clone::clone(&#name);
            });
        }
        made
    }

    /// A statement that never runs and consumes the arguments, as the plain function does. Without it,
    /// `clippy::needless_pass_by_value` advises to take them by reference.
    pub(super) fn consumed(&self) -> Option<TokenStream> {
        let mut consumed = TokenStream::new();
        for Copied { name, cfgs, .. } in &self.0 {
            consumed.extend(mixed!(#(#cfgs)* ::core::mem::drop(#name);));
        }
        (!consumed.is_empty()).then(|| {
            mixed! {
                if let ::core::option::Option::Some(__never) =
                    ::core::option::Option::<::core::convert::Infallible>::None
                {
                    #consumed
                    match __never {}
                }
            }
        })
    }

    /// The statements that move the copies into an attempt, under the names in the body. The pattern
    /// contains more than the name, so that its span is the macro's and no lint reports a shadowed name.
    pub(super) fn taken(&self) -> TokenStream {
        let mut taken = TokenStream::new();
        for it in &self.0 {
            let (name, copy, mutable, cfgs) = (&it.name, &it.copy, &it.mutable, &it.cfgs);
            taken.extend(mixed!(#(#cfgs)* let #mutable #name @ (_) = #copy;));
        }
        taken
    }
}
