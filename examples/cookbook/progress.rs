//! A command-line program without async. One line shows what it waits for.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", default-features = false, features = ["macros", "std", "ureq-3"] }
//! thiserror = "2"
//! ureq = "3"
//! ```

use backoff_cloud::{Event, Fault, plain_http, retry};
use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;
use ureq::Agent;

#[derive(Debug, thiserror::Error, Fault)]
pub(crate) enum Error {
    #[error("HTTP {0}")]
    Status(#[fault(status)] u16, #[fault(retry_after)] Option<Duration>),
    /// No reply came, or its body was cut.
    #[error(transparent)]
    #[fault(forward)]
    Ureq(#[from] ureq::Error),
}

#[retry(policy = plain_http::IDEMPOTENT, max_attempts = 8, deadline = "60s", attempt = n,
    notify = |event| show(progress, event))]
pub(crate) fn text(agent: &Agent, url: &str, progress: &mut dyn Write) -> Result<String, Error> {
    let limit = n.remaining().min(Duration::from_secs(10)); // for the head and the body
    let request = agent.get(url).config().timeout_global(Some(limit)).build();
    let mut reply = request.call()?;
    match reply.status().as_u16() {
        200..400 => Ok(reply.body_mut().read_to_string()?),
        status => Err(Error::Status(status, reply.retry_after())), // reads the headers
    }
}

fn show(progress: &mut dyn Write, event: &Event<'_, Error>) {
    let _ = match event {
        Event::Waiting { .. } => write!(progress, "\r\x1b[2K{event}"), // replaces the line
        _ => writeln!(progress),
    };
}

/// Its statuses are no errors: an error of ureq has no headers.
pub(crate) fn agent() -> Agent {
    let config = Agent::config_builder().http_status_as_error(false);
    config.build().new_agent()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: progress URL")?;
    let mut progress: Box<dyn Write> = match io::stderr() {
        terminal if terminal.is_terminal() => Box::new(terminal),
        _ => Box::new(io::sink()),
    };
    println!("{}", text(&agent(), &url, &mut progress)?);
    Ok(())
}
