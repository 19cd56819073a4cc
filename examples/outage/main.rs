//! One outage as an operator sees it: a service fails and recovers while a program calls it, the log and
//! `/metrics` say what the retries do, and a picture is drawn of what a scraper read.
//!
//! `client.rs` is what a program would contain, and `scrape.rs` shows how it serves its metrics; the rest
//! is the demonstration around them.

mod check;
mod client;
mod load;
mod log;
mod page;
mod picture;
mod scrape;
mod service;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use clap::Parser;
use examples::terminal::say;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::log::Log;
use crate::page::Page;
use crate::service::{PHASES, Service};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Calls a service while it fails and recovers, and shows the log, the metrics, and a picture of both.
#[derive(Parser)]
#[command(name = "outage")]
struct Options {
    /// Goes on serving `/metrics` until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// Where `/metrics` is served
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Which requests fail
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to draw the picture; the log and the page are written beside it
    #[arg(long, default_value = "out/outage.svg")]
    out: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), Error> {
    let [log_file, page_file] = ["log", "prom"].map(|name| options.out.with_extension(name));
    if options.out.extension().is_none_or(|kind| kind != "svg") {
        let out = options.out.display();
        return Err(format!("`--out {out}` is to name a picture: write `--out {out}.svg`").into());
    }
    if let Some(folder) = options.out.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let url = scrape::serve(scrape::install()?, options.listen).await?;
    say(&format!("metrics: curl {url}\n\n"))?;
    let mut service = Service::start(options.seed).await?;
    let log = Log::install(&log_file)?;

    let start = Instant::now();
    let lasts: Duration = PHASES.iter().map(|phase| phase.lasts).sum();
    let offered = Arc::new(AtomicU64::new(0));
    let watched = CancellationToken::new();
    let load = tokio::spawn(load::run(service.url(), lasts, offered.clone()));
    let watching = tokio::spawn(scrape::watch(url.clone(), offered, watched.clone()));
    let mut ends = Duration::ZERO;
    for phase in &PHASES {
        let begins = ends.as_secs_f64();
        log.phase(&format!("{begins:.1} s: the service is {}\n", phase.name))?;
        service.enter(phase).await?;
        ends += phase.lasts;
        sleep_until(start + ends).await;
    }
    let seen = load.await??;
    log.phase("")?;
    watched.cancel();
    let scrapes = watching.await??;

    let text = scrape::read(&reqwest::Client::new(), &url).await?;
    let page = Page::read(&text)?;
    std::fs::write(&page_file, &text)?;
    say(&format!("\n{}\n", without_buckets(&text)))?;
    std::fs::write(&options.out, picture::draw(&scrapes)?)?;
    let outcomes = page.sum_by("retry_call_duration_seconds_count", "retry_outcome");
    let of = |outcome: &str| outcomes.get(outcome).copied().unwrap_or_default();
    say(&format!(
        "callers: {} values, {} errors\nerrors:  {} after retries, each logged as WARN; {} after the first \
         attempt, logged as DEBUG\npicture: {}\nlog:     {}, {} lines\npage:    {}\n",
        seen.succeeded,
        seen.failed,
        of("failed_with_retry"),
        of("failed_without_retry"),
        options.out.display(),
        log_file.display(),
        log.lines(),
        page_file.display(),
    ))?;
    let wrong = check::check(&page, seen, client::BUDGET.capacity());
    if !wrong.is_empty() {
        return Err(format!("the page does not agree:\n{}", wrong.join("\n")).into());
    }
    say("the page agrees with itself and with the callers\n")?;
    if options.keep {
        say(&format!("serving {url} until Ctrl-C\n"))?;
        tokio::signal::ctrl_c().await?;
    }
    Ok(())
}

/// The page without the lines of single buckets, of which there are many.
fn without_buckets(text: &str) -> String {
    let (mut shown, mut left_out) = (String::new(), 0);
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.contains("_bucket{") {
            left_out += 1;
        } else {
            shown += line;
            shown.push('\n');
        }
    }
    shown + &format!("({left_out} lines of buckets are left out here)\n")
}
