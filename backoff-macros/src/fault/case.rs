//! The variants of an error with their attributes, which are read and then written as arms.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields};

use super::variant_attributes::{Field, Says};
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
    match &input.data {
        Data::Struct(data) => vec![Case::of(quote!(Self), &data.fields, of_type, None, errors)],
        Data::Enum(data) => {
            let mut cases = Vec::new();
            for variant in &data.variants {
                let name = &variant.ident;
                let says = Says::of_variant(variant, errors);
                let path = quote!(Self::#name);
                cases.push(Case::of(
                    path,
                    &variant.fields,
                    says,
                    Some(&of_type),
                    errors,
                ));
            }
            cases
        }
        Data::Union(data) => {
            let message = "`Fault` cannot be derived for a union: use an enum or a struct";
            errors.at(data.union_token, message);
            Vec::new()
        }
    }
}

impl Case {
    /// `default` is for a case without attributes of its own.
    fn of(
        path: TokenStream,
        fields: &Fields,
        mut says: Says,
        default: Option<&Says>,
        errors: &mut Errors,
    ) -> Self {
        let fields = fields.iter().enumerate();
        let fields: Vec<Field> = fields.map(|(at, it)| Field::new(at, it, errors)).collect();
        says.add_fields(&fields, errors);
        let default = default.filter(|_| says.is_empty());
        let mut says = default.cloned().unwrap_or(says);
        says.settle(&fields, default.is_none(), errors);
        Case { path, fields, says }
    }
}
