use aws_sdk_dynamodb::{Client, config::Builder};
use backoff_cloud::{aws, dynamodb};

fn client(config: Builder) -> Client {
    let retry = aws::inside(dynamodb::REQUEST);
    let config = config.interceptor(retry.clone()).retry_classifier(retry);
    Client::from_conf(config.build())
}

// Or for one request.
async fn tables(client: &Client) -> Result<Vec<String>, aws_sdk_dynamodb::Error> {
    let retry = aws::inside(dynamodb::REQUEST.max_attempts(2));
    let own = Builder::new().interceptor(retry.clone()).retry_classifier(retry);
    let tables = client.list_tables().customize().config_override(own).send().await?;
    Ok(tables.table_names.unwrap_or_default())
}
