//! Pages of many hosts. While a host is down, calls to it end at once, and logs, errors and metrics name the host.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["breaker", "http"] }
//! reqwest = "0.13"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```

use backoff_cloud::http::{ApiError, SendExt as _};
use backoff_cloud::{Breaker, Keyed, plain_http};
use reqwest::{Client, Url};
use std::{env, error::Error, time::Duration};

/// A breaker for each host. Hosts that nobody asks for leave when there are more than 10,000.
static BREAKERS: Keyed<String, Breaker> = Keyed::new(|| Breaker::new().opens_at(15, 24));

/// The text at this URL.
pub async fn page(client: &Client, url: Url) -> Result<String, ApiError> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let breaker = BREAKERS.get(&*format!("{host}:{port}"));
    plain_http::BY_METHOD
        .send(client.get(url))
        .text()
        .attempt_timeout(Duration::from_secs(10))
        .breaker(&breaker)
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::new();
    for url in env::args().skip(1) {
        match page(&client, url.parse()?).await {
            Ok(text) => println!("{url}: {} bytes", text.len()),
            Err(error) => eprintln!("{url}: {error}"),
        }
    }
    Ok(())
}
