//! A job whose first process ends during the wait.

#[allow(dead_code, reason = "the test has no use for `main`")]
#[path = "../../cookbook/jobs.rs"]
mod program;

use std::time::Duration;

use apalis::prelude::{BoxDynError, TaskSink as _};
use apalis_sqlite::SqliteStorage;
use sqlx::query_scalar;
use support::{AMPLE, Server, reply};
use tokio::time::{sleep, timeout};

use program::{Hook, storage, work};

const OFTEN: Duration = Duration::from_millis(5);

/// A process that works until the query counts one job.
async fn process(storage: &SqliteStorage<Hook>, until: &'static str) -> Result<(), BoxDynError> {
    let counts_one = async {
        while query_scalar::<_, i64>(until)
            .fetch_one(storage.pool())
            .await?
            != 1
        {
            sleep(OFTEN).await;
        }
        Ok(())
    };
    tokio::select! {
        ended = work(storage.clone(), OFTEN) => Err(format!("the worker has ended: {ended:?}").into()),
        counted = timeout(AMPLE, counts_one) => counted?,
    }
}

#[tokio::test]
async fn a_job_waits_in_the_database_for_as_long_as_the_service_asks() -> Result<(), BoxDynError> {
    let server = Server::start([reply(503, "retry-after: 3000\r\n", "")]);
    let mut storage = storage("sqlite::memory:").await?;
    let (url, text) = (server.url("hook"), "paid".to_owned());
    storage.push(Hook { id: 7, url, text }).await?;

    let waits = "SELECT count(*) FROM Jobs WHERE status = 'Pending' \
                 AND run_at BETWEEN unixepoch() + 2900 AND unixepoch() + 3001";
    process(&storage, waits).await?;
    assert_eq!(server.requests(), 1);

    // Fifty minutes later.
    sqlx::query("UPDATE Jobs SET run_at = run_at - 3001")
        .execute(storage.pool())
        .await?;
    // The first process may have ended before it wrote that its own run is done.
    let done = "SELECT count(*) FROM Jobs WHERE status = 'Done' AND idempotency_key IS NOT NULL";
    process(&storage, done).await?;
    assert_eq!(server.values("idempotency-key"), ["7", "7"]);
    Ok(())
}
