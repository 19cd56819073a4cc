//! Transactions of several connections on one SQLite file, which is a part of this program: nothing is installed.

use backoff_cloud::{Delivery, Fault, FaultKind, retry, sqlite};
use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};
use sqlx_09 as sqlx;
use std::{path::PathBuf, time::Duration};
use tokio::task::JoinSet;

type Tested = Result<(), Box<dyn std::error::Error + Send + Sync>>;

const READ: &str = "SELECT value FROM counters WHERE name = 'a'";

/// A database with one counter. Its folder is removed at the end.
struct Database(PathBuf);

impl Drop for Database {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Database {
    async fn new(name: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let folder = format!("backoff-sqlite-{}-{name}", std::process::id());
        let database = Database(std::env::temp_dir().join(folder));
        std::fs::create_dir_all(&database.0)?;
        let mut connection = database.connect().await?;
        let table = "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)";
        sqlx::query(table).execute(&mut connection).await?;
        let row = "INSERT INTO counters VALUES ('a', 0)";
        sqlx::query(row).execute(&mut connection).await?;
        connection.close().await?;
        Ok(database)
    }

    /// A connection that waits for a lock while it is opened, and not afterwards.
    async fn connect(&self) -> sqlx::Result<SqliteConnection> {
        let options = SqliteConnectOptions::new()
            .filename(self.0.join("database"))
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(Duration::from_secs(60))
            .create_if_missing(true);
        let mut connection = options.connect().await?;
        let hasty = sqlx::query("PRAGMA busy_timeout = 0");
        hasty.execute(&mut connection).await?;
        Ok(connection)
    }
}

/// Reads, and writes what was read and one more.
#[retry(policy = sqlite::TRANSACTION, deadline = "10m")]
async fn increment(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    let mut transaction = connection.begin().await?;
    let value: i64 = sqlx::query_scalar(READ)
        .fetch_one(&mut *transaction)
        .await?;
    // Others write meanwhile.
    tokio::task::yield_now().await;
    let update = sqlx::query("UPDATE counters SET value = ? WHERE name = 'a'");
    update.bind(value + 1).execute(&mut *transaction).await?;
    transaction.commit().await
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_writers_lose_no_change() -> Tested {
    const WRITERS: i64 = 8;
    const ROUNDS: i64 = 25;
    let database = Database::new("writers").await?;
    // SQLite needs the lock to open a connection too.
    let mut connections = Vec::new();
    for _ in 0..WRITERS {
        connections.push(database.connect().await?);
    }
    let mut writers = JoinSet::new();
    for mut connection in connections {
        writers.spawn(async move {
            for _ in 0..ROUNDS {
                increment(&mut connection).await?;
            }
            Ok::<_, sqlx::Error>(())
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer??;
    }
    let mut connection = database.connect().await?;
    let value: i64 = sqlx::query_scalar(READ).fetch_one(&mut connection).await?;
    assert_eq!(value, WRITERS * ROUNDS);
    Ok(())
}

/// What an error says: its code, its kind, and whether it was applied.
fn facts(error: &sqlx::Error) -> (Option<String>, Option<FaultKind>, Option<Delivery>) {
    let database = error.as_database_error();
    let code = database.and_then(|error| Some(error.code()?.into_owned()));
    (code, Fault::kind(error), error.delivery())
}

fn conflict(code: &str) -> (Option<String>, Option<FaultKind>, Option<Delivery>) {
    let conflict = Some(FaultKind::Conflict);
    (Some(code.to_owned()), conflict, Some(Delivery::NotSent))
}

#[tokio::test]
async fn a_stale_snapshot_and_a_lock_are_conflicts() -> Tested {
    let database = Database::new("facts").await?;
    let (mut first, mut second) = (database.connect().await?, database.connect().await?);
    let write = "UPDATE counters SET value = value + 1";

    // Somebody else has written since this transaction has read.
    let mut stale = first.begin().await?;
    let _: i64 = sqlx::query_scalar(READ).fetch_one(&mut *stale).await?;
    sqlx::query(write).execute(&mut second).await?;
    let refused = sqlx::query(write).execute(&mut *stale).await.unwrap_err();
    assert_eq!(facts(&refused), conflict("517"));
    stale.rollback().await?;

    // Somebody else writes now.
    sqlx::query("BEGIN IMMEDIATE").execute(&mut second).await?;
    let refused = sqlx::query(write).execute(&mut first).await.unwrap_err();
    assert_eq!(facts(&refused), conflict("5"));
    sqlx::query("COMMIT").execute(&mut second).await?;

    let twice = "INSERT INTO counters VALUES ('a', 0)";
    let refused = sqlx::query(twice).execute(&mut first).await.unwrap_err();
    let permanent = (Some("1555".to_owned()), Some(FaultKind::Permanent), None);
    assert_eq!(facts(&refused), permanent);
    first.close().await?;
    Ok(())
}
