use backoff_cloud::{Fault, NotApplied, TimedOut, postgres, retry};
use sqlx::PgPool;

#[derive(Debug, Fault)]
enum PayError {
    /// A statement before `COMMIT` failed: the server rolls the transaction back.
    #[fault(forward)]
    Before(NotApplied<sqlx::Error>),
    /// `COMMIT` failed. If its reply was lost, nobody knows whether the transaction was committed.
    #[fault(forward)]
    Commit(sqlx::Error),
    #[fault(permanent)]
    TooPoor,
    /// The transaction took longer than the `timeout`. It was committed or not.
    #[fault(forward)]
    TimedOut(TimedOut),
}

impl From<TimedOut> for PayError {
    fn from(error: TimedOut) -> Self {
        PayError::TimedOut(error)
    }
}

#[retry(policy = postgres::TRANSACTION, timeout = "30s")]
async fn pay(pool: &PgPool, account: i64, amount: i64) -> Result<(), PayError> {
    let before = |error| PayError::Before(NotApplied(error));
    // Each attempt begins, reads and decides anew.
    let begin = pool.begin_with("BEGIN ISOLATION LEVEL SERIALIZABLE");
    let mut transaction = begin.await.map_err(before)?;

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
