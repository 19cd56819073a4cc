//! Tokens of the attribute, the block and the derive: an error is written as `compile_error!`, and what is written
//! is Rust.

use proc_macro2::TokenStream;
use quote::quote;

/// Arguments of the attribute, and tokens that are nearly arguments.
pub const ARGUMENTS: &str = include_str!("../samples/arguments.txt");
/// Functions, and tokens that are nearly functions.
pub const FUNCTIONS: &str = include_str!("../samples/functions.txt");
/// Types with the derive, and tokens that are nearly such types.
pub const FAULTS: &str = include_str!("../samples/faults.txt");

/// The tokens of a text, if it has the form of tokens.
fn tokens(text: &str) -> Option<TokenStream> {
    text.parse().ok()
}

/// The attribute writes items in place of an item.
pub fn check_attribute(arguments: &str, function: &str) {
    let (Some(arguments), Some(function)) = (tokens(arguments), tokens(function)) else {
        return;
    };
    let is_item = syn::parse2::<syn::Item>(function.clone()).is_ok();
    let written = macros::retry(arguments, function);
    assert!(
        !is_item || syn::parse2::<syn::File>(written.clone()).is_ok(),
        "{written}"
    );
}

/// The block macro writes an expression in place of an expression.
pub fn check_block(arguments: &str, body: &str) {
    let (Some(arguments), Some(body)) = (tokens(arguments), tokens(body)) else {
        return;
    };
    let block = quote!(async { #body });
    // A block that cannot be read is written as it is.
    let is_block = syn::parse2::<syn::Expr>(block.clone()).is_ok();
    let written = macros::retry_block(quote!((::backoff_core) #arguments, #block));
    assert!(
        !is_block || syn::parse2::<syn::Expr>(written.clone()).is_ok(),
        "{written}"
    );
    let _ = macros::retry_block(quote!((::backoff_core) #arguments, { #body }));
    let _ = macros::retry_block(arguments);
}

/// The derive writes items.
pub fn check_derive(item: &str) {
    let Some(item) = tokens(item) else { return };
    let written = macros::fault(item);
    assert!(
        syn::parse2::<syn::File>(written.clone()).is_ok(),
        "{written}"
    );
}

#[test]
fn every_sample() {
    for arguments in ARGUMENTS.lines() {
        for function in FUNCTIONS.lines() {
            check_attribute(arguments, function);
            check_block(arguments, function);
        }
    }
    FAULTS.lines().for_each(check_derive);
}
