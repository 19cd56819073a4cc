//! A batch of calls runs into a limit: 100 workers call a service that allows 200 calls a second. Fixed
//! waits, full jitter, and full jitter with a `Rate` each call a service of their own, at the same time.
//!
//! `client.rs` is what a program would contain; the rest is the demonstration around it.

mod client;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use clap::Parser;
use emulator::{Emulator, Reply};
use examples::table::table;
use examples::terminal::{ended, say};
use tokio::task::JoinSet;
use tokio::time::Instant;

use client::{STRATEGIES, Strategy, allow_policy};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long a call takes.
const LATENCY: Duration = Duration::from_millis(20);

/// Calls a service with a limit of so many calls a second, in three ways.
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
}

impl Options {
    /// How long the jobs take where no call is refused and none comes late: the bucket has a second's
    /// calls at the beginning, and the service thinks about each.
    fn least(&self) -> f64 {
        let later = f64::from(self.jobs.saturating_sub(self.rate));
        LATENCY.as_secs_f64() + later / f64::from(self.rate)
    }

    /// A service whose limit has a bucket of one second: full at first, so that the calls of a second may come
    /// at once.
    fn service(&self) -> Result<Emulator, Error> {
        let refusal = Reply::status(429);
        let refusal = match self.hint {
            true => refusal.retry_after("1"),
            false => refusal,
        };
        let service = Emulator::builder()
            .latency(LATENCY)
            .rate_limit(self.rate, self.rate)
            .throttle_with(refusal);
        Ok(service.start()?)
    }
}

/// What came of the jobs in one way.
#[derive(Debug)]
struct Batch {
    calls: u64,
    refused: u64,
    seconds: f64,
    gave_up: u32,
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Result<(), Error> {
    let hint = if options.hint { "with" } else { "without" };
    say(&format!(
        "{} jobs, {} workers, and a service that allows {} calls a second, {hint} Retry-After.\n",
        options.jobs, options.workers, options.rate,
    ))?;
    let batches = all(options).await?;
    say(&format!("\n{}\n", in_words(&batches, options)))?;
    Ok(())
}

/// Runs all strategies at the same time, each against a service of its own.
async fn all(options: &Options) -> Result<Vec<Batch>, Error> {
    let mut running = Vec::new();
    for strategy in STRATEGIES {
        let (service, options) = (options.service()?, options.clone());
        running.push(tokio::spawn(batch(strategy, service, options)));
    }
    let mut batches = Vec::new();
    for batch in running {
        batches.push(batch.await??);
    }
    Ok(batches)
}

/// Does all jobs. Each worker takes the next job when it has ended one.
async fn batch(strategy: Strategy, service: Emulator, options: Options) -> Result<Batch, Error> {
    let client = reqwest::Client::new();
    let begun = Arc::new(AtomicU32::new(0));
    let start = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..options.workers {
        let (client, url) = (client.clone(), service.url().to_owned());
        let begun = Arc::clone(&begun);
        workers.spawn(async move {
            let mut gave_up = 0;
            while let job = begun.fetch_add(1, Relaxed)
                && job < options.jobs
            {
                let call = allow_policy(strategy.policy, &client, &url, job);
                gave_up += u32::from(call.await.is_err());
            }
            gave_up
        });
    }
    let gave_up = workers.join_all().await.into_iter().sum();
    let stats = service.stats();
    Ok(Batch {
        calls: stats.calls,
        refused: stats.faults,
        seconds: start.elapsed().as_secs_f64(),
        gave_up,
    })
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
    let (least, rate) = (options.least(), options.rate);
    let row = |(strategy, batch): (&Strategy, &Batch)| {
        vec![
            strategy.name.to_owned(),
            batch.calls.to_string(),
            batch.refused.to_string(),
            format!("{:.2}", batch.calls as f64 / f64::from(options.jobs)),
            format!("{:.1}", batch.seconds),
            format!("{:.2}", batch.seconds / least),
            batch.gave_up.to_string(),
        ]
    };
    let rows: Vec<_> = STRATEGIES.iter().zip(batches).map(row).collect();
    format!(
        "{}\nThe least time is {least:.1} s: {rate} calls at once, and then {rate} a second.\n",
        table(&header, 1, &rows),
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
                assert_eq!(batch.calls - batch.refused, 60, "{batch:?}");
                assert_eq!(batch.gave_up, 0, "{batch:?}");
            }
            let text = in_words(&batches, &options);
            assert_eq!(text.lines().count(), 4 + batches.len(), "{text}");
        }
    }
}
