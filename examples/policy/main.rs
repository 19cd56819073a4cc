//! What a policy does, before it does it: in words, and as a table of its waits.

use std::process::ExitCode;
use std::time::Duration;

use backoff_cloud::{
    Policy, presets,
    schedule::{Fits, PlannedWait},
};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use examples::table::table;
use examples::terminal::{ended, say};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

const SECOND: Duration = Duration::from_secs(1);

/// How many retries are shown at most.
const SHOWN: usize = 12;

/// A policy of each algorithm, beside the presets.
const ALGORITHMS: [(&str, Policy); 7] = [
    ("Policy::exponential", Policy::exponential()),
    ("Policy::constant", Policy::constant(SECOND)),
    ("Policy::fibonacci", Policy::fibonacci(SECOND)),
    ("Policy::linear", Policy::linear(SECOND, SECOND)),
    ("Policy::slots", Policy::slots(Duration::from_nanos(51_200))),
    ("Policy::celery", Policy::celery(1)),
    ("Policy::connect_retry", Policy::connect_retry()),
];

fn policies() -> impl Iterator<Item = &'static (&'static str, Policy)> {
    presets::ALL.iter().chain(&ALGORITHMS)
}

/// Shows what a policy will do: in words, and as a table of its waits.
#[derive(Parser)]
struct Options {
    /// Which policy.
    #[arg(
        default_value = "iam::READ_MODIFY_WRITE",
        value_parser = PossibleValuesParser::new(policies().map(|policy| policy.0))
    )]
    policy: String,
}

fn main() -> ExitCode {
    ended(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (name, policy) = policies()
        .find(|policy| policy.0 == options.policy)
        .ok_or_else(|| format!("there is no policy `{}`", options.policy))?;
    let planned: Vec<_> = policy.schedule().take(SHOWN).collect();
    let means = means(policy, planned.len());
    let mut begins = Duration::ZERO;
    let rows: Vec<_> = planned
        .iter()
        .zip(&means)
        .map(|(planned, mean)| {
            begins += *mean;
            row(planned, *mean, begins)
        })
        .collect();
    let header = [
        "retry",
        "least",
        "mean",
        "greatest",
        "begins on average after",
        "fits",
    ];
    say(&format!(
        "{name} {policy}.\n\n{}\n",
        table(&header, 0, &rows)
    ))?;
    Ok(())
}

/// What the waits before the first retries are on average: drawn so often that it is off by less
/// than a percent.
fn means(policy: &Policy, retries: usize) -> Vec<Duration> {
    const DRAWS: u32 = 100_000;
    let mut rng = SmallRng::seed_from_u64(7);
    let mut sums = vec![Duration::ZERO; retries];
    for _ in 0..DRAWS {
        let mut previous = Duration::ZERO;
        for (retry, sum) in (0..).zip(&mut sums) {
            previous = policy.backoff(retry, previous, rng.random());
            *sum += previous;
        }
    }
    sums.into_iter().map(|sum| sum / DRAWS).collect()
}

fn row(planned: &PlannedWait, mean: Duration, begins: Duration) -> Vec<String> {
    let wait = |wait: Duration| {
        if wait.is_zero() {
            "0s".to_owned()
        } else {
            format!("{wait:.1?}")
        }
    };
    let fits = match planned.fits {
        Fits::Always => "always",
        Fits::Perhaps => "perhaps",
        Fits::Never => "never",
    };
    vec![
        planned.retry.to_string(),
        wait(planned.least),
        wait(mean),
        wait(planned.greatest),
        wait(begins),
        fits.to_owned(),
    ]
}
