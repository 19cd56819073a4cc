//! What a scenario found, as rows of a table.

use crate::chart::{Chart, Line};
use crate::stats::Mean;
use crate::strategies::Strategy;

/// Everything that a scenario shows.
pub(crate) struct Findings {
    /// What was run, in a line.
    pub(crate) title: String,
    pub(crate) results: Results,
    /// What the table does not say by itself; lines.
    pub(crate) remarks: String,
    /// By file name, without its ending.
    pub(crate) charts: Vec<(&'static str, Chart)>,
}

/// What was measured, cell by cell.
pub(crate) struct Results {
    /// What tells the cells apart.
    labels: &'static [&'static str],
    measures: &'static [&'static str],
    cells: Vec<Cell>,
}

/// One experiment, run with every seed.
struct Cell {
    /// A value for each label.
    labels: Vec<String>,
    /// A mean for each measure, where it could be measured.
    means: Vec<Option<Mean>>,
}

impl Results {
    pub(crate) fn new(labels: &'static [&'static str], measures: &'static [&'static str]) -> Self {
        Self {
            labels,
            measures,
            cells: Vec::new(),
        }
    }

    /// Adds an experiment: a value for each label, and a mean for each measure, where it could be measured.
    pub(crate) fn add<const N: usize>(&mut self, labels: [&str; N], means: Vec<Option<Mean>>) {
        let labels = labels.map(str::to_owned).to_vec();
        self.cells.push(Cell { labels, means });
    }

    /// One cell's mean of a measure, by their names; `None` also where there is no such cell.
    pub(crate) fn mean(&self, labels: &[&str], measure: &str) -> Option<Mean> {
        self.of(measure)
            .find(|(of, _)| *of == labels)
            .map(|(_, mean)| mean)
    }

    /// The largest mean of a measure, and the labels of its cell.
    pub(crate) fn largest(&self, measure: &str) -> Option<(&[String], Mean)> {
        self.of(measure)
            .max_by(|(_, one), (_, other)| one.mean.total_cmp(&other.mean))
    }

    /// Each mean of a measure, and the labels of its cell.
    fn of(&self, measure: &str) -> impl Iterator<Item = (&[String], Mean)> {
        let column = self.measures.iter().position(|&name| name == measure);
        self.cells
            .iter()
            .filter_map(move |cell| Some((&*cell.labels, cell.means[column?]?)))
    }

    /// A measure of each strategy over the number of clients, by which and by whose name the cells are
    /// labelled. `factor` changes the unit.
    pub(crate) fn lines(
        &self,
        strategies: &[Strategy],
        clients: &[u32],
        measure: &str,
        factor: f64,
    ) -> Vec<Line> {
        let line = |(number, strategy): (usize, &Strategy)| {
            let point = |&clients: &u32| {
                let mean = self.mean(&[&clients.to_string(), strategy.name], measure)?;
                Some((clients.into(), mean.times(factor)))
            };
            let points = clients.iter().filter_map(point).collect();
            Line::measured(strategy.name, number, points)
        };
        strategies.iter().enumerate().map(line).collect()
    }

    /// A row for each cell, and one without cells between groups, which have the first label in
    /// common.
    fn rows(&self) -> Vec<Vec<String>> {
        let shown = |mean: &Option<Mean>| mean.map_or("–".to_owned(), |mean| mean.to_string());
        let groups = self
            .cells
            .chunk_by(|one, next| one.labels.first() == next.labels.first());
        let groups = groups.map(|group| {
            let row = |cell: &Cell| {
                let means = cell.means.iter().map(shown);
                cell.labels.iter().cloned().chain(means).collect()
            };
            group.iter().map(row).collect::<Vec<_>>()
        });
        groups.collect::<Vec<_>>().join(&Vec::new())
    }

    pub(crate) fn table(&self) -> String {
        let header = [self.labels, self.measures].concat();
        examples::table::table(&header, self.labels.len(), &self.rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let mut results = Results::new(&["clients", "strategy"], &["calls", "gave up, %"]);
        for (clients, mean) in [("10", 39.0), ("20", 100.25)] {
            let mean = Mean { mean, error: 0.5 };
            results.add([clients, "full"], vec![Some(mean), None]);
        }
        results
    }

    #[test]
    fn a_mean_is_found_by_its_names() {
        let results = results();
        let of = |clients, measure| Some(results.mean(&[clients, "full"], measure)?.mean);
        assert_eq!(of("20", "calls"), Some(100.25));
        assert_eq!(of("20", "gave up, %"), None);
        assert_eq!(of("30", "calls"), None);
        assert_eq!(of("20", "hope"), None);
        assert_eq!(results.largest("calls").unwrap().0, ["20", "full"]);
        assert!(results.largest("gave up, %").is_none());
    }

    #[test]
    fn a_cell_is_a_row_and_groups_have_a_gap() {
        let rows = results().rows();
        assert_eq!(rows[0], ["10", "full", "39.0 ± 0.5", "–"]);
        assert!(rows[1].is_empty());
        assert_eq!(rows.len(), 3);
    }
}
