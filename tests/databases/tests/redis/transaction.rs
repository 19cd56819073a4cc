//! WATCH, GET, MULTI, SET, EXEC as one read-modify-write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use backoff_core::{Fault as _, UpdateReport};
use redis::{RedisError, Value};
use redis_1 as redis;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::address::Address;
use crate::event::{Happening, noticed_soon};
use crate::retried::Retried;
use crate::server::Server;
use crate::{COUNTING, REPEATING, Tested, calls_to, until};

databases::needs![has_redis, "needs redis-server: apt-get install redis-server":
    writers_who_watch_lose_nothing,
    writers_who_watch_survive_a_demoted_primary,
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

/// A transaction on a server that has become a replica is discarded, which is no error of its own:
/// what its commands were answered with counts. So nobody stays with the old primary.
async fn writers_who_watch_survive_a_demoted_primary() -> Tested {
    const WRITERS: u64 = 8;
    let (mut primary, replica) = Server::pair().await?;
    let addresses = [Address::before(primary.port()).await?];
    let (added, is_over) = (Arc::new(AtomicU64::new(0)), Arc::<AtomicBool>::default());
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let calls = calls_to(addresses[0].port(), COUNTING)?;
        let (added, is_over) = (Arc::clone(&added), Arc::clone(&is_over));
        writers.spawn(async move {
            let (alone, mut last) = (Barrier::new(1), false);
            while !last {
                last = is_over.load(SeqCst);
                add_one(&calls, &alone).await?;
                added.fetch_add(1, SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok::<_, RedisError>(calls.source.opened())
        });
    }
    let adds = async |more| {
        let last = added.load(SeqCst) + more;
        until("updates", || added.load(SeqCst) >= last).await
    };
    let events = async {
        adds(40).await?;
        let happens = Happening::Demoted;
        let happens = happens.befall(&mut primary, &replica, &addresses, noticed_soon());
        happens.await?;
        adds(40).await
    };
    let happened = events.await;
    // Each adds once more at least, when the primary is another.
    is_over.store(true, SeqCst);
    let writers = writers.join_all().await;
    happened?;
    for opened in writers {
        assert!(opened? > 1);
    }
    assert_eq!(total(&replica).await?, added.load(SeqCst));
    Ok(())
}
