//! The attribute [`macro@retry`] and the block macro of `backoff-core`, which re-exports them: depend
//! on that crate, or on `backoff-cloud`, and not on this one.
//!
//! The rooms: `args` reads what stands in the attribute, `check` refuses what contradicts itself,
//! `place` says where the policy can be made, `expand` writes the code. None of them knows when to
//! retry; the code they write asks the library.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod args;
mod check;
mod duration;
mod errors;
mod expand;
mod place;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

/// Repeats a function until it succeeds, or until its policy says to stop.
///
/// The function keeps its signature and gives back its own `Result`. Its body is run again from the
/// start at each attempt; arguments are borrowed by it, so an argument that the body consumes has
/// to be cloned there. An `async fn` sleeps between attempts, any other function blocks its thread.
///
/// Without `policy`, `on` or `when` every error is retried and nothing is asked of its type. With
/// `policy` or `on` the error must implement `Fault`, which tells the status that the codes are
/// compared with. With `when` it may be anything.
///
/// ```ignore
/// use backoff_core::retry;
///
/// #[retry(max_backoff = "64s", deadline = "300s", on = [429, 500..=504])]
/// async fn instance(client: &Client, name: &str) -> Result<Instance, ApiError> {
///     client.get(name).await?.instance()
/// }
///
/// #[retry(max_attempts = 3, when = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut)]
/// fn read(path: &Path) -> io::Result<String> {
///     std::fs::read_to_string(path)
/// }
/// ```
///
/// # Keys
///
/// | Key | Takes | Without it | Meaning |
/// |---|---|---|---|
/// | `policy` | a `Policy` | `Policy::exponential()` | the rules to start from; the other keys change single ones |
/// | `base` | a duration | 1 s | the wait after the first failure, before jitter |
/// | `factor` | a number from 1 | 2 | what each wait is multiplied by to give the next |
/// | `max_backoff` | a duration | 64 s | the longest wait, jitter included |
/// | `jitter` | `full`, `equal`, `decorrelated`, `none`, a duration, or a `Jitter` | `full` | how waits are spread; a duration is the most that is added to each |
/// | `max_attempts` | a number from 1 | 5, and no limit if there is a deadline | how often the function is called at most, the first call counted |
/// | `deadline` | a duration | none | the time after which no further attempt begins |
/// | `attempt_timeout` | a duration | none | what one attempt may take; only in an `async fn`, whose error must be `From<TimedOut>` |
/// | `on` | `[429, 500..=504, Codes::ABORTED]` | the policy's codes; without a policy every error | the codes that are retried: HTTP statuses, ranges of them, and constants of type `Codes` |
/// | `when` | a function or closure of `&E` | as `on` | decides which errors are retried, instead of the codes; a `Fault`'s `Retry-After` is obeyed all the same |
/// | `crate` | a path | the crate that the attribute comes from | where the library is, if it is renamed or re-exported |
///
/// `Without it` is for an attribute without `policy`; a policy brings its own values.
///
/// A duration is a text such as `"64s"`, `"250ms"` or `"1m 30s"`, the same as a bare literal (`64s`,
/// `1.5s`), or an expression of type `Duration`. The units are `ns`, `us`, `ms`, `s`, `m` or `min`,
/// `h` and `d`.
///
/// # Where values are evaluated
///
/// The policy is a constant, and values that make no sense do not compile. A value may name `Self`
/// or a parameter of the function; it may name an argument or `self`, and then the policy is made at
/// each call. A parameter of the `impl` around is reached through `Self`, unless its name is a
/// single letter. `attempt_timeout` and `when` are evaluated at each attempt and may name anything.
#[proc_macro_attribute]
pub fn retry(
    args: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    retry_in("backoff_core", args.into(), item.into()).into()
}

/// [`macro@retry`] for users of `backoff-cloud`, which re-exports it under that name: what it
/// writes refers to that crate.
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

/// Parse, check, expand. Whatever is wrong, the item itself is written, so that its uses do not fail
/// as well.
fn retry_in(default_crate: &str, args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = errors::Errors::default();
    let args = args::parse(args, &mut errors);
    check::arguments(&args, &mut errors);
    let function = check::function(item.clone())
        .map_err(|error| errors.push(error))
        .ok();
    if let Some(function) = &function {
        check::signature(function, &args, &mut errors);
    }
    match (errors.into_compile_errors(), function) {
        (None, Some(function)) => {
            let name = Ident::new(default_crate, Span::mixed_site());
            expand::function(quote_spanned!(name.span()=> ::#name), &args, function)
        }
        (errors, _) => quote!(#item #errors),
    }
}

/// The same for a block: it is written even if its arguments are wrong.
fn retry_block_in(input: TokenStream) -> TokenStream {
    let mut errors = errors::Errors::default();
    let (library, args, block) = args::around_block(input);
    let args = args::parse(args, &mut errors);
    check::arguments(&args, &mut errors);
    let parsed = check::block(block.clone())
        .map_err(|error| errors.push(error))
        .ok();
    match (errors.into_compile_errors(), parsed) {
        (None, Some(parsed)) => expand::block(library, &args, parsed),
        (errors, _) => quote!({ #errors #block }),
    }
}
