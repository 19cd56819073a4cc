//! Whether a page agrees with itself and with what the callers saw.

use std::collections::BTreeMap;

use crate::load::Seen;
use crate::page::Page;

const OUTCOMES: [&str; 4] = [
    "failed_with_retry",
    "failed_without_retry",
    "successful_with_retry",
    "successful_without_retry",
];

/// Everything that does not hold, a sentence each.
pub(crate) fn check(page: &Page, seen: Seen, capacity: f64) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: &str, one: f64, other: f64| {
        if one != other {
            wrong.push(format!("{what}: {one} and {other}"));
        }
    };
    let outcomes = page.sum_by("retry_call_duration_seconds_count", "retry_outcome");
    let of = |name: &str| outcomes.get(name).copied().unwrap_or_default();
    let calls: f64 = outcomes.values().sum();
    let succeeded = of("successful_with_retry") + of("successful_without_retry");
    let failed = of("failed_with_retry") + of("failed_without_retry");
    let retried = of("successful_with_retry") + of("failed_with_retry");
    let attempts = page.sum_by("retry_attempt_duration_seconds_count", "error_type");

    same(
        "calls on the page, and calls that ended",
        calls,
        seen.ended() as f64,
    );
    same(
        "calls that succeeded, and callers that got a value",
        succeeded,
        seen.succeeded as f64,
    );
    same(
        "calls that failed, and callers that got an error",
        failed,
        seen.failed as f64,
    );
    same(
        "attempts, and calls with their retries",
        attempts.values().sum(),
        calls + page.sum("retry_call_retries_sum"),
    );
    same(
        "attempts without an error, and calls that succeeded",
        attempts.get("").copied().unwrap_or_default(),
        succeeded,
    );
    for name in ["retry_call_retries_count", "retry_call_delay_seconds_count"] {
        same(
            &format!("{name}, and calls that were retried"),
            page.sum(name),
            retried,
        );
    }
    let reasons = page.sum_by("retry_call_duration_seconds_count", "retry_stop_reason");
    let without = reasons.get("").copied().unwrap_or_default();
    same(
        "calls without a reason to stop, and calls that succeeded",
        without,
        succeeded,
    );

    if !outcomes.keys().eq(OUTCOMES) {
        wrong.push(format!("the outcomes are not {OUTCOMES:?}: {outcomes:?}"));
    }
    let level = page.sum_by("retry_budget_level", "retry_budget");
    match level.get("billing") {
        Some(level) if (0.0..=capacity).contains(level) => {}
        _ => wrong.push(format!(
            "the budget's level is not within 0 and {capacity}: {level:?}"
        )),
    }
    for name in [
        "retry_call_duration_seconds",
        "retry_call_retries",
        "retry_call_delay_seconds",
        "retry_attempt_duration_seconds",
    ] {
        wrong.extend(histogram(page, name));
    }
    wrong
}

/// A histogram of which nothing is on the page, whose series do not name operation and policy, or whose
/// widest buckets do not hold everything.
fn histogram(page: &Page, name: &str) -> Option<String> {
    let names = |labels: &BTreeMap<String, String>| {
        labels["retry_operation"] == "invoices.get" && labels["retry_policy"] == "billing"
    };
    let count = format!("{name}_count");
    if page.series(&count).next().is_none() {
        return Some(format!("{name} is not on the page"));
    }
    if !page.series(&count).all(names) {
        return Some(format!(
            "a series of {name} does not name operation and policy"
        ));
    }
    let buckets = page.sum_by(&format!("{name}_bucket"), "le");
    let (all, count) = (buckets.get("+Inf").copied(), page.sum(&count));
    (all != Some(count)).then(|| format!("{name} has {count} values, {all:?} of them in buckets"))
}
