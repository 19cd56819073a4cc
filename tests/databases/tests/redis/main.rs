//! Redis commands under `memorystore::DATA`, against real servers that are killed, frozen, demoted
//! and kept busy.

// What the example `redis_failover` is made of.
#[path = "../../../../examples/redis_failover/address.rs"]
mod address;
#[path = "../../../../examples/redis_failover/event.rs"]
mod event;
#[path = "../../../../examples/redis_failover/load.rs"]
mod load;
#[path = "../../../../examples/redis_failover/server.rs"]
mod server;

mod failover;
mod opening;
mod replies;
mod states;
mod transaction;

use backoff_core::Policy;
use redis_1 as redis;

use load::{Load, Retried, increment};
use server::Server;

/// For commands that must not be made twice.
const COUNTING: Policy = backoff_cloud::memorystore::DATA.idempotent(false);

/// The error of a test when something else than the tested code fails.
type Tested = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Calls to this port.
fn calls_to(port: u16, policy: Policy) -> redis::RedisResult<Retried> {
    Ok(Retried::new(
        policy,
        redis::Client::open(("127.0.0.1", port))?,
    ))
}

/// A load that counts each of the keys `prefix:0`, `prefix:1`, … once.
async fn counting(made: &Retried, prefix: &str, calls: usize) -> Load {
    let call = |n| {
        let key = format!("{prefix}:{n}");
        made.clone()
            .call(move |connection| increment(connection, key.clone()))
    };
    Load::of(calls, call).await
}

/// How often each of the keys `prefix:0`, `prefix:1`, … was counted.
async fn counts(server: &Server, prefix: &str, calls: usize) -> redis::RedisResult<Vec<u32>> {
    let keys: Vec<_> = (0..calls).map(|n| format!("{prefix}:{n}")).collect();
    let counts = server.say(&format!("MGET {}", keys.join(" "))).await?;
    let counts: Vec<Option<u32>> = redis::from_redis_value(counts)?;
    Ok(counts.into_iter().map(Option::unwrap_or_default).collect())
}
