//! Names of keys in other libraries, and how to write their values here.

mod pasted;

use proc_macro2::TokenStream;

use super::table::named;
use pasted::Pasted;

/// The meaning here of another library's name.
#[derive(Clone, Copy)]
enum Meant {
    /// The key of this name, with the same value.
    Key(&'static str),
    /// The key of this name, which takes a duration.
    Time(&'static str),
    /// The number of calls after the first one: `max_attempts` is one more.
    Retries,
    /// The number of calls in one library, and of retries in another.
    Count,
    /// The fraction of the wait by which the wait is spread.
    Share,
    /// Codes if the value is a list, and otherwise a function.
    CodesOrFunction,
    /// A rule of a policy, but no key.
    Rule,
    /// This sentence says what to write.
    Sentence(&'static str),
}

use Meant::{CodesOrFunction, Count, Key as Same, Retries, Rule, Sentence, Share, Time};

const FIXED: Meant = Sentence(
    "write `base = \"1s\", factor = 1, jitter = none` with your duration for waits that are all \
     alike",
);
const GROWTH: Meant = Sentence(
    "remove it, because waits grow exponentially: `base` is the first wait, `factor` the growth, \
     and `max_backoff` the longest wait",
);
const OTHER_WAITS: Meant = Sentence(
    "waits of an algorithm of your own need the function form: write `POLICY.retry(|| ..).delays(..)`",
);
const EXCLUDED: Meant = Sentence(
    "name the errors to retry in `on`, or write `when = |error| ..`, which returns `false` for \
     errors that are not retried",
);
const BORROWED: Meant =
    Sentence("name the arguments that an attempt consumes in `clone(..)`; it borrows the others");
const OPPOSITE: Meant = Sentence(
    "write `until = |value| ..`, which is the opposite: `true` for a value that is not asked for \
     again",
);
const HEARD: Meant = Sentence(
    "remove it, because the `Retry-After` of a server is obeyed: `max_retry_after` says up to \
     which length",
);
const HANDED_BACK: Meant =
    Sentence("remove it, because the last error is given back as it is: handle it at the call");

/// Each name with its meaning here. The names come from backon, tokio-retry, tryhard, backoff, retry,
/// again, stamina, tenacity, resilience4j, Polly, Spring Retry, Kubernetes' probes and their relatives.
const NAMES: &[(&str, Meant)] = &[
    ("attempts", Same("max_attempts")),
    ("tries", Same("max_attempts")),
    ("max_tries", Same("max_attempts")),
    ("total_tries", Same("max_attempts")),
    ("max_calls", Same("max_attempts")),
    ("max_attempt_number", Same("max_attempts")),
    ("stop_after_attempt", Same("max_attempts")),
    ("retry", Retries),
    ("retries", Retries),
    ("max_retry", Retries),
    ("max_retries", Retries),
    ("max_retry_attempts", Retries),
    ("max_times", Retries),
    ("num_retries", Retries),
    ("number_of_retries", Retries),
    ("retry_count", Retries),
    ("retry_attempts", Retries),
    ("retry_limit", Retries),
    ("take", Retries),
    ("times", Count),
    ("count", Count),
    ("limit", Count),
    ("max", Count),
    ("delay", Time("base")),
    ("min", Time("base")),
    ("wait", Time("base")),
    ("interval", Time("base")),
    ("period", Time("base")),
    ("initial", Time("base")),
    ("base_delay", Time("base")),
    ("initial_backoff", Time("base")),
    ("initial_delay", Time("base")),
    ("initial_interval", Time("base")),
    ("initial_wait", Time("base")),
    ("min_backoff", Time("base")),
    ("min_delay", Time("base")),
    ("min_wait", Time("base")),
    ("retry_delay", Time("base")),
    ("retry_interval", Time("base")),
    ("start_delay", Time("base")),
    ("wait_duration", Time("base")),
    ("wait_initial", Time("base")),
    ("wait_min", Time("base")),
    ("cap", Time("max_backoff")),
    ("max_delay", Time("max_backoff")),
    ("max_interval", Time("max_backoff")),
    ("max_retry_delay", Time("max_backoff")),
    ("max_wait", Time("max_backoff")),
    ("max_wait_duration", Time("max_backoff")),
    ("maximum_backoff", Time("max_backoff")),
    ("wait_max", Time("max_backoff")),
    ("max_duration", Time("deadline")),
    ("max_elapsed", Time("deadline")),
    ("max_elapsed_time", Time("deadline")),
    ("max_total_delay", Time("deadline")),
    ("stop_after_delay", Time("deadline")),
    ("total_delay", Time("deadline")),
    ("overall_timeout", Time("timeout")),
    ("total_timeout", Time("timeout")),
    ("call_timeout", Time("attempt_timeout")),
    ("operation_timeout", Time("attempt_timeout")),
    ("per_attempt_timeout", Time("attempt_timeout")),
    ("per_try_timeout", Time("attempt_timeout")),
    ("try_timeout", Time("attempt_timeout")),
    ("backoff_factor", Same("factor")),
    ("backoff_multiplier", Same("factor")),
    ("exp_base", Same("factor")),
    ("exponent", Same("factor")),
    ("exponential_base", Same("factor")),
    ("multiplier", Same("factor")),
    ("wait_exp_base", Same("factor")),
    ("constant", FIXED),
    ("constant_delay", FIXED),
    ("fixed", FIXED),
    ("fixed_delay", FIXED),
    ("fixed_interval", FIXED),
    ("wait_fixed", FIXED),
    ("backoff", GROWTH),
    ("backoff_type", GROWTH),
    ("exponential", GROWTH),
    ("exponential_backoff", GROWTH),
    ("strategy", GROWTH),
    ("wait_exponential", GROWTH),
    ("adjust", OTHER_WAITS),
    ("delay_generator", OTHER_WAITS),
    ("fibonacci", OTHER_WAITS),
    ("interval_function", OTHER_WAITS),
    ("linear", OTHER_WAITS),
    ("jitter_factor", Share),
    ("random", Share),
    ("randomization_factor", Share),
    ("randomized_wait_factor", Share),
    ("max_jitter", Time("jitter")),
    ("wait_jitter", Time("jitter")),
    ("full_jitter", Sentence("write `jitter = full`")),
    (
        "use_jitter",
        Sentence("write `jitter = full`, or `jitter = none` for no jitter"),
    ),
    ("name", Same("operation")),
    ("in_a_row", Same("consecutive")),
    ("success_threshold", Same("consecutive")),
    ("codes", Same("on")),
    ("error", Same("on")),
    ("errors", Same("on")),
    ("include", Same("on")),
    ("retry_exceptions", Same("on")),
    ("retry_for", Same("on")),
    ("status", Same("on")),
    ("status_codes", Same("on")),
    ("statuses", Same("on")),
    ("retry_on", CodesOrFunction),
    ("condition", Same("when")),
    ("filter", Same("when")),
    ("if", Same("when")),
    ("predicate", Same("when")),
    ("retry_if", Same("when")),
    ("retry_if_exception", Same("when")),
    ("retry_on_exception", Same("when")),
    ("retry_when", Same("when")),
    ("should_handle", Same("when")),
    ("should_retry", Same("when")),
    ("abort_on", EXCLUDED),
    ("exclude", EXCLUDED),
    ("give_up", EXCLUDED),
    ("ignore", EXCLUDED),
    ("ignore_exceptions", EXCLUDED),
    ("no_retry_for", EXCLUDED),
    ("retry_if_result", OPPOSITE),
    ("retry_on_result", OPPOSITE),
    ("context", BORROWED),
    ("after", Same("notify")),
    ("before_sleep", Same("notify")),
    ("listener", Same("notify")),
    ("listeners", Same("notify")),
    ("on_error", Same("notify")),
    ("on_failure", Same("notify")),
    ("on_retry", Same("notify")),
    ("retry_after", HEARD),
    ("fallback", HANDED_BACK),
    ("executor", Same("runtime")),
    ("krate", Same("crate")),
    ("retry_after_slack", Rule),
    ("scaled", Rule),
    ("without_budget", Rule),
];

/// The suffix of a name that gives the unit of a number.
const UNITS: &[(&str, &str)] = &[
    ("_ns", "ns"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_msec", "ms"),
    ("_millis", "ms"),
    ("_milliseconds", "ms"),
    ("_s", "s"),
    ("_sec", "s"),
    ("_secs", "s"),
    ("_seconds", "s"),
    ("_mins", "m"),
    ("_minutes", "m"),
];

/// The end of the sentence that says what to write instead of the unknown key `word`.
pub(super) fn instead(word: &str, value: Option<&TokenStream>) -> Option<String> {
    let name = snake(word);
    if let Some(meant) = meaning(&name) {
        return Some(meant.said(&name, None, value));
    }
    let (stem, unit) = UNITS
        .iter()
        .find_map(|&(end, unit)| Some((name.strip_suffix(end)?, unit)))?;
    match meaning(stem)? {
        meant @ Time(_) => Some(meant.said(stem, Some(unit), value)),
        _ => None,
    }
}

fn meaning(name: &str) -> Option<Meant> {
    let other = NAMES
        .iter()
        .find_map(|&(other, meant)| (other == name).then_some(meant));
    other.or_else(|| {
        let known = named(name)?;
        Some(if known.takes_time() {
            Time(known.name)
        } else {
            Same(known.name)
        })
    })
}

/// `maxAttempts` and `MaxAttempts` as `max_attempts`.
fn snake(word: &str) -> String {
    let mut name = String::new();
    for letter in word.chars() {
        if letter.is_uppercase() && !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

impl Meant {
    fn said(self, name: &str, unit: Option<&str>, value: Option<&TokenStream>) -> String {
        let value = Pasted::new(value);
        match self {
            Same("on") => match value.as_list() {
                Some(list) => format!("write `on = {list}`"),
                None => "name codes or patterns of the error in `on`, such as `on = [429, \
                         Error::Busy { .. }]`"
                    .to_owned(),
            },
            Same(key) => value.written(key),
            Time(key) => match (value.amount(), unit) {
                (Some(number), Some(unit)) => format!("write `{key} = \"{number}{unit}\"`"),
                (Some(number), None) => format!(
                    "write `{key} = \"{number}ms\"` if {number} is a number of milliseconds, or \
                     `{key} = \"{number}s\"` for seconds"
                ),
                (None, Some(unit)) => {
                    format!("write `{key}` with a duration, such as `{key} = \"10{unit}\"`")
                }
                (None, None) => value.written(key),
            },
            Retries => {
                let more = value.one_more().unwrap_or_else(|| "..".to_owned());
                format!("write `max_attempts = {more}`, which counts the first call too")
            }
            Count => match value.count() {
                Some(count) => format!(
                    "write `max_attempts = {count}` for {count} calls, or `max_attempts = {}` for \
                     {count} retries after the first call",
                    count.saturating_add(1)
                ),
                None => "write `max_attempts`, which counts the first call too".to_owned(),
            },
            Share => {
                let share = value.share().unwrap_or_else(|| "0.2".to_owned());
                format!(
                    "write `jitter = Jitter::Proportional({share})`, which takes a share from 0 to 1"
                )
            }
            CodesOrFunction if value.is_function() => value.written("when"),
            CodesOrFunction => match value.as_list() {
                Some(list) => format!("write `on = {list}`"),
                None => "write `on = [..]` with codes or patterns of the error, or \
                         `when = |error| ..`"
                    .to_owned(),
            },
            Rule => format!(
                "it is a rule of a policy, so write `policy = POLICY.{name}(..)` with the policy \
                 that you use"
            ),
            Sentence(sentence) => sentence.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_name_stands_once_and_means_a_key_that_there_is() {
        let mut seen = HashSet::new();
        for &(name, meant) in NAMES {
            assert!(seen.insert(name), "`{name}` stands here twice");
            assert!(named(name).is_none(), "`{name}` is a key");
            if let Same(key) | Time(key) = meant {
                assert!(named(key).is_some(), "`{key}` is no key");
            }
        }
    }
}
