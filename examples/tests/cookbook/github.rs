//! A limit stops all calls until it is refilled.

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
    let quota = |left| {
        let limit = "x-ratelimit-limit: 60";
        format!("{limit}\r\nx-ratelimit-remaining: {left}\r\nx-ratelimit-reset: {ends}\r\n")
    };
    let secondary = r#"{"message": "You have exceeded a secondary rate limit."}"#;
    let stars = r#"{"stargazers_count": 7}"#;
    let server = scripted([
        reply(403, "", secondary),
        reply(200, &quota(1), stars),
        reply(200, &quota(0), stars),
        reply(200, "", stars),
    ]);
    let api = format!("http://{}", server.address);
    let github = program::GitHub::new(api, "token".to_owned());
    // Rows: how long a call takes at least and at most. The replies name the end of the window.
    for (least, most) in [(60, 90), (0, 30), (900, 1_100)] {
        let begin = Instant::now();
        assert_eq!(github.stars("o/r").await.unwrap(), Some(7));
        let took = begin.elapsed().as_secs();
        assert!((least..=most).contains(&took), "{took}");
    }
    assert_eq!(server.requests(), 4);
}
