use backoff_cloud::{FaultKind, Rate, http::ApiError, openai};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use std::{env, error::Error};
use tokio::task::JoinSet;

static RATE: Rate = Rate::new().name("openai");
const MAX_TOKENS: u32 = 200; // of an answer

#[derive(Clone)]
pub struct Llm { pub client: Client, pub url: String, pub key: String }

impl Llm {
    /// A request, and how many tokens it uses at most. About three bytes of a prompt are a token.
    fn ask(&self, prompt: &str, stream: bool) -> (RequestBuilder, u32) {
        let messages = json!([{"role": "user", "content": prompt}]);
        let body = json!({"model": "gpt-5-mini", "messages": messages,
            "max_completion_tokens": MAX_TOKENS, "stream": stream});
        let ask = self.client.post(&self.url).bearer_auth(&self.key);
        let ask = ask.header("content-type", "application/json").body(body.to_string());
        (ask, prompt.len() as u32 / 3 + MAX_TOKENS)
    }

    pub async fn answer(self, prompt: String) -> (String, Result<Value, ApiError>) {
        let (ask, tokens) = self.ask(&prompt, false);
        (prompt, openai::send(ask).json().rate(&RATE).tokens(tokens).await)
    }

    /// Answers the prompts, so many at a time. Ends early if no money is left.
    pub async fn batch(
        &self, prompts: Vec<String>, at_a_time: usize,
    ) -> Result<Vec<(String, Result<Value, ApiError>)>, ApiError> {
        let (mut prompts, mut running, mut answers) = (prompts.into_iter(), JoinSet::new(), Vec::new());
        loop {
            while running.len() < at_a_time && let Some(prompt) = prompts.next() {
                running.spawn(self.clone().answer(prompt));
            }
            match running.join_next().await.map(|answer| answer.expect("no panic")) {
                // Each further request would fail, too. Without `running`, nobody makes one.
                Some((_, Err(error)))
                    if error.service_code().and_then(openai::kind) == Some(FaultKind::Permanent) => return Err(error),
                Some(answer) => answers.push(answer),
                None => return Ok(answers),
            }
        }
    }

    /// Hands each piece of an answer on as soon as it comes.
    pub async fn stream(&self, prompt: &str, mut show: impl FnMut(&str)) -> Result<(), ApiError> {
        let (ask, tokens) = self.ask(prompt, true);
        let mut events = openai::send(ask).open().rate(&RATE).tokens(tokens).await?.events();
        while let Some(event) = events.next().await? {
            if let Some(kind) = openai::event_kind(&event) {
                return Err(event.to_error(kind)); // the service failed after its 200
            }
            if openai::ends_stream(&event) {
                return Ok(());
            }
            let piece: Value = event.json()?;
            show(piece["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        }
        Err(ApiError::ended_early()) // a part of the answer is missing
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = "https://api.openai.com/v1/chat/completions".to_owned();
    let llm = Llm { client: Client::new(), url, key: env::var("OPENAI_API_KEY")? };
    for (prompt, answer) in llm.batch(env::args().skip(1).collect(), 20).await? {
        println!("{prompt}\n{}", answer?["choices"][0]["message"]["content"]);
    }
    Ok(llm.stream("Say goodbye.", |piece| print!("{piece}")).await?)
}
