//! The policy as an expression.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned;

use super::library::at;
use crate::args::Args;
use crate::args::given::{Given, Jitter, Level, Rule, Time};
use crate::check::numbers::number;

/// The policy as an expression: the user's or the default policy, with a call of the setter for each
/// key.
pub(super) fn policy(args: &Args) -> TokenStream {
    let here = Span::mixed_site();
    let mut made = match &args.policy {
        // The policy is named, or is a reference to a named policy.
        Some(Given {
            value: Expr::Reference(reference),
            ..
        }) => reference.expr.to_token_stream(),
        Some(Given { value, .. }) => value.to_token_stream(),
        None => quote_spanned!(here=> __backoff::Policy::exponential()),
    };
    for (key, rule) in args.rules() {
        let key_at = at(key.span());
        let setter = Ident::new(&key.to_string(), key_at);
        let value = match rule {
            Rule::Time(value) => time(value),
            Rule::Jitter(value) => jitter(value),
            Rule::Level(value) => level(value),
            Rule::Codes(on) => {
                let codes = &on.codes;
                // The arm of `codes!` without a `const` block of its own: the policy is a constant as a
                // whole, or is made at each call, where codes may be variables.
                quote_spanned!(key_at=> __backoff::codes![@ __backoff::Codes::NONE; #(#codes),*])
            }
            Rule::Flag(Some(value)) => value.to_token_stream(),
            Rule::Flag(None) => quote_spanned!(key_at=> true),
            Rule::Factor(value) => factor(value),
            Rule::Count(value) | Rule::Static(value @ Expr::Reference(_)) => {
                value.to_token_stream()
            }
            Rule::Static(path) => quote_spanned!(key_at=> &#path),
        };
        // A path and not a method call, because the span of a method call would begin at the policy: an error
        // of the setter is shown at the key.
        made = quote_spanned!(key_at=> __backoff::Policy::#setter(#made, #value));
    }
    made
}

pub(super) fn time(time: &Time) -> TokenStream {
    let Some(duration) = time.literal else {
        return time.expr.to_token_stream();
    };
    let literal_at = at(time.expr.span());
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote_spanned!(literal_at=> __backoff::Duration::new(#seconds, #nanos))
}

/// A literal is written with a decimal point, since the setter takes an `f64`.
fn factor(value: &Expr) -> TokenStream {
    match number(value) {
        Some(number) => {
            let mut literal = proc_macro2::Literal::f64_suffixed(number);
            literal.set_span(at(value.span()));
            literal.into_token_stream()
        }
        None => value.to_token_stream(),
    }
}

fn level(level: &Level) -> TokenStream {
    match level {
        Level::Named(name, variant) => {
            let name_at = at(name.span());
            let variant = Ident::new(variant, name_at);
            quote_spanned!(name_at=> __backoff::LogLevel::#variant)
        }
        Level::Expr(expr) => expr.to_token_stream(),
    }
}

fn jitter(jitter: &Jitter) -> TokenStream {
    match jitter {
        Jitter::Named(name, variant) => {
            let name_at = at(name.span());
            let variant = Ident::new(variant, name_at);
            quote_spanned!(name_at=> __backoff::Jitter::#variant)
        }
        Jitter::Additive(up_to) => {
            let up_to_at = at(up_to.expr.span());
            let up_to = time(up_to);
            quote_spanned!(up_to_at=> __backoff::Jitter::Additive(#up_to))
        }
        Jitter::Expr(expr) => expr.to_token_stream(),
    }
}
