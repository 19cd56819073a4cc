//! What a scenario found, as rows of a table and as CSV.

use crate::chart::Chart;
use crate::stats::Mean;

/// Everything that a scenario shows.
pub(crate) struct Findings {
    /// What was run, in a line.
    pub(crate) title: String,
    pub(crate) table: String,
    /// What the table does not say by itself; lines.
    pub(crate) remarks: String,
    pub(crate) csv: String,
    /// By file name, without its ending.
    pub(crate) charts: Vec<(&'static str, Chart)>,
}

/// What was measured, cell by cell.
pub(crate) struct Results {
    /// What tells the cells apart.
    pub(crate) labels: &'static [&'static str],
    pub(crate) measures: &'static [&'static str],
    pub(crate) cells: Vec<Cell>,
}

/// One experiment, run with every seed.
pub(crate) struct Cell {
    /// A value for each label.
    pub(crate) labels: Vec<String>,
    /// A mean for each measure, where it could be measured.
    pub(crate) means: Vec<Option<Mean>>,
}

impl Results {
    /// One cell's mean of a measure, by their names; `None` also where there is no such cell.
    pub(crate) fn mean(&self, labels: &[&str], measure: &str) -> Option<f64> {
        self.cell(labels, measure).map(|mean| mean.mean)
    }

    /// The same, with its error.
    pub(crate) fn cell(&self, labels: &[&str], measure: &str) -> Option<Mean> {
        let measure = self.measures.iter().position(|&name| name == measure)?;
        let cell = self.cells.iter().find(|cell| cell.labels == labels)?;
        cell.means[measure]
    }

    /// The names of all columns.
    pub(crate) fn header(&self) -> Vec<&'static str> {
        [self.labels, self.measures].concat()
    }

    /// A row for each cell, and one without cells between groups, which have the first label in
    /// common.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut group = None;
        for cell in &self.cells {
            if group.is_some_and(|group| group != cell.labels.first()) {
                rows.push(Vec::new());
            }
            group = Some(cell.labels.first());
            let means = cell
                .means
                .iter()
                .map(|mean| mean.map_or("–".to_owned(), |mean| mean.to_string()));
            rows.push(cell.labels.iter().cloned().chain(means).collect());
        }
        rows
    }

    pub(crate) fn table(&self) -> String {
        examples::table::table(&self.header(), self.labels.len(), &self.rows())
    }

    /// A mean and a standard error for each measure; empty where nothing was to be measured.
    pub(crate) fn csv(&self) -> String {
        let measures = self.measures.iter().flat_map(|measure| {
            let column = column(measure);
            [format!("{column}_mean"), format!("{column}_error")]
        });
        let labels = self.labels.iter().map(|label| column(label));
        let mut csv = line(labels.chain(measures));
        for cell in &self.cells {
            let means = cell.means.iter().flat_map(|mean| match mean {
                Some(mean) => [mean.mean.to_string(), mean.error.to_string()],
                None => [String::new(), String::new()],
            });
            csv += &line(cell.labels.iter().map(|label| quoted(label)).chain(means));
        }
        csv
    }
}

/// `lost after, %` becomes `lost_after_percent`.
fn column(name: &str) -> String {
    name.replace('%', "percent")
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("_")
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let cell = |clients: &str, mean| Cell {
            labels: vec![clients.to_owned(), "full, of 10 ms".to_owned()],
            means: vec![Some(Mean { mean, error: 0.5 }), None],
        };
        Results {
            labels: &["clients", "strategy"],
            measures: &["calls", "gave up, %"],
            cells: vec![cell("10", 39.0), cell("20", 100.25)],
        }
    }

    #[test]
    fn a_mean_is_found_by_its_names() {
        let of = |clients, measure| results().mean(&[clients, "full, of 10 ms"], measure);
        assert_eq!(of("20", "calls"), Some(100.25));
        assert_eq!(of("20", "gave up, %"), None);
        assert_eq!(of("30", "calls"), None);
        assert_eq!(of("20", "hope"), None);
    }

    #[test]
    fn a_cell_is_a_row_and_groups_have_a_gap() {
        let rows = results().rows();
        assert_eq!(rows[0], ["10", "full, of 10 ms", "39.0 ± 0.5", "–"]);
        assert!(rows[1].is_empty());
        assert_eq!(rows.len(), 3);
    }

    #[test]
    fn csv_has_all_digits_and_quotes_what_has_commas() {
        assert_eq!(
            results().csv(),
            "clients,strategy,calls_mean,calls_error,gave_up_percent_mean,gave_up_percent_error\n\
             10,\"full, of 10 ms\",39,0.5,,\n\
             20,\"full, of 10 ms\",100.25,0.5,,\n"
        );
    }
}
