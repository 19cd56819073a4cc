//! Connections that fail, and replies that no repetition cures.

use std::time::Duration;

use backoff_cloud::memorystore::DATA;
use backoff_core::{Fault as _, Transport};
use redis_1 as redis;

use crate::address::Address;
use crate::load::increment;
use crate::server::{Server, free_port};
use crate::{COUNTING, Tested, calls_to};

#[tokio::test]
async fn refused_is_not_sent() -> Tested {
    let briefly = COUNTING.max_attempts(3);
    let calls = calls_to(free_port()?, briefly)?;
    let outcome = calls.clone().call(|c| increment(c, "key".to_owned())).await;
    let error = outcome.expect_err("nobody listens");
    assert_eq!(error.transport(), Some(Transport::NotSent));
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
    assert_eq!(error.transport(), Some(Transport::NotSent), "{error}");
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
    assert_eq!(error.transport(), Some(Transport::MaybeSent));
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
    let server = Server::start(&["--maxclients", "1"]).await?;
    let client = redis::Client::open(("127.0.0.1", server.port()))?;
    let only = tokio::time::sleep(Duration::from_millis(50));
    only.await;
    let held = client.get_multiplexed_async_connection().await?;
    let calls = calls_to(server.port(), COUNTING)?;
    let call = calls.clone().call(|c| increment(c, "key".to_owned()));
    let (outcome, ()) = tokio::join!(call, async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        drop(held);
    });
    outcome?;
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
