//! One outage as an operator sees it: a service fails and recovers while a program calls it, and the log and
//! `/metrics` say what the retries do.
//!
//! `client.rs` is what a program would contain, and `scrape.rs` shows how it serves its metrics; the rest
//! is the demonstration around them.

mod client;
mod picture;
mod scrape;
mod service;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use backoff_cloud::http::ApiError;
use clap::Parser;
use examples::terminal::{ended, save, say};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep_until};
use tracing_subscriber::fmt::{format, time};

use crate::client::{customer, invoice};
use crate::service::{PHASES, Service};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The time between two calls that get invoices, and customers.
const EVERY: Duration = Duration::from_millis(10);
const EVERY_CUSTOMER: Duration = Duration::from_millis(25);
/// How many lines of the log of each phase the terminal shows.
const SHOWN: usize = 3;

/// Calls a service while it fails and recovers, and shows the log and the metrics.
#[derive(Parser)]
#[command(name = "outage")]
struct Options {
    /// Goes on serving `/metrics` until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// How many times as long each phase lasts
    #[arg(long, default_value_t = 1)]
    times: u32,
    /// The port of `/metrics`; by default any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The folder for the log, the page and the picture
    #[arg(long, default_value = "out")]
    out: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Result<(), Error> {
    let [log_file, page_file, picture_file] =
        ["outage.log", "outage.prom", "outage.svg"].map(|name| options.out.join(name));
    fs::create_dir_all(&options.out)?;
    let metrics = scrape::install()?;
    let url = scrape::serve(metrics.clone(), options.port).await?;
    say(&format!("metrics: curl {url}\n\n"))?;
    let mut service = Service::start()?;
    // Takes the events of the whole program from now on, from `INFO` up. Their times count from here.
    tracing_subscriber::fmt()
        .event_format(format().with_timer(time::uptime()))
        .with_writer(Arc::new(File::create(&log_file)?))
        .try_init()?;

    let client = reqwest::Client::new();
    let lasts = service::lasts() * options.times;
    let invoices = load(
        (client.clone(), service.url()),
        (EVERY, lasts),
        |(client, service), number| async move {
            let invoice = invoice(&client, &service, number).await?;
            assert_eq!(invoice.number, number);
            Ok(())
        },
    );
    let customers = load(
        (client, service.url()),
        (EVERY_CUSTOMER, lasts),
        |(client, service), number| async move { customer(&client, &service, number).await },
    );
    let (invoices, customers) = (tokio::spawn(invoices), tokio::spawn(customers));
    let readings = tokio::spawn(picture::readings(metrics, lasts));
    let (mut ends, mut lines) = (Instant::now(), 0);
    for phase in &PHASES {
        say(&format!("the service is {}\n", phase.name))?;
        service.enter(phase)?;
        ends += phase.lasts * options.times;
        sleep_until(ends).await;
        let log = fs::read_to_string(&log_file)?;
        let new: Vec<_> = log.lines().skip(lines).collect();
        for line in new.iter().take(SHOWN) {
            say(&format!("  {line}\n"))?;
        }
        say(&format!("  {} lines in the log\n", new.len()))?;
        lines += new.len();
    }
    let (values, errors) = invoices.await?;
    customers.await?;
    let drawn = picture::drawn(&readings.await?, options.times)?;

    let text = scrape::read(&url).await?;
    fs::write(&page_file, &text)?;
    // Of single buckets there are many.
    let shown: Vec<_> = text
        .lines()
        .filter(|line| !line.contains("_bucket{"))
        .collect();
    say(&format!("\n{}\n\n", shown.join("\n")))?;
    say(&format!(
        "Log:     {}\nPage:    {}\n{} callers of invoices.get got a value and {} an error. Each error is in the \
         log as WARN,\nexcept the 404s, which are events of DEBUG.\n",
        log_file.display(),
        page_file.display(),
        values,
        errors,
    ))?;
    save(&picture_file, &drawn)?;
    if options.keep {
        say(&format!("serving {url} until Ctrl-C\n"))?;
        tokio::signal::ctrl_c().await?;
    }
    Ok(())
}

/// Where the service is, and the client for it.
type To = (reqwest::Client, String);

/// Begins a call every few milliseconds, whether the calls before have ended or not. Gives how many callers got a value,
/// and how many an error.
async fn load<F>(
    to: To,
    (every, lasts): (Duration, Duration),
    call: fn(To, u64) -> F,
) -> (usize, usize)
where
    F: Future<Output = Result<(), ApiError>> + Send + 'static,
{
    let mut calls = JoinSet::new();
    let mut moments = interval(every);
    for number in 0..(lasts.as_nanos() / every.as_nanos()) as u64 {
        moments.tick().await;
        calls.spawn(call(to.clone(), number));
    }
    let ended = calls.join_all().await;
    let values = ended.iter().filter(|call| call.is_ok()).count();
    (values, ended.len() - values)
}
