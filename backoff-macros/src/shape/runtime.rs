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

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

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
                if self::body(before, group).is_some())
        })
}

/// `let body = async { body };`
pub(super) fn body(before: &[TokenTree], group: &Group) -> Option<Option<TokenStream>> {
    let is = |back: usize, text: &str| {
        let at = before.len().checked_sub(back);
        at.is_some_and(|at| before[at].to_string() == text)
    };
    let is_it = group.delimiter() == Delimiter::Brace
        && (is(1, "async") && is(2, "=") && is(3, "body") && is(4, "let"));
    is_it.then_some(None)
}
