//! Two servers behind one address, and failovers under load.

use std::time::{Duration, Instant};

use redis_1 as redis;

use crate::address::Address;
use crate::course::Course;
use crate::event::{Happening, noticed_soon};
use crate::load::{Load, increment};
use crate::server::{Server, connect};
use crate::{COUNTING, REPEATING, Tested, calls_to, count_twice, counts, hasty_calls_to, until};

/// So many calls are served before the event.
const BEFORE: usize = 10;
/// So many calls are made when it is over.
const AFTER: usize = 25;

needs_redis![
    everything_is_served_through_each_failover,
    the_clients_own_connections_never_leave_a_demoted_primary,
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
    let twice = count_twice(both, async |both, courses| {
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
        Ok((event, later))
    })
    .await?;
    let (repeated, counted) = (&twice.repeated, &twice.counted);
    let (event, later) = twice.happened;

    for (name, load, calls, address) in [
        ("idempotent", repeated, &twice.repeating, &addresses[0]),
        ("not idempotent", counted, &twice.careful, &addresses[1]),
    ] {
        let opened = calls.source.opened();
        println!(
            "{}, {name}: {} of {} served, worst gap {:?}, {opened} connections opened, {} reached",
            happening.name(),
            load.served(),
            load.calls.len(),
            load.worst_gap(),
            address.accepted(),
        );
        assert!(opened >= 2, "{happening:?}");
        if !hangs {
            assert!(
                opened <= most_connections(event),
                "{happening:?}: {opened} in {event:?}"
            );
        }
    }
    let is_there = counts(&replica, "repeated", repeated.calls.len()).await?;
    let is_there = is_there.iter().all(|count| *count >= 1);
    assert!(is_there, "{happening:?}");
    twice.none_is_counted_twice(&replica).await?;
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

/// Why there is `Reconnect`: what the client has of its own stays on the old primary for ever.
async fn the_clients_own_connections_never_leave_a_demoted_primary() -> Tested {
    let (mut primary, replica) = Server::pair().await?;
    let addresses = [Address::before(primary.port()).await?];
    let client = redis::Client::open(("127.0.0.1", addresses[0].port()))?;
    let multiplexed = connect(addresses[0].port()).await?;
    let minute = Some(Duration::from_secs(60));
    let config = redis::aio::ConnectionManagerConfig::new()
        .set_connection_timeout(minute)
        .set_response_timeout(minute);
    let manager = client.get_connection_manager_with_config(config).await?;
    let (by_multiplexed, by_manager) = (Course::default(), Course::default());
    let courses = [&by_multiplexed, &by_manager];
    let events = async {
        for course in courses {
            course.has_served(BEFORE).await?;
        }
        Happening::Demoted
            .befall(&mut primary, &replica, &addresses, noticed_soon())
            .await?;
        let later = courses.map(Course::begun);
        for course in courses {
            course.goes_on(AFTER).await?;
        }
        Ok::<_, redis::RedisError>(later)
    };
    let multiplexed = Load::of(by_multiplexed.numbers(), |n| {
        let key = format!("multiplexed:{n}");
        by_multiplexed.tell(n, increment(multiplexed.clone(), key))
    });
    let managed = Load::of(by_manager.numbers(), |n| {
        by_manager.tell(n, increment(manager.clone(), format!("managed:{n}")))
    });
    let happened = Course::until_over(courses, events);
    let (multiplexed, managed, happened) = tokio::join!(multiplexed, managed, happened);
    for (load, later) in [multiplexed, managed].iter().zip(happened?) {
        let last = &load.calls[later..];
        let said = last
            .iter()
            .filter_map(|call| call.outcome.as_ref().err()?.code());
        assert_eq!(said.filter(|code| *code == "READONLY").count(), last.len());
    }
    Ok(())
}
