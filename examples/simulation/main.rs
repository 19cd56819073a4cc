//! How the ways to wait compare, in virtual time and over many seeds.
//!
//! ```text
//! cargo run --release -p examples --example simulation -- contention
//! ```
//!
//! With `--check`, a scenario holds what the library does against limits.
//!
//! A scenario is data: a [`Load`](load::Load) says what the service does and who calls it, and a
//! [`Strategy`](load::Strategy) is a policy and what the calls of a process share. There is one [`service`], and one
//! [`clock`]. Every call is one of the library, with the simulation's clock and random source, so the simulation
//! itself knows no formula.

mod clock;
mod headers;
mod load;
mod measures;
mod quota;
mod runs;
mod scenario;
mod scenarios;
mod service;

use std::error::Error as StdError;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use examples::terminal::{ended, save, say};
use examples::{axis, chart, results, stats, table};

use crate::scenario::Scenario;
use crate::scenarios::{contention, hedge, outage, quotas, rate};

type Error = Box<dyn StdError + Send + Sync>;

/// Compares the ways to wait before a retry, in virtual time and over many seeds. Prints a table
/// of means with their standard errors, and draws charts.
///
/// contention: clients write one row with optimistic concurrency, as in the AWS Architecture Blog.
/// iam: the same at the scale of Google Cloud IAM, where clients give up after a deadline.
/// batch: many calls at once meet a limit of 50 a second.
/// rate: the calls of a process share what they learn about a limit of 50 a second, or nothing.
/// quota: the replies of a service state what remains of 500 requests and 80,000 tokens a minute.
/// hedge: some reads take 20 times as long, and get a second request or none.
/// outage: a service is down for 30 s, while each of its clients has a budget for retries, or none.
#[derive(Debug, Parser)]
#[command(name = "simulation", verbatim_doc_comment)]
struct Options {
    /// What happens
    #[arg(value_parser = PossibleValuesParser::new(SCENARIOS.map(|it| it.0)))]
    scenario: String,

    /// How often each experiment is run, each time with other random numbers; by default as often as
    /// the pages of the documentation say
    // A standard error needs two runs.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(2..=1_000_000))]
    seeds: Option<u64>,

    /// Holds the library's own way against limits, and fails if one is missed; for `contention`, `rate`,
    /// `quota` and `outage`
    #[arg(long)]
    check: bool,

    /// The folder for charts
    #[arg(long, value_name = "FOLDER", default_value = "out/simulation")]
    out: PathBuf,
}

/// A name, the scenario, what its check runs, and how often.
type Row = (
    &'static str,
    fn() -> Scenario,
    Option<fn() -> Scenario>,
    u64,
);

const SCENARIOS: [Row; 7] = [
    (
        "contention",
        contention::row,
        Some(contention::check),
        1_000,
    ),
    ("iam", contention::iam, None, 1_000),
    ("batch", rate::batch, None, 200),
    ("rate", rate::rate, Some(rate::rate), 20),
    ("quota", quotas::tokens, Some(quotas::check), 20),
    ("hedge", hedge::hedge, None, 20),
    ("outage", outage::outage, Some(outage::check), 20),
];

fn main() -> ExitCode {
    ended(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), Error> {
    let mut rows = SCENARIOS.into_iter();
    let row = rows.find(|it| it.0 == options.scenario);
    let (_, scenario, check, seeds) = row.ok_or("there is no such scenario")?;
    let scenario = match options.check {
        false => scenario(),
        true => check.ok_or("this scenario has no check")?(),
    };
    let seeds = options.seeds.unwrap_or(seeds);
    let findings = scenario::measure(&scenario, seeds);
    let (title, remarks) = (scenario.title, scenario.remarks);
    let table = findings.results.table();
    say(&format!("{title}, {seeds} seeds.\n\n{table}\n{remarks}\n"))?;
    if options.check {
        let (text, missed) = scenario::check(&scenario, &findings.results)?;
        say(&text)?;
        return match missed {
            0 => Ok(()),
            _ => Err(format!("{missed} limits are missed").into()),
        };
    }
    for (name, chart) in (scenario.draw)(&findings) {
        let file = options.out.join(format!("{name}.svg"));
        save(&file, &chart::draw(&chart)?)?;
    }
    Ok(())
}
