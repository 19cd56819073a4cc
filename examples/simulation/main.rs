//! How the ways to wait compare, in virtual time and over many seeds.
//!
//! ```text
//! cargo run --release -p examples --example simulation -- contention
//! ```
//!
//! With `--check`, a scenario holds what the library does against limits.
//!
//! A scenario is data. [`examples::simulation`] runs it.

mod scenario;
mod scenarios;

use std::error::Error as StdError;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use examples::simulation::{clock, load, measures, quota, row, service};
use examples::terminal::{ended, save, say};
use examples::{axis, chart, results, stats};

use crate::scenario::Scenario;
use crate::scenarios::{contention, hedge, outage, quotas, rate};

type Error = Box<dyn StdError + Send + Sync>;

/// Compares the ways to wait before a retry, in virtual time and over many seeds. Prints a table
/// of means with their standard errors, and draws charts.
///
/// contention: clients write one row with optimistic concurrency, as in the AWS Architecture Blog.
///   calls: reads and writes together.
///   product: (writes / N - 1) * (time / (N * 20 ms) - 1) of N clients, where 20 ms is the time from a read to
///     the write after it. It is 1 for writers who write at random moments and, all together, at a constant
///     rate. Less is better.
///   combined by tens: each ten clients are one process, which combines their changes and keeps a pace.
/// iam: the same at the scale of Google Cloud IAM, where clients give up after a deadline.
///   99 % done: of the clients that did not give up.
/// batch: many calls at once meet a limit of 50 a second.
///   herd: the most calls in a tenth of a second, after the first.
///   in turn: the service tells each caller a second in which there is room for its call.
/// rate: the calls of a process share what they learn about a limit of 50 a second, or nothing.
///   time / least: until the last job is done, as a multiple of the time that the limit needs.
/// quota: the replies of a service state what remains of 500 requests and 80,000 tokens a minute.
/// hedge: some reads take 20 times as long, and get a second request or none.
/// outage: a service is down for 30 s, or fails by chance, while each of its clients has a budget for
///   retries, a breaker, or none.
///   attempts, answered, given up: during the trouble; of a service that fails by chance, in its last minute.
///   recovered after: the mean of the runs that recovered within a minute, if any did.
#[derive(Debug, Parser)]
#[command(name = "simulation", verbatim_doc_comment)]
struct Options {
    /// What happens
    #[arg(value_parser = PossibleValuesParser::new(SCENARIOS.map(|it| it.0)))]
    scenario: String,

    /// How often each experiment is run, each time with other random numbers; by default as often as
    /// the pages of the documentation say
    // A standard error needs two runs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    seeds: Option<u64>,

    /// Holds the library's own way against limits, and fails if one is missed; for `contention`, `rate`,
    /// `quota` and `outage`
    #[arg(long)]
    check: bool,

    /// The folder for charts
    #[arg(long, value_name = "FOLDER", default_value = "out/simulation")]
    out: PathBuf,
}

/// A name, the scenario, and how often it is run.
type Row = (&'static str, fn() -> Scenario, u64);

const SCENARIOS: [Row; 7] = [
    ("contention", contention::row, 1_000),
    ("iam", contention::iam, 1_000),
    ("batch", rate::batch, 200),
    ("rate", rate::rate, 20),
    ("quota", quotas::tokens, 20),
    ("hedge", hedge::hedge, 20),
    ("outage", outage::outage, 20),
];

const CHECKS: [Row; 4] = [
    ("contention", contention::check, 1_000),
    ("rate", rate::rate, 20),
    ("quota", quotas::check, 20),
    ("outage", outage::check, 20),
];

fn main() -> ExitCode {
    ended(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), Error> {
    let rows = if options.check {
        &CHECKS[..]
    } else {
        &SCENARIOS
    };
    let row = rows.iter().find(|it| it.0 == options.scenario);
    let (_, scenario, seeds) = row.ok_or("this scenario has no check")?;
    let (scenario, seeds) = (scenario(), options.seeds.unwrap_or(*seeds));
    let findings = scenario::measure(&scenario, seeds);
    let (title, table) = (scenario.title, findings.results.table());
    say(&format!("{title}, {seeds} seeds.\n\n{table}\n"))?;
    if options.check {
        let missed = scenario::missed(&scenario, &findings.results);
        return match missed.is_empty() {
            true => Ok(say("All limits are held.\n")?),
            false => Err(format!("limits are missed:\n{}", missed.join("\n")).into()),
        };
    }
    if let Some((name, draw)) = scenario.picture {
        let file = options.out.join(format!("{name}.svg"));
        save(&file, &chart::draw(&draw(&findings))?)?;
    }
    Ok(())
}
