//! Names of keys in other libraries, and what to write here instead.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;
use syn::parse::Parser;
use syn::{Expr, Lit};

use super::given::Form;
use super::keys::find;
use super::table::{Args, Key};
use super::value::key_and_value;
use crate::errors::show;

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
        "cap max_delay max_interval max_retry_delay max_wait max_wait_duration wait_max",
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
        "write `base = \"1s\", factor = 1, jitter = none` with your duration for waits that \
         are all alike",
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

/// The meaning of a number of calls after the first one: `max_attempts` is one more.
const RETRIES: &str = "retries";

/// The end of the sentence that says what to write instead of the unknown key `word`.
pub(super) fn instead(word: &str, value: Option<TokenStream>) -> Option<String> {
    let name = snake(word);
    if let Some(meant) = meaning(&name) {
        return Some(match find(meant) {
            Some(key) => renamed(key, value),
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
    Some(renamed(key, Some(quote!(#value))))
}

fn meaning(name: &str) -> Option<&str> {
    let other = NAMES
        .iter()
        .find(|(names, _)| names.split(' ').any(|other| other == name));
    other
        .map(|&(_, meant)| meant)
        .or(find(name).map(|own| own.name))
}

/// `maxAttempts` and `MaxAttempts` as `max_attempts`.
pub(super) fn snake(word: &str) -> String {
    let mut name = String::new();
    for letter in word.chars() {
        if letter.is_uppercase() && !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

/// The key with the value, if the key can take it, and what is wrong with the value otherwise.
fn renamed(key: &Key, value: Option<TokenStream>) -> String {
    let Some(value) = value else {
        return format!("write it like `{}`", key.usage);
    };
    // A name in small letters is a function, which judges errors.
    let is_judge = match syn::parse2(value.clone()) {
        Ok(Expr::Closure(_)) => true,
        Ok(Expr::Path(path)) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            name.trim_start_matches("r#")
                .starts_with(char::is_lowercase)
        }),
        _ => false,
    };
    let key = if key.form == Form::On && is_judge {
        "when"
    } else {
        key.name
    };
    let ident = Ident::new(key, Span::call_site());
    let read = key_and_value
        .parse2(quote!(#ident = #value))
        .and_then(|(known, given)| (known.put)(&mut Args::default(), given));
    match (read, show(value)) {
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

    #[test]
    fn a_value_is_pasted_after_the_key_that_takes_it() {
        let rows = [
            ("retry_on", "[429]", "write `on = [429]`"),
            ("retry_on", "500..=504", "write `on = [500..=504]`"),
            ("retry_on", "429 | 503", "write `on = [429, 503]`"),
            ("retry_on", "5xx", "write `on = [500..=599]`"),
            ("retry_on", "\"429\"", "write `on = [429]`"),
            ("retry_on", "E::Busy", "write `on = [E::Busy]`"),
            ("retry_on", "is_busy", "write `when = is_busy`"),
            ("retry_on", "r#type", "write `when = r#type`"),
            ("retry_on", "|e| e.busy()", "write `when = |e| e.busy()`"),
            ("retry_if", "any_of(A)", "write `when = any_of(A)`"),
            ("retry_if", "503", "`when` takes a function or a closure"),
            ("timeout_ms", "1_500", "write `timeout = \"1_500ms\"`"),
            ("delay_secs", "1.5", "write `base = \"1.5s\"`"),
            ("delay", "\"3s\"", "write `base = \"3s\"`"),
            ("delay", "DELAY", "write `base = DELAY`"),
            ("delay", "100", "the key is `base`, and `100` has no unit"),
            ("delay", "true", "`true` is no duration"),
            ("randomization_factor", "0.3", "Jitter::Proportional(0.3)`"),
            ("max_jitter", "\"1s\"", "write `jitter = \"1s\"`"),
            ("exponent", "2", "write `factor = 2`"),
            ("retries", "3u32", "`max_attempts = 4`, which counts"),
            ("MaxRetryAttempts", "N", "`max_attempts = N + 1`, which"),
            ("retries", "-1", "`max_attempts = ..`"),
            ("retries", "\"3\"", "`max_attempts = ..`"),
        ];
        for (word, value, part) in rows {
            let said = instead(word, Some(value.parse().unwrap())).unwrap();
            assert!(said.contains(part), "{word} = {value}: {said}");
        }
        for word in ["colour", "colour_ms", "jitter_ms", "on_ms"] {
            assert_eq!(instead(word, Some(quote!(3))), None, "{word}");
        }
        let said = instead("tries", None).unwrap();
        assert_eq!(said, "write it like `max_attempts = 5`");
    }
}
