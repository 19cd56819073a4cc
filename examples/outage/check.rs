//! Whether a page agrees with itself and with what the callers saw.

use std::collections::BTreeMap;

use crate::load::Seen;
use crate::page::Page;
use crate::picture;

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

    // Which of them occur depends on the machine's speed, as on a slow one most attempts are cut.
    if outcomes.keys().any(|it| !OUTCOMES.contains(&it.as_str())) {
        wrong.push(format!("the outcomes are not {OUTCOMES:?}: {outcomes:?}"));
    }
    for error_type in attempts.keys().filter(|it| !picture::shows(it)) {
        wrong.push(format!(
            "the picture does not show error_type {error_type:?}"
        ));
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

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Seen = Seen {
        succeeded: 3,
        failed: 2,
    };

    /// Five calls: two succeed at once and one after two retries, one is told 404, and one is given up
    /// after a retry. Each line is a series: its name, its labels, its count and its sum.
    const SERIES: &str = "\
        attempt_duration_seconds . 3 0.1
        attempt_duration_seconds error_type=404 1 0.1
        attempt_duration_seconds error_type=503 4 0.1
        call_duration_seconds retry_outcome=successful_without_retry 2 0.1
        call_duration_seconds retry_outcome=successful_with_retry 1 0.9
        call_duration_seconds retry_outcome=failed_without_retry,retry_stop_reason=permanent 1 0.1
        call_duration_seconds retry_outcome=failed_with_retry,retry_stop_reason=budget 1 0.5
        call_retries retry_outcome=successful_with_retry 1 2
        call_retries retry_outcome=failed_with_retry 1 1
        call_delay_seconds retry_outcome=successful_with_retry 1 0.8
        call_delay_seconds retry_outcome=failed_with_retry 1 0.4";

    fn page() -> String {
        let mut text = "retry_budget_level{retry_budget=\"billing\"} 486\n".to_owned();
        for line in SERIES.lines() {
            let [name, labels, count, sum] = line.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let mut all = "retry_operation=\"invoices.get\",retry_policy=\"billing\"".to_owned();
            for (label, value) in labels.split(',').filter_map(|label| label.split_once('=')) {
                all += &format!(",{label}=\"{value}\"");
            }
            text += &format!(
                "retry_{name}_bucket{{{all},le=\"+Inf\"}} {count}\n\
                 retry_{name}_sum{{{all}}} {sum}\nretry_{name}_count{{{all}}} {count}\n"
            );
        }
        text
    }

    fn checked(text: &str, seen: Seen) -> Vec<String> {
        check(&Page::read(text).unwrap(), seen, 500.0)
    }

    #[test]
    fn nothing_is_wrong_with_a_page_that_agrees() {
        assert_eq!(checked(&page(), SEEN), [""; 0]);
    }

    #[test]
    fn each_disagreement_is_said() {
        let delays = "retry_call_delay_seconds";
        for (from, to, said) in [
            ("\"503\"} 4", "\"503\"} 5", "attempts, and calls"),
            ("_with_retry\"} 2\n", "\"} 3\n", "attempts, and calls"),
            ("} 486", "} 501", "within 0 and 500"),
            ("le=\"+Inf\"} 4", "le=\"+Inf\"} 3", "in buckets"),
            (delays, "retry_delays", "is not on the page"),
            ("policy=\"billing\",retry", "policy=\"\",retry", "name"),
            ("failed_without_retry", "lost", "the outcomes are not"),
            ("\"404\"", "\"500\"", "does not show error_type \"500\""),
            (",retry_stop_reason=\"permanent\"", "", "without a reason"),
        ] {
            let page = page();
            assert!(page.contains(from), "{from}");
            let wrong = checked(&page.replace(from, to), SEEN);
            let is_said = wrong.iter().any(|wrong| wrong.contains(said));
            assert!(is_said, "{from}: {wrong:?}");
        }
        let wrong = checked(&page(), Seen { failed: 3, ..SEEN });
        assert_eq!(wrong.len(), 2, "{wrong:?}");
    }
}
