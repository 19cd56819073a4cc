//! An answer of an LLM, at once or piece by piece. What fails before the first piece is asked again.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["http"] }
//! reqwest = { version = "0.13", features = ["json"] }
//! serde_json = "1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```

use backoff_cloud::http::{ApiError, Limits, Sending};
use backoff_cloud::openai;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use std::{env, error::Error, time::Duration};

const URL: &str = "https://api.openai.com/v1/chat/completions";
const PATIENCE: Duration = Duration::from_secs(300);

fn ask(post: RequestBuilder, prompt: &str, stream: bool) -> Sending {
    let messages = json!([{"role": "user", "content": prompt}]);
    let body = json!({"model": "gpt-5-mini", "messages": messages, "stream": stream});
    let limits = Limits::new().read_timeout(PATIENCE); // a model that thinks sends nothing
    openai::send(post.json(&body)).limits(limits)
}

/// The whole answer. `post` has the URL and the key.
pub async fn answer(post: RequestBuilder, prompt: &str) -> Result<Value, ApiError> {
    ask(post, prompt, false).json().timeout(2 * PATIENCE).await
}

/// Shows each piece of the answer as soon as it comes.
pub async fn stream<F>(post: RequestBuilder, prompt: &str, mut show: F) -> Result<(), ApiError>
where
    F: FnMut(&str),
{
    let mut events = ask(post, prompt, true).open().await?.events();
    while let Some(event) = events.next().await? {
        if let Some(kind) = openai::event_kind(&event) {
            return Err(event.to_error(kind)); // the service failed after its 200
        }
        if openai::ends_stream(&event) {
            return Ok(());
        }
        let piece: Value = event.json()?;
        let text = piece["choices"][0]["delta"]["content"].as_str();
        show(text.unwrap_or_default());
    }
    Err(ApiError::ended_early()) // a part of the answer is missing
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (client, key) = (Client::new(), env::var("OPENAI_API_KEY")?);
    let post = || client.post(URL).bearer_auth(&key);
    let reply = answer(post(), "What is 2 + 2?").await?;
    println!("{}", reply["choices"][0]["message"]["content"]);
    Ok(stream(post(), "Count to ten.", |piece| print!("{piece}")).await?)
}
