use backoff_cloud::plain_http;
use reqwest_middleware::ClientBuilder;
use std::time::Duration;

# async fn f() -> Result<(), Box<dyn std::error::Error>> {
// One loop is enough: reqwest repeats some requests by itself.
let client = reqwest::Client::builder().retry(reqwest::retry::never()).build()?;
let retry = plain_http::BY_METHOD.layer().attempt_timeout(Duration::from_secs(10));
let client = ClientBuilder::new(client).with(retry).build();

let response = client.get("http://127.0.0.1:8080/a").send().await?;
# drop(response); Ok(()) }
