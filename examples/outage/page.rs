//! Prometheus' text format, read as a scraper reads it.

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

#[cfg(test)]
mod tests {
    use super::*;

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
