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
mod errors;
mod expand;
mod fault;
mod groups;
mod hints;
mod place;
mod rewrite;
mod seen;
mod shape;
#[cfg(test)]
mod tokens;

use rewrite::{retry_block_in, retry_in};

#[doc = include_str!("retry.md")]
#[proc_macro_attribute]
pub fn retry(
    args: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    retry_in("backoff_core", args.into(), item.into()).into()
}

/// [`macro@retry`] for users of `backoff-cloud`, which re-exports it under that name: the written code
/// refers to that crate. The page of [`macro@retry`] follows.
///
#[doc = include_str!("retry.md")]
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

/// Derives the trait `Fault`: attributes say which facts an error reports about itself.
///
/// Put the attributes on a variant, on a struct, on an enum (for all variants without attributes), or
/// on a field.
///
/// ```ignore
/// #[derive(Debug, thiserror::Error, backoff_core::Fault)]
/// enum Error {
///     #[error("status {code}")]
///     #[fault(status = code, retry_after = wait)]
///     Api { code: u16, wait: Option<Duration> },
///     #[error("changed meanwhile")]
///     #[fault(conflict)]
///     Changed,
///     #[error(transparent)]
///     #[fault(forward)]
///     Delivery(#[from] reqwest::Error),
///     #[error(transparent)]
///     #[fault(forward)]
///     TimedOut(#[from] backoff_core::TimedOut), // for `timeout` and `attempt_timeout`
///     #[error("wrong: {0}")]
///     Config(String), // says nothing, and is permanent to a policy
/// }
/// ```
///
/// | Key | Takes | Meaning |
/// |---|---|---|
/// | `status = ..` | a number, a field, or an expression with `self.field`: an integer, or an `Option` of one. A value outside of `u16` counts as no status | the HTTP status |
/// | `grpc_code = ..` | the same, of type `GrpcCode` or an `Option` of it | the gRPC code |
/// | `retry_after = ..` | the same, of type `Duration` or an `Option` of it | how long the server asks not to be called |
/// | `transient`, `throttled`, `conflict`, `pending`, `permanent` | | the kind, which takes precedence over the codes; `pending` is no failure: the awaited result has not come yet |
/// | `not_sent`, `maybe_sent` | | a failure of the transport |
/// | `forward` | | facts without a key come from the error inside: the only field, or the one with `#[from]`, `#[source]` or `#[fault(forward)]`. The field may be an `Option` |
/// | `crate = path` | a path | the path of the library, if it is renamed; on the type |
///
/// On a field, write `#[fault(status)]`, `#[fault(grpc_code)]`, `#[fault(retry_after)]` and
/// `#[fault(forward)]` without a value.
#[proc_macro_derive(Fault, attributes(fault))]
pub fn fault(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    fault::derive("backoff_core", item.into()).into()
}

/// The derive for users of `backoff-cloud`, which re-exports it as `Fault`.
#[proc_macro_derive(FaultCloud, attributes(fault))]
pub fn fault_cloud(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    fault::derive("backoff_cloud", item.into()).into()
}
