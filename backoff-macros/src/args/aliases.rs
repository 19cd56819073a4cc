//! Names of keys in other libraries, and what to write here instead.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;
use syn::{Expr, Lit};

use super::given::Form;
use super::keys::{find, list, names};
use super::table::Key;
use crate::bindings::is_small;
use crate::errors::{did_you_mean, show, snake};

/// A longer value is left out of a message.
const LONGEST: usize = 40;

/// The names, each with the key that it means here, or with the sentence that says what to write. They
/// come from backon, tokio-retry, tryhard, backoff, retry, tenacity, resilience4j, Polly, Spring Retry and
/// their relatives.
const NAMES: &[(&str, &str)] = &[
    (
        "attempts tries max_tries max_calls max_attempt_number stop_after_attempt",
        "max_attempts",
    ),
    (
        "retry retries max_retry max_retries max_retry_attempts max_times num_retries retry_count \
         retry_attempts retry_limit times count limit take",
        RETRIES,
    ),
    (
        "delay min wait interval initial base_delay initial_backoff initial_delay initial_interval \
         initial_wait min_backoff min_delay min_wait retry_delay retry_interval wait_initial \
         wait_min wait_duration",
        "base",
    ),
    (
        "cap max_delay max_interval max_retry_delay max_wait_duration wait_max",
        "max_backoff",
    ),
    (
        "max_duration max_elapsed max_elapsed_time stop_after_delay total_delay",
        "deadline",
    ),
    ("overall_timeout total_timeout", "timeout"),
    (
        "call_timeout operation_timeout per_attempt_timeout per_try_timeout try_timeout",
        "attempt_timeout",
    ),
    (
        "backoff_factor backoff_multiplier exp_base exponent multiplier",
        "factor",
    ),
    (
        "fixed constant fixed_delay fixed_interval wait_fixed",
        "for waits of the same length write `base = \"1s\", factor = 1, jitter = none` with \
         your duration",
    ),
    (
        "backoff exponential exponential_backoff strategy wait_exponential",
        "remove it, because waits grow exponentially: `base` is the first wait, `factor` the \
         growth, and `max_backoff` the longest wait",
    ),
    (
        "adjust fibonacci linear delay_generator",
        "waits of another algorithm need the function form: write `POLICY.retry(|| \
         ..).delays(..)`",
    ),
    (
        "jitter_factor random randomization_factor max_jitter",
        "jitter",
    ),
    ("full_jitter use_jitter", "write `jitter = full`"),
    ("no_jitter without_jitter", "write `jitter = none`"),
    (
        "non_idempotent not_idempotent",
        "write `idempotent = false`",
    ),
    ("name", "operation"),
    ("in_a_row success_threshold", "consecutive"),
    (
        "codes include retry_for retry_on status status_codes statuses",
        "on",
    ),
    (
        "condition filter if predicate retry_if retry_when should_handle should_retry",
        "when",
    ),
    (
        "abort_on error errors exclude give_up ignore no_retry_for",
        "name the errors to retry in `on`, or write `when = |error| ..`, which returns \
         `false` for errors that are not retried",
    ),
    (
        "retry_if_result retry_on_result",
        "write `until = |value| ..`, which returns the opposite: `true` for a value that ends \
         the call",
    ),
    (
        "context",
        "name the arguments that an attempt consumes in `clone(..)`; an attempt borrows the \
         other arguments",
    ),
    (
        "after before_sleep listener on_error on_failure on_retry",
        "notify",
    ),
    (
        "retry_after",
        "remove it: the library obeys a server's `Retry-After`, up to `max_retry_after`",
    ),
    ("executor", "runtime"),
    ("krate", "crate"),
    (
        "retry_after_slack scaled without_budget",
        "it is a method of a policy: call it there, as in `policy = POLICY.scaled(0.1)`",
    ),
];

/// The meaning of names that do not count the first call: `max_attempts` is one more.
const RETRIES: &str = "retries";

/// The reader of an argument with a known key.
type Reads<'a> = &'a dyn Fn(TokenStream) -> syn::Result<()>;

/// The message about an unknown key. All keys are listed only if there is no better hint.
pub(super) fn unknown(key: &Ident, value: Option<TokenStream>, reads: Reads<'_>) -> syn::Error {
    let word = key.to_string();
    let hint = instead(&word, value, reads)
        .or_else(|| did_you_mean(&word, names()).map(|meant| format!("write `{meant}`")))
        .unwrap_or_else(list);
    syn::Error::new(key.span(), format!("unknown key `{word}`: {hint}"))
}

/// The end of the sentence that says what to write instead of the unknown key `word`.
fn instead(word: &str, value: Option<TokenStream>, reads: Reads<'_>) -> Option<String> {
    let name = snake(word);
    if let Some(meant) = meaning(&name) {
        return Some(match find(meant) {
            Some(key) => renamed(key, value, reads),
            None if meant == RETRIES => one_more(value),
            None => meant.to_owned(),
        });
    }
    let (stem, unit) = name.rsplit_once('_')?;
    let unit = match unit {
        "ms" | "millis" | "milliseconds" => "ms",
        "s" | "sec" | "secs" | "seconds" => "s",
        _ => return None,
    };
    let key = find(meaning(stem)?).filter(|key| key.takes_time())?;
    let value = Literal::string(&format!("{}{unit}", value?));
    Some(renamed(key, Some(quote!(#value)), reads))
}

fn meaning(name: &str) -> Option<&str> {
    let other = NAMES
        .iter()
        .find(|(names, _)| names.split(' ').any(|other| other == name));
    other
        .map(|&(_, meant)| meant)
        .or(find(name).map(|own| own.name))
}

/// The key with the value, or with the mistake in the value.
fn renamed(key: &Key, value: Option<TokenStream>, reads: Reads<'_>) -> String {
    let Some(value) = value else {
        return format!("write it like `{}`", key.usage);
    };
    // A name in small letters is a function, which judges errors.
    let is_judge = match syn::parse2(value.clone()) {
        Ok(Expr::Closure(_)) => true,
        Ok(Expr::Path(path)) => {
            let last = path.path.segments.last();
            last.is_some_and(|last| is_small(&last.ident.to_string()))
        }
        _ => false,
    };
    let key = if key.form == Form::On && is_judge {
        "when"
    } else {
        key.name
    };
    let ident = Ident::new(key, Span::call_site());
    match (reads(quote!(#ident = #value)), show(value)) {
        (Ok(()), shown) if shown.len() <= LONGEST => format!("write `{key} = {shown}`"),
        (Ok(()), _) => format!("write `{key}`"),
        (Err(error), _) => format!("the key is `{key}`, and {error}"),
    }
}

fn one_more(retries: Option<TokenStream>) -> String {
    let more = match retries.map(syn::parse2) {
        Some(Ok(Expr::Lit(literal))) => match literal.lit {
            Lit::Int(retries) => retries.base10_parse::<u32>().ok(),
            _ => None,
        }
        .map(|retries| retries.saturating_add(1).to_string()),
        Some(Ok(Expr::Path(path))) => Some(format!("{} + 1", show(path))),
        _ => None,
    };
    let more = more.unwrap_or_else(|| "..".to_owned());
    format!("write `max_attempts = {more}`, which counts the first call too")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_name_stands_once_and_means_a_key_that_there_is() {
        let mut seen = HashSet::new();
        for &(names, meant) in NAMES {
            for name in names.split(' ') {
                assert!(seen.insert(name), "`{name}` stands here twice");
                assert!(find(name).is_none(), "`{name}` is a key");
            }
            let is_sentence = meant.contains(' ') || meant == RETRIES;
            assert!(is_sentence || find(meant).is_some(), "`{meant}` is no key");
        }
    }
}
