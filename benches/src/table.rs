//! Figures as tables in Markdown, aligned so that they can be read as they are.

use std::fmt::Write as _;

/// Who has which figure in which column.
#[derive(Default)]
pub(crate) struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<Option<String>>)>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Table {
            title: title.into(),
            ..Table::default()
        }
    }

    /// Puts a figure down; lines and columns stand in the order in which they are first named.
    pub(crate) fn put(&mut self, who: &str, column: &str, figure: impl ToString) {
        let column = match self.columns.iter().position(|name| name == column) {
            Some(index) => index,
            None => {
                self.columns.push(column.to_owned());
                self.columns.len() - 1
            }
        };
        let row = match self.rows.iter().position(|(name, _)| name == who) {
            Some(index) => index,
            None => {
                self.rows.push((who.to_owned(), Vec::new()));
                self.rows.len() - 1
            }
        };
        let figures = &mut self.rows[row].1;
        figures.resize(figures.len().max(column + 1), None);
        figures[column] = Some(figure.to_string());
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut lines = vec![
            [String::new()]
                .into_iter()
                .chain(self.columns.iter().cloned())
                .collect::<Vec<_>>(),
        ];
        lines.extend(self.rows.iter().map(|(who, figures)| {
            let figures = (0..self.columns.len())
                .map(|column| figures.get(column).cloned().flatten().unwrap_or("–".into()));
            [who.clone()].into_iter().chain(figures).collect()
        }));
        let widths: Vec<usize> = (0..=self.columns.len())
            .map(|column| {
                let widths = lines.iter().map(|line| line[column].chars().count());
                widths.max().unwrap_or(0).max(2)
            })
            .collect();
        let mut text = format!("## {}\n\n", self.title);
        for (number, line) in lines.iter().enumerate() {
            write_line(&mut text, line, &widths);
            if number == 0 {
                let rules = widths.iter().enumerate().map(|(column, width)| match column {
                    0 => "-".repeat(*width),
                    _ => format!("{}:", "-".repeat(width - 1)),
                });
                write_line(&mut text, &rules.collect::<Vec<_>>(), &widths);
            }
        }
        text
    }
}

fn write_line(text: &mut String, cells: &[String], widths: &[usize]) {
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let _ = match column {
            0 => write!(text, "| {cell:<width$} |"),
            _ => write!(text, " {cell:>width$} |"),
        };
    }
    text.push('\n');
}
