//! Connections that fail, and replies that are not retryable.

use backoff_core::{Delivery, Fault as _};
use redis_1 as redis;

use crate::address::Address;
use crate::retried::Retried;
use crate::server::{Server, connect, patient};
use crate::{COUNTING, REPEATING, Tested, add_to, calls_to, deaf, until};

databases::needs![has_redis, "needs redis-server: apt-get install redis-server":
    dropped_is_perhaps_applied_and_reopened,
    too_many_clients_pass,
    what_no_repetition_cures_is_not_repeated,
];

#[tokio::test]
async fn what_cannot_connect_is_not_sent() -> Tested {
    let (_deaf, port) = deaf()?;
    let nameless = redis::Client::open("redis://no-such-host.invalid:6379")?;
    let briefly = COUNTING.max_attempts(3);
    let refused = calls_to(port, briefly)?;
    let nameless = Retried::new(briefly, nameless, patient());
    for calls in [&refused, &nameless] {
        let error = add_to(calls, "key").await.expect_err("nobody is there");
        assert_eq!(error.delivery(), Some(Delivery::NotSent), "{error}");
        assert!(error.must_reconnect(), "{error}");
        assert_eq!(calls.source.opened(), 0, "{error}");
    }
    assert_eq!(refused.seen.of("refused"), 3);
    Ok(())
}

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
    for (key, policy) in [("repeated", REPEATING), ("counted once", COUNTING)] {
        let calls = calls_to(address.port(), policy)?;
        add_to(&calls, key).await?;
        server.say("CLIENT PAUSE 600000 WRITE").await?;
        let (outcome, broken) = tokio::join!(add_to(&calls, key), break_it(&calls));
        broken?;
        if policy == REPEATING {
            outcome?;
        } else {
            let error = outcome.expect_err("it may have been applied");
            assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
            // The next call finds a connection that works.
            add_to(&calls, key).await?;
        }
        let seen = (calls.seen.of("dropped"), calls.source.opened());
        assert_eq!(seen, (1, 2), "{key}");
    }
    Ok(())
}

async fn too_many_clients_pass() -> Tested {
    let server = Server::start(&[]).await?;
    let mut held = connect(server.port()).await?;
    let mut one = redis::cmd("CONFIG");
    one.arg(&["SET", "maxclients", "1"]);
    one.query_async::<()>(&mut held).await?;

    let calls = calls_to(server.port(), COUNTING)?;
    let (outcome, dropped) = tokio::join!(add_to(&calls, "key"), async {
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

async fn what_no_repetition_cures_is_not_repeated() -> Tested {
    let server = Server::start(&[]).await?;
    for (command, key, code) in [
        ("LPUSH list a", "list", "WRONGTYPE"),
        ("CONFIG SET maxmemory 1", "key", "OOM"),
        ("CONFIG SET requirepass secret", "key", "NOAUTH"),
    ] {
        server.say(command).await?;
        let calls = calls_to(server.port(), REPEATING)?;
        let error = add_to(&calls, key).await.expect_err(code);
        assert_eq!((error.code(), calls.seen.of(code)), (Some(code), 1));
    }
    Ok(())
}
