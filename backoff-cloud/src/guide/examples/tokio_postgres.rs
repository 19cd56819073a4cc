use backoff_cloud::{postgres, retry};
use tokio_postgres::{Config, NoTls};

/// Holds an error of tokio-postgres, or `TimedOut` after `attempt_timeout`. The policy looks into the box.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[retry(policy = postgres::TRANSACTION, idempotent = true, attempt_timeout = "10s")]
async fn pay(config: &Config, payment: &str) -> Result<(), BoxError> {
    // A connection for each attempt; or one of a pool that tests its connections.
    let (mut client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);

    let transaction = client.transaction().await?;
    // `id` is the primary key.
    let insert = "INSERT INTO payments (id) VALUES ($1) ON CONFLICT DO NOTHING";
    if transaction.execute(insert, &[&payment]).await? == 0 {
        return Ok(()); // an earlier attempt was committed, and its reply was lost
    }
    transaction.execute("UPDATE accounts SET balance = balance - 1 WHERE id = 7", &[]).await?;
    Ok(transaction.commit().await?)
}
