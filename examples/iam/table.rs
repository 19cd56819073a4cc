//! The six ways as a table of plain text.

use crate::record::{Ending, Outcome, Story};
use crate::runs::Runs;

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
pub(crate) fn table(ways: &[Runs]) -> String {
    let rows: Vec<_> = ways
        .iter()
        .enumerate()
        .map(|(way, runs)| row(way + 1, runs))
        .collect();
    examples::table::table(&HEADER, 1, &rows)
}

fn row(number: usize, runs: &Runs) -> Vec<String> {
    let answered = |outcome| runs.mean(|story| story.answered(outcome));
    vec![
        format!("{number} {}", runs.drawn().title),
        format!(
            "{} of {}",
            runs.mean(Story::arrived),
            runs.drawn().writers()
        ),
        runs.mean(|story| story.ended(Ending::Lost)),
        runs.mean(Story::gave_up),
        runs.mean(|story| story.calls.len()),
        answered(Outcome::Conflict),
        answered(Outcome::Throttled),
        answered(Outcome::Failed),
        format!("{:.2} s", runs.seconds()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_each_way_ended() {
        let mixed = [Ending::Arrived, Ending::Misled, Ending::GaveUp];
        let short = Story::of("short", &mixed, 1250);
        let longer = Story::of("a longer title", &[Ending::Arrived; 3], 1250);
        let text = table(&[short, longer].map(Runs::of));
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[2].starts_with("1 short  "), "{text}");
        assert!(lines[2].contains("2 of 3     0        2"), "{text}");
        assert!(lines[3].ends_with("1.25 s"), "{text}");
    }
}
