//! Figures, and tables of figures in Markdown. The columns are aligned, so that the text is readable too.

use std::fmt::Write as _;

/// One number, with its question, its line (who was measured) and its column.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) question: &'static str,
    pub(crate) who: &'static str,
    pub(crate) column: &'static str,
    pub(crate) number: f64,
}

impl Figure {
    pub(crate) fn new(
        question: &'static str,
        who: &'static str,
        column: &'static str,
        number: f64,
    ) -> Self {
        Figure {
            question,
            who,
            column,
            number,
        }
    }
}

/// A table for each question. Lines and columns have the order in which the figures first name them.
pub(crate) fn tables(figures: &[Figure], decimals: usize) -> String {
    let mut text = String::new();
    for question in distinct(figures.iter().map(|figure| figure.question)) {
        let of_question = || figures.iter().filter(|figure| figure.question == question);
        let columns = distinct(of_question().map(|figure| figure.column));
        let rows = distinct(of_question().map(|figure| figure.who));
        let mut lines = vec![line("", columns.iter().map(|name| (*name).to_owned()))];
        for who in rows {
            let figures = columns.iter().map(|column| {
                let mut here = of_question().filter(|f| f.who == who && f.column == *column);
                here.next()
                    .map_or("–".to_owned(), |f| format!("{:.decimals$}", f.number))
            });
            lines.push(line(who, figures));
        }
        let _ = writeln!(text, "### {question}\n\n{}", aligned(&lines));
    }
    text
}

fn line(first: &str, rest: impl Iterator<Item = String>) -> Vec<String> {
    [first.to_owned()].into_iter().chain(rest).collect()
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The first line is the header. The first column has the names.
fn aligned(lines: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or(0).max(2)
    };
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let rule = widths
        .iter()
        .enumerate()
        .map(|(column, width)| match column {
            0 => "-".repeat(*width),
            _ => "-".repeat(width - 1) + ":",
        });
    let rule: Vec<String> = rule.collect();
    let (head, body) = lines.split_at(1);
    let mut text = String::new();
    for line in head.iter().chain([&rule]).chain(body) {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(text, "| {cell:<width$} |"),
                _ => write!(text, " {cell:>width$} |"),
            };
        }
        text.push('\n');
    }
    text
}
