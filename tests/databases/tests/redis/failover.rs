//! Two servers behind one address, and failovers under load.

use std::time::{Duration, Instant};

use backoff_core::{Delivery, Fault};
use redis_1 as redis;

use crate::address::Address;
use crate::course::Course;
use crate::event::{Happening, noticed_soon};
use crate::server::Server;
use crate::{COUNTING, REPEATING, Tested, calls_to, counting, counts, hasty_calls_to, until};

/// So many calls are served before the event.
const BEFORE: usize = 10;
/// So many calls are made when it is over.
const AFTER: usize = 25;

databases::needs![has_redis, "needs redis-server: apt-get install redis-server":
    everything_is_served_through_each_failover,
];

/// What calls are told while the addresses lead to the old primary.
fn told_meanwhile(happening: Happening) -> &'static str {
    match happening {
        Happening::Killed => "dropped",
        Happening::Hung => "timeout",
        Happening::HandedOver | Happening::Demoted => "READONLY",
    }
}

/// As many connections as can be opened if nothing but the event breaks one: the first one, one every
/// 100 ms while the old primary sends its clients elsewhere, one that was being opened when it ended, and
/// the last one.
fn most_connections(event: Duration) -> u64 {
    4 + event.as_millis() as u64 / 100
}

async fn everything_is_served(happening: Happening) -> Tested {
    let (mut primary, replica) = Server::pair().await?;
    let addresses = [
        Address::before(primary.port()).await?,
        Address::before(primary.port()).await?,
    ];
    // Only the client's own time limit notices a server that hangs. It may end other calls too.
    let hangs = happening == Happening::Hung;
    let calls_to = if hangs { hasty_calls_to } else { calls_to };
    let both = [
        calls_to(addresses[0].port(), REPEATING)?,
        calls_to(addresses[1].port(), COUNTING)?,
    ];
    let courses = [&Course::default(), &Course::default()];
    let events = async {
        for course in courses {
            course.has_served(BEFORE).await?;
        }
        let begins = Instant::now();
        let told = told_meanwhile(happening);
        let noticed = async {
            until(told, || both.iter().all(|calls| calls.seen.of(told) > 0)).await?;
            noticed_soon().await
        };
        let befall = happening.befall(&mut primary, &replica, &addresses, noticed);
        befall.await?;
        let event = begins.elapsed();
        for course in courses {
            course.serves_again().await?;
        }
        let later = courses[1].begun();
        for course in courses {
            course.goes_on(AFTER).await?;
        }
        Ok::<_, redis::RedisError>((event, later))
    };
    let (repeated, counted, happened) = tokio::join!(
        counting(&both[0], "repeated", courses[0]),
        counting(&both[1], "counted", courses[1]),
        Course::until_over(courses, events)
    );
    let (event, later) = happened?;

    assert_eq!(repeated.errors().next(), None, "{happening:?}");
    for calls in &both {
        let opened = calls.source.opened();
        assert!(opened >= 2, "{happening:?}");
        if !hangs {
            let most = most_connections(event);
            assert!(opened <= most, "{happening:?}: {opened} in {event:?}");
        }
    }
    let is_there = counts(&replica, "repeated", repeated.calls.len()).await?;
    let is_there = is_there.iter().all(|count| *count >= 1);
    assert!(is_there, "{happening:?}");
    // What was served was counted once, and of the others, which may have been applied, none twice.
    let counts = counts(&replica, "counted", counted.calls.len()).await?;
    for (n, (call, count)) in counted.calls.iter().zip(counts).enumerate() {
        let delivery = call.outcome.as_ref().err().map(Fault::delivery);
        match delivery {
            None => assert_eq!(count, 1, "call {n}"),
            Some(delivery) => assert_eq!(delivery, Some(Delivery::MaybeSent), "call {n}"),
        }
        assert!(count <= 1, "call {n}");
    }
    // Nobody gives up who comes when a call was served by the new primary.
    let last = counted.calls[later..].iter();
    let mut failed = last.filter_map(|call| call.outcome.as_ref().err());
    let failed = failed.find(|error| !(hangs && error.is_timeout()));
    assert_eq!(failed, None, "{happening:?}");
    // On connections that are kept, a server says that it did nothing, so nobody gives up.
    if matches!(happening, Happening::HandedOver | Happening::Demoted) {
        assert_eq!(counted.errors().next(), None, "{happening:?}");
    }
    Ok(())
}

async fn everything_is_served_through_each_failover() -> Tested {
    for happening in Happening::ALL {
        everything_is_served(happening).await?;
    }
    Ok(())
}
