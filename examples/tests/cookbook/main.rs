//! The programs of the cookbook, each against a server that fails. `s3.rs` is a test of its own.

#[cfg(feature = "cookbook")]
mod axum;
#[cfg(feature = "cookbook")]
mod jobs;
#[cfg(feature = "cookbook")]
mod progress;
#[cfg(feature = "cookbook")]
mod redis;
#[cfg(feature = "cookbook")]
mod sqlx;

mod get;
mod github;
mod hosts;
mod iam;
mod llm;
mod post_with_key;
mod tests_without_waiting;

use std::{collections::VecDeque, future::ready, sync::Mutex, time::Duration};
use support::{Act, CLOSE, Server};

/// How far the clock goes on while sockets have nothing to read.
const TICK: Duration = Duration::from_millis(10);

/// A server in the virtual time of the test that treats its requests so, one after the other.
fn scripted<const N: usize>(acts: [Act; N]) -> Server {
    let acts = Mutex::new(VecDeque::from(acts));
    Server::in_virtual_time(TICK, move |_| {
        let next = acts.lock().unwrap().pop_front();
        ready(next.unwrap_or(CLOSE))
    })
}
