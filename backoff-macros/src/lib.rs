//! The attribute [`macro@retry`] and the block macro of `backoff-core`, which re-exports them: depend
//! on that crate, or on `backoff-cloud`, and not on this one.
//!
//! The modules: `args` reads the arguments of the attribute, `check` refuses arguments that contradict
//! each other, `place` decides where the policy can be made, `expand` writes the code. None of these
//! modules knows when to retry; the written code asks the library.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod args;
mod bindings;
mod check;
mod duration;
#[cfg(test)]
mod duration_tests;
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
#[cfg(test)]
mod tokens;

use rewrite::{retry_block_in, retry_in};

/// The keys of the attribute are described in the documentation of
/// [`backoff-core`](https://docs.rs/backoff-core/latest/backoff_core/attr.retry.html), which re-exports it.
#[proc_macro_attribute]
pub fn retry(
    args: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    retry_in("backoff_core", args.into(), item.into()).into()
}

/// The keys of the attribute are described in the documentation of
/// [`backoff-cloud`](https://docs.rs/backoff-cloud/latest/backoff_cloud/attr.retry.html), which re-exports it as `retry`.
#[proc_macro_attribute]
pub fn retry_cloud(
    args: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    retry_in("backoff_cloud", args.into(), item.into()).into()
}

/// `retry_block!` of `backoff-core`, which puts its own path in front of the arguments:
/// `($crate) policy = …, async { … }`.
#[doc(hidden)]
#[proc_macro]
pub fn __retry_block(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    retry_block_in(input.into()).into()
}

/// The keys of `#[fault(..)]` are described in the documentation of
/// [`backoff-core`](https://docs.rs/backoff-core/latest/backoff_core/derive.Fault.html), which re-exports this derive.
#[proc_macro_derive(Fault, attributes(fault))]
pub fn fault(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    fault::derive("backoff_core", item.into()).into()
}

/// The keys of `#[fault(..)]` are described in the documentation of
/// [`backoff-cloud`](https://docs.rs/backoff-cloud/latest/backoff_cloud/derive.Fault.html), which re-exports this derive
/// as `Fault`.
#[proc_macro_derive(FaultCloud, attributes(fault))]
pub fn fault_cloud(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    fault::derive("backoff_cloud", item.into()).into()
}
