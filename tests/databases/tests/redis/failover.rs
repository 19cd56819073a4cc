//! Two servers behind one address, and failovers under load.

use std::time::Duration;

use backoff_cloud::memorystore::DATA;
use backoff_core::{Delivery, Fault as _};
use redis_1 as redis;

use crate::address::Address;
use crate::event::Happening;
use crate::load::{Load, increment};
use crate::server::Server;
use crate::{COUNTING, Tested, calls_to, counting, counts};

/// Four seconds of calls.
const CALLS: usize = 200;
const BEFORE: Duration = Duration::from_millis(500);

/// Nobody waits longer than this from one call that is served to the next: for the event to be
/// noticed, for a server that hands over for more than a second, for a handshake that times out.
const WORST_GAP: Duration = Duration::from_secs(3);

async fn everything_is_served(happening: Happening) -> Tested {
    let (mut primary, replica) = Server::pair().await?;
    let addresses = [
        Address::before(primary.port()).await?,
        Address::before(primary.port()).await?,
    ];
    let repeating = calls_to(addresses[0].port(), DATA)?;
    let careful = calls_to(addresses[1].port(), COUNTING)?;
    let (repeated, counted, happened) = tokio::join!(
        counting(&repeating, "repeated", CALLS),
        counting(&careful, "counted", CALLS),
        async {
            tokio::time::sleep(BEFORE).await;
            happening.befall(&mut primary, &replica, &addresses).await
        }
    );
    happened?;

    for (name, load, calls, address) in [
        ("idempotent", &repeated, &repeating, &addresses[0]),
        ("not idempotent", &counted, &careful, &addresses[1]),
    ] {
        println!(
            "{}, {name}: {} of {CALLS} served, worst gap {:?}, {} connections opened, {} reached",
            happening.name(),
            load.served(),
            load.worst_gap(),
            calls.source.opened(),
            address.accepted(),
        );
        assert!(load.worst_gap() < WORST_GAP);
        assert!((2..20).contains(&calls.source.opened()));
    }
    assert_eq!(repeated.errors().next(), None);
    let is_there = counts(&replica, "repeated", CALLS).await?;
    assert!(is_there.iter().all(|count| *count >= 1), "{is_there:?}");

    // Once for each that was served; of the others, none twice.
    let counts = counts(&replica, "counted", CALLS).await?;
    for (n, (call, count)) in counted.calls.iter().zip(&counts).enumerate() {
        match &call.outcome {
            Ok(()) => assert_eq!(*count, 1, "call {n}"),
            Err(error) => {
                assert_eq!(
                    error.delivery(),
                    Some(Delivery::MaybeSent),
                    "call {n}: {error}"
                );
                assert!(*count <= 1, "call {n}");
            }
        }
    }
    let last = &counted.calls[CALLS * 4 / 5..];
    assert!(last.iter().all(|call| call.outcome.is_ok()), "{last:?}");
    // On connections that are kept, a server says that it did nothing, so nobody gives up; but while
    // it waits for the replica, which `FAILOVER` may do for more than a second, calls may time out.
    if matches!(happening, Happening::HandedOver | Happening::Demoted) {
        let gave_up = counted.errors().find(|error| !error.is_timeout());
        assert_eq!(gave_up, None);
        assert!(repeating.seen.of("READONLY") > 0);
        assert!(careful.seen.of("READONLY") > 0);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn a_killed_primary() -> Tested {
    everything_is_served(Happening::Killed).await
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn a_primary_that_hangs_and_is_replaced() -> Tested {
    everything_is_served(Happening::Hung).await
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn a_failover_that_keeps_the_connections() -> Tested {
    everything_is_served(Happening::HandedOver).await
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn a_demoted_primary_that_keeps_the_connections() -> Tested {
    everything_is_served(Happening::Demoted).await
}

/// Why there is `Reconnect`: what the client has of its own stays on the old primary for ever.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn the_clients_own_connections_never_leave_a_demoted_primary() -> Tested {
    let (mut primary, replica) = Server::pair().await?;
    let address = Address::before(primary.port()).await?;
    let client = redis::Client::open(("127.0.0.1", address.port()))?;
    let multiplexed = client.get_multiplexed_async_connection().await?;
    let manager = client.get_connection_manager().await?;
    let addresses = [address];
    let (multiplexed, managed, happened) = tokio::join!(
        Load::of(CALLS, |n| increment(
            multiplexed.clone(),
            format!("multiplexed:{n}")
        )),
        Load::of(CALLS, |n| increment(
            manager.clone(),
            format!("managed:{n}")
        )),
        async {
            tokio::time::sleep(BEFORE).await;
            let demoted = Happening::Demoted;
            demoted.befall(&mut primary, &replica, &addresses).await
        }
    );
    happened?;
    for load in [multiplexed, managed] {
        let last = &load.calls[CALLS * 2 / 3..];
        let said = last
            .iter()
            .filter_map(|call| call.outcome.as_ref().err()?.code());
        assert_eq!(said.filter(|code| *code == "READONLY").count(), last.len());
    }
    Ok(())
}
