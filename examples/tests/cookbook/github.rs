//! A limit stops all calls until it is refilled. `tests/live` has a batch under both limits.

use crate::scripted;
use std::time::{Duration, SystemTime};
use support::reply;
use tokio::time::Instant;

#[path = "../../cookbook/github.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod program;

#[tokio::test(start_paused = true)]
async fn both_limits_are_waited_for() {
    let ends = SystemTime::now() + Duration::from_secs(1_000);
    let ends = ends
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let used_up = format!(
        "x-ratelimit-limit: 60\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: {ends}\r\n"
    );
    let secondary = r#"{"message": "You have exceeded a secondary rate limit."}"#;
    let stars = r#"{"stargazers_count": 7}"#;
    let server = scripted([
        reply(403, "", secondary),
        reply(200, &used_up, stars),
        reply(200, "", stars),
    ]);
    let (github, begin) = (
        program::GitHub::new(format!("http://{}", server.address), "token".to_owned()),
        Instant::now(),
    );
    assert_eq!(github.stars("o/r").await.unwrap(), 7);
    let took = begin.elapsed().as_secs();
    assert!((60..=70).contains(&took), "{took}");
    // The reply has named the end of the window.
    assert_eq!(github.stars("o/r").await.unwrap(), 7);
    let took = begin.elapsed().as_secs() - took;
    assert!((900..=1_100).contains(&took), "{took}");
    assert_eq!(server.requests(), 3);
}
