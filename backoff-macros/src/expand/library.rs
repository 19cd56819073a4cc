//! The name of the library in the written code, and its spans.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;

use crate::args::Args;
use crate::args::given::Given;

/// Imports the library as `__backoff`: that keeps the paths short, and a wrong path of the user is one error.
pub(super) fn import(default: TokenStream, args: &Args) -> TokenStream {
    let (given_at, path) = match &args.krate {
        Some(Given { value, .. }) => (at(value.span()), value.to_token_stream()),
        None => (Span::mixed_site(), default),
    };
    quote_spanned!(given_at=> use #path::__private as __backoff;)
}

/// Code in which the macro's own names stay the macro's, also beside equal names of the user.
macro_rules! mixed {
    ($($code:tt)*) => {
        quote::quote_spanned!(proc_macro2::Span::mixed_site()=> $($code)*)
    };
}
pub(crate) use mixed;

/// A span where the macro's own names stay the macro's, and errors point at the user's code.
pub(crate) fn at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}
