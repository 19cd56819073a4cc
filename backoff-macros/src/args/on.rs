//! The list of `on`: codes, and patterns of the error's type.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, Ident, LitStr, Pat, Path, Token};

use super::names::snake;
use crate::errors::show;
use crate::groups::last_name;

/// The errors that are retried.
#[derive(Default)]
pub(crate) struct On {
    /// Statuses, ranges of them, and constant sets of codes.
    pub(crate) codes: Vec<Expr>,
    /// Patterns of the error's type.
    pub(crate) patterns: Vec<Pattern>,
}

/// `Error::Api { code, .. } if *code == 3`
pub(crate) struct Pattern {
    pub(crate) pat: TokenStream,
    pub(crate) guard: Option<Expr>,
}

impl On {
    pub(crate) fn is_empty(&self) -> bool {
        self.codes.is_empty() && self.patterns.is_empty()
    }
}

/// Reads `[429, 500..=504, Error::Busy { .. }]`.
pub(super) fn list(key: &str, value: TokenStream) -> syn::Result<On> {
    let mut tokens = value.clone().into_iter();
    let (Some(TokenTree::Group(group)), next) = (tokens.next(), tokens.next()) else {
        return Err(no_list(key, &value));
    };
    match (group.delimiter(), next) {
        (Delimiter::Bracket, None) => items.parse2(group.stream()),
        (Delimiter::Bracket, next) => Err(syn::Error::new_spanned(next, NO_COMMA)),
        (Delimiter::None, None) => list(key, group.stream()),
        _ => Err(no_list(key, &value)),
    }
}

/// The message about a value that is no list.
pub(super) fn no_list(key: &str, value: &TokenStream) -> syn::Error {
    let inside = match value.clone().into_iter().collect::<Vec<_>>().as_slice() {
        [TokenTree::Group(group)] => group.stream(),
        _ => value.clone(),
    };
    if let Err(error) = items.parse2(inside)
        && error.to_string().starts_with(NO_TYPE)
    {
        return error;
    }
    let shown = match (corrected(value), syn::parse2::<LitStr>(value.clone())) {
        (Some(codes), _) => codes,
        (None, Ok(_)) => "429, 500..=504".to_owned(),
        (None, Err(_)) => show(value),
    };
    let message = format!("`{key}` takes a list: write `{key} = [{shown}]`");
    syn::Error::new_spanned(value, message)
}

fn items(input: ParseStream<'_>) -> syn::Result<On> {
    let mut on = On::default();
    let mut errors = crate::errors::Errors::default();
    let mut has_reported = false;
    while !input.is_empty() {
        if let Err(error) = item(input, &mut on) {
            // A list of types is one mistake.
            let is_of_type = error.to_string().starts_with(NO_TYPE);
            if !(is_of_type && std::mem::replace(&mut has_reported, is_of_type)) {
                errors.push(error);
            }
            while !input.is_empty() && !input.peek(Token![,]) {
                input.parse::<TokenTree>()?;
            }
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    errors.into_error().map_or(Ok(on), Err)
}

fn item(input: ParseStream<'_>, on: &mut On) -> syn::Result<()> {
    let ends = |input: ParseStream<'_>| input.is_empty() || input.peek(Token![,]);
    let tokens = item_tokens(&input.fork())?;
    // A number alone is a code. Most items are numbers, so this case comes first.
    let is_number = tokens.to_string().parse::<u16>().is_ok();
    let plain = |text: String| text.replace(' ', "");
    if !is_number
        && let Some(codes) = corrected(&tokens)
        && plain(codes.clone()) != plain(tokens.to_string())
    {
        let message = format!(
            "a code is a number, and a range has `..=` between its first and its last number: write \
             `{codes}`"
        );
        return Err(syn::Error::new_spanned(tokens, message));
    }
    let fork = input.fork();
    if let Ok(expr) = fork.parse::<Expr>()
        && ends(&fork)
        && !is_pattern(&expr)
    {
        if let Expr::Path(path) = &expr {
            no_codes(&path.path)?;
        }
        on.codes.push(input.parse()?);
        return Ok(());
    }
    let start = input.fork();
    let Ok(pat) = input.call(Pat::parse_multi_with_leading_vert) else {
        let rest = start.parse::<TokenStream>()?;
        let message = "this is neither a code nor a pattern: write codes such as `429` or \
                       `500..=504`, or a pattern of the error such as `Error::Busy { .. }`";
        return Err(syn::Error::new_spanned(first(rest), message));
    };
    let guard = if input.peek(Token![if]) {
        input.parse::<Token![if]>()?;
        Some(input.parse::<Expr>()?)
    } else {
        None
    };
    if !ends(input) {
        let rest: TokenStream = input.fork().parse()?;
        return Err(syn::Error::new_spanned(first(rest), NO_COMMA));
    }
    let pat = pat.to_token_stream();
    if let Ok(Expr::Path(path)) = syn::parse2::<Expr>(pat.clone()) {
        no_codes(&path.path)?;
    }
    if let (Some(guard), Ok(word)) = (&guard, Ident::parse_any.parse2(pat.clone())) {
        let message = format!(
            "`{word}` matches every error: write `when = |{}| {}`",
            if word == "_" {
                "error".to_owned()
            } else {
                word.to_string()
            },
            show(guard),
        );
        return Err(syn::Error::new_spanned(pat, message));
    }
    on.patterns.push(Pattern { pat, guard });
    Ok(())
}

/// The correct form of codes that are written as in other languages: `4xx`, `"429"`, `500...504`,
/// `(429 | 503)`.
fn corrected(tokens: &TokenStream) -> Option<String> {
    let mut text = show(tokens).to_lowercase().replace(" ... ", "...");
    text.retain(|letter| !"\"'()[]{}".contains(letter));
    let text = text.replace("...", "..=").replace("..==", "..=");
    let item = |item: &str| match item.split_once("..=") {
        Some((first, last)) => (is_digits(first) && is_digits(last)).then(|| item.to_owned()),
        None => match item.strip_suffix("xx") {
            Some(class @ ("4" | "5")) => Some(format!("{class}00..={class}99")),
            _ => is_digits(item).then(|| item.to_owned()),
        },
    };
    let items = text.split([',', '|']).map(str::trim);
    let items: Option<Vec<String>> = items.filter(|text| !text.is_empty()).map(item).collect();
    items
        .map(|items| items.join(", "))
        .filter(|it| !it.is_empty())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

const NO_COMMA: &str = "a comma is missing: put it before this";

/// Constants of `Codes` that people write without `Codes`.
const GRPC_CODES: [&str; 4] = [
    "ABORTED",
    "DEADLINE_EXCEEDED",
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
];

/// The beginning of the message about a type.
const NO_TYPE: &str = "`on` takes codes and patterns of your error";

/// Refuses a path that is neither a constant of type `Codes` nor a variant of the user's error.
fn no_codes(path: &Path) -> syn::Result<()> {
    let mut names = path.segments.iter().rev().map(|it| it.ident.to_string());
    let last = names.next().unwrap_or_default();
    let is_constant = !last.contains(char::is_lowercase);
    let owner = names.next();
    // A `Code` may be an error of the user.
    let is_grpc = owner.as_deref() == Some("GrpcCode") || names.next().as_deref() == Some("tonic");
    let message = match owner.as_deref() {
        None if GRPC_CODES.contains(&&*last) => format!(
            "a gRPC code is a constant of `Codes`: write `Codes::{last}`, or `self::{last}` for a constant of your own"
        ),
        Some("StatusCode") if is_constant => format!(
            "a status is a number: write the number instead of `{}`",
            show(path)
        ),
        Some("GrpcCode" | "Code") if is_grpc => format!(
            "a gRPC code is a constant of `Codes`: write `Codes::{}`",
            snake(&last).to_uppercase()
        ),
        None if is_camel(&last) && last.len() > 1 => format!(
            "{NO_TYPE}, and `{last}` alone is neither: for a variant write `Error::{last}` with the type of your \
             error; or decide with `when = |error| ..`"
        ),
        // `std::io::Error`
        Some(module) if last.ends_with("Error") && !module.contains(char::is_uppercase) => format!(
            "{NO_TYPE}, and the type `{}` is neither: write a pattern such as `Error::Busy {{ .. }}`, or decide with \
             `when = |error| ..`",
            show(path)
        ),
        _ => return Ok(()),
    };
    Err(syn::Error::new_spanned(path, message))
}

/// The tokens before the next comma.
fn item_tokens(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    Ok(tokens)
}

fn first(tokens: TokenStream) -> Option<TokenTree> {
    tokens.into_iter().next()
}

/// Whether an item that parses as an expression is meant as a pattern. A path whose last name is in
/// capitals is a constant set of codes, and so is a name alone. Other paths are variants, even a path
/// that ends with a single letter.
fn is_pattern(expr: &Expr) -> bool {
    match expr {
        Expr::Struct(_) | Expr::Tuple(_) | Expr::Reference(_) => true,
        Expr::Path(path) => path.path.segments.len() > 1 && is_camel(&last_name(&path.path)),
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Path(path)
                if last_name(&path.path).starts_with(char::is_uppercase))
        }
        Expr::Binary(binary) => matches!(binary.op, syn::BinOp::BitOr(_)),
        Expr::Group(group) => is_pattern(&group.expr),
        _ => false,
    }
}

fn is_camel(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && (name.len() == 1 || name.contains(char::is_lowercase))
}
