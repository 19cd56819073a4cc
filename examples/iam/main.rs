//! Writers change one IAM policy at the same time over real HTTP, while the service throttles,
//! fails and conflicts. Four ways run side by side: no retry, the write alone retried, the whole
//! function retried with a bare exponential backoff, and with IAM's own policy.
//!
//! `ways.rs` is what a program would contain; the rest is the demonstration around it.

mod client;
mod picture;
mod record;
mod table;
mod ways;

use std::error::Error as StdError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use backoff_cloud::emulator::{Emulator, Faults, Reply};
use backoff_cloud::http::ApiError;
use clap::{Parser, ValueEnum};
use examples::terminal::say;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tokio::task::JoinSet;

use crate::client::{Client, IamPolicy};
use crate::record::{Ending, Log, Outcome, Story};

type Error = Box<dyn StdError + Send + Sync>;

const RESOURCE: &str = "projects/demo";
/// How long the service thinks about a call, in real time.
const LATENCY: Duration = Duration::from_millis(500);
/// By how much all times are scaled unless the true ones are asked for.
const SHORTENED: f64 = 0.01;
/// How often the progress bars tell the news.
const NEWS: Duration = Duration::from_millis(50);

/// Many writers change one IAM policy at the same time, in four ways: without retries, retrying
/// the write alone, retrying the whole function with a bare exponential backoff, and with IAM's
/// own policy. Prints a table and draws a picture.
#[derive(Debug, Parser)]
#[command(name = "iam")]
struct Options {
    /// How many writers there are
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    writers: u16,

    /// How badly the service behaves, besides the conflicts
    #[arg(long, value_enum, default_value_t = Misbehaviour::Some)]
    faults: Misbehaviour,

    /// Where the service's random numbers begin
    #[arg(long, value_name = "NUMBER", default_value_t = 7)]
    seed: u64,

    /// Wait as long as the policies say, instead of a hundredth of it: takes up to five minutes
    #[arg(long)]
    real_time: bool,

    /// Where to draw the picture
    #[arg(long, value_name = "FILE", default_value = "out/iam.svg")]
    out: PathBuf,
}

impl Options {
    fn pace(&self) -> f64 {
        if self.real_time { 1.0 } else { SHORTENED }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Misbehaviour {
    /// Every call is answered as it deserves
    None,
    /// Some calls are throttled, answered with 503 (before or after the write), or cut off
    Some,
    /// The same, three times as often
    Heavy,
}

impl Misbehaviour {
    fn name(self) -> &'static str {
        match self {
            Self::None => "no faults",
            Self::Some => "some faults",
            Self::Heavy => "many faults",
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Way {
    NoRetry,
    WriteAlone,
    BareExponential,
    ReadModifyWrite,
}

impl Way {
    const ALL: [Self; 4] = [
        Self::NoRetry,
        Self::WriteAlone,
        Self::BareExponential,
        Self::ReadModifyWrite,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::NoRetry => "no retry",
            Self::WriteAlone => "the write alone is retried",
            Self::BareExponential => "the whole function, bare exponential",
            Self::ReadModifyWrite => "the whole function, iam::READ_MODIFY_WRITE",
        }
    }

    async fn grant(self, client: &Client, member: &str) -> Result<IamPolicy, ApiError> {
        match self {
            Self::NoRetry => ways::no_retry(client, RESOURCE, member).await,
            Self::WriteAlone => ways::write_alone(client, RESOURCE, member).await,
            Self::BareExponential => ways::bare_exponential(client, RESOURCE, member).await,
            Self::ReadModifyWrite => ways::read_modify_write(client, RESOURCE, member).await,
        }
    }
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
    prepare(&options.out)?;
    let title = match options.writers {
        1 => "One writer changes an IAM policy, alone".to_owned(),
        writers => format!("{writers} writers change one IAM policy at the same time"),
    };
    let circumstances = circumstances(options);
    say(&format!("{title}.\n{circumstances}\n"))?;

    let stories = all_ways(options).await?;

    let picture = picture::draw(&stories, &title, &circumstances)?;
    fs::write(&options.out, picture).map_err(|error| cannot_write(&options.out, &error))?;
    say(&format!(
        "\n{}\n{}",
        table::table(&stories),
        remarks(&stories)
    ))?;
    say(&format!("Picture: {}\n", options.out.display()))?;
    Ok(())
}

fn circumstances(options: &Options) -> String {
    let time = if options.real_time {
        "All times are the true ones."
    } else {
        "All times are shortened a hundredfold: a second takes 10 ms (--real-time for the true ones)."
    };
    format!(
        "{time} Service: {}, seed {}.",
        options.faults.name(),
        options.seed
    )
}

/// Finds out before the run, not after it, whether the picture can be written.
fn prepare(out: &Path) -> Result<(), Error> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::OpenOptions::new().create(true).append(true).open(out))
        .map_err(|error| cannot_write(out, &error))?;
    Ok(())
}

fn cannot_write(out: &Path, error: &io::Error) -> Error {
    format!("cannot write the picture {}: {error}", out.display()).into()
}

/// What the table does not explain by itself.
fn remarks(stories: &[Story]) -> String {
    let mut remarks = String::new();
    let misled: usize = stories
        .iter()
        .map(|story| story.ended(Ending::Misled))
        .sum();
    if misled > 0 {
        remarks += &format!(
            "Counted both as arrived and as gave up: {misled} whose write was applied, but \
             answered with an error.\n"
        );
    }
    remarks
}

/// Runs the four ways at the same time, each against a service of its own.
async fn all_ways(options: &Options) -> Result<Vec<Story>, Error> {
    let bars = MultiProgress::new();
    let mut running = Vec::new();
    for way in Way::ALL {
        let bar = bars.add(ProgressBar::new(options.writers.into()).with_style(style()?));
        bar.set_prefix(way.title());
        running.push(tokio::spawn(tell(
            way,
            options.pace(),
            service(options)?,
            options.writers,
            bar,
        )));
    }
    let mut stories = Vec::new();
    for story in running {
        stories.push(story.await??);
    }
    Ok(stories)
}

fn style() -> Result<ProgressStyle, Error> {
    Ok(ProgressStyle::with_template(
        "{prefix:44} {bar:24} {pos:>4} of {len} done, {msg}",
    )?)
}

/// A service that thinks about every call, and answers some of them badly. Its quota lets the
/// first read and write of every writer pass, but not a crowd that comes again all at once.
fn service(options: &Options) -> Result<Emulator, Error> {
    let pace = options.pace();
    let crowd = u32::from(options.writers).max(8);
    let polite = Emulator::builder()
        .seed(options.seed)
        .latency(LATENCY.mul_f64(pace));
    let times = match options.faults {
        Misbehaviour::None => return Ok(polite.start()?),
        Misbehaviour::Some => 1,
        Misbehaviour::Heavy => 3,
    };
    let share = |of_calls: f64| of_calls * f64::from(times);
    let faults = Faults::none()
        .status(503, share(0.02))
        .applied_then(503, share(0.01))
        .with(Reply::reset(), share(0.01));
    let a_second = f64::from(crowd) / (5.0 * f64::from(times) * pace);
    let service = polite
        .faults(faults)
        .rate_limit(a_second.ceil() as u32, 2 * crowd)
        .throttle_with(Reply::status(429).retry_info(format!("{pace}s")));
    Ok(service.start()?)
}

/// Lets all writers loose on the service in one way, and waits for the last of them.
async fn tell(
    way: Way,
    pace: f64,
    service: Emulator,
    writers: u16,
    bar: ProgressBar,
) -> Result<Story, Error> {
    let http = reqwest::Client::builder()
        .retry(reqwest::retry::never())
        .build()?;
    let log = Arc::new(Log::start());
    let mut running = JoinSet::new();
    for writer in 0..usize::from(writers) {
        let client = Client {
            http: http.clone(),
            url: service.url().to_owned(),
            writer,
            log: Arc::clone(&log),
            pace,
        };
        running.spawn(async move { (writer, way.grant(&client, &member(writer)).await.is_ok()) });
    }

    let mut told_ok = vec![false; writers.into()];
    let mut gave_up = 0;
    let mut news = tokio::time::interval(NEWS);
    loop {
        tokio::select! {
            ended = running.join_next() => {
                let Some(ended) = ended else { break };
                let (writer, ok) = ended?;
                told_ok[writer] = ok;
                if ok { bar.inc(1) } else { gave_up += 1 }
            }
            _ = news.tick() => bar.set_message(so_far(&log, gave_up)),
        }
    }
    let took = log.now();
    // Not `finish`, which would fill the bar.
    bar.abandon_with_message(so_far(&log, gave_up));

    let policy: IamPolicy = serde_json::from_value(service.policy(RESOURCE))?;
    let endings = told_ok
        .iter()
        .enumerate()
        .map(|(writer, &ok)| Ending::new(ok, policy.names(&member(writer))))
        .collect();
    Ok(Story {
        title: way.title(),
        calls: log.calls(),
        endings,
        took,
    })
}

fn member(writer: usize) -> String {
    format!("user:writer-{:02}@example.com", writer + 1)
}

fn so_far(log: &Log, gave_up: usize) -> String {
    let calls = log.calls();
    let conflicts = calls
        .iter()
        .filter(|call| call.outcome == Outcome::Conflict)
        .count();
    format!(
        "{gave_up} gave up, {} calls, {conflicts} conflicts",
        calls.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn options_are_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in [
            "--writers=0",
            "--writers=1001",
            "--faults=often",
            "--seed=x",
        ] {
            assert!(Options::try_parse_from(["iam", wrong]).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn every_change_arrives() {
        let options = Options::parse_from(["iam", "--writers=6", "--faults=heavy"]);
        let service = service(&options).unwrap();
        let bar = ProgressBar::hidden();
        let story = tell(
            Way::ReadModifyWrite,
            options.pace(),
            service,
            options.writers,
            bar,
        )
        .await
        .unwrap();
        assert_eq!(story.endings, [Ending::Arrived; 6]);
        assert!(story.calls.len() >= 12);
    }
}
