//! Crowds of different sizes as a picture: calls and time against the number of tasks.

use examples::axis::Scale;
use examples::chart::{self, Chart, Line, Panel};
use examples::drawing::Picture;
use examples::stats::Mean;

use crate::crowd::{Curve, Point};

const CALLS: &str = "calls of all tasks: reads and writes";
const TIME: &str = "milliseconds until the last task is done";

/// Gives the text of the SVG.
pub(crate) fn draw(curves: &[Curve], circumstances: &str) -> Picture {
    let panel = |y, value: fn(&Point) -> Mean| {
        let line = |(number, curve): (usize, &Curve)| {
            let points = curve.points.iter();
            let points = points.map(|point| (point.tasks, value(point))).collect();
            Line::measured(curve.way.short(), number, points)
        };
        let lines = curves.iter().enumerate().map(line).collect();
        let scale = Scale::Logarithmic;
        Panel::new(("tasks", scale), (y, scale), lines)
    };
    let gave_up = who_gave_up(curves);
    let subtitle = [circumstances.to_owned()].into_iter().chain(gave_up);
    chart::draw(&Chart {
        title: "Many tasks change one IAM policy at the same time".to_owned(),
        subtitle: subtitle.collect::<Vec<_>>().join("\n"),
        panels: vec![
            panel(CALLS, |point| point.calls),
            panel(TIME, |point| point.milliseconds),
        ],
    })
}

/// How many tasks gave up: a line for each way in which some did.
fn who_gave_up(curves: &[Curve]) -> impl Iterator<Item = String> {
    curves.iter().filter_map(|curve| {
        let points = curve.points.iter().filter(|point| point.gave_up.mean > 0.0);
        let gave_up: Vec<_> = points
            .map(|point| format!("{:.1} of {}", point.gave_up.mean, point.tasks))
            .collect();
        let name = curve.way.short();
        (!gave_up.is_empty()).then(|| format!("Tasks gave up with {name}: {}.", gave_up.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::way::Way;

    fn curves(gave_up: f64) -> Vec<Curve> {
        let point = |tasks: f64, factor: f64, gave_up| Point {
            tasks,
            calls: exact(tasks * factor * 2.0),
            milliseconds: exact(tasks * factor * 10.0),
            gave_up: exact(gave_up),
            ..Point::default()
        };
        let curve = |(index, way): (usize, Way)| Curve {
            way,
            points: vec![
                point(1.0, 1.0, 0.0),
                point(100.0, 10.0 / (index + 1) as f64, gave_up),
            ],
        };
        Way::CROWD.into_iter().enumerate().map(curve).collect()
    }

    fn exact(mean: f64) -> Mean {
        Mean { mean, error: 0.0 }
    }

    #[test]
    fn says_everything() {
        let svg = draw(&curves(0.0), "The circumstances").unwrap();
        let all =
            "The circumstances; s loop; .version(..); iam::Members; 1,000; tasks (logarithmic)";
        for words in all.split("; ").chain([CALLS, TIME]) {
            assert!(svg.contains(words), "{words} is missing");
        }
        assert!(!svg.contains("gave up"));
    }

    #[test]
    fn says_who_gave_up() {
        let svg = draw(&curves(2.5), "The circumstances").unwrap();
        assert!(svg.contains("Tasks gave up with iam::Members: 2.5 of 100."));
    }

    #[test]
    fn draws_whatever_was_measured() {
        let (way, points) = (Way::Paced, vec![Point::default()]);
        for curves in [vec![], vec![Curve { way, points }]] {
            draw(&curves, "").unwrap();
        }
    }
}
