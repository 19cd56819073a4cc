//! How the ways to wait compare, in virtual time and over many seeds.
//!
//! ```text
//! cargo run --release -p examples --example simulation -- contention
//! ```
//!
//! `contention --check` says whether a pace is worth being the default, `rate --check` and `quota --check` whether a
//! `Rate` holds its limits, and `outage --check` whether a `Breaker` does.
//!
//! | scenario | what happens |
//! |---|---|
//! | `contention` | clients write one row with optimistic concurrency, as in the AWS Architecture Blog's "Exponential Backoff And Jitter" |
//! | `iam` | the same at the scale of Google Cloud IAM, where clients give up after a deadline |
//! | `batch` | many calls at once meet a limit of so many a second |
//! | `rate` | the same with more jobs, while the calls of a process share what a 429 says, or nothing |
//! | `quota` | a service states in its replies what remains of its quotas of requests and of tokens |
//! | `hedge` | some reads take 20 times as long, and get a second request or none |
//! | `outage` | a service is down for a while: who makes it worse, and does it come back? |
//!
//! Every strategy is a `Policy`, driven by the `RetryState` that the library's own loops use, with the
//! simulation's clock and random source. The simulation itself knows no formula: it knows clients,
//! services and the time. All strategies are in `strategies.rs`.

mod batch;
mod calls;
mod check;
mod contention;
mod executor;
mod headers;
mod hedge;
mod iam;
mod measured;
mod outage;
mod outage_check;
mod quota;
mod quota_check;
mod rate;
mod rate_check;
mod row;
mod runs;
mod service;
mod stated;
mod strategies;
mod verdict;

use std::error::Error as StdError;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum};
use examples::terminal::{ended, save, say};
use examples::{axis, chart, results, stats};

use crate::chart::Chart;
use crate::results::Results;

type Error = Box<dyn StdError + Send + Sync>;

/// What a scenario shows.
struct Findings {
    /// What was run, in a line.
    title: String,
    results: Results,
    /// What the table does not say by itself; lines.
    remarks: String,
    /// By file name, without its ending.
    charts: Vec<(&'static str, Chart)>,
}

/// Compares the ways to wait before a retry, in virtual time and over many seeds. Prints a table
/// of means with their standard errors, and draws charts.
#[derive(Debug, Parser)]
#[command(name = "simulation")]
struct Options {
    #[arg(value_enum)]
    scenario: Scenario,

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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Scenario {
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
    let seeds = options.seeds.unwrap_or(match options.scenario {
        Scenario::Contention | Scenario::Iam => 1_000,
        Scenario::Batch => 200,
        Scenario::Rate | Scenario::Quota | Scenario::Hedge | Scenario::Outage => 20,
    });
    if options.check {
        let verdict = match options.scenario {
            Scenario::Contention => check::check(seeds)?,
            Scenario::Rate => rate_check::check(seeds)?,
            Scenario::Quota => quota_check::check(seeds)?,
            Scenario::Outage => outage_check::check(seeds)?,
            _ => {
                let checked = "`contention`, `rate`, `quota` and `outage`";
                return Err(format!("--check is for {checked} only").into());
            }
        };
        say(&verdict.text)?;
        return verdict.held();
    }
    // Before the run, not after it.
    fs::create_dir_all(&options.out)
        .map_err(|error| format!("cannot make the folder {}: {error}", options.out.display()))?;
    let Findings {
        title,
        results,
        remarks,
        charts,
    } = match options.scenario {
        Scenario::Contention => contention::findings(seeds)?,
        Scenario::Iam => iam::findings(seeds)?,
        Scenario::Batch => batch::findings(seeds)?,
        Scenario::Rate => rate::findings(seeds)?,
        Scenario::Quota => stated::findings(seeds)?,
        Scenario::Hedge => hedge::findings(seeds)?,
        Scenario::Outage => outage::findings(seeds)?,
    };
    say(&format!("{title}\n\n{}\n{remarks}\n", results.table()))?;
    for (name, chart) in charts {
        save(
            &options.out.join(format!("{name}.svg")),
            &chart::draw(&chart)?,
        )?;
    }
    Ok(())
}
