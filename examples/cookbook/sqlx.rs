//! A transaction of sqlx that is repeated as a whole. It is for SQLite: PostgreSQL needs the changes in the comments.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["sqlx-09"] }
//! sqlx = { version = "0.9", features = ["runtime-tokio", "sqlite"] } # PostgreSQL: "postgres"
//! thiserror = "2"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```

use backoff_cloud::{Fault, NotApplied, TimedOut, retry, sqlite};
use sqlx::{SqlitePool as Pool, sqlite::SqliteConnectOptions}; // PostgreSQL: PgPool
use std::time::Duration;

/// Locks before the first read. SQLite waits for the lock as long as the `busy_timeout` says.
const BEGIN: &str = "BEGIN IMMEDIATE"; // PostgreSQL: "BEGIN ISOLATION LEVEL SERIALIZABLE"

#[derive(Debug, thiserror::Error, Fault)]
pub(crate) enum PayError {
    /// A statement before `COMMIT` failed: the database rolls the transaction back.
    #[error(transparent)]
    #[fault(forward)]
    Before(NotApplied<sqlx::Error>),
    /// `COMMIT` failed. If its reply was lost, nobody knows whether the transaction was committed.
    #[error(transparent)]
    #[fault(forward)]
    Commit(sqlx::Error),
    #[error("the balance is too low")]
    #[fault(permanent)]
    TooPoor,
    /// The transaction took longer than the `timeout`. It was committed or not.
    #[error(transparent)]
    #[fault(forward)]
    TimedOut(#[from] TimedOut),
}

#[retry(policy = sqlite::TRANSACTION, timeout = "30s")] // PostgreSQL: postgres::TRANSACTION
pub(crate) async fn pay(pool: &Pool, account: i64, amount: i64) -> Result<(), PayError> {
    let before = |error| PayError::Before(NotApplied(error));
    // Each attempt begins, reads and decides anew.
    let mut transaction = pool.begin_with(BEGIN).await.map_err(before)?;

    let read = sqlx::query_scalar("SELECT balance FROM accounts WHERE id = $1").bind(account);
    let balance: i64 = read.fetch_one(&mut *transaction).await.map_err(before)?;
    if balance < amount {
        return Err(PayError::TooPoor); // the transaction is dropped, and so rolled back
    }
    let write = sqlx::query("UPDATE accounts SET balance = $1 WHERE id = $2");
    let write = write.bind(balance - amount).bind(account);
    write.execute(&mut *transaction).await.map_err(before)?;

    transaction.commit().await.map_err(PayError::Commit)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = "sqlite:bank.db?mode=rwc".parse::<SqliteConnectOptions>()?;
    // The policy waits, not SQLite. PostgreSQL: Pool::connect("postgres://..")
    let pool = Pool::connect_with(database.busy_timeout(Duration::from_millis(20))).await?;
    let table =
        "CREATE TABLE IF NOT EXISTS accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)";
    sqlx::query(table).execute(&pool).await?;
    let account = "INSERT INTO accounts VALUES (1, 100) ON CONFLICT DO NOTHING";
    sqlx::query(account).execute(&pool).await?;
    pay(&pool, 1, 30).await?;
    Ok(())
}
