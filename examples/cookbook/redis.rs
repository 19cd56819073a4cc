//! Redis commands that go on through a failover.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["reconnect", "redis-1"] }
//! redis = { version = "1", features = ["tokio-comp"] }
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```

use backoff_cloud::{Reconnect, memorystore, retry};
use redis::{AsyncTypedCommands as _, Client, RedisError, RedisResult, aio::MultiplexedConnection};
use std::pin::Pin;

type Opening = Pin<Box<dyn Future<Output = RedisResult<MultiplexedConnection>> + Send>>;
type Open = Box<dyn Fn() -> Opening + Send + Sync>;

/// One connection for the whole program. It is opened again when it breaks, or when its server has become a replica.
pub(crate) type Redis = Reconnect<MultiplexedConnection, Open, RedisError>;

pub(crate) fn connection(url: &str) -> RedisResult<Redis> {
    let client = Client::open(url)?;
    Ok(Reconnect::new(Box::new(move || {
        let client = client.clone();
        Box::pin(async move { client.get_multiplexed_async_connection().await })
    })))
}

#[retry(policy = memorystore::DATA)]
pub(crate) async fn set_colour(redis: &Redis, colour: &str) -> RedisResult<()> {
    redis
        .with(|mut connection| async move { connection.set("colour", colour).await })
        .await
}

/// An `INCR` that is made twice counts twice. If the reply is lost, the caller gets the error.
#[retry(policy = memorystore::DATA, idempotent = false)]
pub(crate) async fn count_visit(redis: &Redis) -> RedisResult<isize> {
    redis
        .with(|mut connection| async move { connection.incr("visits", 1).await })
        .await
}

#[tokio::main]
async fn main() -> RedisResult<()> {
    let redis = connection("redis://127.0.0.1/")?;
    set_colour(&redis, "blue").await?;
    println!("visit {}", count_visit(&redis).await?);
    Ok(())
}
