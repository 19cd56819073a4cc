//! Crowds of different sizes as a picture: calls and time against the number of tasks.

use examples::axis::Scale;
use examples::chart::{self, Chart, Panel};
use examples::drawing::Picture;
use examples::results::Results;

use crate::crowd::{CALLS, GAVE_UP, TIME};
use crate::way::Way;

/// Gives the text of the SVG.
pub(crate) fn draw(results: &Results, tasks: &[u16], circumstances: &str) -> Picture {
    let panel = |y, measure| {
        let ways = Way::CROWD.map(Way::short);
        let lines = results.lines(ways, tasks, measure, 1.0);
        let scale = Scale::Logarithmic;
        Panel::new(("tasks", scale), (y, scale), lines)
    };
    let gave_up = who_gave_up(results, tasks);
    let subtitle = [circumstances.to_owned()].into_iter().chain(gave_up);
    chart::draw(&Chart {
        title: "Many tasks change one IAM policy at the same time".to_owned(),
        subtitle: subtitle.collect::<Vec<_>>().join("\n"),
        panels: vec![
            panel("calls of all tasks: reads and writes", CALLS),
            panel("milliseconds until the last task is done", TIME),
        ],
    })
}

/// How many tasks gave up: a line for each way in which some did.
fn who_gave_up(results: &Results, tasks: &[u16]) -> impl Iterator<Item = String> {
    let of = |tasks: &u16, way| {
        let gave_up = results.mean(&[&tasks.to_string(), way], GAVE_UP)?;
        (gave_up.mean > 0.0).then(|| format!("{:.1} of {tasks}", gave_up.mean))
    };
    Way::CROWD
        .map(Way::short)
        .into_iter()
        .filter_map(move |way| {
            let gave_up: Vec<_> = tasks.iter().filter_map(|tasks| of(tasks, way)).collect();
            let is_some = !gave_up.is_empty();
            is_some.then(|| format!("Tasks gave up with {way}: {}.", gave_up.join(", ")))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crowd::results;
    use examples::stats::Mean;

    #[test]
    fn says_everything() {
        let mut results = results();
        for (tasks, mean) in [("1", 2.0), ("100", 1_500.0)] {
            for way in Way::CROWD {
                let gave_up = way == Way::Combined && tasks == "100";
                let gave_up = if gave_up { 2.5 } else { 0.0 };
                let means = [0.0, 0.0, 0.0, mean, 10.0 * mean, gave_up];
                let means = means.map(|mean| Some(Mean { mean, error: 0.0 }));
                results.add([tasks, way.short()], means.to_vec());
            }
        }
        let svg = draw(&results, &[1, 100], "The circumstances").unwrap();
        let all = "The circumstances; the loop of Google; .version(..); iam::Members; 1,000; tasks (logarithmic); \
                   Tasks gave up with iam::Members: 2.5 of 100.; reads and writes; milliseconds";
        for words in all.split("; ") {
            assert!(svg.contains(words), "{words} is missing");
        }
        assert_eq!(svg.matches("gave up").count(), 1);
    }
}
