//! Connections that fail, and replies that are not retryable.

use std::time::Duration;

use backoff_cloud::{memorystore::DATA, retry};
use backoff_core::{Delivery, Fault as _};
use redis_1 as redis;

use crate::address::Address;
use crate::load::{Source, increment};
use crate::server::{Server, free_port};
use crate::{COUNTING, Tested, calls_to};

#[tokio::test]
async fn refused_is_not_sent() -> Tested {
    let briefly = COUNTING.max_attempts(3);
    let calls = calls_to(free_port()?, briefly)?;
    let outcome = calls.clone().call(|c| increment(c, "key".to_owned())).await;
    let error = outcome.expect_err("nobody listens");
    assert_eq!(error.delivery(), Some(Delivery::NotSent));
    assert!(error.must_reconnect());
    assert_eq!((calls.seen.of("refused"), calls.source.opened()), (3, 0));
    Ok(())
}

#[tokio::test]
async fn a_name_that_is_not_found_is_not_sent() -> Tested {
    let client = redis::Client::open("redis://no-such-host.invalid:6379")?;
    let calls = crate::load::Retried::new(COUNTING.max_attempts(2), client);
    let outcome = calls.clone().call(|c| increment(c, "key".to_owned())).await;
    let error = outcome.expect_err("nobody has that name");
    assert_eq!(error.delivery(), Some(Delivery::NotSent), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn dropped_is_perhaps_applied_and_reopened() -> Tested {
    let server = Server::start(&[]).await?;
    let address = Address::before(server.port()).await?;
    let calls = calls_to(address.port(), DATA)?;
    let call = || calls.clone().call(|c| increment(c, "key".to_owned()));
    call().await?;

    // The reply is held back until the connection is broken: the command is in the server's hands.
    server.say("CLIENT PAUSE 300 ALL").await?;
    let (outcome, ()) = tokio::join!(call(), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        address.break_connections();
    });
    outcome?;
    assert_eq!(calls.seen.of("dropped"), 1);
    assert_eq!(calls.source.opened(), 2);

    // The same, where it must not be made twice.
    let calls = calls_to(address.port(), COUNTING)?;
    let call = || calls.clone().call(|c| increment(c, "other".to_owned()));
    call().await?;
    server.say("CLIENT PAUSE 300 ALL").await?;
    let (outcome, ()) = tokio::join!(call(), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        address.break_connections();
    });
    let error = outcome.expect_err("it may have been applied");
    assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
    // The next call finds a connection that works.
    call().await?;
    assert_eq!(calls.source.opened(), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn too_many_clients_pass() -> Tested {
    let server = Server::start(&[]).await?;
    let client = redis::Client::open(("127.0.0.1", server.port()))?;
    let mut held = client.get_multiplexed_async_connection().await?;
    let one = redis::cmd("CONFIG")
        .arg(&["SET", "maxclients", "1"])
        .to_owned();
    one.query_async::<()>(&mut held).await?;

    let calls = calls_to(server.port(), COUNTING)?;
    let call = calls.clone().call(|c| increment(c, "key".to_owned()));
    let (outcome, ()) = tokio::join!(call, async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        drop(held);
    });
    outcome?;
    // The client passes over what the server says while the connection is set up, and sees it
    // closed. That nothing was sent is known only because it was not opened.
    assert!(calls.seen.of("dropped") > 0);
    assert_eq!(calls.source.opened(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn what_no_repetition_cures_is_not_repeated() -> Tested {
    let server = Server::start(&[]).await?;
    server.say("LPUSH list a").await?;
    let calls = calls_to(server.port(), DATA)?;
    let outcome = calls
        .clone()
        .call(|c| increment(c, "list".to_owned()))
        .await;
    assert_eq!(outcome.expect_err("no number").code(), Some("WRONGTYPE"));
    assert_eq!(calls.seen.of("WRONGTYPE"), 1);

    server.say("CONFIG SET maxmemory 1").await?;
    let outcome = calls.clone().call(|c| increment(c, "key".to_owned())).await;
    assert_eq!(outcome.expect_err("no memory").code(), Some("OOM"));
    assert_eq!(calls.seen.of("OOM"), 1);

    server.say("CONFIG SET requirepass secret").await?;
    let calls = calls_to(server.port(), DATA)?;
    let outcome = calls.clone().call(|c| increment(c, "key".to_owned())).await;
    assert_eq!(outcome.expect_err("no password").code(), Some("NOAUTH"));
    assert_eq!(calls.seen.of("NOAUTH"), 1);
    Ok(())
}

/// The attribute needs nothing for it: a function takes its connection from the source.
#[retry(policy = DATA, deadline = "10s")]
async fn answer(redis: &Source) -> redis::RedisResult<String> {
    let ping =
        |mut connection| async move { redis::cmd("PING").query_async(&mut connection).await };
    redis.with(ping).await
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn an_annotated_function_reconnects() -> Tested {
    let mut server = Server::start(&[]).await?;
    let source = calls_to(server.port(), DATA)?.source;
    assert_eq!(answer(&source).await?, "PONG");
    server.kill();
    let (answered, restarted) = tokio::join!(answer(&source), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        server.restart(&[]).await
    });
    restarted?;
    assert_eq!((answered?.as_str(), source.opened()), ("PONG", 2));
    Ok(())
}
