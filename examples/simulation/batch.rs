//! Many calls at once meet a limit of so many a second: the service of [`quota`](crate::quota),
//! with hops of |N(10, 2)| ms. Nobody gives up.

use crate::Error;
use crate::Findings;
use crate::axis::Scale;
use crate::calls::{Load, Outcome, Sharing, herd, run};
use crate::chart::{Chart, Line, Panel};
use crate::quota::{Hint, LIMIT, Quota, SECOND};
use crate::results::Results;
use crate::row::Hop;
use crate::runs::Crew;
use crate::stats::{Mean, percentile};
use crate::strategies::{BATCH, JITTERED, SPREAD};

const CALLERS: u32 = 500;

/// The title of a column, which a headline needs.
const HERD: &str = "herd, calls in 0.1 s";

/// The strategies that are drawn. Fixed waits are only in the table: their calls come back together, with
/// any hint.
const DRAWN: [&str; 3] = ["exponential", JITTERED, SPREAD];

/// All strategies with each hint.
pub(crate) fn findings(seeds: u64) -> Result<Findings, Error> {
    let hop = Hop::published()?;
    let crew = Crew::new(seeds, Hint::ALL.len() * BATCH.len());
    let mut results = Results::new(
        &["Retry-After", "strategy"],
        &["calls", HERD, "half done, s", "all done, s"],
    );
    let mut panels: Vec<_> = DRAWN.iter().map(|strategy| panel(strategy)).collect();
    for (number, hint) in Hint::ALL.into_iter().enumerate() {
        for strategy in BATCH {
            let experiment = format!("{}, {}", hint.name(), strategy.name);
            let load = Load {
                hint,
                ..Load::at_once(CALLERS, Quota::bucket(LIMIT))
            };
            let outcomes = crew.run(&experiment, |rng| {
                run(&load, hop, Sharing::Nothing, &strategy.policy, rng)
            });
            results.add([hint.name(), strategy.name], means(&outcomes));
            if let Some(panel) = DRAWN.iter().position(|&drawn| drawn == strategy.name) {
                // All calls arrive in the first tenth of a second, so it would set the scale.
                let points = arrivals(&outcomes).split_off(1);
                let line = Line::measured(hint.name(), number, points);
                panels[panel].lines.push(line);
            }
        }
    }
    drop(crew);

    let title =
        format!("{CALLERS} calls at once against a limit of {LIMIT} a second, {seeds} seeds.");
    let chart = Chart {
        title: headline(&results),
        subtitle: format!(
            "{title} The first tenth of a second, in which all arrive, is not drawn. \
             Bars show ± 1 standard error where it is larger than the line."
        ),
        panels,
    };
    Ok(Findings {
        title,
        results,
        remarks: "herd: the most calls in a tenth of a second, after the first.\n\
                  in turn: the service tells each caller a second in which there is room for its call.\n"
            .to_owned(),
        charts: vec![("batch-calls", chart)],
    })
}

fn panel(strategy: &str) -> Panel {
    let y = ("calls that arrive within 0.1 s", Scale::Linear);
    Panel {
        title: strategy.to_owned(),
        ..Panel::new(("time, s", Scale::Linear), y, Vec::new())
    }
}

fn means(outcomes: &[Outcome]) -> Vec<Option<Mean>> {
    let mean = |of: &dyn Fn(&Outcome) -> usize| {
        Mean::of(outcomes.iter().map(|outcome| of(outcome) as f64))
    };
    let done = |share| {
        let done = |outcome: &Outcome| percentile(&outcome.ends(), share);
        Mean::of(
            outcomes
                .iter()
                .filter_map(done)
                .map(|time| time as f64 / 1e9),
        )
    };
    vec![
        mean(&|outcome| outcome.arrived.len()),
        mean(&|outcome| herd(&outcome.arrived)),
        done(0.5),
        done(1.0),
    ]
}

/// What jitter changes, and what the server's hint makes of it.
fn headline(results: &Results) -> String {
    let herd = |hint: Hint, strategy| {
        let mean = results.mean(&[hint.name(), strategy], HERD);
        mean.unwrap_or_default().mean
    };
    format!(
        "With jitter at most {:.0} calls come back within 0.1 s. If the service answers each with \
         \"Retry-After: 1\", {:.0} do; with spread_retry_after, {:.0}",
        herd(Hint::Nothing, JITTERED),
        herd(Hint::NextToken, JITTERED),
        herd(Hint::NextToken, SPREAD),
    )
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

    #[test]
    fn arrivals_are_counted_in_tenths_of_a_second() {
        let outcomes = [[0, 0, 7], [0, 7, 7]].map(|arrived| Outcome {
            arrived: arrived.map(|tenth| tenth * SECOND / 10).to_vec(),
            ..Outcome::default()
        });
        let points = arrivals(&outcomes);
        let counts: Vec<_> = points.iter().take(9).map(|point| point.1.mean).collect();
        assert_eq!(counts, [1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5, 0.0]);
    }
}
