//! Keys that need an error made of `TimedOut`, `Stopped` or `NotYet`, and a connection that needs one made of
//! the error of its opening.

use backoff_core::{Fault, Reconnect, retry, retry_block};
use std::future::ready;
use ui::ApiError;

#[retry(attempt_timeout = "1s")]
async fn timed() -> Result<(), ApiError> {
    Ok(())
}

// The error of another crate cannot have it.
#[retry(attempt_timeout = "1s")]
async fn foreign() -> Result<(), std::fmt::Error> {
    Ok(())
}

#[retry(until = |done| *done)]
async fn awaited() -> Result<bool, ApiError> {
    Ok(true)
}

#[retry(cut_on = ready(()))]
async fn cut() -> Result<(), ApiError> {
    Ok(())
}

#[derive(Clone, Debug)]
struct RedisError;

#[derive(Debug, Fault)]
#[fault(transient)]
struct MyError;

async fn connect() -> Result<u32, RedisError> {
    Ok(7)
}

async fn connected() -> Result<u32, MyError> {
    let redis = Reconnect::new(connect);
    redis.with(|connection| async move { Ok::<_, MyError>(connection) }).await
}

fn main() {
    let _ = retry_block!(attempt_timeout = "1s", cut_on = ready(()), async {
        Ok::<(), backoff_core::TimedOut>(())
    });
}
