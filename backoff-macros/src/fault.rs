//! `#[derive(Fault)]`: what an error says of itself, read from attributes.

mod says;
mod write;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Data, DeriveInput, Fields};

use crate::errors::Errors;
use says::{Field, Says};

/// A variant, or the struct itself.
struct Case {
    /// `Self::Api`, or `Self`.
    path: TokenStream,
    fields: Vec<Field>,
    says: Says,
}

/// Parse, check, expand. Whatever is wrong, an empty implementation is written, so that the uses of
/// the error do not fail as well.
pub(crate) fn derive(default_crate: &str, item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let (of_type, krate) = Says::of_type(&input.attrs, &mut errors);
    let cases = cases(&input, of_type, &mut errors);
    let name = Ident::new(default_crate, Span::mixed_site());
    let library = krate.map_or_else(
        || quote_spanned!(name.span()=> ::#name),
        ToTokens::into_token_stream,
    );
    match errors.into_compile_errors() {
        None => write::implementation(&library, &input, &cases),
        Some(errors) => {
            let nothing = write::implementation(&library, &input, &[]);
            quote!(#nothing #errors)
        }
    }
}

fn cases(input: &DeriveInput, of_type: Says, errors: &mut Errors) -> Vec<Case> {
    let fields_of = |fields: &Fields, errors: &mut Errors| -> Vec<Field> {
        let fields = fields.iter().enumerate();
        fields
            .map(|(at, field)| Field::new(at, field, errors))
            .collect()
    };
    match &input.data {
        Data::Struct(data) => {
            let fields = fields_of(&data.fields, errors);
            let mut says = of_type;
            says.add_fields(&fields, errors);
            says.settle(&fields, true, errors);
            vec![Case {
                path: quote!(Self),
                fields,
                says,
            }]
        }
        Data::Enum(data) => {
            let variants = data.variants.iter();
            let case = |variant: &syn::Variant| {
                let fields = fields_of(&variant.fields, errors);
                let mut says = Says::of_variant(&variant.attrs, errors);
                says.add_fields(&fields, errors);
                let is_own = !says.is_empty();
                if !is_own {
                    says = of_type.clone();
                }
                says.settle(&fields, is_own, errors);
                let name = &variant.ident;
                Case {
                    path: quote!(Self::#name),
                    fields,
                    says,
                }
            };
            variants.map(case).collect()
        }
        Data::Union(data) => {
            errors.at(
                data.union_token,
                "a union cannot say what it is: derive `Fault` for an enum or a struct",
            );
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests;
