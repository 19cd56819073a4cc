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

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum};
use examples::terminal::{ended, save, say};
use examples::{axis, chart, results, stats, table};

use crate::scenarios::{contention, hedge, outage, quotas, rate};

type Error = Box<dyn StdError + Send + Sync>;

/// Compares the ways to wait before a retry, in virtual time and over many seeds. Prints a table
/// of means with their standard errors, and draws charts.
#[derive(Debug, Parser)]
#[command(name = "simulation")]
struct Options {
    #[arg(value_enum)]
    scenario: Name,

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

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Name {
    /// Clients write one row with optimistic concurrency, as in the AWS Architecture Blog
    Contention,
    /// The same at the scale of Google Cloud IAM, where clients give up after a deadline
    Iam,
    /// Many calls at once meet a limit of 50 a second
    Batch,
    /// The calls of a process share what they learn about a limit of 50 a second, or nothing
    Rate,
    /// The replies of a service state what remains of 500 requests and 80,000 tokens a minute
    Quota,
    /// Some reads take 20 times as long, and get a second request or none
    Hedge,
    /// A service is down for 30 s, while each of its clients has a budget for retries, or none
    Outage,
}

fn main() -> ExitCode {
    ended(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), Error> {
    let (scenario, seeds) = match (options.scenario, options.check) {
        (Name::Contention, false) => (contention::row(), 1_000),
        (Name::Contention, true) => (contention::check(), 1_000),
        (Name::Iam, false) => (contention::iam(), 1_000),
        (Name::Batch, false) => (rate::batch(), 200),
        (Name::Rate, _) => (rate::rate(), 20),
        (Name::Quota, false) => (quotas::tokens(), 20),
        (Name::Quota, true) => (quotas::check(), 20),
        (Name::Hedge, false) => (hedge::hedge(), 20),
        (Name::Outage, false) => (outage::outage(), 20),
        (Name::Outage, true) => (outage::check(), 20),
        _ => return Err("--check is for `contention`, `rate`, `quota` and `outage` only".into()),
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
