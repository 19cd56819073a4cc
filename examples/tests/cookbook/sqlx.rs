//! A payment from an account that another transaction has locked.

#[allow(dead_code, reason = "the test has no use for `main`")]
#[path = "../../cookbook/sqlx.rs"]
mod program;

use std::error::Error;
use std::fs::remove_file;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use backoff_cloud::testing;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{ConnectOptions as _, query, query_scalar};
use tokio::sync::Mutex;

use program::{PayError, pay};

#[tokio::test]
async fn a_payment_is_repeated_until_the_lock_is_free_and_reads_anew() -> Result<(), Box<dyn Error>>
{
    let _instant = testing::instant();
    let file = format!("cookbook-{}.db", std::process::id());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let options = SqliteConnectOptions::new().filename(&file);
    let options = options.create_if_missing(true).busy_timeout(Duration::ZERO);

    let mut other = options.connect().await?;
    for statement in [
        "CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)",
        "INSERT INTO accounts VALUES (1, 100)",
        "BEGIN IMMEDIATE",
        "UPDATE accounts SET balance = 50",
    ] {
        query(statement).execute(&mut other).await?;
    }
    let (other, attempts) = (Arc::new(Mutex::new(other)), Arc::new(AtomicU32::new(0)));
    let commits = (other.clone(), attempts.clone());
    // Each attempt takes the connection once. Before the third one, the other transaction commits.
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .before_acquire(move |_, _| {
            let (other, attempts) = commits.clone();
            Box::pin(async move {
                if attempts.fetch_add(1, Relaxed) == 2 {
                    query("COMMIT").execute(&mut *other.lock().await).await?;
                }
                Ok(true)
            })
        });
    let pool = pool.connect_with(options).await?;

    pay(&pool, 1, 30).await?;
    assert_eq!(attempts.load(Relaxed), 3);
    let balance = query_scalar("SELECT balance FROM accounts");
    let balance: i64 = balance.fetch_one(&mut *other.lock().await).await?;
    assert_eq!(balance, 50 - 30);

    assert!(matches!(pay(&pool, 1, 30).await, Err(PayError::TooPoor)));
    assert_eq!(attempts.load(Relaxed), 4);
    pool.close().await;
    remove_file(file)?;
    Ok(())
}
