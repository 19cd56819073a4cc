//! Redirects that the client follows.

use crate::{
    send::{
        client_012,
        forms::{Form, POST, SENDS},
    },
    server::{Act, FAST, Server, builder, client, reply},
};
use backoff_cloud::{
    Delivery, Fault as _, StopReason,
    http::{Outgoing, SendExt as _},
};
use serde_json::Value;

/// A reply that sends the client to another URL.
fn redirect_to(status: u16, url: &str) -> Act {
    reply(status, &format!("location: {url}\r\n"), "")
}

/// The server that was asked may have applied the request before it sent the client elsewhere, so what the
/// next server says does not count.
#[tokio::test]
async fn a_post_is_not_made_twice_because_the_next_server_did_nothing() {
    let policy = FAST.also_on(backoff_cloud::codes![408, 425]);
    for refusal in [
        reply(408, "", ""),
        reply(425, "", ""),
        reply(429, "", ""),
        reply(503, "x-ms-error-code: ServerBusy\r\n", ""),
        reply(200, "", r#"{"error": {"code": 429}}"#),
    ] {
        for status in [301, 302, 303] {
            let next = Server::start([refusal.clone(), refusal.clone()]);
            let redirect = redirect_to(status, &next.url("done"));
            let server = Server::always(redirect);
            let url = server.url("orders");
            let posts: [Outgoing; 2] = [
                client().post(&url).body("x").into(),
                client_012().post(&url).body("x").into(),
            ];
            for post in posts {
                let failed = policy.send(post).json::<Value>().reported().await;
                let failed = failed.expect_err("the next server refuses");
                assert_eq!(failed.reason, StopReason::MaybeApplied, "{failed}");
                assert_eq!(failed.error.delivery(), Some(Delivery::MaybeSent));
            }
            assert_eq!((server.requests(), next.requests()), (2, 2));
        }
    }
}

#[tokio::test]
async fn what_may_be_made_twice_is_made_again_through_the_redirect() {
    for (method, word) in [("GET", None), ("POST", Some(true))] {
        for form in SENDS {
            let next = Server::start([reply(429, "", "")]);
            let server = Server::always(redirect_to(302, &next.url("page")));
            let mut request = POST;
            (request.method, request.word) = (method, word);
            assert_eq!(form.call(request, &server.url("a")).await, None);
            assert_eq!((server.requests(), next.requests()), (2, 2), "{form:?}");
        }
    }
}

/// The URL of the response is compared with that of the request, however that is written.
#[tokio::test]
async fn without_a_redirect_a_throttled_post_is_made_again() {
    for path in [
        "a",
        "a#part",
        "a%2Fb?x=%20y&z={}|^`\"'",
        "\u{e4}/..//b?\u{e4}=[1]#\u{e4}",
        "",
        "?",
        "a?",
    ] {
        for user in ["", "ann:pw@"] {
            for form in [Form::Send, Form::Send012] {
                let server = Server::start([reply(429, "", "")]);
                let url = server.url(path).replacen("//", &format!("//{user}"), 1);
                assert_eq!(form.call(POST, &url).await, None, "{url}");
                assert_eq!(server.requests(), 2, "{url}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_follows_none_gives_the_redirect_as_the_error() {
    let next = Server::start([]);
    let to = next.url("done");
    let server = Server::start([redirect_to(303, &to)]);
    let client = builder().redirect(reqwest::redirect::Policy::none());
    let client = client.build().expect("a client");
    let post = client.post(server.url("orders"));
    let error = FAST.send(post).await.expect_err("a redirect");
    let said = (error.status(), error.header("location"));
    assert_eq!(said, (Some(303), Some(&to[..])));
    assert_eq!((server.requests(), next.requests()), (1, 0));
}

#[tokio::test]
async fn a_redirect_is_followed_in_each_attempt_but_not_in_a_circle() {
    let moved = reply(302, "location: /b\r\n", "");
    let (busy, list) = (reply(503, "", ""), reply(200, "", "[]"));
    let server = Server::start([moved.clone(), busy, moved, list]);
    let get = client().get(server.url("a"));
    let list: Vec<u8> = FAST.send(get).json().await.expect("the second attempt");
    let lines: Vec<_> = server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines, ["GET /a", "GET /b", "GET /a", "GET /b"]);
    assert!(list.is_empty());
    let circle = Server::always(redirect_to(302, "/a"));
    let failed = FAST.send(client().get(circle.url("a"))).await;
    let kind = failed.expect_err("a circle").kind();
    assert_eq!(kind, Some(backoff_cloud::FaultKind::Permanent));
}
