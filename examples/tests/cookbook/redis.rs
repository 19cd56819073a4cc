//! Two servers behind one address: the primary is demoted, and later the new primary is killed.

#[path = "../../../tests/databases/tests/redis/address.rs"]
#[allow(dead_code, reason = "the example needs more of it")]
mod address;
#[allow(dead_code, reason = "the test has no use for `main`")]
#[path = "../../cookbook/redis.rs"]
mod program;
#[path = "../../../tests/databases/tests/redis/server.rs"]
#[allow(dead_code, reason = "the example needs more of it")]
mod server;

use redis::RedisResult;

use address::Address;
use program::{connection, count_visit, set_colour};
use server::Server;

#[tokio::test]
#[cfg_attr(not(has_redis), ignore = "needs redis-server")]
async fn commands_go_on_through_failovers() -> RedisResult<()> {
    let (first, mut second) = Server::pair().await?;
    let address = Address::before(first.port()).await?;
    let redis = connection(&format!("redis://127.0.0.1:{}/", address.port()))?;
    assert_eq!(count_visit(&redis).await?, 1);
    second.says("GET visits", "1").await?;

    // The connection to the first server stays open, and writes get READONLY.
    second.say("REPLICAOF NO ONE").await?;
    first
        .say(&format!("REPLICAOF 127.0.0.1 {}", second.port()))
        .await?;
    address.lead_to(second.port());
    assert_eq!(count_visit(&redis).await?, 2);
    assert_eq!(redis.opened(), 2);

    second.kill();
    first.say("REPLICAOF NO ONE").await?;
    address.lead_to(first.port());
    set_colour(&redis, "blue").await?;
    first.says("GET colour", "blue").await
}
