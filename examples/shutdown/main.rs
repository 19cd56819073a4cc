//! Shuts down a service while its handlers wait for an upstream that is down. With `stop_on`, the waits end
//! at once, every client gets an answer, and the service ends. Without `stop_on`, the shutdown takes as long as
//! the longest call.
//!
//! `service.rs` has the code that a program would contain. `main.rs` runs the demonstration.

mod service;

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use axum::{Router, http::StatusCode};
use clap::Parser;
use examples::{table::table, terminal::say};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::service::{Log, Service, asked_to_end};

/// Serves until Ctrl-C or SIGTERM, and then shuts down gracefully.
#[derive(Parser)]
#[command(name = "shutdown")]
struct Options {
    /// Call the service, send SIGTERM to this program, and show how long the shutdown took: once without
    /// `stop_on` and once with it
    #[arg(long)]
    demo: bool,
}

const CLIENTS: usize = 20;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let upstream = failing().await?;
    if options.demo {
        return demo(&upstream).await;
    }
    let service = service(&upstream, true);
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    say(&format!(
        "serves at http://{} until Ctrl-C\n",
        listener.local_addr()?
    ))?;
    let (shutdown, log) = (service.shutdown.clone(), service.log.clone());
    let serving = tokio::spawn(service.serve(listener));
    asked_to_end().await?;
    shutdown.cancel();
    serving.await??;
    say(&format!("logged: {}\n", log.summary()))?;
    Ok(())
}

fn service(upstream: &str, stops: bool) -> Service {
    Service {
        client: reqwest::Client::new(),
        upstream: upstream.to_owned(),
        shutdown: CancellationToken::new(),
        stops,
        log: Log::default(),
    }
}

/// The address of a server that answers 503.
async fn failing() -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}/", listener.local_addr()?);
    let router = Router::new().fallback(async || StatusCode::SERVICE_UNAVAILABLE);
    tokio::spawn(axum::serve(listener, router).into_future());
    Ok(address)
}

async fn demo(upstream: &str) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    for (way, stops) in [("without stop_on", false), ("with stop_on", true)] {
        let service = service(upstream, stops);
        let log = service.log.clone();
        let (answered, took) = one(service).await?;
        rows.push(vec![
            way.to_owned(),
            format!("{answered} of {CLIENTS}"),
            log.summary(),
            format!("{:.2} s", took.as_secs_f64()),
        ]);
    }
    let header = ["way", "clients answered", "logged", "shutdown took"];
    say(&table(&header, 1, &rows))?;
    Ok(())
}

/// Calls the service, and shuts it down. Returns how many clients got an answer, and how long the
/// shutdown took.
async fn one(service: Service) -> Result<(usize, Duration), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}/", listener.local_addr()?);
    let shutdown = service.shutdown.clone();
    let serving = tokio::spawn(service.serve(listener));
    let asked = tokio::spawn(asked_to_end());

    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(reqwest::get(address.clone()));
    }
    // Now the handlers wait for their upstream.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let process = std::process::id().to_string();
    let sent = Command::new("kill").args(["-TERM", &process]).status()?;
    if !sent.success() {
        return Err("the program `kill` could not send SIGTERM".into());
    }
    asked.await??;
    let start = Instant::now();
    shutdown.cancel();
    serving.await??;
    let took = start.elapsed();

    let mut answered = 0;
    while let Some(reply) = clients.join_next().await {
        answered += usize::from(reply?.is_ok());
    }
    Ok((answered, took))
}
