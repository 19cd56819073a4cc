//! The root of a build as an ordinary library, for tests that hand over any tokens. `lib.rs` is the root of the
//! macros; the two share all modules.

extern crate proc_macro;

mod args;
mod bindings;
mod check;
mod duration;
mod errors;
mod expand;
mod fault;
mod groups;
mod hints;
mod hygiene;
mod patterns;
mod place;
mod rewrite;
mod shape;

use proc_macro2::TokenStream;
use std::time::Duration;

/// The attribute `#[retry(args)]` on `item`.
pub fn retry(args: TokenStream, item: TokenStream) -> TokenStream {
    rewrite::retry_in("backoff_core", args, item)
}

/// The block macro, with the library's path first.
pub fn retry_block(input: TokenStream) -> TokenStream {
    rewrite::retry_block_in(input)
}

/// `derive(Fault)`.
pub fn fault(item: TokenStream) -> TokenStream {
    fault::derive("backoff_core", item)
}

/// A duration in text.
pub fn duration(text: &str) -> Result<Duration, String> {
    duration::parse(text)
}
