use backoff_cloud::{Policy, Reconnect, memorystore};
use redis::{AsyncTypedCommands as _, Client, RedisResult};
use std::time::Duration;

/// An `INCR` that is made twice counts twice.
const COUNTER: Policy = memorystore::DATA.idempotent(false);

# async fn f() -> RedisResult<()> {
let client = Client::open("redis://127.0.0.1/")?;
let redis = Reconnect::new(|| client.get_multiplexed_async_connection());

let colour = memorystore::DATA
    .retry(|| redis.with(|mut connection| async move { connection.get("colour").await }))
    .attempt_timeout(Duration::from_secs(5)) // drops the connection too; redis' own limit is 500 ms
    .await?;

let visits = COUNTER
    .retry(|| redis.with(|mut connection| async move { connection.incr("visits", 1).await }))
    .await?;
# let _: (Option<String>, isize) = (colour, visits); Ok(()) }
