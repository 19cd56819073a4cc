//! States in which a running server cannot serve calls for a while. Each state ends while calls are made.

use std::time::Duration;

use redis_1 as redis;
use tokio::net::TcpSocket;

use crate::course::Course;
use crate::load::{Load, Retried};
use crate::server::{FREE_PORT, Server, connect};
use crate::{COUNTING, REPEATING, Tested, calls_to, counting, counts, hasty_calls_to, until};

/// So many attempts fail before the state ends.
const DURING: usize = 20;
/// So many calls are made after the state has ended.
const AFTER: usize = 10;

/// Makes calls that must not be made twice. Ends the state by this command when enough attempts were told
/// `said`, and holds that each call is served once.
async fn counted_once(server: &Server, said: &str, recovery: &str) -> redis::RedisResult<Retried> {
    let calls = calls_to(server.port(), COUNTING)?;
    let course = Course::default();
    let events = async {
        until(said, || calls.seen.of(said) >= DURING).await?;
        server.say(recovery).await?;
        course.goes_on(AFTER).await
    };
    let (load, recovered) = tokio::join!(
        counting(&calls, "{key}", &course),
        Course::until_over([&course], events)
    );
    recovered?;
    let failed = load.errors().next();
    assert_eq!(failed, None, "{said}");
    let all = load.calls.len();
    assert_eq!(counts(server, "{key}", all).await?, vec![1; all]);
    println!(
        "{said} {} times, worst gap {:?}",
        calls.seen.of(said),
        load.worst_gap()
    );
    Ok(calls)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn loading() -> Tested {
    // The values are long: while it loads, the server looks for commands once in a kilobyte.
    let plain = ["--enable-debug-command", "yes", "--rdbcompression", "no"];
    let mut server = Server::start(&plain).await?;
    server.say("DEBUG POPULATE 5000 filler 1100").await?;
    server.say("SAVE").await?;
    // Two minutes and more, unless the delay ends.
    let slowly = [
        "--key-load-delay",
        "25000",
        "--loading-process-events-interval-bytes",
        "1024",
    ];
    server.restart(&slowly).await?;
    let calls = counted_once(&server, "LOADING", "CONFIG SET key-load-delay 0").await?;
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
    let calls = counted_once(&server, "BUSY", "SCRIPT KILL").await?;
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
    let healed = "CONFIG SET min-replicas-to-write 0";
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
    let healed = "CLUSTER ADDSLOTSRANGE 0 16383";
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
    let server = Server::start(&["--replica-serve-stale-data", "no"]).await?;
    server.say("SET colour blue").await?;
    // The port is held, so that no other process listens on it.
    let deaf = TcpSocket::new_v4()?;
    deaf.bind(([127, 0, 0, 1], 0).into())?;
    let gone = deaf.local_addr()?.port();
    server.say(&format!("REPLICAOF 127.0.0.1 {gone}")).await?;

    let calls = calls_to(server.port(), COUNTING)?;
    let course = Course::default();
    let read = |n| {
        let call = calls.clone().call(|mut connection| async move {
            let colour: String = redis::cmd("GET")
                .arg("colour")
                .query_async(&mut connection)
                .await?;
            assert_eq!(colour, "blue");
            Ok(())
        });
        course.tell(n, call)
    };
    let events = async {
        until("MASTERDOWN", || calls.seen.of("MASTERDOWN") >= DURING).await?;
        // It is a replica, so another connection may lead elsewhere.
        until("reopened", || calls.source.opened() > 1).await?;
        server.say("REPLICAOF NO ONE").await?;
        course.goes_on(AFTER).await
    };
    let (load, healed) = tokio::join!(
        Load::of(course.numbers(), read),
        Course::until_over([&course], events)
    );
    healed?;
    assert_eq!(load.errors().next(), None);
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
    let course = Course::default();
    let read = |n| {
        let call = calls.clone().call(|mut connection| async move {
            let keys = ["{a}1", "{a}2"];
            redis::cmd("MGET")
                .arg(&keys)
                .query_async(&mut connection)
                .await
        });
        course.tell(n, call)
    };
    let events = async {
        until("TRYAGAIN", || calls.seen.of("TRYAGAIN") >= DURING).await?;
        from.say(&format!("CLUSTER SETSLOT {slot} STABLE")).await?;
        course.goes_on(AFTER).await
    };
    let (load, healed) = tokio::join!(
        Load::of(course.numbers(), read),
        Course::until_over([&course], events)
    );
    healed?;
    assert_eq!(load.errors().next(), None);
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
    let repeating = hasty_calls_to(server.port(), REPEATING)?;
    let careful = hasty_calls_to(server.port(), COUNTING)?;
    let both = [&repeating, &careful];
    let (repeats, counts_once) = (Course::default(), Course::default());
    let courses = [&repeats, &counts_once];
    let events = async {
        for course in courses {
            course.has_served(10).await?;
        }
        server.freeze()?;
        let told = || both.iter().all(|calls| calls.seen.of("timeout") > 0);
        until("timeout", told).await?;
        server.thaw()?;
        for course in courses {
            course.serves_again().await?;
            course.goes_on(AFTER).await?;
        }
        Ok::<_, redis::RedisError>(())
    };
    let (repeated, counted, frozen) = tokio::join!(
        counting(&repeating, "repeated", &repeats),
        counting(&careful, "counted", &counts_once),
        Course::until_over(courses, events)
    );
    frozen?;
    assert_eq!(repeated.errors().next(), None);
    println!("hung: worst gap {:?}", repeated.worst_gap());
    let counts = counts(&server, "counted", counted.calls.len()).await?;
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
    Server::start(&["--cluster-enabled", "yes", "--cluster-port", FREE_PORT]).await
}

async fn bus_of(server: &Server) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let answer = server.say("CONFIG GET cluster-port").await?;
    let answer: Vec<String> = redis::from_redis_value(answer)?;
    Ok(answer.into_iter().nth(1).ok_or("no cluster-port")?)
}
