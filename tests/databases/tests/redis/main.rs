//! Redis commands under `memorystore::DATA`, against real servers that are killed, frozen, demoted
//! and kept busy.

mod address;
mod course;
mod event;
mod failover;
mod load;
mod opening;
mod replies;
mod retried;
mod server;
mod states;
mod transaction;

use std::time::Duration;

use backoff_core::Policy;
extern crate redis_1 as redis;

use databases::{Tested, deaf};

use course::Course;
use load::{Load, increment};
use retried::Retried;
use server::{Server, patient};

/// `DATA`, with a deadline that no machine is too slow for.
const REPEATING: Policy = backoff_cloud::memorystore::DATA.deadline(Duration::from_secs(600));

/// For commands that must not be made twice.
const COUNTING: Policy = REPEATING.idempotent(false);

/// Calls to this port.
fn calls_to(port: u16, policy: Policy) -> redis::RedisResult<Retried> {
    let client = redis::Client::open(("127.0.0.1", port))?;
    Ok(Retried::new(policy, client, patient()))
}

/// Calls to this port, with the time limits that the client has of its own: half a second for a reply.
fn hasty_calls_to(port: u16, policy: Policy) -> redis::RedisResult<Retried> {
    let client = redis::Client::open(("127.0.0.1", port))?;
    let config = redis::AsyncConnectionConfig::new();
    Ok(Retried::new(policy, client, config))
}

/// Waits until this holds. The limit of two minutes is a net.
async fn until(what: &str, holds: impl Fn() -> bool) -> redis::RedisResult<()> {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(120), waiting).await;
    waited.map_err(|_| std::io::Error::other(format!("not within two minutes: {what}")).into())
}

/// A load that counts each of the keys `prefix:0`, `prefix:1`, … once, as long as the course goes on.
async fn counting(made: &Retried, prefix: &str, course: &Course) -> Load {
    let call = |n| {
        let key = format!("{prefix}:{n}");
        let call = made.clone();
        course.tell(
            n,
            call.call(move |connection| increment(connection, key.clone())),
        )
    };
    Load::of(course.numbers(), call).await
}

/// How often each of the keys `prefix:0`, `prefix:1`, … was counted.
async fn counts(server: &Server, prefix: &str, calls: usize) -> redis::RedisResult<Vec<u32>> {
    let keys: Vec<_> = (0..calls).map(|n| format!("{prefix}:{n}")).collect();
    let counts = server.say(&format!("MGET {}", keys.join(" "))).await?;
    let counts: Vec<Option<u32>> = redis::from_redis_value(counts)?;
    Ok(counts.into_iter().map(Option::unwrap_or_default).collect())
}

/// Adds one to a key, as often as it takes.
async fn add_to(calls: &Retried, key: &str) -> redis::RedisResult<()> {
    let key = key.to_owned();
    let call = calls.clone().call(|made| increment(made, key.clone()));
    call.await
}
