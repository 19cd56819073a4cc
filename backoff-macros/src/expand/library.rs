//! The name of the library in the written code, and its spans.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;

use crate::args::Args;
use crate::args::key_value::Given;
use crate::hygiene::at;

/// Imports the library as `__backoff`: that keeps the paths short, and a wrong path of the user is one error.
pub(super) fn import(default: TokenStream, args: &Args) -> TokenStream {
    let (given_at, path) = match &args.krate {
        Some(Given { value, .. }) => (at(value.span()), value.to_token_stream()),
        None => (Span::mixed_site(), default),
    };
    quote_spanned!(given_at=> use #path::__private as __backoff;)
}
