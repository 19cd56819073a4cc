//! Calls while no connection can be opened, in the form that the README shows.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::address::Address;
use crate::load::increment;
use crate::server::Server;
use crate::{COUNTING, Tested, calls_to, counts, until};

/// Clients that all want a connection while the server is down.
const TASKS: usize = 200;

/// The server comes back after so many openings, which take about two seconds.
const OPENINGS: u32 = 12;

databases::needs![has_redis, "needs redis-server: apt-get install redis-server":
    many_tasks_open_rarely_while_the_server_is_down,
];

/// As many openings as can fail in such a time: the pauses between them are at least 10, 15, 22.5, …
/// 384 ms, which are 1.13 s together, and 500 ms afterwards.
fn most_openings(down: Duration) -> u32 {
    let later = down.saturating_sub(Duration::from_millis(1_130));
    11 + u32::try_from(later.as_millis() / 500).unwrap_or(u32::MAX)
}

/// Nothing was written for it: `Reconnect` says by itself that nothing was sent.
async fn many_tasks_open_rarely_while_the_server_is_down() -> Tested {
    let mut server = Server::start(&[]).await?;
    let address = Address::before(server.port()).await?;
    address.lead_nowhere();
    server.kill();
    let calls = calls_to(address.port(), COUNTING)?;
    let began = Instant::now();
    let mut running = JoinSet::new();
    for n in 0..TASKS {
        let call = calls.clone();
        running.spawn(call.call(move |connection| increment(connection, format!("key:{n}"))));
    }
    until("openings", || address.accepted() >= OPENINGS).await?;
    server.restart(&[]).await?;
    let tried = address.accepted();
    let down = began.elapsed();
    address.lead_to(server.port());
    // A pause of a second and a wait of another, unless the machine is slow; the minute is a net.
    let outcomes = timeout(Duration::from_secs(60), running.join_all()).await?;
    let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{} failed: {}", failed.len(), failed[0]);
    assert!(tried <= most_openings(down), "{tried} in {down:?}");
    assert_eq!(calls.source.opened(), 1);
    assert_eq!(counts(&server, "key", TASKS).await?, [1; TASKS]);
    Ok(())
}
