//! Connections that fail, and replies that are not retryable.

use backoff_cloud::{memorystore::DATA, retry};
use backoff_core::{Delivery, Fault as _};
use redis_1 as redis;
use tokio::net::TcpSocket;

use crate::address::Address;
use crate::load::{Retried, Source, increment};
use crate::server::{Server, connect, patient};
use crate::{COUNTING, REPEATING, Tested, calls_to, until};

#[tokio::test]
async fn refused_is_not_sent() -> Tested {
    let briefly = COUNTING.max_attempts(3);
    // The port is held, so that no other process listens on it.
    let deaf = TcpSocket::new_v4()?;
    deaf.bind(([127, 0, 0, 1], 0).into())?;
    let calls = calls_to(deaf.local_addr()?.port(), briefly)?;
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
    let calls = Retried::new(COUNTING.max_attempts(2), client, patient());
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
    // The reply is held back until the connection is broken: the command is in the server's hands.
    let break_it = async |calls: &Retried| {
        server.says("CLIENT LIST", "flags=b ").await?;
        address.break_connections();
        until("dropped", || calls.seen.of("dropped") > 0).await?;
        server.say("CLIENT UNPAUSE").await
    };
    let calls = calls_to(address.port(), REPEATING)?;
    let call = || calls.clone().call(|c| increment(c, "key".to_owned()));
    call().await?;
    server.say("CLIENT PAUSE 600000 WRITE").await?;
    let (outcome, broken) = tokio::join!(call(), break_it(&calls));
    broken?;
    outcome?;
    assert_eq!(calls.seen.of("dropped"), 1);
    assert_eq!(calls.source.opened(), 2);

    // The same, where it must not be made twice.
    let calls = calls_to(address.port(), COUNTING)?;
    let call = || calls.clone().call(|c| increment(c, "other".to_owned()));
    call().await?;
    server.say("CLIENT PAUSE 600000 WRITE").await?;
    let (outcome, broken) = tokio::join!(call(), break_it(&calls));
    broken?;
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
    let mut held = connect(server.port()).await?;
    let one = redis::cmd("CONFIG")
        .arg(&["SET", "maxclients", "1"])
        .to_owned();
    one.query_async::<()>(&mut held).await?;

    let calls = calls_to(server.port(), COUNTING)?;
    let call = calls.clone().call(|c| increment(c, "key".to_owned()));
    let (outcome, dropped) = tokio::join!(call, async {
        let dropped = until("dropped", || calls.seen.of("dropped") > 0).await;
        drop(held);
        dropped
    });
    dropped?;
    outcome?;
    // The client passes over what the server says while the connection is set up, and sees it
    // closed. That nothing was sent is known only because it was not opened.
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
    let calls = calls_to(server.port(), REPEATING)?;
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
    let calls = calls_to(server.port(), REPEATING)?;
    let outcome = calls.clone().call(|c| increment(c, "key".to_owned())).await;
    assert_eq!(outcome.expect_err("no password").code(), Some("NOAUTH"));
    assert_eq!(calls.seen.of("NOAUTH"), 1);
    Ok(())
}

/// The attribute needs nothing for it: a function takes its connection from the source.
#[retry(policy = DATA, deadline = "10m")]
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
    let address = Address::before(server.port()).await?;
    let source = calls_to(address.port(), REPEATING)?.source;
    assert_eq!(answer(&source).await?, "PONG");
    address.lead_nowhere();
    server.kill();
    let (answered, restarted) = tokio::join!(answer(&source), async {
        until("openings fail", || source.failed() > 0).await?;
        server.restart(&[]).await?;
        address.lead_to(server.port());
        Ok::<_, redis::RedisError>(())
    });
    restarted?;
    assert_eq!((answered?.as_str(), source.opened()), ("PONG", 2));
    Ok(())
}
