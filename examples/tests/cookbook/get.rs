//! It waits as long as the server says.

use crate::scripted;
use reqwest::Client;
use support::{RESET, reply};
use tokio::time::Instant;

#[path = "../../cookbook/get.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod program;

#[tokio::test(start_paused = true)]
async fn each_hint_is_waited_for() {
    let server = scripted([
        reply(429, "retry-after: 40\r\n", ""),
        reply(503, "retry-after: 20\r\n", ""),
        RESET,
        reply(200, "", "page"),
    ]);
    let begin = Instant::now();
    let page = program::get(&Client::new(), &server.url("")).await;
    assert_eq!(page.unwrap(), "page");
    // After the reset the wait is the policy's: up to 4 s.
    let took = begin.elapsed().as_secs();
    assert!((60..=65).contains(&took), "{took}");
    // Two minutes are over before the server wants another attempt.
    let server = scripted([reply(503, "retry-after: 121\r\n", "")]);
    let begin = Instant::now();
    let error = program::get(&Client::new(), &server.url("")).await;
    assert_eq!(error.unwrap_err().status(), Some(503));
    assert!(begin.elapsed().as_secs() < 1);
}
