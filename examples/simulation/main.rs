//! How the ways to wait compare, in virtual time and over many seeds.
//!
//! ```text
//! cargo run --release -p examples --example simulation -- contention
//! ```
//!
//! `contention --check` says whether a pace is worth being the default, and `rate --check` whether a
//! `Rate` holds its limits.
//!
//! | scenario | what happens |
//! |---|---|
//! | `contention` | clients write one row with optimistic concurrency, as in the AWS Architecture Blog's "Exponential Backoff And Jitter" |
//! | `iam` | the same at the scale of Google Cloud IAM, where clients give up after a deadline |
//! | `batch` | many calls at once meet a limit of so many a second |
//! | `rate` | the same with more jobs, while the calls of a process share what a 429 says, or nothing |
//! | `outage` | a service is down for a while: who makes it worse, and does it come back? |
//!
//! Every strategy is a `Policy`, driven by the `RetryState` that the library's own loops use, with the
//! simulation's clock and random source. The simulation itself knows no formula: it knows clients,
//! services and the time. All strategies are in `strategies.rs`, except those of `rate`: `sharing.rs` has them,
//! with AWS' adaptive mode and a gate, which the library does not have.

mod batch;
mod calls;
mod check;
mod contention;
mod executor;
mod iam;
mod measured;
mod outage;
#[cfg(test)]
mod published;
mod quota;
mod rate;
mod rate_check;
mod results;
mod row;
mod runs;
mod service;
mod sharing;
mod strategies;
mod verdict;

use std::error::Error as StdError;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, Subcommand};
use examples::stats::ascending;
use examples::terminal::{ended, say};
use examples::{axis, chart, stats};

use crate::results::Findings;

type Error = Box<dyn StdError + Send + Sync>;

/// Compares the ways to wait before a retry, in virtual time and over many seeds. Prints a table
/// of means with their standard errors, draws charts, and writes all numbers as CSV.
#[derive(Debug, Parser)]
#[command(name = "simulation")]
struct Options {
    #[command(subcommand)]
    scenario: Scenario,

    /// The folder for charts and CSV
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        default_value = "out/simulation"
    )]
    out: PathBuf,
}

#[derive(Clone, Debug, Subcommand)]
enum Scenario {
    /// Clients write one row with optimistic concurrency, as in the AWS Architecture Blog
    Contention {
        /// How many clients there are, one experiment for each number
        #[arg(long, value_name = "N,..", value_delimiter = ',',
              default_values_t = [10, 20, 50, 100, 200],
              value_parser = clap::value_parser!(u32).range(1..=2_000))]
        clients: Vec<u32>,
        /// How often each experiment is run, each time with other random numbers
        #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = seeds())]
        seeds: u64,
        /// Compares a pace with full jitter, for crowds of all sizes, and fails if it
        /// misses a limit
        #[arg(long, conflicts_with = "clients")]
        check: bool,
    },
    /// The same at the scale of Google Cloud IAM, where clients give up after a deadline
    Iam {
        /// How many clients there are, one experiment for each number
        #[arg(long, value_name = "N,..", value_delimiter = ',',
              default_values_t = [10, 20, 50, 100],
              value_parser = clap::value_parser!(u32).range(1..=2_000))]
        clients: Vec<u32>,
        /// How often each experiment is run, each time with other random numbers
        #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = seeds())]
        seeds: u64,
    },
    /// Many calls at once meet a limit of 50 a second
    Batch {
        /// How many calls are made at once
        #[arg(long, value_name = "N", default_value_t = 500,
              value_parser = clap::value_parser!(u32).range(1..=10_000))]
        clients: u32,
        /// How often each experiment is run, each time with other random numbers
        #[arg(long, value_name = "N", default_value_t = 200, value_parser = seeds())]
        seeds: u64,
    },
    /// The calls of a process share what they learn about a limit of 50 a second, or nothing
    Rate {
        /// How often each experiment is run, each time with other random numbers
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = seeds())]
        seeds: u64,
        /// Compares the library's `Rate` with full jitter, and fails if it misses a limit
        #[arg(long)]
        check: bool,
    },
    /// A service is down for 30 s, while each of its clients has a budget for retries, or none
    Outage {
        /// How many processes share the load, each with a budget of its own
        #[arg(long, value_name = "N", default_value_t = 20,
              value_parser = clap::value_parser!(u32).range(1..=1_000))]
        clients: u32,
        /// How often each experiment is run, each time with other random numbers
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = seeds())]
        seeds: u64,
    },
}

/// A standard error needs two runs.
fn seeds() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(2..=1_000_000)
}

impl Scenario {
    fn name(&self) -> &'static str {
        match self {
            Self::Contention { .. } => "contention",
            Self::Iam { .. } => "iam",
            Self::Batch { .. } => "batch",
            Self::Rate { .. } => "rate",
            Self::Outage { .. } => "outage",
        }
    }

    fn findings(&self) -> Result<Findings, Error> {
        match self {
            Self::Contention { clients, seeds, .. } => {
                contention::findings(&ascending(clients), *seeds)
            }
            Self::Iam { clients, seeds } => iam::findings(&ascending(clients), *seeds),
            Self::Batch { clients, seeds } => batch::findings(*clients, *seeds),
            Self::Rate { seeds, .. } => rate::findings(*seeds),
            Self::Outage { clients, seeds } => outage::findings(*clients, *seeds),
        }
    }
}

fn main() -> ExitCode {
    ended(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), Error> {
    let verdict = match options.scenario {
        Scenario::Contention {
            seeds, check: true, ..
        } => Some(check::check(seeds)?),
        Scenario::Rate { seeds, check: true } => Some(rate_check::check(seeds)?),
        _ => None,
    };
    if let Some(verdict) = verdict {
        say(&verdict.text)?;
        return verdict.held();
    }
    // Before the run, not after it.
    fs::create_dir_all(&options.out)
        .map_err(|error| format!("cannot make the folder {}: {error}", options.out.display()))?;
    let findings = options.scenario.findings()?;
    say(&format!(
        "{}\n\n{}\n{}\n",
        findings.title, findings.table, findings.remarks
    ))?;

    let mut written = Vec::new();
    for (name, chart) in &findings.charts {
        let svg = chart::draw(chart)?;
        written.push(write(&options.out, &format!("{name}.svg"), &svg)?);
    }
    let csv = format!("{}.csv", options.scenario.name());
    written.push(write(&options.out, &csv, &findings.csv)?);
    let written: Vec<_> = written
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    say(&format!("Written: {}\n", written.join(", ")))?;
    Ok(())
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn nonsense_is_refused() {
        Options::command().debug_assert();
        for wrong in [
            "contention --clients=0",
            "contention --clients=10,x",
            "contention --seeds=1",
            "contention --check --clients=10",
            "hope",
            "",
        ] {
            let options = ["simulation"].into_iter().chain(wrong.split_whitespace());
            assert!(Options::try_parse_from(options).is_err(), "{wrong}");
        }
    }
}
