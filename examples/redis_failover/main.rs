//! Two redis-servers behind an address that stays the same, a command every 20 ms, and what happens
//! to the commands when the primary is killed, hangs, hands over, is demoted: with the client's own
//! connections, and with a policy on a connection that is opened anew when a failure asks for it.

mod address;
mod event;
mod load;
mod picture;
mod server;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use backoff_cloud::memorystore::DATA;
use clap::Parser;
use examples::drawing::Drawn;
use examples::table::table;
use examples::terminal::{save, say};
use indicatif::{ProgressBar, ProgressStyle};
use redis::RedisError;
use redis_1 as redis;

use address::Address;
use event::{Happening, noticed_soon};
use load::{Load, Retried, increment, name_of};
use server::Server;

/// When it happens, counted from the first call.
const AFTER: Duration = Duration::from_millis(500);

/// Kills, freezes and demotes a Redis primary under load, and draws which calls were served.
#[derive(Parser)]
struct Options {
    /// How many calls each way makes, 20 ms apart.
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u32).range(50..=5_000))]
    calls: u32,
    /// Where to draw it.
    #[arg(long, default_value = "out/redis_failover.svg")]
    out: PathBuf,
}

/// How a command is made.
#[derive(Clone, Copy)]
enum Way {
    Multiplexed,
    Manager,
    Repeating,
    Counting,
}

impl Way {
    const ALL: [Self; 4] = [
        Self::Multiplexed,
        Self::Manager,
        Self::Repeating,
        Self::Counting,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Multiplexed => "MultiplexedConnection",
            Self::Manager => "ConnectionManager",
            Self::Repeating => "memorystore::DATA and Reconnect",
            Self::Counting => "memorystore::DATA.idempotent(false) and Reconnect",
        }
    }

    /// Makes the calls; each adds one to a key of its own.
    async fn load(
        self,
        client: redis::Client,
        calls: usize,
        bar: ProgressBar,
    ) -> redis::RedisResult<Load> {
        let key = move |n| key(self, n);
        let retried = |policy| {
            let config = redis::AsyncConnectionConfig::new();
            let retried = Retried::new(policy, client.clone(), config);
            let bar = bar.clone();
            Load::of(0..calls, move |n| {
                let call = retried.clone();
                counted(
                    call.call(move |connection| increment(connection, key(n))),
                    bar.clone(),
                )
            })
        };
        Ok(match self {
            Self::Multiplexed => {
                let connection = client.get_multiplexed_async_connection().await?;
                Load::of(0..calls, |n| {
                    counted(increment(connection.clone(), key(n)), bar.clone())
                })
                .await
            }
            Self::Manager => {
                let manager = client.get_connection_manager().await?;
                Load::of(0..calls, |n| {
                    counted(increment(manager.clone(), key(n)), bar.clone())
                })
                .await
            }
            Self::Repeating => retried(DATA).await,
            Self::Counting => retried(DATA.idempotent(false)).await,
        })
    }
}

/// A call that moves the bar when it ends.
async fn counted<T>(call: impl Future<Output = T>, bar: ProgressBar) -> T {
    let outcome = call.await;
    bar.inc(1);
    outcome
}

fn key(way: Way, n: usize) -> String {
    format!("{}:{n}", way as u8)
}

/// One way through one event.
struct Story {
    happening: Happening,
    way: Way,
    load: Load,
    /// How many connections were made to its address.
    opened: u32,
    /// What the keys were counted up to, by the number of the call.
    counts: Vec<u32>,
}

impl Story {
    /// Errors that the caller was told, by name.
    fn errors(&self) -> BTreeMap<String, usize> {
        let mut errors = BTreeMap::new();
        for error in self.load.errors() {
            *errors.entry(name_of(error)).or_insert(0) += 1;
        }
        errors
    }

    fn counted_twice(&self) -> usize {
        self.counts.iter().filter(|count| **count > 1).count()
    }

    fn row(&self) -> Vec<String> {
        let errors: Vec<_> = self.errors().into_iter().collect();
        let errors: Vec<_> = errors
            .iter()
            .map(|(name, n)| format!("{n} {name}"))
            .collect();
        vec![
            self.happening.name().to_owned(),
            self.way.name().to_owned(),
            if errors.is_empty() {
                "none".to_owned()
            } else {
                errors.join(", ")
            },
            format!("{} of {}", self.load.served(), self.load.calls.len()),
            format!("{} ms", self.load.worst_gap().as_millis()),
            self.opened.to_string(),
            self.counted_twice().to_string(),
        ]
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    if !server::is_installed() {
        let missing = "This example starts redis-server, which is not installed: \
                       `apt-get install redis-server`, or `brew install redis`.\n";
        return said(say(missing).map_err(Into::into));
    }
    said(run(&options).await)
}

fn said(outcome: Drawn) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Drawn {
    let calls = options.calls as usize;
    let mut stories = Vec::new();
    let style = ProgressStyle::with_template("{bar:32} {pos:>5} of {len} calls, {msg}")?;
    let all = Happening::ALL.len() * Way::ALL.len() * calls;
    let bar = ProgressBar::new(all as u64).with_style(style);
    for happening in Happening::ALL {
        bar.set_message(happening.name());
        stories.extend(tell(happening, calls, &bar).await?);
    }
    bar.finish_and_clear();
    let header = [
        "event",
        "way",
        "errors that the caller saw",
        "served",
        "worst gap",
        "connections",
        "counted twice",
    ];
    let rows: Vec<_> = stories.iter().map(Story::row).collect();
    let rows: Vec<_> = rows
        .chunks(Way::ALL.len())
        .flat_map(|rows| rows.iter().cloned().chain([Vec::new()]))
        .collect();
    say(&format!("\n{}", table(&header, 3, &rows)))?;
    say(
        "A client that reconnects by itself stays with a server that still answers. Reconnect opens \
         another connection\nwhen a failure asks for it, and pauses after each opening that fails. \
         idempotent(false) does not repeat a call\nthat may have been counted: so no call is \
         counted twice, and some calls fail.\n",
    )?;
    save(&options.out, &picture::draw(&stories)?)?;
    Ok(())
}

/// All ways through the same event, at the same time, each at an address of its own.
async fn tell(
    happening: Happening,
    calls: usize,
    bar: &ProgressBar,
) -> redis::RedisResult<Vec<Story>> {
    let (mut primary, replica) = Server::pair().await?;
    let mut addresses = Vec::new();
    let mut loads = Vec::new();
    for way in Way::ALL {
        let address = Address::before(primary.port()).await?;
        let client = redis::Client::open(("127.0.0.1", address.port()))?;
        loads.push(tokio::spawn(way.load(client, calls, bar.clone())));
        addresses.push(address);
    }
    tokio::time::sleep(AFTER).await;
    happening
        .befall(&mut primary, &replica, &addresses, noticed_soon())
        .await?;

    let mut stories = Vec::new();
    for ((way, load), address) in Way::ALL.into_iter().zip(loads).zip(&addresses) {
        let load = load
            .await
            .map_err(|error| RedisError::from(std::io::Error::other(error)))??;
        let keys: Vec<_> = (0..calls).map(|n| key(way, n)).collect();
        let counts = replica.say(&format!("MGET {}", keys.join(" "))).await?;
        let counts: Vec<Option<u32>> = redis::from_redis_value(counts)?;
        stories.push(Story {
            happening,
            way,
            load,
            opened: address.accepted(),
            counts: counts.into_iter().map(Option::unwrap_or_default).collect(),
        });
    }
    Ok(stories)
}
