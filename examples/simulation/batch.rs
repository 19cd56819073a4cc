//! Many calls at once meet a limit of so many a second: the service of [`quota`](crate::quota),
//! with hops of |N(10, 2)| ms. Nobody gives up.

use std::time::Duration;

use crate::Error;
use crate::axis::{Axis, Scale};
use crate::calls::{Load, Outcome, herd, run};
use crate::chart::{Chart, Line, Panel};
use crate::quota::{Hint, LIMIT, Quota, SECOND};
use crate::results::{Cell, Findings, Results};
use crate::row::Hop;
use crate::runs::Crew;
use crate::sharing::Sharing;
use crate::stats::{Mean, percentile};
use crate::strategies::{BATCH, JITTERED, SPREAD, Strategy};

const HOP: Duration = Duration::from_millis(10);
const HOP_DEVIATION: Duration = Duration::from_millis(2);

/// The measures, which are the titles of their columns.
const CALLS: &str = "calls";
const HERD: &str = "herd, calls in 0.1 s";
const HALF: &str = "half done, s";
const ALL: &str = "all done, s";

/// The strategy without jitter that is drawn.
const ALONE: &str = "exponential";

/// All calls arrive in it, so it would set the scale.
const NOT_DRAWN: &str = "The first tenth of a second, in which all arrive, is not drawn. ";

/// All strategies with each hint.
pub(crate) fn findings(callers: u32, seeds: u64) -> Result<Findings, Error> {
    let hop = Hop::new(HOP, HOP_DEVIATION)?;
    let crew = Crew::new(seeds, Hint::ALL.len() * BATCH.len());
    let mut results = Results {
        labels: &["Retry-After", "strategy"],
        measures: &[CALLS, HERD, HALF, ALL],
        cells: Vec::new(),
    };
    let mut done: Vec<_> = Hint::ALL.map(|hint| done_panel(hint, callers)).into();
    let mut arriving: Vec<_> = BATCH.iter().map(arriving_panel).collect();
    for (row, hint) in Hint::ALL.into_iter().enumerate() {
        for (column, strategy) in BATCH.iter().enumerate() {
            let experiment = format!("{}, {}", hint.sentence(), strategy.name);
            let load = Load {
                hint,
                ..Load::at_once(callers, Quota::bucket(LIMIT))
            };
            let outcomes = crew.run(&experiment, |rng| {
                run(&load, hop, Sharing::Nothing, &strategy.policy, rng)
            });
            results.cells.push(cell(hint, strategy.name, &outcomes));
            let line = |name, number, points| {
                let mut line = Line::measured(name, number);
                line.points = points;
                line
            };
            done[row]
                .lines
                .push(line(strategy.name, column, progress(&outcomes)));
            arriving[column].lines.push(line(
                hint.sentence(),
                row,
                arrivals(&outcomes).split_off(1),
            ));
        }
    }
    drop(crew);
    // Fixed waits are only in the table: their calls come back together, with any hint.
    let is_drawn = |strategy: &Strategy| [ALONE, JITTERED, SPREAD].contains(&strategy.name);
    let drawn = arriving
        .into_iter()
        .zip(BATCH)
        .filter_map(|(panel, strategy)| is_drawn(strategy).then_some(panel))
        .collect();

    let circumstances =
        format!("{callers} calls at once against a limit of {LIMIT} a second, {seeds} seeds.");
    let chart = |title, panels, note| Chart {
        title,
        subtitle: format!(
            "{circumstances} {note}Bars show ± 1 standard error where it is larger than the line."
        ),
        panels,
    };
    Ok(Findings {
        charts: vec![
            ("batch-done", chart(headline(&results, ALL), done, "")),
            ("batch-calls", chart(headline(&results, HERD), drawn, NOT_DRAWN)),
        ],
        table: results.table(),
        remarks: "herd: the most calls in a tenth of a second, after the first.\n\
                  in turn: the service tells each caller a second in which there is room for its call.\n"
            .to_owned(),
        csv: results.csv(),
        title: circumstances,
    })
}

fn cell(hint: Hint, strategy: &str, outcomes: &[Outcome]) -> Cell {
    let mean = |of: &dyn Fn(&Outcome) -> Option<f64>| Mean::of(outcomes.iter().filter_map(of));
    let told = |share| {
        move |outcome: &Outcome| percentile(&outcome.ends(), share).map(|time| time as f64 / 1e9)
    };
    Cell {
        labels: vec![hint.name().to_owned(), strategy.to_owned()],
        means: vec![
            mean(&|outcome| Some(outcome.arrived.len() as f64)),
            mean(&|outcome| Some(herd(&outcome.arrived) as f64)),
            mean(&told(0.5)),
            mean(&told(1.0)),
        ],
    }
}

/// What jitter changes, and what the server's hint makes of it.
fn headline(results: &Results, measure: &str) -> String {
    let of = |hint: Hint, strategy| results.mean(&[hint.name(), strategy], measure);
    match (
        of(Hint::Nothing, ALONE),
        of(Hint::Nothing, JITTERED),
        of(Hint::NextToken, JITTERED),
        of(Hint::NextToken, SPREAD),
    ) {
        (Some(alone), Some(jittered), ..) if measure == ALL => format!(
            "All are done after {alone:.0} s with exponential backoff alone, after {jittered:.0} s \
             with jitter"
        ),
        (_, Some(jittered), Some(hinted), Some(spread)) => format!(
            "With jitter at most {jittered:.0} calls come back within 0.1 s. If the service answers \
             each with \"Retry-After: 1\", {hinted:.0} do; with spread_retry_after, {spread:.0}"
        ),
        _ => measure.to_owned(),
    }
}

/// With the least possible, and room for the strategies.
fn done_panel(hint: Hint, callers: u32) -> Panel {
    let tokens = |time: u64| (LIMIT + time * LIMIT / SECOND) as f64;
    let all = f64::from(callers);
    let busy = moments().take_while(|&time| tokens(time) < all).count();
    let limit = moments()
        .take(busy + 1)
        .map(|time| (time as f64 / 1e9, tokens(time).min(all)));
    Panel {
        title: hint.sentence().to_owned(),
        x: Axis::new("time, s", Scale::Logarithmic),
        y: Axis::new("callers that are done", Scale::Linear),
        lines: vec![Line::bound("the limit", limit)],
        band: None,
    }
}

fn arriving_panel(strategy: &Strategy) -> Panel {
    Panel {
        title: strategy.name.to_owned(),
        x: Axis::new("time, s", Scale::Linear),
        y: Axis::new("calls that arrive within 0.1 s", Scale::Linear),
        lines: Vec::new(),
        band: None,
    }
}

/// From 0.1 s to a day, equally far apart on a logarithmic axis.
fn moments() -> impl Iterator<Item = u64> {
    (0..=356).map(|step| (SECOND as f64 / 10.0 * 10_f64.powf(f64::from(step) / 60.0)) as u64)
}

/// How many callers were done at each moment, until all are.
fn progress(outcomes: &[Outcome]) -> Vec<(f64, Mean)> {
    let done_by = |outcome: &Outcome, time| outcome.jobs.partition_point(|job| job.ended <= time);
    let last = outcomes.iter().flat_map(Outcome::ends).max();
    let before = moments().take_while(|time| Some(*time) < last).count();
    moments()
        .take(before + 1)
        .filter_map(|time| {
            let done = outcomes.iter().map(|outcome| done_by(outcome, time) as f64);
            Some((time as f64 / 1e9, Mean::of(done)?))
        })
        .collect()
}

/// How many calls arrived in each tenth of a second, for as long as a chart can show.
fn arrivals(outcomes: &[Outcome]) -> Vec<(f64, Mean)> {
    const TENTHS: u64 = 125;
    let within = |outcome: &Outcome, tenth: u64| {
        // In the order of time.
        let until = |tenth| {
            outcome
                .arrived
                .partition_point(|&time| time < tenth * SECOND / 10)
        };
        until(tenth + 1) - until(tenth)
    };
    (0..TENTHS)
        .filter_map(|tenth| {
            let calls = outcomes.iter().map(|outcome| within(outcome, tenth) as f64);
            Some((tenth as f64 / 10.0 + 0.05, Mean::of(calls)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Job;

    fn outcome(arrived: &[u64], ends: &[u64]) -> Outcome {
        let tenths =
            |times: &[u64]| -> Vec<_> { times.iter().map(|time| time * SECOND / 10).collect() };
        let job = |ended| Job {
            process: 0,
            began: 0,
            ended,
            is_done: true,
        };
        Outcome {
            arrived: tenths(arrived),
            jobs: tenths(ends).into_iter().map(job).collect(),
            ..Outcome::default()
        }
    }

    #[test]
    fn progress_ends_when_all_are_done() {
        let points = progress(&[outcome(&[], &[2, 30]), outcome(&[], &[3, 20])]);
        let counts: Vec<_> = points.iter().map(|point| point.1.mean).collect();
        assert!(counts.is_sorted());
        assert_eq!((counts[0], counts.last()), (0.0, Some(&2.0)));
        assert!((3.0..3.2).contains(&points.last().unwrap().0));
    }

    #[test]
    fn arrivals_are_counted_in_tenths_of_a_second() {
        let points = arrivals(&[outcome(&[0, 0, 7], &[]), outcome(&[0, 7, 7], &[])]);
        let counts: Vec<_> = points.iter().take(9).map(|point| point.1.mean).collect();
        assert_eq!(counts, [1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5, 0.0]);
    }
}
