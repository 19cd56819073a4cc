//! The five strategies of the AWS Architecture Blog's "Exponential Backoff And Jitter", and two of
//! ours, on one [`row`](crate::row): hops of |N(10, 2)| ms, and nobody gives up. A test compares the means with published ones.

use std::time::Duration;

use crate::Error;
use crate::axis::{Axis, Scale};
use crate::chart::{Chart, Line, Panel};
use crate::measured::{Measured, measure};
use crate::results::{Cell, Findings, Results};
use crate::row::{Crowd, Hop};
use crate::runs::Crew;
use crate::strategies::{COMBINED, CONTENTION, FULL, PACED, Strategy};

/// A mean hop of the published simulation, and its standard deviation.
pub(crate) const HOP: Duration = Duration::from_millis(10);
pub(crate) const HOP_DEVIATION: Duration = Duration::from_millis(2);

/// The strategies that are ranked by their calls.
const JITTERS: [&str; 3] = ["full", "equal", "decorrelated"];

const CALLS: &str = "calls";
const COMPLETION: &str = "completion, ms";
const READS: &str = "reads";
const PRODUCT: &str = "product";

/// Seconds until all are done if each reads the row the moment it was written, one after the other,
/// and every hop takes the mean: there is one hop before all that and one after. Not quite the
/// least possible: of many that try at the same time, those win whose hops are short.
pub(crate) fn in_turn(clients: u32, hop: Duration) -> f64 {
    f64::from(2 * clients + 2) * hop.as_secs_f64()
}

/// All strategies with each number of clients.
pub(crate) fn findings(clients: &[u32], seeds: u64) -> Result<Findings, Error> {
    let hop = Hop::new(HOP, HOP_DEVIATION)?;
    let crew = Crew::new(seeds, clients.len() * CONTENTION.len());
    let mut results = Results {
        labels: &["clients", "strategy"],
        measures: &[CALLS, COMPLETION, READS, PRODUCT],
        cells: Vec::new(),
    };
    let mut calls_of = lines("one call each", clients.iter().map(|&n| (n, f64::from(n))));
    let mut completion_of = lines(
        "one after the other",
        clients.iter().map(|&n| (n, in_turn(n, HOP))),
    );
    for &number in clients {
        for (index, strategy) in CONTENTION.iter().enumerate() {
            let measured = measure(&crew, &Crowd::at_once(number, hop), strategy)
                .ok_or("there is nothing to take a mean of without seeds")?;
            let Measured {
                calls, completion, ..
            } = measured;
            calls_of[index].points.push((number.into(), calls));
            completion_of[index]
                .points
                .push((number.into(), completion.times(1e-3)));
            // Changes that are combined are no longer one call each.
            let product = (strategy.together == 1).then_some(measured.product);
            results.cells.push(Cell {
                labels: vec![number.to_string(), strategy.name.to_owned()],
                means: vec![Some(calls), Some(completion), Some(measured.reads), product],
            });
        }
    }
    drop(crew);
    let remarks = remarks(&fewest(clients, &calls_of));

    let subtitle = format!(
        "Clients that write one row with optimistic concurrency: hops of |N(10, 2)| ms, base \
         5 ms, cap 2 s. Means of {seeds} seeds; bars show ± 1 standard error where it is larger \
         than the mark."
    );
    let chart = |title: &str, y, lines| Chart {
        title: title.to_owned(),
        subtitle: subtitle.clone(),
        panels: vec![Panel {
            title: String::new(),
            x: Axis::new("clients", Scale::Logarithmic),
            y: Axis::new(y, Scale::Logarithmic),
            lines,
            band: None,
        }],
    };
    Ok(Findings {
        title: format!("Clients that write one row at the same time, {seeds} seeds."),
        table: results.table(),
        remarks,
        csv: results.csv(),
        charts: vec![
            (
                "contention-calls",
                chart(&headline(&results, clients, CALLS), "write calls", calls_of),
            ),
            (
                "contention-completion",
                chart(
                    &headline(&results, clients, COMPLETION),
                    "time until all are done, s",
                    completion_of,
                ),
            ),
        ],
    })
}

/// What the largest crowd shows.
fn headline(results: &Results, clients: &[u32], measure: &str) -> String {
    let crowd = clients.last().map(u32::to_string).unwrap_or_default();
    let of = |strategy: &Strategy| {
        let mean = results.mean(&[&crowd, strategy.name], measure)?;
        Some(match measure {
            CALLS => format!("{mean:.0}"),
            _ => format!("{:.1} s", mean / 1e3),
        })
    };
    match (of(&FULL), of(&PACED), of(&COMBINED)) {
        (Some(full), Some(paced), Some(combined)) => {
            let costs = if measure == CALLS { " calls" } else { "" };
            format!(
                "{crowd} clients: {full}{costs} with full jitter, {paced} at a pace, \
                 {combined} combined by tens"
            )
        }
        _ => measure.to_owned(),
    }
}

/// A line for each strategy, still without points, and a bound.
fn lines(bound: &str, least: impl Iterator<Item = (u32, f64)>) -> Vec<Line> {
    let least = least.map(|(clients, value)| (clients.into(), value));
    let strategies = CONTENTION.iter().enumerate();
    strategies
        .map(|(index, strategy)| Line::measured(strategy.name, index))
        .chain([Line::bound(bound, least)])
        .collect()
}

fn remarks(fewest: &str) -> String {
    format!(
        "{fewest}\
         calls: writes. N clients need at least N. AWS' article counts (N + 1) * N / 2 without backoff: \
         there all clients\n       move in lock step, and one of them succeeds each time. That is 55 for 10 \
         clients and 20,100 for 200. The model's\n       hops differ, so its clients fall out of step, and \
         \"none\" needs fewer.\n\
         product: (calls / N - 1) * (time / (N * 20 ms) - 1), where 20 ms is the time from a read to \
         the write after it.\n         It is 1 for writers who write at random moments and, all together, \
         at a constant rate. Less is better.\n\
         combined by tens: each ten clients are one process, which combines their changes and keeps \
         a pace.\n"
    )
}

/// Which jitter needs the fewest calls for each number of clients.
fn fewest(clients: &[u32], calls_of: &[Line]) -> String {
    let winner = |place: usize| {
        let strategies = CONTENTION.iter().zip(calls_of);
        let mut jitters: Vec<_> = strategies
            .filter(|(strategy, _)| JITTERS.contains(&strategy.name))
            .map(|(strategy, line)| (line.points[place].1, strategy.name))
            .collect();
        jitters.sort_by(|(one, _), (other, _)| one.mean.total_cmp(&other.mean));
        let (least, name) = jitters[0];
        // Of two means that are nearer to each other than that, either may be the smaller one.
        let is_clear = jitters[1].0.distance(least) > 3.0;
        if is_clear { name } else { "not clear" }
    };
    let winners: Vec<_> = clients
        .iter()
        .enumerate()
        .map(|(place, number)| format!("{number}: {}", winner(place)))
        .collect();
    format!(
        "fewest calls among the three jitters, by the number of clients: {}.\n",
        winners.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;
    use crate::stats::Mean;

    fn hop() -> Hop {
        Hop::new(HOP, HOP_DEVIATION).unwrap()
    }

    #[test]
    fn meets_the_published_table() {
        // Debug builds are slow: the larger crowds are left to the command.
        for (clients, seeds) in [(10, 200), (20, 200), (50, 100)] {
            let crew = Crew::silent(seeds);
            for strategy in CONTENTION {
                let Some(published) = published::find(clients, strategy.name) else {
                    continue;
                };
                let crowd = Crowd::at_once(clients, hop());
                let measured = measure(&crew, &crowd, strategy).unwrap();
                for off in [
                    measured.calls.distance(published.calls),
                    measured.completion.distance(published.completion),
                ] {
                    assert!(off.abs() < 3.0, "{clients} {}: {off}", strategy.name);
                }
            }
        }
    }

    #[test]
    fn the_jitters_are_ranked_only_where_their_means_differ() {
        let mut calls_of = lines("one call each", [(10, 10.0)].into_iter());
        for (strategy, line) in CONTENTION.iter().zip(&mut calls_of) {
            let mean = if strategy.name == "full" { 39.0 } else { 40.0 };
            line.points = vec![(10.0, Mean { mean, error: 0.1 })];
        }
        assert!(fewest(&[10], &calls_of).ends_with("10: full.\n"));
        for line in &mut calls_of {
            line.points[0].1.error = 1.0;
        }
        assert!(fewest(&[10], &calls_of).ends_with("10: not clear.\n"));
    }

    #[test]
    fn every_published_strategy_is_among_ours() {
        let full = published::find(100, "full").unwrap();
        let [calls, completion] = [full.calls, full.completion].map(|it| (it.mean, it.error));
        assert_eq!((calls, completion), ((795.9, 0.2), (4903.0, 17.0)));
        assert!(published::find(30, "full").is_none() && published::find(100, "hopeful").is_none());
        for (_, cells) in published::PUBLISHED {
            assert_eq!(cells.len(), published::STRATEGIES.len());
        }
        for name in published::STRATEGIES {
            assert!(CONTENTION.iter().any(|strategy| strategy.name == name));
        }
    }
}
