//! Replies to `iam::Rest` that are successes but contain no policy.

use crate::{
    iam::rest,
    server::{client, reply, scaled, serve},
};
use backoff_cloud::{
    Fault as _,
    http::Limits,
    iam::{self, PlainPolicy, PolicyStore as _, Rest},
};
use emulator::{Call, Emulator, Reply};
use std::time::Duration;

const MEMBER: &str = "user:ann@example.com";

/// A page of a proxy in place of the reply to a write that was applied.
#[tokio::test]
async fn a_write_that_is_answered_by_a_page_is_read_again() {
    let emulator = Emulator::start().expect("a port on loopback");
    let page = Reply::status(200).html().applied();
    emulator.script(Call::SetIamPolicy, [page]);
    let rest = rest(&emulator);
    let policy = scaled(iam::READ_MODIFY_WRITE, 0.001);
    let change = iam::add(&rest, "projects/p", "roles/viewer", MEMBER).policy(policy);
    let (updated, report) = change.reported().await.expect("it is there");
    assert!(!updated.is_written());
    assert_eq!((report.reads, report.writes), (2, 1));
    assert_eq!(emulator.stats().writes, 1);
}

#[tokio::test]
async fn a_write_that_is_answered_by_a_success_without_a_policy_shows_none() {
    let page = "<html><head><title>Busy</title></head></html>".to_owned();
    let message = "x".repeat(50);
    let error = format!(r#"{{"x": 1, "error": {{"message": "{message}"}}}}"#);
    let long = format!(r#"{{"etag": "a", "x": "{}"}}"#, "x".repeat(200));
    let limits = Limits::new().body(200).error_body(20);
    for body in [page, error, long] {
        let server = serve(reply(200, "", &body));
        let rest = Rest::new(client(), format!("http://{server}")).limits(limits);
        let written = rest.set("projects/p", PlainPolicy::default()).await;
        let written = written.expect("a success");
        assert_eq!(written, PlainPolicy::default(), "{body}");
        // A read that shows no policy failed.
        let read = rest.get("projects/p").await;
        read.expect_err("no policy");
    }
}

#[tokio::test]
async fn an_error_beside_other_fields_is_read_within_the_limits() {
    let message = "x".repeat(50);
    let body = format!(r#"{{"x": 1, "error": {{"message": "{message}", "code": 503}}}}"#);
    let server = serve(reply(200, "retry-after: 3\r\n", body));
    let limits = Limits::new().error_body(40);
    let rest = Rest::new(client(), format!("http://{server}")).limits(limits);
    let error = rest.get("projects/p").await.expect_err("an error inside");
    let said = (error.status(), error.retry_after());
    assert_eq!(said, (Some(503), Some(Duration::from_secs(3))));
    let shown = error.to_string();
    let cut = "HTTP 503, but its body was cut: it is longer than 40 bytes: ";
    assert!(shown.starts_with(cut), "{shown}");
    assert!(!shown.contains(&message), "{shown}");
}
