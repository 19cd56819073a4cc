use backoff_cloud::{Policy, Rate, github, http::{ApiError, SendExt as _}};
use reqwest::Client;
use serde_json::Value;
use std::time::Duration;

/// The longest time until a quota is full again.
const HOUR: Duration = Duration::from_secs(3_600);
const POLICY: Policy = github::REQUEST.max_retry_after(HOUR);

/// A token has a quota of its own, so it has a `Rate` of its own.
pub struct GitHub {
    client: Client,
    api: String, // https://api.github.com
    token: String,
    rate: Rate,
}

impl GitHub {
    pub fn new(api: String, token: String) -> Self {
        let client = Client::builder().user_agent("stars").build().expect("a client");
        // After a secondary limit nobody asks for a minute, unless GitHub names another time.
        let rate = Rate::new().name("github").pause_after_refusal(Duration::from_secs(60));
        GitHub { client, api, token, rate }
    }

    pub async fn stars(&self, repository: &str) -> Result<u64, ApiError> {
        let get = self.client.get(format!("{}/repos/{repository}", self.api)).bearer_auth(&self.token);
        let found: Value = POLICY.send(get).json().rate(&self.rate).await?;
        Ok(found["stargazers_count"].as_u64().unwrap_or_default())
    }
}
