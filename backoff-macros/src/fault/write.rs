//! Writes the implementation.

use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{DeriveInput, GenericParam, LitInt, Type};

use super::case::Case;
use super::says::Field;
use crate::groups::last_name;
use crate::seen::words;

/// The implementation of the trait. Without variants it reports no facts.
pub(super) fn implementation(
    library: &TokenStream,
    input: &DeriveInput,
    cases: &[Case],
) -> TokenStream {
    let here = Span::mixed_site();
    let this = this();
    let k = library;
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let asked = asked_of_parameters(k, input, cases);
    let bounds = match (bounds, asked.is_empty()) {
        (bounds, true) => bounds.to_token_stream(),
        (Some(bounds), false) => {
            let given = bounds.predicates.iter();
            quote!(where #(#given,)* #(#asked),*)
        }
        (None, false) => quote!(where #(#asked),*),
    };
    let inner = method(cases, &inner_arm(k), None).map(|body| {
        quote_spanned! {here=>
            fn inner(&#this) -> #k::__private::Option<&dyn #k::Fault> { #body }
        }
    });
    let has_inner = inner.is_some();
    let facts = [
        ("status", quote_spanned!(here=> ::core::primitive::u16)),
        ("grpc_code", quote_spanned!(here=> #k::GrpcCode)),
        (
            "retry_after",
            quote_spanned!(here=> #k::__private::Duration),
        ),
        ("kind", quote_spanned!(here=> #k::FaultKind)),
        ("delivery", quote_spanned!(here=> #k::Delivery)),
    ];
    let facts = facts.into_iter().filter_map(|(fact, ty)| {
        let name = Ident::new(fact, here);
        let rest = has_inner.then(|| {
            quote_spanned! {here=>
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
        Some(quote_spanned!(here=> fn #name(&#this) -> #k::__private::Option<#ty> { #body }))
    });
    quote_spanned! {here=>
        #[automatically_derived]
        impl #generics #k::Fault for #name #arguments #bounds {
            #inner
            #(#facts)*

            fn message(&#this) -> #k::__private::Option<&dyn ::core::fmt::Display> {
                use #k::__private::via::*;
                (&#k::__private::Facts(#this)).__backoff_text()
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
    let here = Span::mixed_site();
    let this = this();
    let arms: Vec<TokenStream> = cases.iter().filter_map(arm).collect();
    let none = rest.unwrap_or_else(|| quote_spanned!(here=> ::core::option::Option::None));
    let remaining = (arms.len() < cases.len()).then(|| quote_spanned!(here=> _ => #none,));
    (!arms.is_empty()).then(|| quote_spanned!(here=> match #this { #(#arms)* #remaining }))
}

fn inner_arm(k: &TokenStream) -> impl Fn(&Case) -> Option<TokenStream> + '_ {
    move |case| {
        let field = &case.fields[case.says.inner?];
        let (path, member, bound) = (&case.path, &field.member, bound(field));
        // A message about a wrong type points at the type.
        let type_at = Span::mixed_site().located_at(syn::spanned::Spanned::span(&field.ty));
        let mut asked = bound.clone();
        asked.set_span(type_at);
        Some(quote_spanned! {type_at=>
            #path { #member: #bound, .. } => #k::__private::Forward::forward(#asked),
        })
    }
}

fn value_arm(
    k: &TokenStream,
    case: &Case,
    key: &Ident,
    value: &TokenStream,
    ty: &TokenStream,
) -> TokenStream {
    let key_at = Span::mixed_site().located_at(key.span());
    let mut used = Vec::new();
    let value_at = value.clone().into_iter().last().map(|token| token.span());
    let value_at = Span::mixed_site().located_at(value_at.unwrap_or(key_at));
    let value = match literal_status(value) {
        Some(literal) => literal.into_token_stream(),
        None => with_fields(of_self(value, &case.fields), &case.fields, &mut used),
    };
    let value = quote_spanned!(value_at=> &#value);
    used.sort_unstable();
    used.dedup();
    let path = &case.path;
    let fields = used.iter().map(|at| {
        let (member, bound) = (&case.fields[*at].member, bound(&case.fields[*at]));
        quote_spanned!(key_at=> #member: #bound,)
    });
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
    let flag_at = Span::mixed_site().located_at(flag.span());
    // `maybe_sent` is `MaybeSent`.
    let variant: String = flag
        .to_string()
        .split('_')
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect();
    let variant = Ident::new(&variant, flag_at);
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

fn position(fields: &[Field], member: &str) -> Option<usize> {
    fields
        .iter()
        .position(|field| field.member.to_string() == member)
}

/// The value in parentheses, as an expression of `self`: a field may be written without it.
fn of_self(value: &TokenStream, fields: &[Field]) -> TokenStream {
    let is_field = position(fields, &value.to_string()).is_some();
    match is_field && syn::parse2::<Ident>(value.clone()).is_ok() {
        true => quote!((self.#value)),
        false => quote!((#value)),
    }
}

/// The expression with each `self.field` replaced by the bound field. Method calls on `self` stay
/// unchanged.
fn with_fields(value: TokenStream, fields: &[Field], used: &mut Vec<usize>) -> TokenStream {
    let tokens: Vec<TokenTree> = value.into_iter().collect();
    let mut written = TokenStream::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_self = matches!(&tokens[at], TokenTree::Ident(word) if word == "self")
            && matches!(tokens.get(at + 1), Some(TokenTree::Punct(dot)) if dot.as_char() == '.');
        let is_call = matches!(tokens.get(at + 3), Some(TokenTree::Group(group))
            if group.delimiter() == proc_macro2::Delimiter::Parenthesis);
        if is_self
            && !is_call
            && let Some(member) = tokens.get(at + 2)
            && let Some(field) = position(fields, &member.to_string())
        {
            used.push(field);
            let bound = bound(&fields[field]);
            let here = Span::mixed_site().located_at(member.span());
            written.extend(quote_spanned!(here=> (*#bound)));
            at += 3;
            continue;
        }
        match &tokens[at] {
            TokenTree::Group(group) => {
                let inside = with_fields(group.stream(), fields, used);
                let mut group = Group::new(group.delimiter(), inside);
                group.set_span(tokens[at].span());
                written.extend([TokenTree::Group(group)]);
            }
            other => written.extend([other.clone()]),
        }
        at += 1;
    }
    written
}

/// If the type of an error inside names a parameter, the type must be a fault, or an `Option` of a
/// fault.
fn asked_of_parameters(k: &TokenStream, input: &DeriveInput, cases: &[Case]) -> Vec<TokenStream> {
    let parameters: Vec<&Ident> = input
        .generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(&parameter.ident),
            _ => None,
        })
        .collect();
    let inner = cases
        .iter()
        .filter_map(|case| Some(&case.fields[case.says.inner?].ty));
    inner
        .filter(|ty| {
            let named = words(ty);
            parameters.iter().any(|it| named.contains(&it.to_string()))
        })
        .map(|ty| {
            let here = Span::mixed_site();
            if is_option(ty) {
                quote_spanned!(here=> #ty: #k::__private::Forward)
            } else {
                quote_spanned!(here=> #ty: #k::Fault)
            }
        })
        .collect()
}

fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if last_name(&path.path) == "Option")
}
