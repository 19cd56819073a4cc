//! A function that `#[tokio::test]` or `#[tokio::main]` has rewritten before this attribute saw it:
//!
//! ```text
//! fn f() -> T {
//!     let body = async { the body };
//!     {
//!         return Builder::new_current_thread().build().expect("Failed building the Runtime").block_on(body);
//!     }
//! }
//! ```

use proc_macro2::{TokenStream, TokenTree};

use super::body::in_let;
use crate::groups::any_deep;

/// The text by which a function that starts a runtime is known.
pub(super) const STARTED: &str = "\"Failed building the Runtime\"";

/// Whether the body is found too.
pub(super) fn has_body(body: TokenStream) -> bool {
    any_deep(body, &mut |tokens| {
        matches!(tokens, [before @ .., TokenTree::Group(group)]
            if in_let("body", before, group).is_some())
    })
}
