//! Jobs that outlive their workers: 2,000 IAM grants and charges wait in SQLite, and four worker processes
//! run them, of which one is killed each second. The services throttle, fail and lose replies.
//!
//! `worker.rs` is what a program would contain; the rest is the demonstration around it.

mod ledger;
mod queue;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use apalis::prelude::{BoxDynError, TaskSink as _};
use apalis_sqlite::SqliteStorage;
use backoff_cloud::iam::PlainPolicy;
use clap::Parser;
use emulator::{Emulator, Faults, Reply};
use examples::table::table;
use examples::terminal::{ended, say};
use serde::{Deserialize, Serialize};

use ledger::Ledger;
use worker::{Order, ROLE, granted};

/// Runs jobs in worker processes that are killed again and again.
#[derive(Clone, Debug, Parser)]
#[command(name = "jobs")]
struct Options {
    /// How many jobs there are
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    jobs: u32,
    /// For a worker process: where everything is, as JSON, and its name
    #[arg(long, hide = true, num_args = 2)]
    worker: Option<Vec<String>>,
}

/// Where everything is.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Where {
    database: PathBuf,
    emulator: String,
    ledger: String,
}

const WORKERS: usize = 4;
const KILLS_EACH: Duration = Duration::from_secs(1);
/// The demonstration has failed if it takes longer.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    ended(match options.worker.as_deref() {
        Some([places, name]) => match serde_json::from_str(places) {
            Ok(places) => worker::run(&places, name).await,
            Err(error) => Err(error.into()),
        },
        _ => run(&options).await,
    })
}

/// A process that ends with this one.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn run(options: &Options) -> Result<(), BoxDynError> {
    let folder = std::env::temp_dir().join(format!("backoff-jobs-example-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let done = jobs(options.jobs, &folder).await;
    let _ = std::fs::remove_dir_all(&folder);
    done
}

async fn jobs(jobs: u32, folder: &Path) -> Result<(), BoxDynError> {
    let busy = Reply::status(429).retry_after("2");
    let faults = Faults::none()
        .status(503, 0.05)
        .with(busy, 0.05)
        .applied_then(503, 0.03);
    let emulator = Emulator::builder().seed(7).faults(faults).start()?;
    let ledger = Ledger::new(jobs);
    let places = Where {
        database: folder.join("jobs"),
        emulator: emulator.url().to_owned(),
        ledger: ledger.serve().await?,
    };
    let mut storage = queue::open(&places).await?;
    // Only once: a worker must not find the database locked by this.
    SqliteStorage::setup(storage.pool()).await?;
    let order = |number| match number % 2 {
        0 => Order::Grant(number),
        _ => Order::Charge(number),
    };
    storage.push_bulk((0..jobs).map(order).collect()).await?;

    let (start, mut kills) = (Instant::now(), 0);
    let mut workers: Vec<_> = (0..WORKERS)
        .map(|n| started(&places, n, 0))
        .collect::<Result<_, _>>()?;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let left = u32::try_from(queue::left(&storage).await?)?;
        say(&format!("{left} jobs left, {kills} workers killed\n"))?;
        if left == 0 {
            break;
        }
        if start.elapsed() > PATIENCE {
            return Err(format!("{left} jobs have not ended after {PATIENCE:?}").into());
        }
        if start.elapsed() > KILLS_EACH * (kills + 1) {
            let which = kills as usize % WORKERS;
            kills += 1;
            // Killed by the drop of the old one.
            workers[which] = started(&places, which, kills)?;
        }
    }
    let took = start.elapsed().as_secs_f64();
    let (rows, is_wrong) = rows(jobs, &ledger, &emulator, queue::given_up(&storage).await?);
    say(&format!(
        "\n{}\n{jobs} jobs ended after {took:.1} s; {kills} workers were killed.\n\n",
        table(&["what", "jobs or calls"], 1, &rows),
    ))?;
    if is_wrong {
        return Err("a job was lost, or a request was made that should not have been made".into());
    }
    say("No job was lost, nothing was made twice, and no request came before its time.\n")?;
    Ok(())
}

/// A worker process. No name is used twice.
fn started(places: &Where, number: usize, kills: u32) -> Result<Process, BoxDynError> {
    let worker = Command::new(std::env::current_exe()?)
        .args(["--worker", &serde_json::to_string(places)?])
        .arg(format!("worker-{number}-{kills}"))
        .stdin(Stdio::null())
        .spawn()?;
    Ok(Process(worker))
}

/// The rows of the table, and whether one of them is wrong.
fn rows(
    jobs: u32,
    ledger: &Ledger,
    emulator: &Emulator,
    given_up: Vec<(Order, String)>,
) -> (Vec<Vec<String>>, bool) {
    let seen = ledger.seen();
    let sum = |of: fn(&ledger::Seen) -> u32| seen.iter().map(of).sum::<u32>();
    let is_there = |number: &u32| {
        let (resource, member) = granted(*number);
        let policy = serde_json::from_value(emulator.policy(&resource));
        let PlainPolicy { bindings, .. } = policy.unwrap_or_default();
        let of_role = bindings.iter().filter(|binding| binding.role == ROLE);
        let members = of_role.flat_map(|binding| &binding.members);
        members.filter(|one| **one == member).count() == 1
    };
    let row = |what: &str, count: u32| vec![what.to_owned(), count.to_string()];
    let jobs_with =
        |is: fn(&ledger::Seen) -> bool| seen.iter().filter(|seen| is(seen)).count() as u32;
    let granted: BTreeSet<u32> = (0..jobs)
        .filter(|number| number % 2 == 0)
        .filter(is_there)
        .collect();
    let mut reasons = BTreeMap::<&str, u32>::new();
    for (_, reason) in &given_up {
        *reasons.entry(reason).or_default() += 1;
    }
    let gave_up: BTreeSet<u32> = given_up.iter().map(|(order, _)| order.number()).collect();
    let is_lost = |number: &u32| {
        let is_done = granted.contains(number) || seen[*number as usize].charges > 0;
        !is_done && !gave_up.contains(number)
    };
    let mut rows = vec![
        row("grants, done once", granted.len() as u32),
        row("charges, made once", jobs_with(|seen| seen.charges == 1)),
    ];
    rows.extend(
        reasons
            .iter()
            .map(|(reason, count)| row(&format!("given up: {reason}"), *count)),
    );
    rows.extend([
        row("requests for charges", sum(|seen| seen.requests)),
        row(
            "requests that an operation id has made harmless",
            sum(|seen| seen.repeated),
        ),
    ]);
    let wrong = [
        ("charges, made twice", jobs_with(|seen| seen.charges > 1)),
        ("requests before their time", sum(|seen| seen.early)),
        (
            "jobs that were lost",
            (0..jobs).filter(is_lost).count() as u32,
        ),
    ];
    rows.extend(wrong.map(|(what, count)| row(what, count)));
    (rows, wrong.iter().any(|(_, count)| *count > 0))
}
