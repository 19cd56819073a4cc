//! Jobs of apalis in SQLite. A job that fails goes back into the database, and runs again after its wait, also if this
//! process ends meanwhile.
//!
//! ```toml
//! [dependencies]
//! apalis = "1"
//! apalis-sqlite = "1"
//! backoff-cloud = { version = "0.1", features = ["apalis-1", "http"] }
//! futures-util = "0.3"
//! reqwest = "0.13"
//! serde = { version = "1", features = ["derive"] }
//! tokio = { version = "1", features = ["macros", "rt-multi-thread", "signal", "time"] }
//! ```

use apalis::prelude::*;
use apalis_sqlite::{Config, SqlitePool, SqliteStorage};
use backoff_cloud::apalis::{Job, RescheduleExt as _};
use backoff_cloud::{Policy, http, plain_http};
use futures_util::stream;
use std::{task::Poll, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);
/// Waits of up to a minute, two, four and so on, at last up to an hour, for a day.
const HOOK: Policy = plain_http::IDEMPOTENT
    .base(MINUTE)
    .max_backoff(Duration::from_secs(3_600))
    .deadline(Duration::from_secs(86_400));

#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub(crate) struct Hook {
    pub(crate) id: u64,
    pub(crate) url: String,
    pub(crate) text: String,
}

/// A job can run twice. By the key the receiver recognises the second request.
async fn send(client: &reqwest::Client, hook: Hook) -> Result<(), http::ApiError> {
    let request = client.post(hook.url).header("idempotency-key", hook.id);
    let reply = request.body(hook.text).timeout(MINUTE).send().await?;
    http::success(reply).await.map(drop)
}

async fn handle(
    hook: Hook,
    job: Job,
    storage: Data<SqliteStorage<Hook>>,
    client: Data<reqwest::Client>,
) -> Result<(), BoxDynError> {
    let work = |hook| async move { send(&client, hook).await };
    HOOK.reschedule(&job, hook, (*storage).clone(), work).await
}

pub(crate) async fn storage(database: &str) -> Result<SqliteStorage<Hook>, BoxDynError> {
    let pool = SqlitePool::connect(database).await?;
    SqliteStorage::setup(&pool).await?;
    // Without a name, the queue is named by the path of `Hook`: a job that waits is not found after `Hook` moves.
    Ok(SqliteStorage::new(&pool).with_config(Config::default().queue("hooks")))
}

/// Looks for jobs at this interval. Without one, a job whose wait is over would be found only after up to 30 s.
/// `poll_with_interval` of apalis-core 1.0.0 can lose its timer, and then needs 30 s too.
pub(crate) async fn work(
    storage: SqliteStorage<Hook>,
    interval: Duration,
) -> Result<(), BoxDynError> {
    let mut ticks = tokio::time::interval(interval);
    let ticks = stream::poll_fn(move |cx| {
        while ticks.poll_tick(cx).is_ready() {} // the next tick wakes the worker
        Poll::<Option<()>>::Pending
    });
    // A name of its own for each process: the name of one that has died is refused for 30 s.
    let worker = WorkerBuilder::new(format!("hooks-{}", RandomId::default()))
        .backend(storage.clone().poll_with_stream(ticks))
        .concurrency(8)
        .data(storage)
        .data(reqwest::Client::new())
        .build(handle);
    Ok(worker.run_until(tokio::signal::ctrl_c()).await?)
}

#[tokio::main]
async fn main() -> Result<(), BoxDynError> {
    let mut storage = storage("sqlite:jobs.db?mode=rwc").await?;
    let (url, text) = ("http://127.0.0.1:4000/".to_owned(), "paid".to_owned());
    storage.push(Hook { id: 1, url, text }).await?; // another process may do this, too
    work(storage, Duration::from_secs(1)).await
}
