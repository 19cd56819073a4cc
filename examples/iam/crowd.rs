//! Four ways in crowds of different sizes: the second picture.

use std::time::Duration;

use emulator::Emulator;
use examples::stats::{Mean, ascending};
use examples::table::table;
use examples::terminal::say;
use indicatif::{ProgressBar, ProgressStyle};

use crate::client::Pace;
use crate::record::{Ending, Kind, Outcome, Story};
use crate::tell::{http, tell};
use crate::way::Way;
use crate::{Error, curves};

/// As many, as far apart and as often as a short run of the example has time for.
pub(crate) const TASKS: [u16; 6] = [1, 2, 5, 10, 20, 50];
pub(crate) const RUNS: u16 = 2;
/// So many tasks of one way run at the same time, or one crowd.
const AT_ONCE: u16 = 100;

/// How long the service thinks about a call.
const LATENCY: Duration = Duration::from_millis(5);

/// A crowd of one size in one way: means of some runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) tasks: f64,
    pub(crate) reads: Mean,
    pub(crate) writes: Mean,
    pub(crate) conflicts: Mean,
    /// Reads and writes.
    pub(crate) calls: Mean,
    /// Until the last task is done.
    pub(crate) milliseconds: Mean,
    pub(crate) gave_up: Mean,
}

impl Point {
    /// `None` of no runs.
    fn mean(stories: &[Story]) -> Option<Self> {
        let mean = |of: &dyn Fn(&Story) -> usize| Mean::of(stories.iter().map(|it| of(it) as f64));
        Some(Self {
            tasks: stories.first()?.writers() as f64,
            reads: mean(&|story| story.of_kind(Kind::Read))?,
            writes: mean(&|story| story.of_kind(Kind::Write))?,
            conflicts: mean(&|story| story.answered(Outcome::Conflict))?,
            calls: mean(&|story| story.calls.len())?,
            milliseconds: Mean::of(stories.iter().map(|it| it.took.as_secs_f64() * 1e3))?,
            gave_up: mean(&Story::gave_up)?,
        })
    }
}

/// What one way needs in each crowd.
#[derive(Debug)]
pub(crate) struct Curve {
    pub(crate) way: Way,
    pub(crate) points: Vec<Point>,
}

/// Prints the table; gives the picture.
pub(crate) async fn show(tasks: &[u16], runs: u16, pace: Pace) -> Result<String, Error> {
    let tasks = ascending(tasks);
    let circumstances = format!(
        "5 ms a call, no faults. Waits are shortened a hundredfold (base 10 ms, deadline {}). {}",
        if pace.is_patient { "300 s" } else { "3 s" },
        match runs {
            1 => "One run.".to_owned(),
            runs => format!("Means of {runs} runs."),
        }
    );
    say(&format!(
        "\nTasks change one IAM policy at the same time, in four ways.\n{circumstances}\n"
    ))?;
    let curves = measure(&tasks, runs, pace).await?;
    say(&format!("\n{}", in_words(&curves)))?;
    curves::draw(&curves, &circumstances)
}

async fn measure(tasks: &[u16], runs: u16, pace: Pace) -> Result<Vec<Curve>, Error> {
    let all: u64 = tasks.iter().copied().map(u64::from).sum();
    let style = ProgressStyle::with_template("{bar:44} {pos:>5} of {len} changes, {msg}")?;
    let bar = ProgressBar::new(all * u64::from(runs) * Way::CROWD.len() as u64).with_style(style);
    let mut curves = Way::CROWD.map(|way| Curve {
        way,
        points: Vec::new(),
    });
    for &writers in tasks {
        bar.set_message(format!("{writers} tasks"));
        // The first three wait most of the time, so they run side by side. What they do would be most of the
        // time of the last way, so that one runs alone.
        for curves in curves.chunks_mut(3) {
            add_point(curves, writers, runs, pace, &bar).await?;
        }
    }
    bar.finish_and_clear();
    Ok(curves.into())
}

/// Runs these ways at the same time, each run against a service of its own.
async fn add_point(
    curves: &mut [Curve],
    writers: u16,
    runs: u16,
    pace: Pace,
    bar: &ProgressBar,
) -> Result<(), Error> {
    let mut stories: Vec<_> = curves.iter().map(|_| Vec::new()).collect();
    // So many runs at the same time that the waits and not the machine take the time.
    let at_once = (AT_ONCE / writers).max(1);
    for batch in vec![(); runs.into()].chunks(at_once.into()) {
        let shared = http()?;
        let mut prepared = Vec::new();
        for (index, curve) in curves.iter().enumerate() {
            for () in batch {
                let service = Emulator::builder().latency(LATENCY).start()?;
                let (http, bar) = (shared.clone(), ProgressBar::hidden());
                let told = tell(curve.way, pace, http, service, writers, bar);
                prepared.push((index, told));
            }
        }
        let spawned = |(index, told)| (index, tokio::spawn(told));
        let running: Vec<_> = prepared.into_iter().map(spawned).collect();
        for (index, told) in running {
            stories[index].push(sound(told.await??)?);
            bar.inc(writers.into());
        }
    }
    for (curve, stories) in curves.iter_mut().zip(stories) {
        curve.points.extend(Point::mean(&stories));
    }
    Ok(())
}

/// In none of these ways may a change be missing that was told as made.
fn sound(story: Story) -> Result<Story, Error> {
    match story.ended(Ending::Lost) {
        0 => Ok(story),
        lost => Err(format!("{}: {lost} changes were lost", story.title).into()),
    }
}

fn in_words(curves: &[Curve]) -> String {
    let header = [
        "way",
        "tasks",
        "reads",
        "writes",
        "conflicts",
        "calls",
        "time",
        "gave up",
    ];
    let mut rows = Vec::new();
    for curve in curves {
        rows.extend(curve.points.iter().map(|point| row(curve.way, point)));
        rows.push(Vec::new());
    }
    rows.pop();
    table(&header, 1, &rows)
}

fn row(way: Way, point: &Point) -> Vec<String> {
    let number = |mean: Mean| format!("{:.1}", mean.mean);
    vec![
        way.title().to_owned(),
        point.tasks.to_string(),
        number(point.reads),
        number(point.writes),
        number(point.conflicts),
        number(point.calls),
        format!("{:.3} s", point.milliseconds.mean / 1e3),
        number(point.gave_up),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_crowd_that_combines_calls_less_often() {
        let pace = Pace { is_patient: true };
        let curves = measure(&[1, 8], 1, pace).await.unwrap();
        for curve in &curves {
            // Alone, every way costs one read and one write.
            assert_eq!(curve.points[0].calls.mean, 2.0, "{:?}", curve.way);
            assert_eq!(curve.points[1].gave_up.mean, 0.0, "{:?}", curve.way);
            if curve.way != Way::Combined {
                assert!(curve.points[1].calls.mean > 16.0, "{:?}", curve.way);
            }
        }
        let combined = curves.last().unwrap();
        // One thread: the changes wait while the first read is under way.
        assert_eq!(
            (combined.way, combined.points[1].calls.mean),
            (Way::Combined, 2.0)
        );
        let words = in_words(&curves);
        assert!(words.contains("combined, iam::Members"), "{words}");
    }
}
