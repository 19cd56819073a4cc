use backoff_cloud::{plain_http, retry};
use std::time::Duration;
use ureq::{Agent, Error};

#[retry(policy = plain_http::IDEMPOTENT, deadline = "60s", attempt = n)]
fn text(agent: &Agent, url: &str) -> Result<String, Error> {
    let limit = n.remaining().min(Duration::from_secs(10));
    let mut reply = agent.get(url).config().timeout_global(Some(limit)).build().call()?;
    reply.body_mut().read_to_string()
}
