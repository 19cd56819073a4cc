//! Clients that change one IAM policy: the model of [`row`](crate::row) at the scale
//! of IAM, where a client gives up after a deadline.
//!
//! A hop takes |N(250, 50)| ms; the waits begin at 1 s and end at 64 s, and the deadline is 300 s,
//! as in `backoff_cloud::iam::READ_MODIFY_WRITE`. Times to success are those of the clients that
//! succeed; the share of the others is in a column of its own.

use crate::Error;
use crate::Findings;
use crate::axis::Scale;
use crate::chart::{Chart, Panel};
use crate::results::Results;
use crate::row::{Crowd, Hop, Outcome, run};
use crate::runs::Crew;
use crate::stats::{Mean, percentile};
use crate::strategies::IAM;

const CLIENTS: [u32; 4] = [10, 20, 50, 100];

/// The strategies that are drawn; the others are in the table.
const DRAWN: [&str; 5] = [
    "exponential",
    "Google's formula",
    "full",
    "paced",
    "combined by tens",
];

const GAVE_UP: &str = "gave up, %";
const WRITES: &str = "writes per client";
const SLOWEST: &str = "p99 of success, s";

/// All strategies with each number of clients.
pub(crate) fn findings(seeds: u64) -> Result<Findings, Error> {
    let crew = Crew::new(seeds, CLIENTS.len() * IAM.len());
    let results = measure(&crew, &CLIENTS)?;
    drop(crew);

    let panel = |y, scale, measure| {
        let names = IAM.iter().map(|strategy| strategy.name);
        let mut lines = results.lines(names, &CLIENTS, measure, 1.0);
        lines.retain(|line| DRAWN.contains(&line.name.as_str()));
        Panel::new(("clients", Scale::Logarithmic), (y, scale), lines)
    };
    let chart = Chart {
        title: headline(&results),
        subtitle: format!(
            "Clients that change one IAM policy: hops of |N(250, 50)| ms, base 1 s, cap 64 s, \
             deadline 300 s. Means of {seeds} seeds; bars show ± 1 standard error where it is \
             larger than the mark."
        ),
        panels: vec![
            panel("clients that give up, %", Scale::Linear, GAVE_UP),
            panel("write calls per client", Scale::Logarithmic, WRITES),
            panel("p99 of the time to success, s", Scale::Logarithmic, SLOWEST),
        ],
    };
    Ok(Findings {
        title: format!("Clients that change one IAM policy at the same time, {seeds} seeds."),
        results,
        remarks: "Times to success are those of the clients that did not give up.\n\
                  \"none\" gives up after five attempts, as every policy that never waits.\n\
                  combined by tens: each ten clients are one process, which combines their changes \
                  and keeps a pace.\n"
            .to_owned(),
        charts: vec![("iam", chart)],
    })
}

fn measure(crew: &Crew, clients: &[u32]) -> Result<Results, Error> {
    let hop = Hop::millis(250, 50)?;
    let mut results = Results::new(
        &["clients", "strategy"],
        &[GAVE_UP, WRITES, "p50 of success, s", SLOWEST],
    );
    for &clients in clients {
        let crowd = Crowd::at_once(clients, hop);
        let number = f64::from(clients);
        for strategy in IAM {
            let experiment = format!("{clients} clients, {}", strategy.name);
            let outcomes = crew.run(&experiment, |rng| run(&crowd, strategy, rng));
            let mean = |of: &dyn Fn(&Outcome) -> f64| Mean::of(outcomes.iter().map(of));
            let told = |share| {
                let told = |outcome: &Outcome| percentile(&outcome.succeeded, share);
                Mean::of(
                    outcomes
                        .iter()
                        .filter_map(told)
                        .map(|nanos| nanos as f64 / 1e9),
                )
            };
            let means = vec![
                mean(&|outcome| 100.0 * f64::from(outcome.gave_up) / number),
                mean(&|outcome| outcome.writes as f64 / number),
                told(0.5),
                told(0.99),
            ];
            results.add([&clients.to_string(), strategy.name], means);
        }
    }
    Ok(results)
}

/// What the largest crowd shows.
fn headline(results: &Results) -> String {
    let clients = CLIENTS[CLIENTS.len() - 1];
    let gave_up = |name: &str| {
        let mean = results.mean(&[&clients.to_string(), name], GAVE_UP);
        format!("{:.0} %", mean.unwrap_or_default().mean)
    };
    format!(
        "Of {clients} clients {} give up with Google's formula, {} with full jitter, {} at a pace",
        gave_up("Google's formula"),
        gave_up("full"),
        gave_up("paced"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_writers_of_a_crowd_give_up_and_only_without_full_jitter() {
        let results = measure(&Crew::silent(20), &[1, 50]).unwrap();
        let gave_up = |clients, name| results.mean(&[clients, name], GAVE_UP).unwrap().mean;
        let documented = gave_up("50", "Google's formula");
        assert!((documented - 22.0).abs() < 5.0, "{documented}");
        assert_eq!(gave_up("50", "full"), 0.0);
        for strategy in IAM {
            assert_eq!(gave_up("1", strategy.name), 0.0, "{}", strategy.name);
        }
    }
}
