//! Commands under a policy, and what their attempts failed with.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use backoff_core::{Event, Policy, Reconnect};
use redis::RedisError;
use redis_1 as redis;

use crate::load::name_of;

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
    pub(crate) fn of(&self, name: &str) -> usize {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|seen| *seen == name).count()
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
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
