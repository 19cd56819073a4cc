//! WATCH, GET, MULTI, SET, EXEC as one read-modify-write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use backoff_core::{Fault as _, UpdateReport};
use redis::{RedisError, Value};
use redis_1 as redis;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::retried::Retried;
use crate::server::Server;
use crate::{COUNTING, REPEATING, Tested, calls_to};

databases::needs![has_redis, "needs redis-server: apt-get install redis-server":
    writers_who_watch_lose_nothing,
    a_replica_discards_a_transaction_and_is_left,
];

/// Adds one to `total`. What is watched belongs to a connection, so each writer has its own, and
/// writes on the one that it has read from. Waits for `others` before it writes for the first time.
async fn add_one(calls: &Retried, others: &Barrier) -> Result<UpdateReport, RedisError> {
    let is_first = &AtomicBool::new(true);
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
        if is_first.swap(false, SeqCst) {
            others.wait().await;
        }
        let mut transaction = redis::pipe();
        transaction.atomic().cmd("SET").arg("total").arg(total);
        let written = transaction.query_async::<Option<Value>>(&mut connection);
        written.await.inspect_err(|error| {
            if error.must_reconnect() {
                source.reset();
            }
        })
    };
    let add = |(_, total): &mut (_, u64)| *total += 1;
    let update = calls.policy.update(read, add, write);
    let update = update.conflict_if(|written| written.is_none()).reported();
    let (_, report) = update.await.map_err(|error| error.error)?;
    Ok(report)
}

async fn total(server: &Server) -> redis::RedisResult<u64> {
    Ok(redis::from_redis_value(server.say("GET total").await?)?)
}

async fn writers_who_watch_lose_nothing() -> Tested {
    const WRITERS: u64 = 32;
    let server = Server::start(&[]).await?;
    let all = Arc::new(Barrier::new(WRITERS as usize));
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (calls, all) = (calls_to(server.port(), REPEATING)?, Arc::clone(&all));
        writers.spawn(async move { add_one(&calls, &all).await });
    }
    let mut conflicts = 0;
    for report in writers.join_all().await {
        conflicts += u64::from(report?.conflicts);
    }
    assert_eq!(total(&server).await?, WRITERS);
    // All have read the same, and one was the first to write.
    assert!(conflicts >= WRITERS - 1, "{conflicts}");
    Ok(())
}

/// A transaction on a replica is discarded, which is no error of its own: what its commands were answered with counts.
async fn a_replica_discards_a_transaction_and_is_left() -> Tested {
    let (_primary, replica) = Server::pair().await?;
    let calls = calls_to(replica.port(), COUNTING.max_attempts(2))?;
    let added = add_one(&calls, &Barrier::new(1)).await;
    let error = added.expect_err("it is read-only");
    assert!(error.must_reconnect(), "{error}");
    assert_eq!(calls.source.opened(), 2);
    Ok(())
}
