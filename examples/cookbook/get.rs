//! A GET that is sent again after a failure, and waits at least as long as `Retry-After` says.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["http"] }
//! reqwest = "0.13"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```

use backoff_cloud::http::{ApiError, SendExt as _};
use backoff_cloud::plain_http;
use reqwest::Client;
use std::{env, error::Error, time::Duration};

/// The text at this URL.
pub async fn get(client: &Client, url: &str) -> Result<String, ApiError> {
    plain_http::BY_METHOD
        .send(client.get(url))
        .text()
        .attempt_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(120)) // attempts and waits together
        .notify(|event| eprintln!("{event}"))
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).ok_or("usage: get URL")?;
    print!("{}", get(&Client::new(), &url).await?);
    Ok(())
}
