//! Requests of reqwest 0.12, sent in the same way.

use crate::server::{Act, FAST, Server, bytes, reply};
use backoff_cloud::{
    Delivery, Fault, StopReason,
    http::{ApiError, Limits, SendExt as _},
    storage,
};
use reqwest_012::{Body, Client};
use serde_json::{Value, json};

fn client() -> Client {
    let builder = Client::builder().retry(reqwest_012::retry::never());
    builder.build().expect("a client")
}

#[tokio::test]
async fn a_reply_that_is_cut_is_asked_for_again() {
    let whole = bytes(200, "etag: e\r\n", br#"{"name": "x"}"#);
    let acts = [
        Act::Reset,
        Act::BrokenStream,
        reply(503, "retry-after-ms: 20\r\n", ""),
        Act::Reply(whole),
    ];
    let server = Server::start(acts).await;
    let put = client().put(server.url("a?b=c")).body("x").header("a", "b");
    let reply = FAST.send(put).await.expect("the fourth attempt");
    assert_eq!((reply.status(), reply.header("etag")), (200, Some("e")));
    assert_eq!(reply.json::<Value>().expect("JSON"), json!({ "name": "x" }));
    for seen in server.seen() {
        assert_eq!(seen.line, "PUT /a?b=c");
        assert_eq!((seen.header("a"), &seen.body[..]), (Some("b"), &b"x"[..]));
    }
}

#[tokio::test]
async fn a_post_is_repeated_with_a_key_alone() {
    for (has_key, requests) in [(false, 1), (true, 2)] {
        let server = Server::start([Act::BrokenStream]).await;
        let post = FAST.send(client().post(server.url("a")).body("x"));
        let post = if has_key {
            post.idempotency_key()
        } else {
            post
        };
        assert_eq!(post.await.is_ok(), has_key);
        assert_eq!(server.requests(), requests);
    }
}

#[tokio::test]
async fn an_error_says_as_much() {
    let server = Server::start([reply(403, "x-request-id: 7\r\n", "no")]).await;
    let error = FAST.send(client().get(server.url("a"))).await;
    let error = error.expect_err("403");
    assert_eq!(error.to_string(), "HTTP 403: no");
    assert_eq!(error.header("x-request-id"), Some("7"));
    let limits = Limits::new().body(1);
    let get = client().get(server.url("a"));
    let error = FAST.send(get).limits(limits).await.expect_err("too long");
    assert!(error.to_string().contains("longer than 1 bytes"), "{error}");

    let refused = server.url("a?key=SECRET");
    drop(server);
    let error = FAST.send(client().get(refused)).await.expect_err("refused");
    assert_eq!(error.delivery(), Some(Delivery::NotSent));
    assert!(error.to_string().contains("refused") && !format!("{error:?}").contains("SECRET"));
    let source = std::error::Error::source(&error).expect("the client's error");
    assert!(source.is::<reqwest_012::Error>());
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    let server = Server::start([]).await;
    let stream = Body::wrap(http_body_util::Full::new(&b"x"[..]));
    let of_a_stream = client().put(server.url("a")).body(stream);
    for request in [of_a_stream, client().get("no url")] {
        let error: ApiError = FAST.send(request).await.expect_err("refused");
        assert!(
            error.to_string().starts_with("nothing was sent: "),
            "{error}"
        );
    }
    assert_eq!(server.requests(), 0);
}

/// A rule is shown the method, the URL, the headers and the body.
#[tokio::test]
async fn a_rule_sees_the_request() {
    for (body, requests) in [(r#"{"etag": "CAE="}"#, 2), ("{}", 1)] {
        let server = Server::start([Act::Reset]).await;
        let put = client().put(server.url("storage/v1/b/b1/iam")).body(body);
        let sending = FAST.send(put).idempotent_if(storage::is_idempotent);
        let outcome = sending.reply().reported().await;
        assert_eq!(server.requests(), requests);
        if let Err(failed) = outcome {
            assert_eq!(failed.reason, StopReason::MaybeApplied);
        }
    }
}
