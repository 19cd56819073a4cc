//! An opening that failed has to become the operation's error.

use backoff_core::{Fault, Reconnect};

#[derive(Clone, Debug)]
struct RedisError;

#[derive(Debug, Fault)]
#[fault(transient)]
struct MyError;

async fn connect() -> Result<u32, RedisError> {
    Ok(7)
}

async fn f() -> Result<u32, MyError> {
    let redis = Reconnect::new(connect);
    redis.with(|connection| async move { Ok::<_, MyError>(connection) }).await
}

fn main() {
    drop(f());
}
