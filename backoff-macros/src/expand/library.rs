//! The path of the library and the spans, for all parts of the written code.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

use crate::args::Args;

/// The path by which the user reaches the library.
pub(super) struct Library(TokenStream);

impl Library {
    pub(super) fn new(default: TokenStream, args: &Args) -> Self {
        Self(
            args.krate
                .as_ref()
                .map_or(default, |path| path.value.to_token_stream()),
        )
    }

    /// The same path, so that errors about it point at `span`.
    pub(super) fn at(&self, span: Span) -> TokenStream {
        self.0
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
