//! The storage of the jobs: what is left in it, and how jobs ended.

use std::time::Duration;

use apalis::prelude::BoxDynError;
use apalis_sqlite::{Config, SqliteConnectOptions, SqlitePoolOptions, SqliteStorage};

use crate::Where;
use crate::worker::Order;

/// A worker that has given no sign for four seconds is dead. A killed worker cannot tell which pause a reply has asked
/// for, so this time is longer than the service's pauses.
const HEARTBEAT: Duration = Duration::from_secs(1);
const MISSED: usize = 4;

pub(crate) async fn open(places: &Where) -> Result<SqliteStorage<Order>, BoxDynError> {
    let options = SqliteConnectOptions::new()
        .filename(&places.database)
        .busy_timeout(Duration::from_secs(60))
        .create_if_missing(true);
    let pool = SqlitePoolOptions::new()
        .max_connections(4)
        .connect_with(options)
        .await?;
    let config = Config::default()
        .queue("orders")
        .heartbeat_interval(HEARTBEAT)
        .missed_heartbeats(MISSED);
    Ok(SqliteStorage::new(&pool).with_config(config))
}

/// How many jobs have not ended. A job that was put back counts once.
pub(crate) async fn left(storage: &SqliteStorage<Order>) -> Result<u64, BoxDynError> {
    let left = "SELECT count(*) FROM Jobs WHERE status NOT IN ('Done', 'Killed')";
    let left: i64 = sqlx::query_scalar(left).fetch_one(storage.pool()).await?;
    Ok(left.unsigned_abs())
}

/// The jobs that were given up, and why.
pub(crate) async fn given_up(
    storage: &SqliteStorage<Order>,
) -> Result<Vec<(Order, String)>, BoxDynError> {
    let killed = "SELECT job, CAST(last_result AS TEXT) FROM Jobs WHERE status = 'Killed'";
    let killed: Vec<(Vec<u8>, String)> = sqlx::query_as(killed).fetch_all(storage.pool()).await?;
    let given_up = killed.into_iter().map(|(order, result)| {
        let reason = result
            .split_once("): ")
            .and_then(|(before, _)| before.rsplit_once('('));
        let reason = reason.map_or(result.as_str(), |(_, reason)| reason);
        Ok((serde_json::from_slice(&order)?, reason.to_owned()))
    });
    given_up.collect()
}
