//! Clients that change one IAM policy: the model of [`row`](crate::row) at the scale
//! of IAM, where a client gives up after a deadline.
//!
//! A hop takes |N(250, 50)| ms; the waits begin at 1 s and end at 64 s, and the deadline is 300 s,
//! as in `backoff_cloud::iam::READ_MODIFY_WRITE`. Times to success are those of the clients that
//! succeed; the share of the others is in a column of its own.

use std::time::Duration;

use crate::Error;
use crate::axis::{Axis, Scale};
use crate::chart::{Chart, Line, Panel};
use crate::results::{Cell, Findings, Results};
use crate::row::{Crowd, Hop, Outcome, run};
use crate::runs::Crew;
use crate::stats::{Mean, percentile};
use crate::strategies::{IAM, Strategy};

const HOP: Duration = Duration::from_millis(250);
const HOP_DEVIATION: Duration = Duration::from_millis(50);

/// The strategies that are drawn; the others are in the table.
const DRAWN: [&str; 5] = [
    "exponential",
    "Google's formula",
    "full",
    "paced",
    "combined by tens",
];

/// The means of one cell.
struct Measured {
    /// In percent of all clients.
    gave_up: Option<Mean>,
    /// Per client.
    calls: Option<Mean>,
    /// In seconds.
    median: Option<Mean>,
    slowest: Option<Mean>,
}

fn measure(crew: &Crew, clients: u32, strategy: &Strategy, hop: Hop) -> Measured {
    let experiment = format!("{clients} clients, {}", strategy.name);
    let crowd = Crowd::at_once(clients, hop);
    let outcomes = crew.run(&experiment, |rng| run(&crowd, strategy, rng));
    let number = f64::from(clients);
    let mean = |of: &dyn Fn(&Outcome) -> Option<f64>| Mean::of(outcomes.iter().filter_map(of));
    let told = |share| {
        move |outcome: &Outcome| {
            percentile(&outcome.succeeded, share).map(|nanos| nanos as f64 / 1e9)
        }
    };
    Measured {
        gave_up: mean(&|outcome| Some(100.0 * f64::from(outcome.gave_up) / number)),
        calls: mean(&|outcome| Some(outcome.writes as f64 / number)),
        median: mean(&told(0.5)),
        slowest: mean(&told(0.99)),
    }
}

/// All strategies with each number of clients.
pub(crate) fn findings(clients: &[u32], seeds: u64) -> Result<Findings, Error> {
    let hop = Hop::new(HOP, HOP_DEVIATION)?;
    let crew = Crew::new(seeds, clients.len() * IAM.len());
    let mut results = Results {
        labels: &["clients", "strategy"],
        measures: &[
            "gave up, %",
            "writes per client",
            "p50 of success, s",
            "p99 of success, s",
        ],
        cells: Vec::new(),
    };
    let [mut gave_up, mut calls, mut slowest] = [lines(), lines(), lines()];
    for &number in clients {
        for (index, strategy) in IAM.iter().enumerate() {
            let measured = measure(&crew, number, strategy, hop);
            for (lines, mean) in [
                (&mut gave_up, measured.gave_up),
                (&mut calls, measured.calls),
                (&mut slowest, measured.slowest),
            ] {
                let point = mean.map(|mean| (f64::from(number), mean));
                lines[index].points.extend(point);
            }
            results.cells.push(Cell {
                labels: vec![number.to_string(), strategy.name.to_owned()],
                means: vec![
                    measured.gave_up,
                    measured.calls,
                    measured.median,
                    measured.slowest,
                ],
            });
        }
    }
    drop(crew);

    let title = headline(clients, &gave_up);
    for lines in [&mut gave_up, &mut calls, &mut slowest] {
        lines.retain(|line| DRAWN.contains(&line.name.as_str()));
    }
    let panel = |y, scale, lines| Panel {
        title: String::new(),
        x: Axis::new("clients", Scale::Logarithmic),
        y: Axis::new(y, scale),
        lines,
        band: None,
    };
    let chart = Chart {
        title,
        subtitle: format!(
            "Clients that change one IAM policy: hops of |N(250, 50)| ms, base 1 s, cap 64 s, \
             deadline 300 s. Means of {seeds} seeds; bars show ± 1 standard error where it is \
             larger than the mark."
        ),
        panels: vec![
            panel("clients that give up, %", Scale::Linear, gave_up),
            panel("write calls per client", Scale::Logarithmic, calls),
            panel("p99 of the time to success, s", Scale::Logarithmic, slowest),
        ],
    };
    Ok(Findings {
        title: format!("Clients that change one IAM policy at the same time, {seeds} seeds."),
        table: results.table(),
        remarks: "Times to success are those of the clients that did not give up.\n\
                  \"none\" gives up after five attempts, as every policy that never waits.\n\
                  combined by tens: each ten clients are one process, which combines their changes \
                  and keeps a pace.\n"
            .to_owned(),
        csv: results.csv(),
        charts: vec![("iam", chart)],
    })
}

fn lines() -> Vec<Line> {
    let strategies = IAM.iter().enumerate();
    strategies
        .map(|(index, strategy)| Line::measured(strategy.name, index))
        .collect()
}

/// What the largest crowd shows.
fn headline(clients: &[u32], gave_up: &[Line]) -> String {
    let share = |name: &str| {
        let index = IAM.iter().position(|strategy| strategy.name == name)?;
        let (_, mean) = gave_up[index].points.last()?;
        Some(format!("{:.0} %", mean.mean))
    };
    let shares = [share("Google's formula"), share("full"), share("paced")];
    match (clients.last(), shares) {
        (Some(clients), [Some(documented), Some(full), Some(paced)]) => format!(
            "Of {clients} clients {documented} give up with Google's formula, {full} with full \
             jitter, {paced} at a pace"
        ),
        _ => "Who gives up, and who waits how long".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gave_up(clients: u32, name: &str) -> Mean {
        let hop = Hop::new(HOP, HOP_DEVIATION).unwrap();
        let strategy = IAM.iter().find(|strategy| strategy.name == name).unwrap();
        measure(&Crew::silent(20), clients, strategy, hop)
            .gave_up
            .unwrap()
    }

    #[test]
    fn the_documented_formula_gives_up_and_full_jitter_does_not() {
        let documented = gave_up(50, "Google's formula");
        assert!((documented.mean - 22.0).abs() < 5.0, "{documented}");
        assert_eq!(gave_up(50, "full").mean, 0.0);
    }

    #[test]
    fn nobody_gives_up_who_is_alone() {
        for strategy in IAM {
            assert_eq!(gave_up(1, strategy.name).mean, 0.0, "{}", strategy.name);
        }
    }
}
