//! The scenarios, each of which is a table of experiments.

pub(crate) mod contention;
pub(crate) mod hedge;
pub(crate) mod outage;
pub(crate) mod quotas;
pub(crate) mod rate;

use crate::axis::Scale::{Linear, Logarithmic};
use crate::chart::{Axis, Chart, Line, PAGE, PHONE, Panel};
use crate::clock::SECOND;
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
fn limits((calls, time): (f64, f64)) -> [Limit; 3] {
    [
        (DONE, None, 100.0, 100.0),
        (EACH, None, 1.0, calls),
        (TIME, None, 0.0, time),
    ]
}

fn chart(findings: &Findings, title: &str, what: &str, panels: Vec<Panel>) -> Chart {
    let seeds = findings.seeds;
    let bars = "bars show ± 1 standard error where it is larger than the mark";
    let subtitle = format!("{what}\nMeans of {seeds} seeds; {bars}.");
    Chart {
        title: title.to_owned(),
        subtitle,
        width: PAGE,
        panels,
    }
}

/// A panel with a line for each strategy, over numbers of clients, which are the names of the experiments.
fn over_clients(it: &Findings, ways: &[Strategy], clients: &[u32], y: Axis, of: Measure) -> Panel {
    let names = ways.iter().map(|strategy| strategy.name);
    let lines = it.results.lines(names, clients, of.0);
    Panel::new(("clients", Logarithmic), y, lines)
}
