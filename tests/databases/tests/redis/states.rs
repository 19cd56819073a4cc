//! States in which a running server cannot serve calls for a while. Each state ends while calls are made.

use std::time::Duration;

use backoff_core::Policy;
use redis_1 as redis;

use crate::course::Course;
use crate::load::{Load, increment};
use crate::retried::Retried;
use crate::server::{Server, connect, free_port};
use crate::{COUNTING, Tested, calls_to, counts, deaf, until};

/// So many attempts fail before the state ends.
const DURING: usize = 20;
/// The beginning of keys that are all in one slot of a cluster.
const ONE_SLOT: &str = "{key}";

/// So many calls are made after the state has ended.
const AFTER: usize = 10;

databases::needs![has_redis, "needs redis-server: apt-get install redis-server":
    loading,
    busy_with_a_script,
    too_few_replicas,
    a_cluster_that_is_down,
    a_replica_without_its_primary,
];

/// Ends the state by this command when enough attempts were told `said`, and holds that each of these calls
/// is served. Returns how many there were. `leaves`: meanwhile, calls look for the server elsewhere.
async fn all_served<Calling>(
    server: &Server,
    calls: &Retried,
    (said, recovery, leaves): (&str, &str, bool),
    call: impl Fn(usize) -> Calling,
) -> redis::RedisResult<usize>
where
    Calling: Future<Output = redis::RedisResult<()>> + Send + 'static,
{
    let course = Course::default();
    let events = async {
        until(said, || calls.seen.of(said) >= DURING).await?;
        if leaves {
            until("reopened", || calls.source.opened() > 1).await?;
        }
        server.say(recovery).await?;
        course.goes_on(AFTER).await
    };
    let (load, recovered) = tokio::join!(
        Load::of(course.numbers(), |n| course.tell(n, call(n))),
        Course::until_over([&course], events)
    );
    recovered?;
    assert_eq!(load.errors().next(), None, "{said}");
    assert_eq!(calls.source.opened() > 1, leaves, "{said}");
    Ok(load.calls.len())
}

/// The same of calls that must not be made twice: each is counted once.
async fn counted_once(server: &Server, said: &str, recovery: &str) -> Tested {
    let calls = calls_to(server.port(), COUNTING)?;
    let call = |n| {
        let key = format!("{ONE_SLOT}:{n}");
        calls.clone().call(move |made| increment(made, key.clone()))
    };
    let all = all_served(server, &calls, (said, recovery, false), call).await?;
    assert_eq!(counts(server, ONE_SLOT, all).await?, vec![1; all]);
    Ok(())
}

async fn loading() -> Tested {
    // The values are long: while it loads, the server looks for commands once in a kilobyte.
    let plain = ["--enable-debug-command", "yes", "--rdbcompression", "no"];
    let mut server = Server::start(&plain).await?;
    server.say("DEBUG POPULATE 5000 filler 1100").await?;
    server.say("SAVE").await?;
    // Two minutes and more, unless the delay ends.
    let a_kilobyte = ["--loading-process-events-interval-bytes", "1024"];
    let slowly = [["--key-load-delay", "25000"], a_kilobyte].concat();
    server.restart(&slowly).await?;
    counted_once(&server, "LOADING", "CONFIG SET key-load-delay 0").await
}

async fn busy_with_a_script() -> Tested {
    let server = Server::start(&["--busy-reply-threshold", "50"]).await?;
    let mut connection = connect(server.port()).await?;
    let mut script = redis::cmd("EVAL");
    script.arg("while true do end").arg(0);
    let script = tokio::spawn(async move { script.query_async::<()>(&mut connection).await });
    let begun = async {
        while server.say("PING").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), begun).await?;
    counted_once(&server, "BUSY", "SCRIPT KILL").await?;
    assert!(script.await?.is_err());
    Ok(())
}

async fn too_few_replicas() -> Tested {
    let server = Server::start(&["--min-replicas-to-write", "1"]).await?;
    let healed = "CONFIG SET min-replicas-to-write 0";
    counted_once(&server, "NOREPLICAS", healed).await
}

async fn a_cluster_that_is_down() -> Tested {
    let server = cluster_node().await?;
    let healed = "CLUSTER ADDSLOTSRANGE 0 16383";
    counted_once(&server, "CLUSTERDOWN", healed).await
}

async fn a_replica_without_its_primary() -> Tested {
    let server = Server::start(&["--replica-serve-stale-data", "no"]).await?;
    server.say("SET colour blue").await?;
    let (_deaf, gone) = deaf()?;
    server.say(&format!("REPLICAOF 127.0.0.1 {gone}")).await?;

    let calls = calls_to(server.port(), COUNTING)?;
    let read = |_| {
        calls.clone().call(|mut connection| async move {
            let mut get = redis::cmd("GET");
            let colour: String = get.arg("colour").query_async(&mut connection).await?;
            assert_eq!(colour, "blue");
            Ok(())
        })
    };
    // It is a replica, so another connection may lead elsewhere.
    let state = ("MASTERDOWN", "REPLICAOF NO ONE", true);
    all_served(&server, &calls, state, read).await?;
    Ok(())
}

async fn cluster_node() -> std::io::Result<Server> {
    // Another process may take the port of the bus before the server does.
    let again = Policy::constant(Duration::from_millis(10)).max_attempts(10);
    let start = || async {
        let bus = free_port()?.to_string();
        Server::start(&["--cluster-enabled", "yes", "--cluster-port", &bus]).await
    };
    again.when_any(|_: &std::io::Error| true).retry(start).await
}
