//! States in which a running server cannot serve calls for a while. Each state ends while calls are made.

use std::time::Duration;

use redis_1 as redis;

use crate::load::{Load, Retried};
use crate::server::{Server, free_port};
use crate::{COUNTING, Tested, calls_to, counting, counts};

const CALLS: usize = 50;

/// How long a state lasts, at least.
const WHILE: Duration = Duration::from_millis(700);

/// Makes calls that must not be made twice while the server recovers, and holds that each is served
/// once, after the server has said so often what it cannot do.
async fn counted_once<T>(
    server: &Server,
    said: &str,
    recovery: impl Future<Output = redis::RedisResult<T>>,
) -> redis::RedisResult<Retried> {
    let calls = calls_to(server.port(), COUNTING)?;
    let (load, recovered) = tokio::join!(counting(&calls, "{key}", CALLS), recovery);
    recovered?;
    let failed = load.errors().next();
    assert_eq!(failed, None, "{said}");
    assert_eq!(counts(server, "{key}", CALLS).await?, [1; CALLS]);
    assert!(calls.seen.of(said) > 0, "never {said}");
    println!(
        "{said} {} times, worst gap {:?}",
        calls.seen.of(said),
        load.worst_gap()
    );
    Ok(calls)
}

/// After a while, says this.
async fn later(server: &Server, command: &str) -> redis::RedisResult<redis::Value> {
    tokio::time::sleep(WHILE).await;
    server.say(command).await
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn loading() -> Tested {
    let mut server = Server::start(&["--enable-debug-command", "yes"]).await?;
    server.say("DEBUG POPULATE 5000 filler 100").await?;
    server.say("SAVE").await?;
    let slowly = [
        "--key-load-delay",
        "200",
        "--loading-process-events-interval-bytes",
        "1024",
    ];
    server.restart(&slowly).await?;
    let calls = counted_once(&server, "LOADING", async { Ok(()) }).await?;
    assert_eq!(calls.source.opened(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn busy_with_a_script() -> Tested {
    let server = Server::start(&["--busy-reply-threshold", "50"]).await?;
    let client = redis::Client::open(("127.0.0.1", server.port()))?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let mut script = redis::cmd("EVAL");
    script.arg("while true do end").arg(0);
    let script = tokio::spawn(async move { script.query_async::<()>(&mut connection).await });
    let calls = counted_once(&server, "BUSY", later(&server, "SCRIPT KILL")).await?;
    assert_eq!(calls.source.opened(), 1);
    assert!(script.await?.is_err());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn too_few_replicas() -> Tested {
    let server = Server::start(&["--min-replicas-to-write", "1"]).await?;
    let healed = later(&server, "CONFIG SET min-replicas-to-write 0");
    let calls = counted_once(&server, "NOREPLICAS", healed).await?;
    assert_eq!(calls.source.opened(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn a_cluster_that_is_down() -> Tested {
    let server = cluster_node().await?;
    let healed = later(&server, "CLUSTER ADDSLOTSRANGE 0 16383");
    let calls = counted_once(&server, "CLUSTERDOWN", healed).await?;
    assert_eq!(calls.source.opened(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn a_replica_without_its_primary() -> Tested {
    let (mut primary, replica) = Server::pair().await?;
    replica
        .say("CONFIG SET replica-serve-stale-data no")
        .await?;
    primary.say("SET colour blue").await?;
    replica.says("GET colour", "blue").await?;
    primary.kill();
    replica
        .says("INFO replication", "master_link_status:down")
        .await?;

    let calls = calls_to(replica.port(), COUNTING)?;
    let read = |_| {
        calls.clone().call(|mut connection| async move {
            let colour: String = redis::cmd("GET")
                .arg("colour")
                .query_async(&mut connection)
                .await?;
            assert_eq!(colour, "blue");
            Ok(())
        })
    };
    let (load, healed) = tokio::join!(Load::of(CALLS, read), later(&replica, "REPLICAOF NO ONE"));
    healed?;
    assert_eq!(load.errors().next(), None);
    assert!(calls.seen.of("MASTERDOWN") > 0);
    // It is a replica, so another connection may lead elsewhere.
    assert!(calls.source.opened() > 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn keys_that_are_being_moved() -> Tested {
    let (from, to) = (cluster_node().await?, cluster_node().await?);
    from.say("CLUSTER ADDSLOTSRANGE 0 16383").await?;
    let (port, bus) = (to.port(), bus_of(&to).await?);
    from.say(&format!("CLUSTER MEET 127.0.0.1 {port} {bus}"))
        .await?;
    let id: String = redis::from_redis_value(to.say("CLUSTER MYID").await?)?;
    from.says("CLUSTER NODES", &id).await?;
    from.says("CLUSTER INFO", "cluster_state:ok").await?;
    from.say("SET {a}1 here").await?;
    let slot: u32 = redis::from_redis_value(from.say("CLUSTER KEYSLOT {a}1").await?)?;
    from.say(&format!("CLUSTER SETSLOT {slot} MIGRATING {id}"))
        .await?;

    let calls = calls_to(from.port(), COUNTING)?;
    let read = |_| {
        calls.clone().call(|mut connection| async move {
            let keys = ["{a}1", "{a}2"];
            redis::cmd("MGET")
                .arg(&keys)
                .query_async(&mut connection)
                .await
        })
    };
    let stays = format!("CLUSTER SETSLOT {slot} STABLE");
    let (load, healed) = tokio::join!(Load::of(CALLS, read), later(&from, &stays));
    healed?;
    assert_eq!(load.errors().next(), None);
    assert!(calls.seen.of("TRYAGAIN") > 0);
    assert_eq!(calls.source.opened(), 1);
    Ok(())
}

/// Frozen for longer than the client waits for a reply, then as before.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn a_server_that_hangs_and_comes_back() -> Tested {
    let server = Server::start(&[]).await?;
    let repeating = calls_to(server.port(), backoff_cloud::memorystore::DATA)?;
    let careful = calls_to(server.port(), COUNTING)?;
    let (repeated, counted, frozen) = tokio::join!(
        counting(&repeating, "repeated", CALLS),
        counting(&careful, "counted", CALLS),
        async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            server.freeze()?;
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            server.thaw()
        }
    );
    frozen?;
    assert_eq!(repeated.errors().next(), None);
    assert!(repeating.seen.of("timeout") > 0);
    println!("hung for 1.5 s: worst gap {:?}", repeated.worst_gap());
    let counts = counts(&server, "counted", CALLS).await?;
    for (n, (call, count)) in counted.calls.iter().zip(counts).enumerate() {
        let expected = if call.outcome.is_ok() { 1..=1 } else { 0..=1 };
        assert!(
            expected.contains(&count),
            "call {n} was counted {count} times"
        );
    }
    Ok(())
}

async fn cluster_node() -> std::io::Result<Server> {
    let bus = free_port()?.to_string();
    Server::start(&["--cluster-enabled", "yes", "--cluster-port", &bus]).await
}

async fn bus_of(server: &Server) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let answer = server.say("CONFIG GET cluster-port").await?;
    let answer: Vec<String> = redis::from_redis_value(answer)?;
    Ok(answer.into_iter().nth(1).ok_or("no cluster-port")?)
}
