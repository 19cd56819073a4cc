use backoff_cloud::{Event, Policy, plain_http};
use std::{process::ExitCode, time::Duration};
use ureq::{Agent, Error};

const POLICY: Policy = plain_http::IDEMPOTENT.max_attempts(8).deadline(Duration::from_secs(60));

fn main() -> Result<ExitCode, Error> {
    let url = std::env::args().nth(1).expect("an address");
    let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
    let mut reply = POLICY
        .blocking_with(|attempt| {
            let limit = attempt.remaining().min(Duration::from_secs(10));
            agent.get(&url).config().timeout_global(Some(limit)).build().call()
        })
        .responses() // a 503 is a response here, with its `Retry-After`
        .notify(|event| match event {
            Event::Waiting { .. } => eprint!("\r\x1b[2K{event}"), // replaces the line
            _ => eprintln!(),
        })
        .call()?;
    println!("{}", reply.body_mut().read_to_string()?);
    Ok(if reply.status().is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
