use backoff_cloud::{Event, Fault, plain_http, retry};
use std::io::{IsTerminal as _, stderr};
use std::time::Duration;
use ureq::Agent;

#[derive(Debug, thiserror::Error, Fault)]
enum Error {
    #[error("HTTP {status}")]
    Status {
        #[fault(status)]
        status: u16,
        #[fault(retry_after)]
        wait: Option<Duration>,
    },
    /// No reply came, or its body was cut.
    #[error(transparent)]
    #[fault(forward)]
    Ureq(#[from] ureq::Error),
}

#[retry(policy = plain_http::IDEMPOTENT, max_attempts = 8, deadline = "60s", attempt = n, notify = show)]
fn text(agent: &Agent, url: &str) -> Result<String, Error> {
    let limit = n.remaining().min(Duration::from_secs(10)); // for the head and the body
    let mut reply = agent.get(url).config().timeout_global(Some(limit)).build().call()?;
    let status = reply.status().as_u16();
    if status >= 400 {
        return Err(Error::Status { status, wait: reply.retry_after() }); // reads the headers
    }
    Ok(reply.body_mut().read_to_string()?)
}

fn show(event: &Event<'_, Error>) {
    match event {
        _ if !stderr().is_terminal() => {}
        Event::Waiting { .. } => eprint!("\r\x1b[2K{event}"), // replaces the line
        _ => eprintln!(),
    }
}

fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1).expect("an address");
    // Otherwise a status is an error of ureq, which has no headers.
    let agent = Agent::config_builder().http_status_as_error(false).build().new_agent();
    println!("{}", text(&agent, &url)?);
    Ok(())
}
