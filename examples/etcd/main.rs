//! Writers add their names to one key of a real etcd at the same time, in four ways: without a
//! compare; with a compare and one attempt; with a compare and up to five attempts without a wait; and with
//! `Policy::update`.
//!
//! `ways.rs` and `store.rs` (the calls of etcd) have the code that a program would contain. The other
//! files run the demonstration.

mod server;
mod store;
mod ways;

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use backoff_cloud::http::ApiError;
use clap::Parser;
use examples::{table::table, terminal::say};
use tokio::task::JoinSet;

use crate::{server::Server, store::Store, ways::Outcome};

const NOT_INSTALLED: &str = "This example needs a real etcd: install one with `apt-get install \
                             etcd-server`, or give the address of a running etcd, \
                             as in `ETCD_URL=http://127.0.0.1:2379`.\n";

/// Writers add their names to one key of a real etcd at the same time, in four ways. The example
/// uses the etcd at the address in the variable ETCD_URL, or starts an etcd if ETCD_URL is not set.
#[derive(Parser)]
#[command(name = "etcd")]
struct Options {
    /// How many writers there are
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    writers: u16,
}

/// The results of all writers in one way.
struct Tally {
    believe: usize,
    arrived: usize,
    calls: u32,
    conflicts: u32,
    took: Duration,
}

#[tokio::main]
async fn main() -> ExitCode {
    match show(Options::parse().writers).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn show(writers: u16) -> Result<(), Box<dyn Error>> {
    let given = std::env::var("ETCD_URL").ok();
    let own = match given {
        Some(_) => None,
        None => Server::start().await?,
    };
    let Some(url) = given.or_else(|| own.as_ref().map(|own| own.url.clone())) else {
        return Ok(say(NOT_INSTALLED)?);
    };
    let whose = if own.is_some() {
        "which this program started"
    } else {
        "the address in ETCD_URL"
    };
    say(&format!(
        "{writers} writers add their names to one key of the etcd at {url}, {whose}.\n\n"
    ))?;

    let rows = [
        (
            "read and put, no compare",
            run(&url, writers, ways::no_compare).await?,
        ),
        (
            "compare-and-swap, once",
            run(&url, writers, ways::once).await?,
        ),
        (
            "up to 5 times, no wait",
            run(&url, writers, ways::five_times).await?,
        ),
        ("Policy::update", run(&url, writers, ways::update).await?),
    ];
    let cells = rows.each_ref().map(|(way, tally)| {
        vec![
            (*way).to_owned(),
            format!("{} of {writers}", tally.believe),
            format!("{} of {writers}", tally.arrived),
            tally.calls.to_string(),
            tally.conflicts.to_string(),
            format!("{:.2} s", tally.took.as_secs_f64()),
        ]
    });
    let header = [
        "way",
        "say they wrote",
        "arrived",
        "calls",
        "conflicts",
        "time",
    ];
    say(&table(&header, 1, &cells))?;

    let [(_, blind), .., (_, update)] = &rows;
    say(&format!(
        "\nWithout a compare, {} of {writers} updates are lost, and no writer gets an error. Policy::update\n\
         treats a reply without `succeeded` as a conflict, waits for a random time and reads again:\n\
         {} of {writers} updates are lost.\n",
        blind.believe - blind.arrived,
        usize::from(writers) - update.arrived,
    ))?;
    Ok(())
}

/// Starts all writers at the same time, and reads the key when all have ended.
async fn run<Adding>(
    url: &str,
    writers: u16,
    way: fn(Store, String) -> Adding,
) -> Result<Tally, ApiError>
where
    Adding: Future<Output = Result<Outcome, ApiError>> + Send + 'static,
{
    let store = Store::new(url, &format!("backoff/example/{}", std::process::id()))?;
    // Opens the connection, so that its time is not counted for the first way.
    store.remove().await?;
    let (before, started) = (store.calls(), Instant::now());
    let mut tasks: JoinSet<_> = (0..writers)
        .map(|number| way(store.clone(), format!("writer-{number}")))
        .collect();
    let mut tally = Tally {
        believe: 0,
        arrived: 0,
        calls: 0,
        conflicts: 0,
        took: Duration::ZERO,
    };
    while let Some(outcome) = tasks.join_next().await {
        let outcome = outcome.expect("no writer panics")?;
        tally.believe += usize::from(outcome.believes);
        tally.conflicts += outcome.conflicts;
    }
    (tally.took, tally.calls) = (started.elapsed(), store.calls() - before);
    tally.arrived = store.read().await?.names.len();
    store.remove().await?;
    Ok(tally)
}
