//! The stars of repositories of GitHub. When a limit is reached, all calls wait until it is refilled.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["http", "rate"] }
//! reqwest = "0.13"
//! serde_json = "1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```

use backoff_cloud::http::{ApiError, SendExt as _};
use backoff_cloud::{Policy, Rate, github};
use reqwest::Client;
use serde_json::Value;
use std::{env, error::Error, time::Duration};

const API: &str = "https://api.github.com";
const MINUTE: Duration = Duration::from_secs(60);
/// A quota is full again after an hour at most.
const POLICY: Policy = github::REQUEST.max_retry_after(MINUTE.saturating_mul(60));

/// A token has a quota of its own, so it has a `Rate` of its own.
pub struct GitHub {
    client: Client,
    api: String,
    token: String,
    rate: Rate,
}

impl GitHub {
    /// For the calls with this token.
    pub fn new(api: String, token: String) -> Self {
        let client = Client::builder().user_agent("stars").build();
        // After a secondary limit nobody asks for a minute, unless GitHub names another time.
        let rate = Rate::new().name("github").pause_after_refusal(MINUTE);
        GitHub {
            client: client.expect("a client"),
            api,
            token,
            rate,
        }
    }

    /// How many stars a repository has.
    pub async fn stars(&self, repository: &str) -> Result<Option<u64>, ApiError> {
        let get = self.client.get(format!("{}/repos/{repository}", self.api));
        let get = get.bearer_auth(&self.token);
        let found: Value = POLICY.send(get).json().rate(&self.rate).await?;
        Ok(found["stargazers_count"].as_u64())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let github = GitHub::new(API.to_owned(), env::var("GITHUB_TOKEN")?);
    for repository in env::args().skip(1) {
        println!("{repository}: {:?}", github.stars(&repository).await?);
    }
    Ok(())
}
