//! Calls at a steady pace, and what became of each.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backoff_core::{Event, Policy, Reconnect};
use redis::RedisError;
use redis::aio::ConnectionLike;
use redis_1 as redis;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A call begins this long after the one before, whatever becomes of that.
pub(crate) const PACE: Duration = Duration::from_millis(20);

/// What became of one call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// When the caller was told, since the load began.
    pub(crate) ended: Duration,
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
                let ended = began.elapsed();
                (number, Call { ended, outcome })
            });
        }
        let mut done = running.join_all().await;
        done.sort_by_key(|(number, _)| *number);
        let calls = done.into_iter().map(|(_, call)| call).collect();
        Load { calls }
    }

    pub(crate) fn served(&self) -> usize {
        self.calls
            .iter()
            .filter(|call| call.outcome.is_ok())
            .count()
    }

    pub(crate) fn errors(&self) -> impl Iterator<Item = &RedisError> {
        self.calls
            .iter()
            .filter_map(|call| call.outcome.as_ref().err())
    }

    /// The longest time in which nobody was served, up to the last call's end.
    pub(crate) fn worst_gap(&self) -> Duration {
        let mut served: Vec<_> = self
            .calls
            .iter()
            .filter(|call| call.outcome.is_ok())
            .collect();
        served.sort_by_key(|call| call.ended);
        let ends = served.iter().map(|call| call.ended);
        let last = self.calls.iter().map(|call| call.ended).max();
        let ends: Vec<_> = std::iter::once(Duration::ZERO)
            .chain(ends)
            .chain(last)
            .collect();
        let gaps = ends.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.max().unwrap_or_default()
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

/// What the attempts failed with before their caller was told, by code or kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn add(&self, error: &RedisError) {
        let name = name_of(error);
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(name);
    }

    /// How many of them are of this name.
    #[allow(dead_code, reason = "not every program that has this file asks")]
    pub(crate) fn of(&self, name: &str) -> usize {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|seen| *seen == name).count()
    }
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

type Boxed<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;
pub(crate) type Connection = redis::aio::MultiplexedConnection;
pub(crate) type Open = Box<dyn Fn() -> Boxed<Result<Connection, RedisError>> + Send + Sync>;

/// Where commands take their connection from.
pub(crate) type Source = Reconnect<Connection, Open, RedisError>;

/// Commands under a policy, on a connection that is opened anew when a failure asks for it.
#[derive(Clone)]
pub(crate) struct Retried {
    pub(crate) policy: Policy,
    pub(crate) source: Arc<Source>,
    pub(crate) seen: Seen,
}

impl Retried {
    pub(crate) fn new(
        policy: Policy,
        client: redis::Client,
        config: redis::AsyncConnectionConfig,
    ) -> Self {
        let open: Open = Box::new(move || {
            let (client, config) = (client.clone(), config.clone());
            Box::pin(async move {
                client
                    .get_multiplexed_async_connection_with_config(&config)
                    .await
            })
        });
        Retried {
            policy,
            source: Arc::new(Reconnect::new(open)),
            seen: Seen::default(),
        }
    }

    /// Makes one call.
    pub(crate) async fn call<T, Calling>(
        self,
        command: impl Fn(Connection) -> Calling,
    ) -> Result<T, RedisError>
    where
        Calling: Future<Output = Result<T, RedisError>>,
    {
        self.policy
            .retry(|| self.source.with(&command))
            .notify(|event: &Event<'_, RedisError>| {
                if let Some(error) = event.error() {
                    self.seen.add(error);
                }
            })
            .await
    }
}
