//! Prometheus' text format, read as a scraper reads it.

use std::collections::BTreeMap;

/// One page of `/metrics`.
#[derive(Debug, Default)]
pub(crate) struct Page {
    samples: Vec<Sample>,
}

#[derive(Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Page {
    /// # Errors
    /// With the line that is no sample.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let lines = text.lines().map(str::trim);
        let samples = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| sample(line).ok_or_else(|| format!("no sample of Prometheus: {line}")))
            .collect::<Result<_, _>>()?;
        Ok(Page { samples })
    }

    /// The sum over all series of this name.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.named(name).map(|sample| sample.value).sum()
    }

    /// The sums by the value of a label; series without the label are under the empty text.
    pub(crate) fn sum_by(&self, name: &str, label: &str) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for sample in self.named(name) {
            let value = sample.labels.get(label).cloned().unwrap_or_default();
            *sums.entry(value).or_default() += sample.value;
        }
        sums
    }

    /// The labels of each series of this name.
    pub(crate) fn series(&self, name: &str) -> impl Iterator<Item = &BTreeMap<String, String>> {
        self.named(name).map(|sample| &sample.labels)
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Sample> {
        self.samples
            .iter()
            .filter(move |sample| sample.name == name)
    }
}

/// `name{label="value",…} 7`, or without labels.
fn sample(line: &str) -> Option<Sample> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, inside) = match series.split_once('{') {
        Some((name, rest)) => (name, rest.strip_suffix('}')?),
        None => (series, ""),
    };
    Some(Sample {
        name: name.to_owned(),
        labels: labels(inside)?,
        value: value.parse().ok()?,
    })
}

/// `a="x",b="y"`. In a value, `\"`, `\\` and `\n` stand for a quote, a backslash and a new line.
fn labels(inside: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    let mut rest = inside;
    while !rest.is_empty() {
        let (name, quoted) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = quoted.char_indices();
        let end = loop {
            match letters.next()? {
                (end, '"') => break end,
                (_, '\\') => value.push(match letters.next()?.1 {
                    'n' => '\n',
                    letter => letter,
                }),
                (_, letter) => value.push(letter),
            }
        };
        labels.insert(name.trim_start_matches(',').to_owned(), value);
        rest = &quoted[end + 1..];
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# HELP calls How many, in all\n# TYPE calls counter\n\
        calls{to=\"a\",said=\"200\"} 3\ncalls{to=\"b\",said=\"200\"} 4\n\
        calls{to=\"say \\\"b, {c}\\\"\"} 0.5\n\nlevel 500\n";

    #[test]
    fn series_are_summed_by_a_label() {
        let page = Page::read(TEXT).unwrap();
        assert_eq!(page.sum("calls"), 7.5);
        assert_eq!(page.sum("level"), 500.0);
        let expected = [("".to_owned(), 0.5), ("200".to_owned(), 7.0)];
        assert_eq!(page.sum_by("calls", "said"), expected.into());
    }

    #[test]
    fn a_value_may_hold_what_separates_labels() {
        let page = Page::read(TEXT).unwrap();
        let to: Vec<_> = page.series("calls").map(|labels| &labels["to"]).collect();
        assert_eq!(to, ["a", "b", "say \"b, {c}\""]);
    }

    #[test]
    fn a_line_that_is_no_sample_is_named() {
        for line in ["calls", "calls{to=\"a\" 3", "calls{to} 3", "calls many"] {
            let error = Page::read(line).unwrap_err();
            assert!(error.ends_with(line), "{error}");
        }
    }
}
