//! The storage of the jobs: SQLite, or Redis. What is left in it, and how jobs ended.

use std::time::Duration;

use apalis::prelude::{BoxDynError, TaskSink as _};
use apalis_redis::RedisStorage;
use apalis_sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteStorage};

use crate::Where;
use crate::worker::{DEADLINE, Order};

#[derive(Clone)]
pub(crate) enum Storage {
    Sqlite(SqliteStorage<Order>),
    Redis(RedisStorage<Order>),
}

/// A worker that has given no sign for four seconds is dead. A killed worker cannot tell which pause a reply has asked
/// for, so this time is longer than the service's pauses.
const HEARTBEAT: Duration = Duration::from_secs(1);
const MISSED: usize = 4;

pub(crate) async fn open(places: &Where) -> Result<Storage, BoxDynError> {
    if let Some(address) = &places.redis {
        let config = apalis_redis::Config::default().queue("orders");
        let config = config
            .heartbeat_interval(HEARTBEAT)
            .missed_heartbeats(MISSED)
            .idempotency_ttl(Some(2 * DEADLINE));
        let connection = apalis_redis::connect(address.as_str()).await?;
        return Ok(Storage::Redis(
            RedisStorage::new(connection).with_config(config),
        ));
    }
    let options = SqliteConnectOptions::new()
        .filename(&places.database)
        .busy_timeout(Duration::from_secs(60))
        .create_if_missing(true);
    let pool = SqlitePoolOptions::new()
        .max_connections(4)
        .connect_with(options)
        .await?;
    let config = apalis_sqlite::Config::default().queue("orders");
    let config = config
        .heartbeat_interval(HEARTBEAT)
        .missed_heartbeats(MISSED);
    Ok(Storage::Sqlite(
        SqliteStorage::new(&pool).with_config(config),
    ))
}

impl Storage {
    /// Makes the tables, where there are some. Only once: a worker must not find the database locked by this.
    pub(crate) async fn set_up(&self) -> Result<(), BoxDynError> {
        if let Storage::Sqlite(storage) = self {
            SqliteStorage::setup(storage.pool()).await?;
        }
        Ok(())
    }

    pub(crate) async fn push(&mut self, orders: Vec<Order>) -> Result<(), BoxDynError> {
        match self {
            Storage::Sqlite(storage) => storage.push_bulk(orders).await?,
            Storage::Redis(storage) => storage.push_bulk(orders).await?,
        }
        Ok(())
    }

    /// How many jobs have not ended. A job that was put back counts once.
    pub(crate) async fn left(&mut self) -> Result<u64, BoxDynError> {
        Ok(match self {
            Storage::Sqlite(storage) => {
                let left = "SELECT count(*) FROM Jobs WHERE status NOT IN ('Done', 'Killed')";
                let left: i64 = sqlx::query_scalar(left).fetch_one(storage.pool()).await?;
                left.unsigned_abs()
            }
            Storage::Redis(storage) => {
                let config = storage.get_config().clone();
                let connection = storage.get_connection();
                let mut counts = redis::pipe();
                counts.atomic();
                counts.hlen(config.job_data_hash());
                counts
                    .scard(config.done_jobs_set())
                    .scard(config.dead_jobs_set());
                let (all, done, dead): (u64, u64, u64) = counts.query_async(connection).await?;
                all - done - dead
            }
        })
    }

    /// The jobs that were given up, and why.
    pub(crate) async fn given_up(&mut self) -> Result<Vec<(Order, String)>, BoxDynError> {
        let killed: Vec<(Vec<u8>, String)> = match self {
            Storage::Sqlite(storage) => {
                let killed =
                    "SELECT job, CAST(last_result AS TEXT) FROM Jobs WHERE status = 'Killed'";
                sqlx::query_as(killed).fetch_all(storage.pool()).await?
            }
            Storage::Redis(storage) => {
                let config = storage.get_config().clone();
                let connection = storage.get_connection();
                let dead = redis::Cmd::smembers(config.dead_jobs_set());
                let dead: Vec<String> = dead.query_async(connection).await?;
                let mut killed = Vec::new();
                for id in dead {
                    let mut one = redis::pipe();
                    one.hget(config.job_data_hash(), &id);
                    one.hget(format!("{}:{id}", config.job_meta_hash()), "result");
                    killed.push(one.query_async(connection).await?);
                }
                killed
            }
        };
        let given_up = killed.into_iter().map(|(order, result)| {
            let reason = result
                .split_once("): ")
                .and_then(|(before, _)| before.rsplit_once('('));
            let reason = reason.map_or(result.as_str(), |(_, reason)| reason);
            Ok((serde_json::from_slice(&order)?, reason.to_owned()))
        });
        given_up.collect()
    }
}
