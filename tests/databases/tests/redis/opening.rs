//! Calls while no connection can be opened, in the form that the README shows.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::address::Address;
use crate::load::{Load, PACE, increment};
use crate::server::Server;
use crate::{COUNTING, Tested, calls_to, counting, counts};

/// Clients that all want a connection while the server is down.
const TASKS: usize = 200;

/// As many openings as can fail in such a time: the pauses between them are at least 10, 15, 22.5, …
/// 384 ms, which are 1.13 s together, and 500 ms afterwards.
fn most_openings(down: Duration) -> u32 {
    let later = down.saturating_sub(Duration::from_millis(1_130));
    11 + u32::try_from(later.as_millis() / 500).unwrap_or(u32::MAX)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn many_tasks_open_rarely_while_the_server_is_down() -> Tested {
    let mut server = Server::start(&[]).await?;
    let address = Address::before(server.port()).await?;
    server.kill();
    let calls = calls_to(address.port(), COUNTING)?;
    let began = Instant::now();
    let mut running = JoinSet::new();
    for n in 0..TASKS {
        let call = calls.clone();
        running.spawn(call.call(move |connection| increment(connection, format!("key:{n}"))));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.restart(&[]).await?;
    let (down, tried) = (began.elapsed(), address.accepted());
    let outcomes = running.join_all().await;
    let recovered = began.elapsed() - down;
    let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    println!(
        "down for {down:?}: {TASKS} tasks made {tried} connects, {} failed, the last one was served \
         {recovered:?} later",
        failed.len(),
    );
    assert!(failed.is_empty(), "{} failed: {}", failed.len(), failed[0]);
    assert!((5..=most_openings(down)).contains(&tried));
    // A pause of a second, and a wait of the policy of another.
    assert!(recovered < Duration::from_secs(3));
    assert_eq!(calls.source.opened(), 1);
    assert_eq!(counts(&server, "key", TASKS).await?, [1; TASKS]);
    Ok(())
}

/// Nothing was written for it: `Reconnect` says by itself that nothing was sent.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(has_redis),
    ignore = "needs redis-server: apt-get install redis-server"
)]
async fn calls_that_begin_while_the_server_is_down_are_served() -> Tested {
    const CALLS: usize = 100;
    let mut server = Server::start(&[]).await?;
    let address = Address::before(server.port()).await?;
    let calls = calls_to(address.port(), COUNTING)?;
    let began = Instant::now();
    let (load, killed): (Load, std::io::Result<Duration>) =
        tokio::join!(counting(&calls, "key", CALLS), async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            server.kill();
            let killed = began.elapsed();
            tokio::time::sleep(Duration::from_millis(300)).await;
            server.restart(&[]).await?;
            Ok(killed)
        });
    let killed = killed?;
    println!(
        "{} of {CALLS} served, worst gap {:?}, {} connects",
        load.served(),
        load.worst_gap(),
        address.accepted(),
    );
    // What was under way may have been applied, so it is not made again. Neither is the call that
    // finds the connection broken.
    let later = (0..).zip(&load.calls).filter(|(n, _)| PACE * *n > killed);
    let failed: Vec<_> = later.filter(|(_, call)| call.outcome.is_err()).collect();
    assert!(failed.len() <= 1, "{failed:?}");
    assert!(load.worst_gap() < Duration::from_millis(1_500));
    Ok(())
}
