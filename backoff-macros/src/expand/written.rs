//! What is known before the body is written.

use proc_macro2::{Span, TokenStream};

use super::copies::Copies;
use super::unique::Unique;
use crate::args::Args;
use crate::place::Scope;

/// The values that are known before the body.
pub(super) struct Written<'a> {
    pub(super) import: TokenStream,
    pub(super) args: &'a Args,
    pub(super) scope: Scope,
    pub(super) is_async: bool,
    pub(super) judged_at: Span,
    /// The name of the operation, if no key gives another.
    pub(super) operation: TokenStream,
    pub(super) copies: Copies,
    pub(super) unique: Unique,
    /// The name of the attempt is also the name of an argument, which is refused.
    pub(super) hides: bool,
    /// The mistakes in the arguments or the function.
    pub(super) errors: Option<TokenStream>,
}
