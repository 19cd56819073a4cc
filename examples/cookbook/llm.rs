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
use std::{env, error::Error, time::Duration, time::SystemTime};

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
    let mut reply = ask(post, prompt, true).open().await?;
    let mut read = Vec::new();
    while let Some(bytes) = reply.chunk().await? {
        read.extend(bytes);
        while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = read.drain(..=end).collect();
            match line.strip_prefix(b"data: ").map(<[u8]>::trim_ascii) {
                Some(b"[DONE]") => return Ok(()),
                Some(event) => show(&piece(event)?),
                None => {}
            }
        }
    }
    Err(ApiError::ended_early()) // a part of the answer is missing
}

fn piece(event: &[u8]) -> Result<String, ApiError> {
    let Ok(value) = serde_json::from_slice::<Value>(event) else {
        return Err(ApiError::ended_early());
    };
    if value["error"].is_object() {
        let failed = ApiError::new(500, &Default::default(), event, SystemTime::now());
        return Err(failed); // after its 200
    }
    let text = value["choices"][0]["delta"]["content"].as_str();
    Ok(text.unwrap_or_default().to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (client, key) = (Client::new(), env::var("OPENAI_API_KEY")?);
    let post = || client.post(URL).bearer_auth(&key);
    let reply = answer(post(), "What is 2 + 2?").await?;
    println!("{}", reply["choices"][0]["message"]["content"]);
    Ok(stream(post(), "Count to ten.", |piece| print!("{piece}")).await?)
}
