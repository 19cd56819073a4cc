//! Writes the implementation.

use proc_macro2::{Delimiter, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, LitInt, Type, parse_quote_spanned};

use super::case::Case;
use super::variant_attributes::Field;
use crate::groups::{camel, is_punct, is_word, last_name, with, words};
use crate::hygiene::{at, mixed};

/// The implementation of the trait. Without variants it reports no facts.
pub(super) fn implementation(
    library: &TokenStream,
    input: &DeriveInput,
    cases: &[Case],
) -> TokenStream {
    let this = this();
    let k = library;
    let name = &input.ident;
    let mut generics = input.generics.clone();
    for case in cases {
        let Some(inner) = case.says.inner else {
            continue;
        };
        // If the type of an error inside names a parameter, the type must be a fault, or an `Option` of a fault.
        let ty = &case.fields[inner].ty;
        let named = words(ty);
        let mut parameters = generics.type_params();
        if parameters.any(|it| named.contains(&it.ident.to_string())) {
            let is_option = matches!(ty, Type::Path(path) if last_name(&path.path) == "Option");
            let asked = match is_option {
                true => mixed!(#k::__private::Forward),
                false => mixed!(#k::Fault),
            };
            let asked = parse_quote_spanned!(Span::mixed_site()=> #ty: #asked);
            generics.make_where_clause().predicates.push(asked);
        }
    }
    let (generics, arguments, bounds) = generics.split_for_impl();
    let inner = method(cases, &|case| inner_arm(k, case), None).map(|body| {
        mixed! {
            fn inner(&#this) -> #k::__private::Option<&dyn #k::Fault> { #body }
        }
    });
    let has_inner = inner.is_some();
    let facts = [
        ("status", mixed!(::core::primitive::u16)),
        ("grpc_code", mixed!(#k::GrpcCode)),
        ("retry_after", mixed!(#k::__private::Duration)),
        ("kind", mixed!(#k::FaultKind)),
        ("delivery", mixed!(#k::Delivery)),
    ];
    let facts = facts.into_iter().filter_map(|(fact, ty)| {
        let name = Ident::new(fact, Span::mixed_site());
        let rest = has_inner.then(|| {
            mixed! {
                #k::Fault::inner(#this).and_then(|__inner| #k::Fault::#name(__inner))
            }
        });
        let arm = |case: &Case| {
            let (key, value) = case.says.of_fact(fact)?;
            Some(match value.is_empty() {
                true => flag_arm(case, key, &ty),
                false => value_arm(k, case, key, value, &ty),
            })
        };
        let body = method(cases, &arm, rest)?;
        Some(mixed!(fn #name(&#this) -> #k::__private::Option<#ty> { #body }))
    });
    mixed! {
        #[automatically_derived]
        impl #generics #k::Fault for #name #arguments #bounds {
            #inner
            #(#facts)*

            fn message(&#this) -> #k::__private::Option<&dyn ::core::fmt::Display> {
                use #k::__private::via::*;
                (&#k::__private::Facts(#this)).__backoff_text()
            }

            fn late() -> #k::__private::Option<fn(#k::TimedOut) -> Self> {
                use #k::__private::via::*;
                (&#k::__private::Named::<Self>::of()).__backoff_late()
            }
        }
    }
}

/// The identifier `self` of expressions in attributes.
fn this() -> Ident {
    Ident::new("self", Span::call_site())
}

/// The answer of one variant, `None` if its attributes give none.
type Arm<'a> = dyn Fn(&Case) -> Option<TokenStream> + 'a;

/// A `match` over the variants with an answer, `None` if there is none.
fn method(cases: &[Case], arm: &Arm<'_>, rest: Option<TokenStream>) -> Option<TokenStream> {
    let this = this();
    let arms: Vec<TokenStream> = cases.iter().filter_map(arm).collect();
    let none = rest.unwrap_or_else(|| mixed!(::core::option::Option::None));
    let remaining = (arms.len() < cases.len()).then(|| mixed!(_ => #none,));
    (!arms.is_empty()).then(|| mixed!(match #this { #(#arms)* #remaining }))
}

fn inner_arm(k: &TokenStream, case: &Case) -> Option<TokenStream> {
    let field = &case.fields[case.says.inner?];
    let (path, member, bound) = (&case.path, &field.member, bound(field));
    // A message about a wrong type points at the type.
    let type_at = at(field.ty.span());
    let mut asked = bound.clone();
    asked.set_span(type_at);
    Some(quote_spanned! {type_at=>
        #path { #member: #bound, .. } => #k::__private::Forward::forward(#asked),
    })
}

fn value_arm(
    k: &TokenStream,
    case: &Case,
    key: &Ident,
    value: &TokenStream,
    ty: &TokenStream,
) -> TokenStream {
    let key_at = at(key.span());
    let last = value.clone().into_iter().last();
    let value_at = last.map_or(key_at, |token| at(token.span()));
    let value = match literal_status(value) {
        Some(literal) => literal.into_token_stream(),
        None => with_fields(of_self(value, &case.fields), &case.fields),
    };
    let (path, named) = (&case.path, words(&value));
    let value = quote_spanned!(value_at=> &#value);
    let fields = case
        .fields
        .iter()
        .map(|field| (&field.member, bound(field)));
    let fields = fields.filter(|(_, bound)| named.contains(&bound.to_string()));
    let fields = fields.map(|(member, bound)| quote_spanned!(key_at=> #member: #bound,));
    quote_spanned! {key_at=>
        #path { #(#fields)* .. } => #k::__private::Fact::<#ty>::fact(#value),
    }
}

/// A status as a literal of its type: several types of integers can be one.
fn literal_status(value: &TokenStream) -> Option<Literal> {
    let number: LitInt = syn::parse2(value.clone()).ok()?;
    let mut literal = Literal::u16_suffixed(number.base10_parse().ok()?);
    literal.set_span(number.span());
    Some(literal)
}

fn flag_arm(case: &Case, flag: &Ident, ty: &TokenStream) -> TokenStream {
    let flag_at = at(flag.span());
    let variant = Ident::new(&camel(&flag.to_string()), flag_at);
    let path = &case.path;
    quote_spanned! {flag_at=>
        #path { .. } => ::core::option::Option::Some(#ty::#variant),
    }
}

/// The name by which a field is bound.
fn bound(field: &Field) -> Ident {
    let member = field.member.to_string();
    let member = member.trim_start_matches("r#");
    format_ident!("__field_{member}", span = Span::mixed_site())
}

fn named<'a>(fields: &'a [Field], member: &str) -> Option<&'a Field> {
    fields
        .iter()
        .find(|field| field.member.to_string() == member)
}

/// The value in parentheses, as an expression of `self`: a field may be written without it.
fn of_self(value: &TokenStream, fields: &[Field]) -> TokenStream {
    let is_field = named(fields, &value.to_string()).is_some();
    match is_field && syn::parse2::<Ident>(value.clone()).is_ok() {
        true => quote!((self.#value)),
        false => quote!((#value)),
    }
}

/// The expression with each `self.field` replaced by the bound field. Method calls on `self` stay
/// unchanged.
fn with_fields(value: TokenStream, fields: &[Field]) -> TokenStream {
    let tokens: Vec<TokenTree> = value.into_iter().collect();
    let mut tokens = tokens.as_slice();
    let mut written = TokenStream::new();
    while let [first, rest @ ..] = tokens {
        tokens = rest;
        if let [dot, member, rest @ ..] = rest
            && is_word(first, "self")
            && is_punct(dot, '.')
            && !matches!(rest.first(), Some(TokenTree::Group(group))
                if group.delimiter() == Delimiter::Parenthesis)
            && let Some(field) = named(fields, &member.to_string())
        {
            let bound = bound(field);
            written.extend(quote_spanned!(at(member.span())=> (*#bound)));
            tokens = rest;
        } else if let TokenTree::Group(group) = first {
            written.extend([with(group, with_fields(group.stream(), fields))]);
        } else {
            written.extend([first.clone()]);
        }
    }
    written
}
