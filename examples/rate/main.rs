//! A batch of calls runs into a limit: 100 workers call a service that allows 200 calls a second. Fixed
//! waits, full jitter, and full jitter with a `Rate` each call a service of their own, at the same time.
//!
//! `client.rs` is what a program would contain; the rest is the demonstration around it.

mod batch;
mod client;
mod picture;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use examples::table::table;
use examples::terminal::{ended, save, say};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use batch::{Batch, LATENCY};
use client::STRATEGIES;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Calls a service with a limit of so many calls a second, in three ways, and draws the calls over time.
#[derive(Clone, Debug, Parser)]
#[command(name = "rate")]
struct Options {
    /// Calls a second that the service allows
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=1_000))]
    rate: u32,
    /// How many jobs there are; a job is one call and its retries
    #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    jobs: u32,
    /// How many jobs are done at the same time
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    workers: u32,
    /// The service sends `Retry-After: 1` with each 429
    #[arg(long)]
    hint: bool,
    /// Where to draw the picture
    #[arg(long, default_value = "out/rate.svg")]
    out: PathBuf,
}

impl Options {
    /// How long the jobs take where no call is refused and none comes late: the bucket has a second's
    /// calls at the beginning, and the service thinks about each.
    fn least(&self) -> Duration {
        let later = f64::from(self.jobs.saturating_sub(self.rate));
        LATENCY + Duration::from_secs_f64(later / f64::from(self.rate))
    }

    fn hint(&self) -> &'static str {
        if self.hint {
            "with Retry-After: 1"
        } else {
            "without Retry-After"
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Result<(), Error> {
    say(&format!(
        "{} jobs, {} workers, and a service that allows {} calls a second, {}.\n",
        options.jobs,
        options.workers,
        options.rate,
        options.hint()
    ))?;
    let batches = all(options).await?;
    say(&format!("\n{}\n", in_words(&batches, options)))?;
    save(&options.out, &picture::draw(&batches, options)?)?;
    Ok(())
}

/// Runs all strategies at the same time, each against a service of its own.
async fn all(options: &Options) -> Result<Vec<Batch>, Error> {
    let style = ProgressStyle::with_template("{prefix:24} {bar:24} {pos:>5} of {len} jobs, {msg}")?;
    let bars = MultiProgress::new();
    let mut running = Vec::new();
    for strategy in STRATEGIES {
        let bar = bars.add(ProgressBar::new(options.jobs.into()).with_style(style.clone()));
        bar.set_prefix(strategy.name);
        let (service, options) = (batch::service(options)?, options.clone());
        running.push(tokio::spawn(async move {
            batch::run(strategy, service, &options, bar).await
        }));
    }
    let mut batches = Vec::new();
    for batch in running {
        batches.push(batch.await??);
    }
    Ok(batches)
}

/// The table, and what it does not explain by itself.
fn in_words(batches: &[Batch], options: &Options) -> String {
    let header = [
        "strategy",
        "calls",
        "refused",
        "calls a job",
        "seconds",
        "× the least",
        "gave up",
    ];
    let least = options.least();
    let row = |batch: &Batch| {
        let (admitted, refused) = batch.calls();
        vec![
            batch.strategy.name.to_owned(),
            (admitted + refused).to_string(),
            refused.to_string(),
            format!("{:.2}", batch.calls_per_job()),
            format!("{:.1}", batch.took.as_secs_f64()),
            format!("{:.2}", batch.took.as_secs_f64() / least.as_secs_f64()),
            batch.gave_up.to_string(),
        ]
    };
    let rows: Vec<_> = batches.iter().map(row).collect();
    format!(
        "{}\nThe least time is {:.1} s: {} calls at once, and then {} a second.\n",
        table(&header, 1, &rows),
        least.as_secs_f64(),
        options.rate,
        options.rate,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_job_is_admitted_once_whatever_was_refused() {
        for more in [&[][..], &["--hint"]] {
            let few = ["rate", "--rate=40", "--jobs=60", "--workers=50"];
            let options = Options::parse_from(few.iter().chain(more));
            let batches = all(&options).await.unwrap();
            for batch in &batches {
                assert_eq!(batch.calls().0, 60, "{batch:?}");
                assert_eq!(batch.gave_up, 0, "{batch:?}");
            }
            let text = in_words(&batches, &options);
            assert_eq!(text.lines().count(), 4 + batches.len(), "{text}");
            let svg = picture::draw(&batches, &options).unwrap();
            for words in STRATEGIES.map(|strategy| strategy.name) {
                assert!(text.contains(words) && svg.contains(words), "{words}");
            }
            assert!(svg.contains(options.hint()), "{svg}");
        }
    }
}
