//! Means of many runs, as a table and as lines of a chart.

use std::fmt::Display;

use crate::chart::Line;
use crate::stats::Mean;
use crate::table::table;

/// What was measured, cell by cell.
pub struct Results {
    /// What tells the cells apart.
    labels: [&'static str; 2],
    measures: Vec<&'static str>,
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
    /// Without cells. The names of the labels and of the measures are the titles of the columns.
    pub fn new(
        labels: [&'static str; 2],
        measures: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        Self {
            labels,
            measures: measures.into_iter().collect(),
            cells: Vec::new(),
        }
    }

    /// Adds an experiment: a value for each label, and a mean for each measure, where it could be measured.
    pub fn add<const N: usize>(&mut self, labels: [&str; N], means: Vec<Option<Mean>>) {
        let labels = labels.map(str::to_owned).to_vec();
        self.cells.push(Cell { labels, means });
    }

    /// One cell's mean of a measure, by their names; `None` also where there is no such cell.
    pub fn mean(&self, labels: &[&str], measure: &str) -> Option<Mean> {
        self.of(measure)
            .find(|(of, _)| *of == labels)
            .map(|(_, mean)| mean)
    }

    /// Each mean of a measure, and the labels of its cell.
    fn of(&self, measure: &str) -> impl Iterator<Item = (&[String], Mean)> {
        let column = self.measures.iter().position(|&name| name == measure);
        self.cells
            .iter()
            .filter_map(move |cell| Some((&*cell.labels, cell.means[column?]?)))
    }

    /// A line for each of these ways: a measure over some numbers. The labels of the cells are a number and a
    /// way.
    pub fn lines<'a>(
        &self,
        ways: impl IntoIterator<Item = &'a str>,
        numbers: &[impl Copy + Display + Into<f64>],
        measure: &str,
    ) -> Vec<Line> {
        let line = |(index, way)| {
            let points = numbers.iter().filter_map(|&number| {
                let mean = self.mean(&[&number.to_string(), way], measure)?;
                Some((number.into(), mean))
            });
            Line::measured(way, index, points.collect())
        };
        ways.into_iter().enumerate().map(line).collect()
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

    /// The table as plain text.
    pub fn table(&self) -> String {
        let header = [&self.labels[..], &self.measures].concat();
        table(&header, self.labels.len(), &self.rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let mut results = Results::new(["clients", "strategy"], ["calls", "gave up, %"]);
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
    }

    #[test]
    fn a_cell_is_a_row_and_groups_have_a_gap() {
        let rows = results().rows();
        assert_eq!(rows[0], ["10", "full", "39.0 ± 0.5", "–"]);
        assert!(rows[1].is_empty());
        assert_eq!(rows.len(), 3);
    }
}
