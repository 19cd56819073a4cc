//! Reads over real HTTP from a service that takes 5 ms, and 100 ms for each fiftieth request: without a second request
//! for slow reads, with one after 20 ms, and with one after the 95th percentile of the last answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use backoff_cloud::http::SendExt as _;
use backoff_cloud::{Hedge, plain_http};
use examples::stats::percentile;
use examples::terminal::say;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const WORKERS: u32 = 10;
/// Of each worker.
const READS: u32 = 400;

/// A program has one for each kind of request: it counts which share of the calls gets a second request.
static FIXED: Hedge = Hedge::after(Duration::from_millis(20));
static P95: Hedge = Hedge::p95();

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    for (way, hedge) in [
        ("no hedge", None),
        ("Hedge::after(20 ms)", Some(&FIXED)),
        ("Hedge::p95()", Some(&P95)),
    ] {
        let (url, requests) = service().await?;
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            workers.spawn(reads(url.clone(), hedge));
        }
        let took = workers.join_all().await.into_iter();
        let took: Vec<_> = took.collect::<Result<Vec<_>, _>>()?.concat();
        let requests = f64::from(requests.load(Relaxed)) / f64::from(WORKERS * READS);
        let [half, most] = [0.5, 0.99].map(|share| percentile(&took, share).unwrap_or(0));
        say(&format!(
            "{way}: {requests:.3} requests for a read; half of the reads ended in {half} ms, 99 % in {most} ms\n"
        ))?;
    }
    Ok(())
}

/// Reads one after the other. How long each took, in milliseconds.
async fn reads(url: String, hedge: Option<&'static Hedge>) -> Result<Vec<u64>, Error> {
    let client = reqwest::Client::new();
    let mut took = Vec::new();
    for _ in 0..READS {
        let start = Instant::now();
        let read = plain_http::BY_METHOD.send(client.get(&url)).bytes();
        match hedge {
            Some(hedge) => read.hedge(hedge).await?,
            None => read.await?,
        };
        took.push(start.elapsed().as_millis() as u64);
    }
    Ok(took)
}

/// Serves until the program ends. Counts the requests.
async fn service() -> Result<(String, Arc<AtomicU32>), Error> {
    let requests = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&requests);
    let answer = async move || {
        let is_slow = counted.fetch_add(1, Relaxed) % 50 == 49;
        tokio::time::sleep(Duration::from_millis(if is_slow { 100 } else { 5 })).await;
        "a page"
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let router = Router::new().route("/", get(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((url, requests))
}
