//! A page from a server that fails twice.

#[allow(dead_code, reason = "the test has no use for `main`")]
#[path = "../../cookbook/progress.rs"]
mod program;

use backoff_cloud::testing;
use support::{Server, broken, reply};

#[test]
fn one_line_shows_each_wait_until_the_page_is_there() {
    let _instant = testing::instant();
    let server = Server::start([reply(503, "retry-after: 7\r\n", ""), broken()]);
    let mut progress = Vec::new();
    let text = program::text(&program::agent(), &server.url(""), &mut progress).unwrap();
    assert_eq!(text, "{}");

    let progress = String::from_utf8(progress).unwrap();
    let lines: Vec<_> = progress.split("\r\x1b[2K").collect();
    // `instant` leaves the seven seconds out.
    assert_eq!(
        lines[..2],
        ["", "attempt 1 of 8 failed, next in 0ns: HTTP 503"]
    );
    assert!(lines[2].starts_with("attempt 2 of 8 failed, next in 0ns: io: "));
    assert!(lines.len() == 3 && progress.ends_with('\n'), "{progress:?}");
}
