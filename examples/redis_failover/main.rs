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
use std::sync::Arc;
use std::time::Duration;

use backoff_cloud::memorystore::DATA;
use backoff_core::{Policy, Reconnect};
use clap::Parser;
use examples::drawing::Drawn;
use examples::table::table;
use examples::terminal::{ended, save, say};

use address::Address;
use event::{Happening, noticed_soon};
use load::{Load, increment, name_of};
use server::Server;

/// What each call adds one to.
const KEY: &str = "calls";
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

    /// Makes the calls.
    async fn load(self, client: redis::Client, calls: usize) -> redis::RedisResult<Load> {
        Ok(match self {
            Self::Multiplexed => {
                let connection = client.get_multiplexed_async_connection().await?;
                Load::of(0..calls, |_| increment(connection.clone(), KEY.to_owned())).await
            }
            Self::Manager => {
                let manager = client.get_connection_manager().await?;
                Load::of(0..calls, |_| increment(manager.clone(), KEY.to_owned())).await
            }
            Self::Repeating => retried(DATA, client, calls).await,
            Self::Counting => retried(DATA.idempotent(false), client, calls).await,
        })
    }
}

/// Each call under the policy, on a connection that is opened anew when a failure asks for it.
async fn retried(policy: Policy, client: redis::Client, calls: usize) -> Load {
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let source = Arc::new(Reconnect::new(open));
    let call = |_| {
        let source = Arc::clone(&source);
        let add = |connection| increment(connection, KEY.to_owned());
        async move { policy.retry(|| source.with(add)).await }
    };
    Load::of(0..calls, call).await
}

/// One way through one event.
struct Story {
    happening: Happening,
    way: Way,
    load: Load,
    /// How many connections were made to its address.
    opened: u32,
}

impl Story {
    /// Errors that callers were told, by name.
    fn errors(&self) -> String {
        let mut errors = BTreeMap::new();
        for error in self.load.errors() {
            *errors.entry(name_of(error)).or_insert(0) += 1;
        }
        let errors = errors.iter().map(|(name, n)| format!("{n} {name}"));
        errors.collect::<Vec<_>>().join(", ")
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.happening.name().to_owned(),
            self.way.name().to_owned(),
            self.errors(),
            format!("{} of {}", self.load.served(), self.load.calls.len()),
            format!("{} ms", self.load.worst_gap().as_millis()),
            self.opened.to_string(),
        ]
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Drawn {
    let (mut stories, mut rows) = (Vec::new(), Vec::new());
    for happening in Happening::ALL {
        say(&format!("{} …\n", happening.name()))?;
        let told = tell(happening, options.calls as usize).await?;
        rows.extend(told.iter().map(Story::row).chain([Vec::new()]));
        stories.extend(told);
    }
    let header = [
        "event",
        "way",
        "errors that the caller saw",
        "served",
        "worst gap",
        "connections",
    ];
    say(&format!("\n{}", table(&header, 3, &rows)))?;
    say(
        "A client that reconnects by itself stays with a server that still answers. Reconnect opens \
         another connection\nwhen a failure asks for it, and pauses after each opening that fails. \
         idempotent(false) does not repeat a call\nthat may have been counted: no call is counted \
         twice, and some fail.\n",
    )?;
    save(&options.out, &picture::draw(&stories)?)?;
    Ok(())
}

/// All ways through the same event, at the same time, each at an address of its own.
async fn tell(
    happening: Happening,
    calls: usize,
) -> Result<Vec<Story>, Box<dyn std::error::Error + Send + Sync>> {
    let (mut primary, replica) = Server::pair().await?;
    let mut addresses = Vec::new();
    let mut loads = Vec::new();
    for way in Way::ALL {
        let address = Address::before(primary.port()).await?;
        let client = redis::Client::open(("127.0.0.1", address.port()))?;
        loads.push(tokio::spawn(way.load(client, calls)));
        addresses.push(address);
    }
    tokio::time::sleep(AFTER).await;
    happening
        .befall(&mut primary, &replica, &addresses, noticed_soon())
        .await?;

    let mut stories = Vec::new();
    for ((way, load), address) in Way::ALL.into_iter().zip(loads).zip(&addresses) {
        stories.push(Story {
            happening,
            way,
            load: load.await??,
            opened: address.accepted(),
        });
    }
    Ok(stories)
}
