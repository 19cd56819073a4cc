use backoff_cloud::{postgres, retry};
use tokio_postgres::{Config, Error, NoTls};

#[retry(policy = postgres::TRANSACTION, idempotent = true)]
async fn pay(config: &Config, payment: &str) -> Result<(), Error> {
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
    transaction.commit().await
}
