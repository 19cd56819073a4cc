//! The names of the keys, and what is said about any other name.

use syn::Ident;

use crate::errors::did_you_mean;

/// Every key as it is written.
pub(super) const KEYS: [(&str, &str); 28] = [
    ("policy", "policy = iam::REQUEST"),
    ("base", "base = \"1s\""),
    ("throttled_base", "throttled_base = \"5s\""),
    ("factor", "factor = 2.0"),
    ("max_backoff", "max_backoff = \"64s\""),
    ("jitter", "jitter = full"),
    ("max_attempts", "max_attempts = 5"),
    ("deadline", "deadline = \"300s\""),
    ("max_retry_after", "max_retry_after = \"60s\""),
    ("timeout", "timeout = \"60s\""),
    ("attempt_timeout", "attempt_timeout = \"10s\""),
    ("on", "on = [429, 500..=504]"),
    ("also_on", "also_on = [408]"),
    ("when", "when = |error| error.is_busy()"),
    ("faults", "faults(ApiError)"),
    ("until", "until = |operation| operation.done"),
    ("idempotent", "idempotent = false"),
    ("retry_conflicts", "retry_conflicts = true"),
    ("responses", "responses = false"),
    ("budget", "budget = BUDGET"),
    ("clone", "clone(body)"),
    ("keep", "keep(seen)"),
    ("attempt", "attempt = n"),
    ("notify", "notify = |event| log(event)"),
    ("sleep", "sleep = my_timer"),
    ("runtime", "runtime = MyRuntime"),
    ("name", "name = \"billing.charge\""),
    ("crate", "crate = backoff_core"),
];

/// What the keys are called elsewhere.
const ELSEWHERE: [(&str, &str); 15] = [
    ("retries", "max_attempts"),
    ("max_retries", "max_attempts"),
    ("attempts", "max_attempts"),
    ("times", "max_attempts"),
    ("executor", "runtime"),
    ("max_delay", "max_backoff"),
    ("max_interval", "max_backoff"),
    ("cap", "max_backoff"),
    ("delay", "base"),
    ("min_delay", "base"),
    ("initial_interval", "base"),
    ("multiplier", "factor"),
    ("codes", "on"),
    ("retry_if", "when"),
    ("context", "clone"),
];

/// What a policy can be told, but not the attribute.
const SETTERS: [&str; 3] = ["retry_after_slack", "scaled", "without_budget"];

/// How the key is written, if it is one.
pub(super) fn usage(key: &Ident) -> Option<&'static str> {
    KEYS.into_iter()
        .find_map(|(name, usage)| (key == name).then_some(usage))
}

/// Whether names or types follow it in parentheses.
pub(super) fn takes_parentheses(key: &Ident) -> bool {
    ["clone", "keep", "faults"].iter().any(|name| key == name)
}

/// Whether it may stand alone.
pub(super) fn is_flag(key: &Ident) -> bool {
    ["idempotent", "retry_conflicts", "responses"]
        .iter()
        .any(|name| key == name)
}

pub(super) fn unknown(key: &Ident) -> syn::Error {
    let word = key.to_string();
    if SETTERS.contains(&word.as_str()) {
        let message = format!(
            "`{word}` is a rule of a policy and no key: write `policy = POLICY.{word}(..)` with \
             the policy that you use"
        );
        return syn::Error::new(key.span(), message);
    }
    let meant = ELSEWHERE
        .into_iter()
        .find_map(|(other, ours)| (other == word).then_some(ours))
        .or_else(|| did_you_mean(&word, KEYS.into_iter().map(|(name, _)| name)));
    let hint = meant
        .map(|name| format!(" write `{name}`;"))
        .unwrap_or_default();
    syn::Error::new(
        key.span(),
        format!("unknown key `{word}`:{hint} {}", list()),
    )
}

/// "the keys are …"
pub(super) fn list() -> String {
    let names: Vec<String> = KEYS.iter().map(|(name, _)| format!("`{name}`")).collect();
    format!("the keys are {}", names.join(", "))
}
