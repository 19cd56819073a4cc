//! Reads over real HTTP from a service that takes 5 ms, and for 2 % of the requests 100 ms: without a second request
//! for slow reads, with one after 20 ms, and with one after the 95th percentile of the last answers.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use backoff_cloud::http::SendExt as _;
use backoff_cloud::{Hedge, plain_http};
use clap::Parser;
use examples::stats::percentile;
use examples::table::table;
use examples::terminal::{ended, say};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

static FIXED: Hedge = Hedge::after(Duration::from_millis(20));
static P95: Hedge = Hedge::p95();

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Measures reads with and without a second request for slow ones.
#[derive(Clone, Debug, Parser)]
#[command(name = "hedge")]
struct Options {
    /// How many reads each way makes
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    reads: u32,
    /// How many of them at the same time
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    workers: u32,
    /// How many requests in a hundred are slow
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=100))]
    slow: u8,
}

/// One way with its numbers.
struct Measured {
    way: &'static str,
    requests: u32,
    /// In nanoseconds.
    took: Vec<u64>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    ended(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Result<(), Error> {
    say(&format!("{}\n", in_words(&all(options).await?)))?;
    Ok(())
}

async fn all(options: &Options) -> Result<Vec<Measured>, Error> {
    Ok(vec![
        measured("no hedge", None, options).await?,
        measured("Hedge::after(20 ms)", Some(&FIXED), options).await?,
        measured("Hedge::p95()", Some(&P95), options).await?,
    ])
}

/// Serves until the program ends. Counts the requests.
async fn service(slow: u8) -> Result<(String, Arc<AtomicU32>), Error> {
    let requests = Arc::<AtomicU32>::default();
    let counted = requests.clone();
    let rng = Arc::new(Mutex::new(SmallRng::seed_from_u64(0)));
    let answer = async move || {
        counted.fetch_add(1, Relaxed);
        let is_slow = match rng.lock() {
            Ok(mut rng) => rng.random_ratio(slow.into(), 100),
            Err(_) => false,
        };
        tokio::time::sleep(Duration::from_millis(if is_slow { 100 } else { 5 })).await;
        "a page"
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let router = Router::new().route("/", get(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((url, requests))
}

async fn measured(
    way: &'static str,
    hedge: Option<&'static Hedge>,
    options: &Options,
) -> Result<Measured, Error> {
    let (url, requests) = service(options.slow).await?;
    let client = reqwest::Client::new();
    let left = Arc::new(AtomicU32::new(options.reads));
    let mut workers = JoinSet::new();
    for _ in 0..options.workers {
        let (url, client, left) = (url.clone(), client.clone(), left.clone());
        workers.spawn(async move {
            let mut took = Vec::new();
            let next = || left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            while next().is_ok() {
                let start = Instant::now();
                let read = plain_http::BY_METHOD.send(client.get(&url)).bytes();
                match hedge {
                    Some(hedge) => read.hedge(hedge).await?,
                    None => read.await?,
                };
                took.push(start.elapsed().as_nanos() as u64);
            }
            Ok::<_, Error>(took)
        });
    }
    let mut took = Vec::new();
    while let Some(of_one) = workers.join_next().await {
        took.extend(of_one??);
    }
    let requests = requests.load(Relaxed);
    Ok(Measured {
        way,
        requests,
        took,
    })
}

fn in_words(all: &[Measured]) -> String {
    let header = [
        "way",
        "requests a read",
        "half, ms",
        "99 %, ms",
        "99.9 %, ms",
    ];
    let rows = all.iter().map(|measured| {
        let ended = |share| {
            let nanos = percentile(&measured.took, share).unwrap_or_default();
            format!("{:.1}", nanos as f64 / 1e6)
        };
        let load = f64::from(measured.requests) / measured.took.len() as f64;
        vec![
            measured.way.to_owned(),
            format!("{load:.4}"),
            ended(0.5),
            ended(0.99),
            ended(0.999),
        ]
    });
    table(&header, 1, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn few_reads_get_a_second_request() {
        let options = Options::parse_from(["hedge", "--reads=300", "--slow=50"]);
        let all = all(&options).await.unwrap();
        let requests: Vec<_> = all.iter().map(|measured| measured.requests).collect();
        assert_eq!(requests[0], 300);
        // A token for each 20 reads, and the ten of the start; half of the reads want one.
        assert!((311..=325).contains(&requests[1]), "{requests:?}");
        assert!((300..=325).contains(&requests[2]), "{requests:?}");
        assert_eq!(in_words(&all).lines().count(), 2 + all.len());
    }
}
