//! Many writers add one member each to the same policy at the same time, with Google's client. Compares
//! `iam::add` with the loop of the guide.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use backoff_cloud::emulator::{Emulator, Faults};
use backoff_cloud::{Policy, iam};
use clap::Args;
use examples::table::table;
use examples::terminal::say;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use tokio::task::JoinSet;

use crate::{Error, LATENCY, ROLE, SCALE, SECRET, client, guide};

/// The waits are shorter, the deadline is not.
const POLICY: Policy = iam::READ_MODIFY_WRITE
    .scaled(SCALE)
    .deadline(Duration::from_secs(300));

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many writers add a member at the same time
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [8, 32],
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    writers: Vec<u32>,

    /// How often each contest is repeated
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Guide,
    Ours,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Guide => "the guide's loop",
            Way::Ours => "iam::add",
        }
    }

    /// Adds the member. Returns whether the call said that the member was added.
    async fn add(self, client: &SecretManagerService, member: &str) -> bool {
        match self {
            Way::Guide => guide::add(client, SECRET, ROLE, member).await.is_ok(),
            Way::Ours => {
                let change = iam::add(client, SECRET, ROLE, member).policy(POLICY);
                change.await.is_ok()
            }
        }
    }
}

/// The results of one contest, or of several.
#[derive(Debug, Default)]
struct Outcome {
    writers: u64,
    /// Members that were reported as added and are in the policy.
    arrived: u64,
    /// Members that were reported as added and are not in the policy.
    lost: u64,
    /// Members whose call failed, but who are in the policy.
    unnoticed: u64,
    /// Writes of a member who was in the policy already.
    twice: u64,
    calls: u64,
    time: Duration,
}

impl Outcome {
    fn add(&mut self, other: &Outcome) {
        self.writers += other.writers;
        self.arrived += other.arrived;
        self.lost += other.lost;
        self.unnoticed += other.unnoticed;
        self.twice += other.twice;
        self.calls += other.calls;
        self.time += other.time;
    }

    fn is_perfect(&self) -> bool {
        (self.arrived, self.lost, self.twice) == (self.writers, 0, 0)
    }
}

fn faults(some: bool) -> Faults {
    if some {
        Faults::none().status(503, 0.10).applied_then(503, 0.05)
    } else {
        Faults::none()
    }
}

async fn hold(way: Way, writers: u32, some_faults: bool, seed: u64) -> Result<Outcome, Error> {
    let emulator = Emulator::builder()
        .seed(seed)
        .latency(LATENCY)
        .faults(faults(some_faults))
        .start()?;
    let client = client::connect(&emulator, |builder| builder).await?;
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for n in 0..writers {
        let client = client.clone();
        tasks.spawn(async move {
            let member = format!("user:{n}@example.com");
            let told = way.add(&client, &member).await;
            (member, told)
        });
    }
    let told = tasks.join_all().await;
    let time = start.elapsed();
    let policy = emulator.policy(SECRET);
    let members = policy["bindings"][0]["members"].as_array();
    let there: BTreeSet<_> = members
        .into_iter()
        .flatten()
        .filter_map(|it| it.as_str())
        .collect();
    let stats = emulator.stats();
    let count = |was_told, is_there| {
        let so = |(member, told): &&(String, bool)| {
            *told == was_told && there.contains(member.as_str()) == is_there
        };
        told.iter().filter(so).count() as u64
    };
    Ok(Outcome {
        writers: writers.into(),
        arrived: count(true, true),
        lost: count(true, false),
        unnoticed: count(false, true),
        twice: stats.writes.saturating_sub(there.len() as u64),
        calls: stats.calls,
        time,
    })
}

pub(crate) async fn run(options: &Options) -> Result<(), Error> {
    let mut rows = Vec::new();
    let mut is_perfect = true;
    for &writers in &options.writers {
        for some_faults in [false, true] {
            for way in [Way::Guide, Way::Ours] {
                let mut sum = Outcome::default();
                for seed in 0..u64::from(options.runs) {
                    sum.add(&hold(way, writers, some_faults, seed).await?);
                }
                if let Way::Ours = way {
                    is_perfect &= sum.is_perfect();
                }
                rows.push(row(options.runs, writers, some_faults, way, &sum));
            }
            rows.push(Vec::new());
        }
    }
    rows.pop();
    let header = [
        "writers",
        "faults",
        "way",
        "arrive",
        "lost",
        "twice",
        "unnoticed",
        "calls",
        "time",
    ];
    say(&format!(
        "{}\nRuns of each line: {}. Calls and time are the average of one run. A call takes {LATENCY:?}. The waits of \
         iam::add are those of iam::READ_MODIFY_WRITE, multiplied by {SCALE}.\nlost: the call succeeded, but the \
         member is not in the policy.\nunnoticed: the call failed, but the member is in the policy.\n\
         twice: a write of a member who was in the policy already.\n",
        table(&header, 3, &rows),
        options.runs,
    ))?;
    if is_perfect {
        Ok(())
    } else {
        Err("iam::add lost an update, wrote an update twice, or gave up".into())
    }
}

fn row(runs: u32, writers: u32, some_faults: bool, way: Way, sum: &Outcome) -> Vec<String> {
    let faults = if some_faults {
        "10 % 503, 5 % applied, then 503"
    } else {
        "none"
    };
    vec![
        writers.to_string(),
        faults.to_owned(),
        way.name().to_owned(),
        format!("{}/{}", sum.arrived, sum.writers),
        sum.lost.to_string(),
        sum.twice.to_string(),
        sum.unnoticed.to_string(),
        (sum.calls / u64::from(runs)).to_string(),
        format!("{:.2} s", (sum.time / runs).as_secs_f64()),
    ]
}
