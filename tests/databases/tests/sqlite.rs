//! Transactions of several connections on one SQLite file, which is a part of this program: nothing is installed.

use backoff_cloud::{Delivery, Fault, FaultKind, retry, sqlite};
use databases::{Folder, Tested, all};
use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};
use sqlx_09 as sqlx;
use std::time::Duration;

const READ: &str = "SELECT value FROM counters WHERE name = 'a'";

/// A connection that waits for a lock while it is opened, and not afterwards.
async fn connect(folder: &Folder) -> sqlx::Result<SqliteConnection> {
    let options = SqliteConnectOptions::new()
        .filename(folder.file("database"))
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(60))
        .create_if_missing(true);
    let mut connection = options.connect().await?;
    say(&mut connection, "PRAGMA busy_timeout = 0").await?;
    Ok(connection)
}

/// A database with one counter.
async fn database() -> Tested<Folder> {
    let folder = Folder::new("sqlite")?;
    let mut connection = connect(&folder).await?;
    let table = "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)";
    say(&mut connection, table).await?;
    say(&mut connection, "INSERT INTO counters VALUES ('a', 0)").await?;
    connection.close().await?;
    Ok(folder)
}

async fn say(connection: &mut SqliteConnection, statement: &'static str) -> sqlx::Result<()> {
    sqlx::query(statement).execute(connection).await.map(drop)
}

/// Reads, and writes what was read and one more.
#[retry(policy = sqlite::TRANSACTION, deadline = "10m")]
async fn increment(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    let mut transaction = connection.begin().await?;
    let read = sqlx::query_scalar(READ).fetch_one(&mut *transaction);
    let value: i64 = read.await?;
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
    let folder = database().await?;
    // SQLite needs the lock to open a connection too.
    let mut connections = Vec::new();
    for _ in 0..WRITERS {
        connections.push(connect(&folder).await?);
    }
    let writers = connections.into_iter().map(|mut connection| async move {
        for _ in 0..ROUNDS {
            increment(&mut connection).await?;
        }
        Ok::<_, sqlx::Error>(())
    });
    all(writers).await?;
    let mut connection = connect(&folder).await?;
    let value: i64 = sqlx::query_scalar(READ).fetch_one(&mut connection).await?;
    assert_eq!(value, WRITERS * ROUNDS);
    Ok(())
}

/// The failure has this code, this kind, and was not applied or says nothing of it.
fn assert_says(outcome: sqlx::Result<()>, code: &str, kind: FaultKind, delivery: Option<Delivery>) {
    let error = outcome.expect_err(code);
    let database = error.as_database_error().expect("an error of SQLite");
    let says = (database.code(), Fault::kind(&error), error.delivery());
    assert_eq!(says, (Some(code.into()), Some(kind), delivery), "{error:?}");
}

#[tokio::test]
async fn a_stale_snapshot_and_a_lock_are_conflicts() -> Tested {
    let folder = database().await?;
    let (mut first, mut second) = (connect(&folder).await?, connect(&folder).await?);
    let write = "UPDATE counters SET value = value + 1";
    let nothing = Some(Delivery::NotSent);

    // Somebody else has written since this transaction has read.
    let mut stale = first.begin().await?;
    say(&mut stale, READ).await?;
    say(&mut second, write).await?;
    let refused = say(&mut stale, write).await;
    assert_says(refused, "517", FaultKind::Conflict, nothing);
    stale.rollback().await?;

    // Somebody else writes now.
    say(&mut second, "BEGIN IMMEDIATE").await?;
    let refused = say(&mut first, write).await;
    assert_says(refused, "5", FaultKind::Conflict, nothing);
    say(&mut second, "COMMIT").await?;

    let twice = say(&mut first, "INSERT INTO counters VALUES ('a', 0)").await;
    assert_says(twice, "1555", FaultKind::Permanent, None);
    first.close().await?;
    Ok(())
}
