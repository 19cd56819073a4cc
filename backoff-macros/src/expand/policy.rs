//! The policy as an expression.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Expr;

use crate::args::Args;
use crate::args::key_value::{Given, Rule, Time};
use crate::hygiene::{at, mixed};

/// The policy as an expression: the user's or the default policy, with a call of the setter for each
/// key.
pub(super) fn policy(args: &Args) -> TokenStream {
    let mut made = match &args.policy {
        // The policy is named, or is a reference to a named policy.
        Some(Given {
            value: Expr::Reference(reference),
            ..
        }) => reference.expr.to_token_stream(),
        Some(Given { value, .. }) => value.to_token_stream(),
        None => mixed!(__backoff::Policy::exponential()),
    };
    for (key, rule) in args.rules() {
        let key_at = at(key.span());
        let setter = Ident::new(&key.to_string(), key_at);
        let value = match rule {
            Rule::Codes(on) => {
                let codes = &on.codes;
                // The arm of `codes!` without a `const` block of its own: the policy is a constant as a
                // whole, or is made at each call, where codes may be variables.
                quote_spanned!(key_at=> __backoff::codes![@ __backoff::Codes::NONE; #(#codes),*])
            }
            Rule::Time(Time { expr: value, .. })
            | Rule::Expr(value)
            | Rule::Static(value @ Expr::Reference(_)) => value.to_token_stream(),
            Rule::Static(path) => quote_spanned!(key_at=> &#path),
        };
        // A path and not a method call, because the span of a method call would begin at the policy: an error
        // of the setter is shown at the key.
        made = quote_spanned!(key_at=> __backoff::Policy::#setter(#made, #value));
    }
    made
}
