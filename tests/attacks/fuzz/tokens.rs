//! Tokens of the attribute, the block and the derive: an error is written as `compile_error!`, and what is written
//! is Rust.

use crate::samples::texts;
use proc_macro2::TokenStream;
use quote::quote;

const ARGUMENTS: &str = include_str!("../corpus/arguments.txt");
const FUNCTIONS: &str = include_str!("../corpus/functions.txt");
const FAULTS: &str = include_str!("../corpus/faults.txt");

/// The tokens of a text, if it has the form of tokens.
fn tokens(text: &str) -> Option<TokenStream> {
    text.parse().ok()
}

#[test]
fn the_attribute() {
    let given = (texts(ARGUMENTS), texts(FUNCTIONS));
    bolero::check!()
        .with_generator(given)
        .for_each(|(arguments, function): &(String, String)| {
            let (Some(arguments), Some(function)) = (tokens(arguments), tokens(function)) else {
                return;
            };
            let is_item = syn::parse2::<syn::Item>(function.clone()).is_ok();
            let written = macros::retry(arguments, function);
            assert!(
                !is_item || syn::parse2::<syn::File>(written.clone()).is_ok(),
                "{written}"
            );
        });
}

#[test]
fn the_block() {
    let given = (texts(ARGUMENTS), texts(FUNCTIONS));
    bolero::check!()
        .with_generator(given)
        .for_each(|(arguments, body): &(String, String)| {
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
        });
}

#[test]
fn the_derive() {
    bolero::check!()
        .with_generator(texts(FAULTS))
        .for_each(|item: &String| {
            let Some(item) = tokens(item) else { return };
            let written = macros::fault(item);
            assert!(
                syn::parse2::<syn::File>(written.clone()).is_ok(),
                "{written}"
            );
        });
}
