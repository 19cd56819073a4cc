//! The path of the library and the spans, for all parts of the written code.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;

use crate::args::Args;
use crate::args::given::Given;

/// The path by which the written code reaches the library.
pub(super) struct Library {
    path: TokenStream,
    /// The import of the path that the user gives: a wrong path is one error, and not one at each use.
    pub(super) import: Option<TokenStream>,
}

impl Library {
    pub(super) fn new(default: TokenStream, args: &Args) -> Self {
        let Some(Given { value, .. }) = &args.krate else {
            return Self {
                path: default,
                import: None,
            };
        };
        let given_at = at(value.span());
        let path = quote_spanned!(given_at=> __backoff);
        let import = quote_spanned!(given_at=> use #value::{self as #path};);
        Self {
            path,
            import: Some(import),
        }
    }

    /// The same path, so that errors about it point at `span`.
    pub(super) fn at(&self, span: Span) -> TokenStream {
        self.path
            .clone()
            .into_iter()
            .map(|mut token| {
                token.set_span(token.span().located_at(span));
                token
            })
            .collect()
    }

    /// The macro's own place, and the path there.
    pub(super) fn here(&self) -> (Span, TokenStream) {
        let here = Span::mixed_site();
        (here, self.at(here))
    }

    /// The place of messages about the user's code at `span`, and the path there.
    pub(super) fn near(&self, span: Span) -> (Span, TokenStream) {
        let near = at(span);
        (near, self.at(near))
    }
}

/// A span where the macro's own names stay the macro's, and errors point at the user's code.
pub(super) fn at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}
