use aws_sdk_dynamodb::{
    Client, config::{Builder, retry::RetryConfig}, error::SdkError,
    operation::put_item::PutItemError, types::AttributeValue,
};
use backoff_cloud::{dynamodb, retry};

fn client(config: Builder) -> Client {
    // The retry is around the client, so the client has none.
    Client::from_conf(config.retry_config(RetryConfig::disabled()).build())
}

#[retry(policy = dynamodb::REQUEST, timeout = "10s")]
async fn open(client: &Client, name: &str) -> Result<(), SdkError<PutItemError>> {
    let item = AttributeValue::S(name.to_owned());
    client.put_item().table_name("accounts").item("name", item).send().await?;
    Ok(())
}

// Several operations, each with an error of its own: `faults` names their types.
#[retry(policy = dynamodb::REQUEST, faults(SdkError<PutItemError>))]
async fn open_two(client: &Client) -> anyhow::Result<()> {
    for name in ["ann", "bob"] {
        let item = AttributeValue::S(name.to_owned());
        client.put_item().table_name("accounts").item("name", item).send().await?;
    }
    Ok(())
}
