//! Recognises items of `on` that are written as in other libraries and languages.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::{Lit, Path};

/// The statuses as the crate `http` names them.
const STATUSES: &[(&str, u16)] = &[
    ("BAD_REQUEST", 400),
    ("UNAUTHORIZED", 401),
    ("PAYMENT_REQUIRED", 402),
    ("FORBIDDEN", 403),
    ("NOT_FOUND", 404),
    ("METHOD_NOT_ALLOWED", 405),
    ("NOT_ACCEPTABLE", 406),
    ("PROXY_AUTHENTICATION_REQUIRED", 407),
    ("REQUEST_TIMEOUT", 408),
    ("CONFLICT", 409),
    ("GONE", 410),
    ("LENGTH_REQUIRED", 411),
    ("PRECONDITION_FAILED", 412),
    ("PAYLOAD_TOO_LARGE", 413),
    ("URI_TOO_LONG", 414),
    ("UNSUPPORTED_MEDIA_TYPE", 415),
    ("RANGE_NOT_SATISFIABLE", 416),
    ("EXPECTATION_FAILED", 417),
    ("IM_A_TEAPOT", 418),
    ("MISDIRECTED_REQUEST", 421),
    ("UNPROCESSABLE_ENTITY", 422),
    ("LOCKED", 423),
    ("FAILED_DEPENDENCY", 424),
    ("TOO_EARLY", 425),
    ("UPGRADE_REQUIRED", 426),
    ("PRECONDITION_REQUIRED", 428),
    ("TOO_MANY_REQUESTS", 429),
    ("REQUEST_HEADER_FIELDS_TOO_LARGE", 431),
    ("UNAVAILABLE_FOR_LEGAL_REASONS", 451),
    ("INTERNAL_SERVER_ERROR", 500),
    ("NOT_IMPLEMENTED", 501),
    ("BAD_GATEWAY", 502),
    ("SERVICE_UNAVAILABLE", 503),
    ("GATEWAY_TIMEOUT", 504),
    ("HTTP_VERSION_NOT_SUPPORTED", 505),
    ("VARIANT_ALSO_NEGOTIATES", 506),
    ("INSUFFICIENT_STORAGE", 507),
    ("LOOP_DETECTED", 508),
    ("NOT_EXTENDED", 510),
    ("NETWORK_AUTHENTICATION_REQUIRED", 511),
];

/// The gRPC codes of failures, as constants of `Codes`. This crate cannot ask the core; a test in
/// `tests/ui` compares the two lists.
const GRPC: [&str; 16] = [
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// The codes as they must be written here, if these tokens are codes in another form.
pub(super) fn codes(tokens: &TokenStream) -> Option<String> {
    let written = as_codes(tokens)?;
    let plain = |text: &str| text.replace(' ', "");
    (plain(&written) != plain(&tokens.to_string())).then_some(written)
}

/// The rule that these codes of another form break.
pub(super) fn rule(tokens: &TokenStream) -> &'static str {
    let text = tokens.to_string();
    if text.contains('|') {
        "codes are separated by commas"
    } else if text.to_lowercase().contains("xx") || text.contains("..") && !text.contains('"') {
        "a range of codes has a first and a last one, with `..=` between them"
    } else if text.contains('"') && !text.contains(|c: char| c.is_ascii_digit()) {
        "a gRPC code is a constant of `Codes`"
    } else if text.contains('"') {
        "codes have no quotes"
    } else {
        "codes stand in the list by themselves, without brackets"
    }
}

/// Codes, ranges of them, and classes, between `,` or `|`.
fn as_codes(tokens: &TokenStream) -> Option<String> {
    let mut items = vec![Vec::new()];
    for token in tokens.clone() {
        match &token {
            TokenTree::Punct(punct) if matches!(punct.as_char(), ',' | '|') => {
                items.push(Vec::new());
            }
            _ => items.last_mut()?.push(token),
        }
    }
    if items.last().is_some_and(Vec::is_empty) {
        items.pop();
    }
    let items: Option<Vec<String>> = items.iter().map(|item| as_item(item)).collect();
    items
        .map(|items| items.join(", "))
        .filter(|it| !it.is_empty())
}

/// `429`, `5xx`, `\"429\"`, `500..=504` or `500...504`.
fn as_item(item: &[TokenTree]) -> Option<String> {
    let number = |token: &TokenTree| {
        let text = token.to_string();
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(text)
    };
    match item {
        [TokenTree::Group(group)] => as_codes(&group.stream()),
        [TokenTree::Literal(literal)] => {
            let text = literal.to_string();
            match syn::parse_str::<Lit>(&text) {
                Ok(Lit::Str(text)) => in_quotes(&text.value()),
                _ => class(&text).or_else(|| number(&item[0])),
            }
        }
        [first, middle @ .., last] => {
            let dots = middle.iter().enumerate().all(|(at, token)| {
                matches!(token, TokenTree::Punct(punct)
                    if punct.as_char() == '.' || punct.as_char() == '=' && at == 2)
                    && (at + 1 == middle.len() || is_joint(token))
            });
            let (first, last) = (number(first)?, number(last)?);
            (dots && middle.len() == 3).then(|| format!("{first}..={last}"))
        }
        [_] | [] => None,
    }
}

fn is_joint(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint)
}

/// `5xx` as a range.
fn class(text: &str) -> Option<String> {
    let digit = text
        .strip_suffix("xx")
        .or_else(|| text.strip_suffix("XX"))?;
    matches!(digit, "4" | "5").then(|| format!("{digit}00..={digit}99"))
}

fn in_quotes(text: &str) -> Option<String> {
    let name = text.trim().to_uppercase();
    if GRPC.contains(&name.as_str()) {
        return Some(format!("Codes::{name}"));
    }
    as_codes(&text.parse().ok()?)
}

/// The message about a name that is neither a constant of type `Codes` nor a pattern, by the form of
/// the name.
pub(super) fn name(path: &Path) -> Option<String> {
    let last = path.segments.last()?.ident.to_string();
    let owner = path.segments.iter().rev().nth(1);
    let shown = crate::errors::show(path);
    let grpc = GRPC.into_iter().find(|code| {
        code.replace('_', "")
            .eq_ignore_ascii_case(&last.replace('_', ""))
    });
    match owner.map(|owner| owner.ident.to_string()).as_deref() {
        Some("StatusCode") => {
            let status = STATUSES
                .iter()
                .find_map(|&(name, status)| (name == last).then_some(status));
            let status = status.map_or("its number".to_owned(), |status| format!("`{status}`"));
            Some(format!(
                "a status is written as its number: write {status} instead of `{shown}`"
            ))
        }
        Some("Code" | "GrpcCode") => grpc.map(|code| {
            format!("a gRPC code is written as a constant of `Codes`: write `Codes::{code}`")
        }),
        None if GRPC.contains(&last.as_str()) => Some(format!(
            "a gRPC code is a constant of `Codes`: write `Codes::{last}`, or, for a constant of \
             your own, `self::{last}` (`codes![{last}]` if the constant stands in a function)"
        )),
        None if last.starts_with(char::is_uppercase) && last.contains(char::is_lowercase) => {
            Some(format!(
                "a variant is written after its type: write `Error::{last}` with the type of your \
                 error, because a name alone is taken for a constant of type `Codes`"
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_any_form_are_written_as_a_list() {
        let cases = [
            ("5xx", Some("500..=599")),
            ("4XX", Some("400..=499")),
            ("429, 5xx", Some("429, 500..=599")),
            ("(429, 503)", Some("429, 503")),
            ("{ 429 }", Some("429")),
            ("429 | 503", Some("429, 503")),
            ("500...504", Some("500..=504")),
            ("\"429\"", Some("429")),
            ("\"429, 5xx\"", Some("429, 500..=599")),
            ("\"unavailable\"", Some("Codes::UNAVAILABLE")),
            ("429", None),
            ("500..=504", None),
            ("500..505", None),
            ("2xx", None),
            ("\"busy\"", None),
            ("429 503", None),
            ("A | B", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let found = codes(&text.parse().unwrap());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
