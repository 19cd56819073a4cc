//! The four ways as a table of plain text.

use crate::record::{Ending, Outcome, Story};

const HEADER: [&str; 9] = [
    "way",
    "arrived",
    "lost",
    "gave up",
    "calls",
    "conflicts",
    "throttled",
    "failed",
    "time",
];

/// A header, a rule, and a line for each way; the first column stands left, the others right.
pub(crate) fn table(stories: &[Story]) -> String {
    let mut rows = vec![HEADER.map(String::from)];
    rows.extend(
        stories
            .iter()
            .enumerate()
            .map(|(way, story)| row(way + 1, story)),
    );
    let mut widths = [0; HEADER.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * (HEADER.len() - 1));
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<_> = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        text.push_str(&cells.join("  "));
        text.push('\n');
        if index == 0 {
            text.push_str(&rule);
            text.push('\n');
        }
    }
    text
}

fn row(number: usize, story: &Story) -> [String; HEADER.len()] {
    [
        format!("{number} {}", story.title),
        format!("{} of {}", story.arrived(), story.writers()),
        story.ended(Ending::Lost).to_string(),
        story.gave_up().to_string(),
        story.calls.len().to_string(),
        story.answered(Outcome::Conflict).to_string(),
        story.answered(Outcome::Throttled).to_string(),
        story.answered(Outcome::Failed).to_string(),
        format!("{:.2} s", story.took.as_secs_f64()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn columns_line_up() {
        let story = |title, endings: &[Ending]| Story {
            title,
            calls: Vec::new(),
            endings: endings.to_vec(),
            took: Duration::from_millis(1250),
        };
        let text = table(&[
            story("short", &[Ending::Arrived, Ending::Misled, Ending::GaveUp]),
            story("a longer title", &[Ending::Arrived; 3]),
        ]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() == lines[0].chars().count())
        );
        assert!(lines[2].contains("2 of 3     0        2"), "{text}");
        assert!(lines[3].ends_with("1.25 s"), "{text}");
    }
}
