//! The five ways as a table of plain text.

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

/// A line for each way.
pub(crate) fn table(stories: &[Story]) -> String {
    let rows: Vec<_> = stories
        .iter()
        .enumerate()
        .map(|(way, story)| row(way + 1, story))
        .collect();
    examples::table::table(&HEADER, 1, &rows)
}

fn row(number: usize, story: &Story) -> Vec<String> {
    vec![
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
    fn says_how_each_way_ended() {
        let story = |title, endings: &[Ending]| Story {
            title,
            calls: Vec::new(),
            endings: endings.to_vec(),
            told: vec![Duration::ZERO; endings.len()],
            took: Duration::from_millis(1250),
        };
        let text = table(&[
            story("short", &[Ending::Arrived, Ending::Misled, Ending::GaveUp]),
            story("a longer title", &[Ending::Arrived; 3]),
        ]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[2].starts_with("1 short  "), "{text}");
        assert!(lines[2].contains("2 of 3     0        2"), "{text}");
        assert!(lines[3].ends_with("1.25 s"), "{text}");
    }
}
