//! Reads the attributes of one variant.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Data, DeriveInput, Expr, Fields, Ident, Lit, Meta, Path, Token, Variant};

use crate::args::split::pieces;
use crate::check::codes::code;
use crate::errors::{Errors, did_you_mean, listed, show, show_type};
use crate::groups::is_punct;

/// A key, how it is written, and the method of the trait that returns its value.
struct Key {
    name: &'static str,
    usage: &'static str,
    fact: &'static str,
}

const fn key(name: &'static str, usage: &'static str, fact: &'static str) -> Key {
    Key { name, usage, fact }
}

const KEYS: [Key; 11] = [
    key("status", "status = 503", "status"),
    key("grpc_code", "grpc_code = GrpcCode::Aborted", "grpc_code"),
    key("retry_after", "retry_after = wait", "retry_after"),
    key("transient", "transient", "kind"),
    key("throttled", "throttled", "kind"),
    key("conflict", "conflict", "kind"),
    key("pending", "pending", "kind"),
    key("permanent", "permanent", "kind"),
    key("not_sent", "not_sent", "delivery"),
    key("maybe_sent", "maybe_sent", "delivery"),
    key("forward", "forward", "forward"),
];

/// Names that people write for a key: those of `thiserror`, of clients and of other libraries.
const OTHER_NAMES: [(&str, &[&str]); 3] = [
    ("forward", &["transparent", "source", "from", "inner"]),
    (
        "transient",
        &["retryable", "retriable", "retry", "temporary"],
    ),
    ("status", &["status_code", "code", "http_status"]),
];

impl Key {
    fn named(word: &Ident) -> Option<&'static Key> {
        KEYS.iter().find(|key| word == key.name)
    }

    /// The key that an unknown word means.
    fn meant(word: &str) -> Option<&'static str> {
        let other = OTHER_NAMES.iter().find(|(_, names)| names.contains(&word));
        let other = other.map(|(name, _)| *name);
        other.or_else(|| did_you_mean(word, KEYS.iter().map(|key| key.name)))
    }

    fn takes_value(&self) -> bool {
        self.usage.contains('=')
    }
}

/// Whether a field can have this key, which then needs no value.
fn is_mark(key: &str) -> bool {
    key == "forward"
        || KEYS
            .iter()
            .any(|known| known.name == key && known.takes_value())
}

/// The facts of one variant.
#[derive(Clone, Default)]
pub(super) struct Says {
    /// Each key with its value, which is empty for a flag.
    given: Vec<(Ident, TokenStream)>,
    /// The field whose error has the other facts.
    pub(super) inner: Option<usize>,
}

/// A field with its attributes.
pub(super) struct Field {
    /// The name or the number of the field.
    pub(super) member: TokenStream,
    pub(super) ty: syn::Type,
    /// `#[fault(status)]` and similar attributes.
    marks: Vec<Ident>,
    /// thiserror's `#[from]` and `#[source]`, or the name `source`.
    is_source: bool,
}

impl Field {
    pub(super) fn new(at: usize, field: &syn::Field, errors: &mut Errors) -> Self {
        let member = match &field.ident {
            Some(name) => name.to_token_stream(),
            None => syn::Index::from(at).to_token_stream(),
        };
        let mut marks = Vec::new();
        for argument in arguments(&field.attrs, errors) {
            let mark: syn::Result<Ident> = Parser::parse2(Ident::parse_any, argument.clone());
            match mark {
                Ok(mark) if is_mark(&mark.to_string()) => marks.push(mark),
                mark => {
                    let word = mark.map_or_else(|_| String::new(), |mark| mark.to_string());
                    let meant = Key::meant(&word).filter(|meant| is_mark(meant));
                    errors.at(
                        &argument,
                        match meant {
                            Some(meant) => format!("a field has no `{word}`: write `#[fault({meant})]`"),
                            None => "a field can be marked `#[fault(status)]`, `#[fault(grpc_code)]`, \
                                     `#[fault(retry_after)]` or `#[fault(forward)]`: write other keys at \
                                     the variant or the struct"
                                .to_owned(),
                        },
                    );
                }
            }
        }
        let is_source = field.ident.as_ref().is_some_and(|name| name == "source")
            || field
                .attrs
                .iter()
                .any(|attr| attr.path().is_ident("from") || attr.path().is_ident("source"));
        Field {
            member,
            ty: field.ty.clone(),
            marks,
            is_source,
        }
    }
}

impl Says {
    /// The attributes of the type, and the path of the library if they give it.
    pub(super) fn of_type(input: &DeriveInput, errors: &mut Errors) -> (Self, Option<Path>) {
        let mut krate = None;
        let mut rest = Vec::new();
        for argument in arguments(&input.attrs, errors) {
            match krate_of.parse2(argument.clone()) {
                Ok(path) => krate = Some(path),
                Err(_) => rest.push(argument),
            }
        }
        let fields = match &input.data {
            Data::Struct(made) => &made.fields,
            _ => &Fields::Unit,
        };
        (Self::of(rest, &input.ident, fields, errors), krate)
    }

    pub(super) fn of_variant(variant: &Variant, errors: &mut Errors) -> Self {
        let arguments = arguments(&variant.attrs, errors);
        Self::of(arguments, &variant.ident, &variant.fields, errors)
    }

    fn of(arguments: Vec<TokenStream>, name: &Ident, fields: &Fields, errors: &mut Errors) -> Self {
        let mut says = Self::default();
        for argument in arguments {
            let read = (|input: ParseStream<'_>| key_and_value(input, name, fields))
                .parse2(argument)
                .and_then(|(key, value)| says.set(key, value));
            errors.take(read);
        }
        says
    }

    /// The key for this fact, and its value.
    pub(super) fn of_fact(&self, fact: &str) -> Option<&(Ident, TokenStream)> {
        let mut given = self.given.iter();
        given.find(|(key, _)| Key::named(key).is_some_and(|key| key.fact == fact))
    }

    fn set(&mut self, key: Ident, value: TokenStream) -> syn::Result<()> {
        let fact = Key::named(&key).map_or("", |key| key.fact);
        if let Some((earlier, _)) = self.of_fact(fact) {
            let message = if *earlier == key {
                format!("`{key}` is given twice: keep one of them")
            } else {
                format!("`{earlier}` and `{key}` cannot both be true: keep one of them")
            };
            return Err(syn::Error::new(key.span(), message));
        }
        self.given.push((key, value));
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The attributes of the fields.
    pub(super) fn add_fields(&mut self, fields: &[Field], errors: &mut Errors) {
        for (at, field) in fields.iter().enumerate() {
            for mark in &field.marks {
                if mark == "forward" {
                    self.inner = Some(at);
                }
                let member = &field.member;
                errors.take(self.set(mark.clone(), quote::quote!(self.#member)));
            }
        }
    }

    /// Finds the field that `forward` means. A default for other variants applies only to variants that
    /// have such a field.
    pub(super) fn settle(&mut self, fields: &[Field], is_own: bool, errors: &mut Errors) {
        let forward = self.of_fact("forward").cloned();
        let Some((forward, _)) = forward.filter(|_| self.inner.is_none()) else {
            return;
        };
        let source = fields.iter().position(|field| field.is_source);
        self.inner = source.or_else(|| (fields.len() == 1).then_some(0));
        if self.inner.is_none() && is_own {
            errors.at(
                forward,
                if fields.is_empty() {
                    "`forward` needs a field with an error: remove `forward`, or add a field"
                } else {
                    "`forward` needs one field: write `#[fault(forward)]` at the field with the \
                     error"
                },
            );
        }
    }
}

/// The arguments of all `#[fault(..)]`.
fn arguments(attrs: &[Attribute], errors: &mut Errors) -> Vec<TokenStream> {
    let mut found = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("fault")) {
        match &attr.meta {
            Meta::List(list) if !list.tokens.is_empty() => {
                for (argument, comma) in pieces(list.tokens.clone()) {
                    if argument.is_empty() {
                        errors.at(comma, "this comma has no argument before it: remove it");
                    } else {
                        found.push(argument);
                    }
                }
            }
            other => errors.at(
                other,
                "`#[fault]` needs a fact about the error: write it like `#[fault(status = 503)]`",
            ),
        }
    }
    found
}

fn krate_of(input: ParseStream<'_>) -> syn::Result<Path> {
    input.parse::<Token![crate]>()?;
    input.parse::<Token![=]>()?;
    input.call(Path::parse_mod_style)
}

/// Where a variant or struct with fields has the key, if the fact is in a field.
fn marked(key: &Ident, name: &Ident, fields: &Fields) -> Option<String> {
    let first = fields.iter().next()?;
    let ty = show_type(&first.ty);
    Some(match &first.ident {
        _ if fields.len() > 1 => format!("`#[fault({key})]` before the field that has it"),
        Some(field) => format!("`{name} {{ #[fault({key})] {field}: {ty} }}`"),
        None => format!("`{name}(#[fault({key})] {ty})`"),
    })
}

/// Reads `key` or `key = value` of the variant or struct `name`.
fn key_and_value(
    input: ParseStream<'_>,
    name: &Ident,
    fields: &Fields,
) -> syn::Result<(Ident, TokenStream)> {
    let Ok(key) = input.call(Ident::parse_any) else {
        let tokens: TokenStream = input.parse()?;
        let shown = show(&tokens);
        let message = match syn::parse2::<Lit>(tokens.clone()) {
            Ok(Lit::Int(_)) => format!("a number needs a key: write `status = {shown}`"),
            _ => format!("`{shown}` is not a key: {}", keys()),
        };
        return Err(syn::Error::new_spanned(tokens, message));
    };
    let rest: TokenStream = input.parse()?;
    let Some(known) = Key::named(&key) else {
        let word = key.to_string();
        let hint = Key::meant(&word).map(|name| format!(" write `{name}`;"));
        let hint = hint.unwrap_or_default();
        let message = format!("unknown key `{word}`:{hint} {}", keys());
        return Err(syn::Error::new(key.span(), message));
    };
    let usage = known.usage;
    let mut after = rest.clone().into_iter();
    let has_equals = is_punct(after.next().as_ref(), '=');
    let value: TokenStream = after.collect();
    if !known.takes_value() {
        if rest.is_empty() {
            return Ok((key, value));
        }
        let message =
            format!("`{key}` takes no value: write `{usage}`, and a comma before the rest");
        return Err(syn::Error::new_spanned(rest, message));
    }
    if !has_equals || value.is_empty() {
        let instead = marked(&key, name, fields).filter(|_| rest.is_empty());
        let instead = instead.map_or_else(
            || format!("takes a value: write `{usage}`"),
            |marked| format!("is in a field: write {marked}, or `{usage}` here"),
        );
        return Err(syn::Error::new(key.span(), format!("`{key}` {instead}")));
    }
    let expr = syn::parse2::<Expr>(value.clone()).map_err(|error| {
        let message = format!("`{key}` cannot be read ({error}): write it like `{usage}`");
        syn::Error::new(error.span(), message)
    })?;
    if key == "status" {
        code(&expr).map_err(|message| syn::Error::new_spanned(&expr, message))?;
    }
    Ok((key, value))
}

fn keys() -> String {
    format!("the keys are {}", listed(KEYS.iter().map(|key| key.name)))
}
