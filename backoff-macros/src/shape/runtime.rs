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
use crate::groups::{any_deep, dense};

/// Whether the body starts a runtime that another attribute has written.
pub(crate) fn is_started(body: TokenStream) -> bool {
    let text = dense(body);
    text.contains("\"FailedbuildingtheRuntime\"") && text.contains("block_on")
}

/// Whether the body in it is found too.
pub(super) fn is_known(body: &TokenStream) -> bool {
    is_started(body.clone())
        && any_deep(body.clone(), &mut |tokens| {
            matches!(tokens, [before @ .., TokenTree::Group(group)]
                if in_let("body", before, group).is_some())
        })
}
