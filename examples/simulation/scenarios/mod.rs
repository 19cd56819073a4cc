//! The scenarios, each of which is a table of experiments.

pub(crate) mod contention;
pub(crate) mod hedge;
pub(crate) mod outage;
pub(crate) mod quotas;
pub(crate) mod rate;

use crate::axis::Scale::{self, Linear, Logarithmic};
use crate::chart::{Chart, Line, Panel};
use crate::load::{Load, Process, Row, Strategy, Work};
use crate::measures::*;
use crate::quota::{Hint, Quota};
use crate::scenario::{Findings, Limit, Scenario};

/// A table of loads, a row each: a name, how the load differs from the first one, the most calls for a job, and the
/// longest time as a multiple of the least.
macro_rules! rows {
    ($base:expr; $($name:literal { $($set:tt)* } $limits:expr;)*) => {
        &[$(($name, Load { $($set)* ..$base }, $limits)),*]
    };
}
use rows;

/// All jobs are done, and with so many calls and in such a time.
fn limits((calls, time): (f64, f64)) -> Vec<Limit> {
    vec![
        Limit::at_least(DONE, 100.0),
        Limit::at_most(EACH, calls),
        Limit::at_most(TIME, time),
    ]
}

/// What a chart says below its title, with the number of runs.
fn subtitle(what: &str, seeds: u64) -> String {
    format!(
        "{what}\nMeans of {seeds} seeds; bars show ± 1 standard error where it is larger than the mark."
    )
}

/// A panel with a line for each strategy, over numbers of clients, which are the names of the experiments.
fn over_clients(
    findings: &Findings,
    (strategies, clients): (&[Strategy], &[u32]),
    y: (&'static str, Scale),
    measure: Measure,
) -> Panel {
    let names = strategies.iter().map(|strategy| strategy.name);
    let lines = findings.results.lines(names, clients, measure.0);
    Panel::new(("clients", Logarithmic), y, lines)
}
