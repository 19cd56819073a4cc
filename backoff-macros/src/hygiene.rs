//! The macro's own names in the written code.

use proc_macro2::Span;

/// Code in which the macro's own names stay the macro's, also beside equal names of the user.
macro_rules! mixed {
    ($($code:tt)*) => {
        quote::quote_spanned!(proc_macro2::Span::mixed_site()=> $($code)*)
    };
}
pub(crate) use mixed;

/// A span where the macro's own names stay the macro's, and errors point at the user's code.
pub(crate) fn at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}
