//! Jobs of apalis in SQLite that come back as a policy says, also when their worker is killed.

use apalis::prelude::*;
use apalis_sqlite::{Config, SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteStorage};
use backoff_cloud::{
    Fault, Jitter, Policy,
    apalis::{Job, RescheduleExt as _},
};
use databases::{Folder, Tested};
use serde::{Deserialize, Serialize};
use sqlx_09 as sqlx;
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

const POLICY: Policy = Policy::constant(Duration::from_millis(10))
    .jitter(Jitter::None)
    .max_attempts(3)
    .deadline(Duration::from_secs(86_400))
    .max_retry_after(Duration::from_secs(7_200));

/// So long a test waits at most. It is a net.
const PATIENCE: Duration = Duration::from_secs(120);

/// A job, and how its first runs end: with a status and perhaps a hint in seconds. Later runs succeed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Call {
    id: u32,
    script: Vec<(u16, Option<u64>)>,
}

#[derive(Debug)]
struct Refused(u16, Option<u64>);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HTTP {}", self.0)
    }
}

impl std::error::Error for Refused {}

impl Fault for Refused {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
    fn retry_after(&self) -> Option<Duration> {
        self.1.map(Duration::from_secs)
    }
}

/// When each job has run.
type Runs = Arc<Mutex<BTreeMap<u32, Vec<SystemTime>>>>;

async fn called(call: Call, runs: Runs) -> Result<(), Refused> {
    let mut runs = runs.lock().unwrap();
    let runs = runs.entry(call.id).or_default();
    runs.push(SystemTime::now());
    match call.script.get(runs.len() - 1) {
        Some((status, hint)) => Err(Refused(*status, *hint)),
        None => Ok(()),
    }
}

async fn handle(
    call: Call,
    job: Job,
    storage: Data<SqliteStorage<Call>>,
    runs: Data<Runs>,
) -> Result<(), BoxDynError> {
    let work = |call| called(call, (*runs).clone());
    POLICY
        .reschedule(&job, call, (*storage).clone(), work)
        .await
}

async fn storage(folder: &Path) -> Result<SqliteStorage<Call>, BoxDynError> {
    let options = SqliteConnectOptions::new()
        .filename(folder.join("jobs"))
        .busy_timeout(Duration::from_secs(60))
        .create_if_missing(true);
    let pool = SqlitePoolOptions::new()
        .max_connections(4)
        .connect_with(options)
        .await?;
    SqliteStorage::setup(&pool).await?;
    let config = Config::default()
        .queue("calls")
        .heartbeat_interval(Duration::from_secs(1));
    Ok(SqliteStorage::new(&pool).with_config(config.missed_heartbeats(2)))
}

/// How many jobs have not ended.
async fn left(pool: &SqlitePool) -> sqlx::Result<i64> {
    let left = "SELECT count(*) FROM Jobs WHERE status NOT IN ('Done', 'Killed') AND run_at < unixepoch() + 600";
    sqlx::query_scalar(left).fetch_one(pool).await
}

/// Runs a worker until no job is left that could run within ten minutes.
async fn work(storage: &SqliteStorage<Call>, name: &str, runs: &Runs) -> Tested {
    let pool = storage.pool().clone();
    let worker = WorkerBuilder::new(name)
        .backend(
            storage
                .clone()
                .poll_with_interval(Duration::from_millis(50)),
        )
        .data(storage.clone())
        .data(Arc::clone(runs))
        .build(handle);
    let ended = async move {
        while left(&pool).await.map_err(std::io::Error::other)? > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok::<_, std::io::Error>(())
    };
    tokio::time::timeout(PATIENCE, worker.run_until(ended)).await??;
    Ok(())
}

/// The results of the killed jobs.
async fn killed(pool: &SqlitePool) -> sqlx::Result<Vec<String>> {
    let results =
        "SELECT CAST(last_result AS TEXT) FROM Jobs WHERE status = 'Killed' ORDER BY last_result";
    sqlx::query_scalar(results).fetch_all(pool).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_comes_back_as_the_policy_says() -> Tested {
    let database = Folder::new("policy")?;
    let (mut storage, runs) = (storage(database.path()).await?, Runs::default());
    for (id, script) in [
        (0, vec![]),
        (1, vec![(503, None), (503, None)]),
        (2, vec![(429, Some(2))]),
        (3, vec![(503, None); 9]),
        (4, vec![(404, None)]),
    ] {
        storage.push(Call { id, script }).await?;
    }
    work(&storage, "worker", &runs).await?;

    let runs = std::mem::take(&mut *runs.lock().unwrap());
    let counts: Vec<_> = runs.values().map(Vec::len).collect();
    assert_eq!(counts, [1, 3, 2, 3, 1]);
    let waits = |id| {
        runs[&id]
            .windows(2)
            .map(|pair| pair[1].duration_since(pair[0]).unwrap())
    };
    assert!(
        waits(2).all(|wait| wait >= Duration::from_secs(2)),
        "{runs:?}"
    );
    assert!(
        waits(1).all(|wait| wait >= Duration::from_millis(10)),
        "{runs:?}"
    );
    let killed = killed(storage.pool()).await?;
    let ends = [
        "gave up after 1 run (permanent): HTTP 404",
        "gave up after 3 runs (attempts): HTTP 503",
    ];
    assert_eq!(killed.len(), 2, "{killed:?}");
    for (killed, end) in killed.iter().zip(ends) {
        assert!(killed.contains(end), "{killed}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_wait_for_an_hour_hold_no_worker() -> Tested {
    let database = Folder::new("hour")?;
    let (mut storage, runs) = (storage(database.path()).await?, Runs::default());
    let hour = |id| Call {
        id,
        script: vec![(503, Some(3_600))],
    };
    storage.push_bulk((1..=1_000).map(hour).collect()).await?;
    work(&storage, "first", &runs).await?;
    assert_eq!(runs.lock().unwrap().len(), 1_000);
    // All of them wait, and another job runs.
    storage
        .push(Call {
            id: 0,
            script: vec![],
        })
        .await?;
    work(&storage, "second", &runs).await?;
    assert_eq!(runs.lock().unwrap()[&0].len(), 1);
    let waiting =
        "SELECT count(*) FROM Jobs WHERE status = 'Pending' AND run_at > unixepoch() + 3000";
    let waiting: i64 = sqlx::query_scalar(waiting)
        .fetch_one(storage.pool())
        .await?;
    assert_eq!(waiting, 1_000);
    Ok(())
}

/// Changes one row of the database.
async fn change_one(storage: &SqliteStorage<Call>, sql: &'static str) -> Tested {
    let changed = sqlx::query(sql).execute(storage.pool()).await?;
    assert_eq!(changed.rows_affected(), 1, "{sql}");
    Ok(())
}

/// A database with a job that has failed once and waits for an hour.
async fn waiting(database: &Folder) -> Result<(SqliteStorage<Call>, Runs), BoxDynError> {
    let (mut storage, runs) = (storage(database.path()).await?, Runs::default());
    let script = vec![(503, Some(3_600))];
    storage.push(Call { id: 7, script }).await?;
    work(&storage, "first", &runs).await?;
    Ok((storage, runs))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_worker_was_killed_after_it_was_put_back_is_there_once() -> Tested {
    let database = Folder::new("twice")?;
    let (storage, runs) = waiting(&database).await?;
    // As if the worker had been killed before it acknowledged the run.
    for sql in [
        "INSERT INTO Workers (id, worker_type, storage_name, last_seen) VALUES ('dead', 'calls', 'SqliteStorage', 0)",
        "UPDATE Jobs SET status = 'Running', attempts = 0, lock_by = 'dead', done_at = NULL WHERE status = 'Done'",
    ] {
        change_one(&storage, sql).await?;
    }
    work(&storage, "second", &runs).await?;
    assert_eq!(runs.lock().unwrap()[&7].len(), 1);
    let jobs = "SELECT status, attempts FROM Jobs ORDER BY status";
    let jobs: Vec<(String, i64)> = sqlx::query_as(jobs).fetch_all(storage.pool()).await?;
    assert_eq!(jobs, [("Done".to_owned(), 2), ("Pending".to_owned(), 0)]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_run_makes_its_call_after_the_deadline() -> Tested {
    let database = Folder::new("late")?;
    let (storage, runs) = waiting(&database).await?;
    // As if all workers had been down for longer than the deadline.
    let sql = "UPDATE Jobs SET run_at = 1, metadata = json_set(metadata, '$.\"backoff.began\"', '1000') \
               WHERE status = 'Pending'";
    change_one(&storage, sql).await?;
    work(&storage, "second", &runs).await?;
    assert_eq!(runs.lock().unwrap()[&7].len(), 1);
    let killed = killed(storage.pool()).await?;
    let end = "gave up after 1 run (deadline): no worker was free before the deadline";
    assert!(killed[0].contains(end), "{killed:?}");
    Ok(())
}

const FOLDER: &str = "BACKOFF_JOBS_FOLDER";

/// Makes the call of a job, and never ends.
async fn hang(call: Call, _: Job, folder: Data<PathBuf>) -> Result<(), BoxDynError> {
    std::fs::write(folder.join("called"), call.id.to_string())?;
    std::future::pending().await
}

/// The worker that the test below kills.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the test of the killed worker runs it, in a process of its own"]
async fn the_worker_that_is_killed() -> Tested {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return Ok(());
    };
    let storage = storage(&folder).await?;
    let backend = storage.poll_with_interval(Duration::from_millis(50));
    let worker = WorkerBuilder::new("killed")
        .backend(backend)
        .data(folder)
        .build(hang);
    worker.run().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_between_its_call_and_its_acknowledgement_loses_no_job() -> Tested {
    let database = Folder::new("killed")?;
    let (mut storage, runs) = (storage(database.path()).await?, Runs::default());
    // Of three attempts the killed one is the first.
    storage
        .push(Call {
            id: 7,
            script: vec![(503, None); 9],
        })
        .await?;
    let mut worker = Command::new(std::env::current_exe()?)
        .args(["--exact", "the_worker_that_is_killed", "--ignored"])
        .env(FOLDER, database.path())
        .stdout(Stdio::null())
        .spawn()?;
    let calls = async {
        while !database.path().join("called").exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, calls).await?;
    worker.kill()?;
    worker.wait()?;
    work(&storage, "another", &runs).await?;
    assert_eq!(runs.lock().unwrap()[&7].len(), 2);
    let killed = killed(storage.pool()).await?;
    assert!(
        killed[0].contains("gave up after 3 runs (attempts)"),
        "{killed:?}"
    );
    Ok(())
}
