//! Redirects that the client follows.

use crate::send::server::{Act, FAST, Server, client, reply};
use backoff_cloud::{Delivery, Fault as _, StopReason, http::SendExt as _};
use reqwest::{Client, redirect, retry};
use serde_json::Value;

/// A reply that sends the client to another URL.
fn redirect_to(status: u16, url: &str) -> Act {
    reply(status, &format!("location: {url}\r\n"), "")
}

/// Replies by which a server says that it did nothing.
fn refusals() -> [Act; 4] {
    [
        reply(408, "", ""),
        reply(425, "", ""),
        reply(429, "", ""),
        reply(503, "x-ms-error-code: ServerBusy\r\n", ""),
    ]
}

/// The server that was asked may have applied the request before it sent the client elsewhere.
#[tokio::test]
async fn a_post_is_not_made_twice_because_the_next_server_did_nothing() {
    let policy = FAST.also_on(backoff_cloud::codes![408, 425]);
    for status in [301, 302, 303] {
        for refusal in refusals() {
            let next = Server::start([refusal]).await;
            let server = Server::start([redirect_to(status, &next.url("done"))]).await;
            let post = client().post(server.url("orders")).body("x");
            let failed = policy.send(post).reply().reported().await;
            let failed = failed.expect_err("the next server refuses");
            assert_eq!(failed.reason, StopReason::MaybeApplied, "{failed}");
            assert_eq!(failed.error.delivery(), Some(Delivery::MaybeSent));
            assert_eq!((server.requests(), next.requests()), (1, 1));
        }
    }
}

#[tokio::test]
async fn nor_because_of_an_error_in_the_body_of_the_next_servers_success() {
    let next = Server::start([reply(200, "", r#"{"error": {"code": 429}}"#)]).await;
    let server = Server::start([redirect_to(303, &next.url("done"))]).await;
    let post = FAST.send(client().post(server.url("orders")).body("x"));
    let failed = post.json::<Value>().reported().await.expect_err("429");
    assert_eq!(failed.reason, StopReason::MaybeApplied);
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn what_may_be_made_twice_is_made_again_through_the_redirect() {
    for idempotent in [None, Some(true)] {
        let next = Server::start([reply(429, "", "")]).await;
        let redirect = redirect_to(302, &next.url("page"));
        let server = Server::start([redirect.clone(), redirect]).await;
        let url = server.url("a");
        let sending = match idempotent {
            None => FAST.send(client().get(url)),
            Some(said) => FAST.send(client().post(url)).idempotent(said),
        };
        sending.await.expect("the second attempt");
        assert_eq!((server.requests(), next.requests()), (2, 2));
    }
}

/// The URL of the response is compared with that of the request, however that is written.
#[tokio::test]
async fn without_a_redirect_a_throttled_post_is_made_again() {
    let paths = [
        "a",
        "a#part",
        "a%2Fb?x=%20y&z={}|^`\"'",
        "\u{e4}/..//b?\u{e4}=[1]#\u{e4}",
        "",
        "?",
        "a?",
    ];
    for path in paths {
        for user in ["", "ann:pw@"] {
            let server = Server::start([reply(429, "", "")]).await;
            let url = server.url(path).replacen("//", &format!("//{user}"), 1);
            FAST.send(client().post(&url)).await.expect(&url);
            assert_eq!(server.requests(), 2, "{url}");
        }
    }
}

#[tokio::test]
async fn a_client_that_follows_none_gives_the_redirect_as_the_error() {
    let next = Server::start([]).await;
    let to = next.url("done");
    let server = Server::start([redirect_to(303, &to)]).await;
    let builder = Client::builder().retry(retry::never());
    let client = builder.redirect(redirect::Policy::none()).build();
    let post = client.expect("a client").post(server.url("orders"));
    let error = FAST.send(post).await.expect_err("a redirect");
    assert_eq!(
        (error.status(), error.header("location")),
        (Some(303), Some(&to[..]))
    );
    assert_eq!((server.requests(), next.requests()), (1, 0));
}
