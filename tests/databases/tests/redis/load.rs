//! Calls at a steady pace, and what became of each.

use std::time::Duration;

use redis::RedisError;
use redis::aio::ConnectionLike;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A call begins this long after the one before, whatever becomes of that.
pub(crate) const PACE: Duration = Duration::from_millis(20);

/// What became of one call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) outcome: Result<(), RedisError>,
}

/// What became of all, in the order in which they began.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) calls: Vec<Call>,
}

impl Load {
    /// Makes a call for each of these numbers, which count from zero.
    pub(crate) async fn of<Calling>(
        numbers: impl IntoIterator<Item = usize>,
        call: impl Fn(usize) -> Calling,
    ) -> Self
    where
        Calling: Future<Output = Result<(), RedisError>> + Send + 'static,
    {
        let began = Instant::now();
        let mut running = JoinSet::new();
        for number in numbers {
            tokio::time::sleep_until(began + PACE * number as u32).await;
            let call = call(number);
            running.spawn(async move {
                let outcome = call.await;
                (number, Call { outcome })
            });
        }
        let mut done = running.join_all().await;
        done.sort_by_key(|(number, _)| *number);
        let calls = done.into_iter().map(|(_, call)| call).collect();
        Load { calls }
    }

    pub(crate) fn errors(&self) -> impl Iterator<Item = &RedisError> {
        self.calls
            .iter()
            .filter_map(|call| call.outcome.as_ref().err())
    }
}

/// A failure's code, or what the client takes it for.
pub(crate) fn name_of(error: &RedisError) -> String {
    let kind = match error.code() {
        Some(code) => code,
        None if error.is_timeout() => "timeout",
        None if error.is_connection_refusal() => "refused",
        None if error.is_connection_dropped() => "dropped",
        None => return error.to_string(),
    };
    kind.to_owned()
}

/// Adds one to a key.
pub(crate) async fn increment(
    mut connection: impl ConnectionLike,
    key: String,
) -> Result<(), RedisError> {
    redis::cmd("INCR")
        .arg(key)
        .query_async(&mut connection)
        .await
}
