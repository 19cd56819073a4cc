//! `#[derive(Fault)]`: reads from attributes which facts an error reports about itself.

mod case;
mod variant_attributes;
mod write;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::DeriveInput;

use crate::errors::Errors;
use crate::rewrite::path_of;
use case::cases;
use variant_attributes::Says;

/// Parses, checks and expands. If something is wrong, an empty implementation is written, so that the
/// uses of the error do not fail too.
pub(crate) fn derive(default_crate: &str, item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let (of_type, krate) = Says::of_type(&input, &mut errors);
    let cases = cases(&input, of_type, &mut errors);
    let library = krate.map_or_else(|| path_of(default_crate), ToTokens::into_token_stream);
    match errors.into_compile_errors() {
        None => write::implementation(&library, &input, &cases),
        Some(errors) => {
            let nothing = write::implementation(&library, &input, &[]);
            quote!(#nothing #errors)
        }
    }
}

#[cfg(test)]
mod tests;
