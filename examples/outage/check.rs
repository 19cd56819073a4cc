//! A page in Prometheus' text format, and whether it agrees with itself and with what the callers saw.

use crate::Seen;

/// One page of `/metrics`: each series, `name{label="value",…}`, with its value.
pub(crate) struct Page(Vec<(String, f64)>);

impl Page {
    /// # Errors
    /// With the line that is no sample.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let is_sample = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let read = |line: &str| {
            let (series, value) = line.rsplit_once(' ')?;
            Some((series.to_owned(), value.parse().ok()?))
        };
        let samples = text.lines().filter(is_sample);
        let samples = samples
            .map(|line| read(line).ok_or_else(|| format!("no sample of Prometheus: {line}")));
        Ok(Self(samples.collect::<Result<_, _>>()?))
    }

    /// The sum over all series of this name.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.values(name, |_| true).sum()
    }

    /// The sum over those of which a label has this value; without the label, its value is empty.
    pub(crate) fn sum_of(&self, name: &str, label: &str, value: &str) -> f64 {
        self.values(name, |labels| value_of(label, labels) == value)
            .sum()
    }

    fn values(&self, name: &str, which: impl Fn(&str) -> bool) -> impl Iterator<Item = f64> {
        self.0.iter().filter_map(move |(series, value)| {
            let (own, labels) = series.split_once('{').unwrap_or((series, ""));
            (own == name && which(labels)).then_some(*value)
        })
    }
}

/// The value of a label in `a="x",b="y"}`. No value of this program holds a comma or a quote.
fn value_of<'a>(label: &str, labels: &'a str) -> &'a str {
    let labels = labels.trim_end_matches('}').split(',');
    let mut pairs = labels.filter_map(|pair| pair.split_once('='));
    let pair = pairs.find(|(name, _)| *name == label);
    pair.map_or("", |(_, value)| value.trim_matches('"'))
}

const HISTOGRAMS: [&str; 4] = [
    "retry_call_duration_seconds",
    "retry_call_retries",
    "retry_call_delay_seconds",
    "retry_attempt_duration_seconds",
];

/// Everything that does not agree, a line each.
pub(crate) fn check(page: &Page, seen: Seen) -> Vec<String> {
    let count = |name| page.sum(&format!("{name}_count"));
    let [calls, retries, delays, attempts] = HISTOGRAMS.map(count);
    let ended = |how| page.sum_of("retry_call_duration_seconds_count", "retry_outcome", how);
    let tried = |how| page.sum_of("retry_attempt_duration_seconds_count", "error_type", how);
    let succeeded = ended("successful_with_retry") + ended("successful_without_retry");
    let failed = ended("failed_with_retry") + ended("failed_without_retry");
    let retried = ended("successful_with_retry") + ended("failed_with_retry");
    let repeated = page.sum("retry_call_retries_sum");

    let mut rows = vec![
        ("calls, their outcomes", calls, succeeded + failed),
        ("successes, callers' values", succeeded, seen.values as f64),
        ("failures, callers' errors", failed, seen.errors as f64),
        ("retried calls, counts of retries", retried, retries),
        ("retried calls, delays", retried, delays),
        ("attempts, calls with retries", attempts, calls + repeated),
        ("attempts without error, successes", tried(""), succeeded),
    ];
    // The values of a histogram, and those in its widest bucket.
    for name in HISTOGRAMS {
        let widest = page.sum_of(&format!("{name}_bucket"), "le", "+Inf");
        rows.push((name, count(name), widest));
    }
    rows.retain(|(_, one, other)| one != other);
    let differ = |(what, one, other)| format!("{what}: {one} and {other}");
    rows.into_iter().map(differ).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Seen = Seen {
        values: 3,
        errors: 2,
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
        let mut text = String::new();
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
        check(&Page::read(text).unwrap(), seen)
    }

    #[test]
    fn nothing_is_wrong_with_a_page_that_agrees() {
        assert_eq!(checked(&page(), SEEN), [""; 0]);
    }

    #[test]
    fn each_disagreement_is_said() {
        for (from, to, said) in [
            ("\"503\"} 4", "\"503\"} 5", "calls with retries"),
            ("_with_retry\"} 2\n", "\"} 3\n", "calls with retries"),
            (
                "le=\"+Inf\"} 4",
                "le=\"+Inf\"} 3",
                "attempt_duration_seconds: 8 and 7",
            ),
            (
                "retry_call_delay_seconds",
                "retry_delays",
                "retried calls, delays",
            ),
            ("retry_call_retries_count", "retries", "counts of retries"),
            ("failed_without_retry", "lost", "calls, their outcomes"),
            ("error_type=\"503\"", "kind=\"503\"", "attempts without"),
        ] {
            let page = page();
            assert!(page.contains(from), "{from}");
            let wrong = checked(&page.replace(from, to), SEEN);
            let is_said = wrong.iter().any(|wrong| wrong.contains(said));
            assert!(is_said, "{from}: {wrong:?}");
        }
        let wrong = checked(&page(), Seen { errors: 3, ..SEEN });
        assert_eq!(wrong.len(), 1, "{wrong:?}");
    }

    const TEXT: &str = "# HELP calls How many, in all\n# TYPE calls counter\n\
        calls{to=\"a\",said=\"200\"} 3\ncalls{to=\"b\",said=\"200\"} 4\n\
        calls{to=\"b\"} 0.5\n\nlevel 500\n";

    #[test]
    fn series_are_summed_by_a_label() {
        let page = Page::read(TEXT).unwrap();
        assert_eq!(page.sum("calls"), 7.5);
        assert_eq!(page.sum("level"), 500.0);
        assert_eq!(page.sum_of("calls", "said", "200"), 7.0);
        assert_eq!(page.sum_of("calls", "said", ""), 0.5);
        assert_eq!(page.sum_of("calls", "to", "b"), 4.5);
    }

    #[test]
    fn a_line_that_is_no_sample_is_named() {
        for line in ["calls", "calls{to=\"a\"}", "calls many"] {
            let error = Page::read(line).err().unwrap();
            assert!(error.ends_with(line), "{error}");
        }
    }
}
