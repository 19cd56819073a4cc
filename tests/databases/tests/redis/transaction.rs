//! WATCH, GET, MULTI, SET, EXEC as one read-modify-write.

use std::time::Duration;

use backoff_cloud::memorystore::DATA;
use backoff_core::{Fault as _, UpdateReport};
use redis::{RedisError, Value};
use redis_1 as redis;
use tokio::task::JoinSet;

use crate::address::Address;
use crate::event::Happening;
use crate::load::Retried;
use crate::server::Server;
use crate::{COUNTING, Tested, calls_to};

/// Adds one to `total`. What is watched belongs to a connection, so each writer has its own, and
/// writes on the one that it has read from.
async fn add_one(calls: &Retried) -> Result<UpdateReport, RedisError> {
    let source = &calls.source;
    let read = || {
        source.with(|mut connection| async move {
            let watch = redis::cmd("WATCH").arg("total").to_owned();
            watch.query_async::<()>(&mut connection).await?;
            let get = redis::cmd("GET").arg("total").to_owned();
            let total: Option<u64> = get.query_async(&mut connection).await?;
            Ok::<_, RedisError>((connection, total.unwrap_or(0)))
        })
    };
    let write = |(mut connection, total)| async move {
        let mut transaction = redis::pipe();
        transaction.atomic().cmd("SET").arg("total").arg(total);
        let written = transaction
            .query_async::<Option<Value>>(&mut connection)
            .await;
        written.inspect_err(|error| {
            if error.must_reconnect() {
                source.reset();
            }
        })
    };
    let updated = calls
        .policy
        .update(read, |(_, total)| *total += 1, write)
        .conflict_if(|written| written.is_none())
        .reported()
        .await;
    updated
        .map(|(_, report)| report)
        .map_err(|error| error.error)
}

async fn total(server: &Server) -> redis::RedisResult<u64> {
    Ok(redis::from_redis_value(server.say("GET total").await?)?)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn writers_who_watch_lose_nothing() -> Tested {
    const WRITERS: u64 = 32;
    let server = Server::start(&[]).await?;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let calls = calls_to(server.port(), DATA)?;
        writers.spawn(async move { add_one(&calls).await });
    }
    let mut conflicts = 0;
    for report in writers.join_all().await {
        conflicts += report?.conflicts;
    }
    println!("{WRITERS} writers, {conflicts} conflicts");
    assert_eq!(total(&server).await?, WRITERS);
    assert!(conflicts > 0);
    Ok(())
}

/// A transaction on a server that has become a replica is discarded, which is no error of its own:
/// what its commands were answered with counts. So nobody stays with the old primary.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn writers_who_watch_survive_a_demoted_primary() -> Tested {
    const WRITERS: u64 = 8;
    const EACH: u64 = 20;
    let (mut primary, replica) = Server::pair().await?;
    let addresses = [Address::before(primary.port()).await?];
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let calls = calls_to(addresses[0].port(), COUNTING)?;
        writers.spawn(async move {
            for _ in 0..EACH {
                add_one(&calls).await?;
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
            Ok::<_, RedisError>(calls.source.opened())
        });
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    Happening::Demoted
        .befall(&mut primary, &replica, &addresses)
        .await?;
    for opened in writers.join_all().await {
        assert!(opened? > 1);
    }
    assert_eq!(total(&replica).await?, WRITERS * EACH);
    Ok(())
}
