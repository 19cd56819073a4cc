//! The five strategies of the AWS Architecture Blog's "Exponential Backoff And Jitter", and one of
//! ours, on one [`row`](crate::row): hops of |N(10, 2)| ms, and nobody gives up. The means are held
//! against [`published`] ones.

use std::time::Duration;

use crate::Error;
use crate::axis::{Axis, Scale};
use crate::chart::{Chart, Line, Panel};
use crate::published;
use crate::results::{Cell, Findings, Results};
use crate::row::{Hop, run};
use crate::runs::Crew;
use crate::stats::Mean;
use crate::strategies::{CONTENTION, Strategy};

/// A mean hop of the published simulation, and its standard deviation.
const HOP: Duration = Duration::from_millis(10);
const HOP_DEVIATION: Duration = Duration::from_millis(2);

const CALLS: &str = "calls";
const COMPLETION: &str = "completion, ms";

/// Seconds until all are done if each reads the row the moment it was written, one after the other,
/// and every hop takes the mean: there is one hop before all that and one after. Not quite the
/// least possible: of many that try at the same time, those win whose hops are short.
pub(crate) fn in_turn(clients: u32, hop: Duration) -> f64 {
    f64::from(2 * clients + 2) * hop.as_secs_f64()
}

/// Writes and milliseconds to completion.
fn measure(crew: &Crew, clients: u32, strategy: &Strategy, hop: Hop) -> Option<(Mean, Mean)> {
    let experiment = format!("{clients} clients, {}", strategy.name);
    let runs = crew.run(&experiment, |rng| {
        let outcome = run(clients, hop, strategy, rng);
        (outcome.writes as f64, outcome.completion as f64 / 1e6)
    });
    let writes = Mean::of(runs.iter().map(|run| run.0))?;
    let completion = Mean::of(runs.iter().map(|run| run.1))?;
    Some((writes, completion))
}

/// All strategies with each number of clients.
pub(crate) fn findings(clients: &[u32], seeds: u64) -> Result<Findings, Error> {
    let hop = Hop::new(HOP, HOP_DEVIATION)?;
    let crew = Crew::new(seeds, clients.len() * CONTENTION.len());
    let mut results = Results {
        labels: &["clients", "strategy"],
        measures: &[CALLS, COMPLETION],
        cells: Vec::new(),
    };
    let mut distances = Vec::new();
    let mut writes_of = lines("least possible", clients.iter().map(|&n| (n, f64::from(n))));
    let mut completion_of = lines(
        "one after the other",
        clients.iter().map(|&n| (n, in_turn(n, HOP))),
    );
    for &number in clients {
        for (index, strategy) in CONTENTION.iter().enumerate() {
            let (writes, completion) = measure(&crew, number, strategy, hop)
                .ok_or("there is nothing to take a mean of without seeds")?;
            distances.push(published::find(number, strategy.name).map(|published| {
                [
                    writes.distance(published.calls),
                    completion.distance(published.completion),
                ]
            }));
            writes_of[index].points.push((number.into(), writes));
            completion_of[index]
                .points
                .push((number.into(), completion.times(1e-3)));
            results.cells.push(Cell {
                labels: vec![number.to_string(), strategy.name.to_owned()],
                means: vec![Some(writes), Some(completion)],
            });
        }
    }
    drop(crew);

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
        table: table(&results, &distances),
        remarks: remarks(&distances),
        csv: results.csv(),
        charts: vec![
            (
                "contention-calls",
                chart(
                    &headline(&results, clients, CALLS),
                    "write calls",
                    writes_of,
                ),
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
    let of = |strategy| results.mean(&[&crowd, strategy], measure);
    match (of("exponential"), of("full")) {
        (Some(alone), Some(full)) => {
            let costs = if measure == CALLS { "calls" } else { "time" };
            format!(
                "With {crowd} clients exponential backoff alone costs {:.1} times the {costs} that \
                 it costs with full jitter",
                alone / full
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

/// The results, and how many standard errors they lie from the published ones.
fn table(results: &Results, distances: &[Option<[f64; 2]>]) -> String {
    let mut header = results.header();
    header.insert(3, "off");
    header.push("off");
    let mut rows = results.rows();
    let cells = rows.iter_mut().filter(|row| !row.is_empty());
    for (row, distance) in cells.zip(distances) {
        let off = |measure: usize| match distance {
            Some(distance) => format!("{:+.1}", distance[measure]),
            None => "–".to_owned(),
        };
        row.insert(3, off(0));
        row.push(off(1));
    }
    examples::table::table(&header, 2, &rows)
}

fn remarks(distances: &[Option<[f64; 2]>]) -> String {
    let distances: Vec<_> = distances.iter().flatten().flatten().copied().collect();
    let Some(furthest) = distances
        .iter()
        .copied()
        .max_by(|one, other| one.abs().total_cmp(&other.abs()))
    else {
        return "None of these numbers of clients is among the published ones.\n".to_owned();
    };
    let beyond = distances
        .iter()
        .filter(|distance| distance.abs() > 3.0)
        .count();
    format!(
        "off: standard errors (of both) between this mean and the published one. {} of {} means \
         are more than 3 off; the furthest is {furthest:+.1} off.\n",
        beyond,
        distances.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
                let (writes, completion) = measure(&crew, clients, strategy, hop()).unwrap();
                for (measured, published) in [
                    (writes, published.calls),
                    (completion, published.completion),
                ] {
                    let off = measured.distance(published);
                    assert!(
                        off.abs() < 3.0,
                        "{clients} {}: {measured} is not {published}",
                        strategy.name
                    );
                }
            }
        }
    }

    #[test]
    fn who_keeps_the_pace_needs_fewer_calls_and_less_time() {
        for clients in [10, 50] {
            let of = |name| {
                let strategy = CONTENTION.iter().find(|one| one.name == name).unwrap();
                measure(&Crew::silent(100), clients, strategy, hop()).unwrap()
            };
            let (writes, completion) = of("paced by numbers");
            for other in ["full", "decorrelated"] {
                let (more, later) = of(other);
                assert!(
                    writes.distance(more) < -3.0,
                    "{writes} and {more} of {other}"
                );
                assert!(
                    completion.distance(later) < -3.0,
                    "{completion} and {later} of {other}"
                );
            }
        }
    }

    #[test]
    fn every_published_strategy_is_among_ours() {
        for (_, cells) in published::PUBLISHED {
            assert_eq!(cells.len(), published::STRATEGIES.len());
        }
        for name in published::STRATEGIES {
            assert!(CONTENTION.iter().any(|strategy| strategy.name == name));
        }
    }
}
