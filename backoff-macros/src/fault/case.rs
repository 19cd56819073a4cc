//! The variants of an error with their attributes, which are read and then written as arms.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields};

use super::says::{Field, Says};
use crate::errors::Errors;

/// A variant, or the struct itself.
pub(super) struct Case {
    /// `Self::Api`, or `Self`.
    pub(super) path: TokenStream,
    pub(super) fields: Vec<Field>,
    pub(super) says: Says,
}

/// Reads all variants; a union has none.
pub(super) fn cases(input: &DeriveInput, of_type: Says, errors: &mut Errors) -> Vec<Case> {
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
                let mut says = Says::of_variant(variant, errors);
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
                "`Fault` cannot be derived for a union: use an enum or a struct",
            );
            Vec::new()
        }
    }
}
