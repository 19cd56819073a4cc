//! Requests of reqwest 0.12, sent in the same way.

use crate::clients::server::nobody;
use crate::send::server::{Act, FAST, Server, bytes, reply};
use backoff_cloud::{
    Delivery, Fault, StopReason,
    http::{ApiError, Limits, SendExt as _},
    storage,
};
use reqwest_012::{Body, Client, ClientBuilder, retry::never};
use serde_json::{Value, json};
use std::time::Duration;

fn client() -> Client {
    let builder = Client::builder().retry(never());
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

/// Half a body comes, and the client ends the wait.
#[tokio::test]
async fn a_reply_that_stalls_is_asked_for_again() {
    let time = Duration::from_millis(500);
    // On a slow machine a good answer may be late too.
    let policy = FAST.max_attempts(120);
    let of_a_client = |builder: ClientBuilder| builder.retry(never()).build().expect("a client");
    for client in [
        of_a_client(Client::builder().timeout(time)),
        of_a_client(Client::builder().read_timeout(time)),
    ] {
        let server = Server::start([Act::StallInBody]).await;
        let get = policy.send(client.get(server.url("a"))).reply();
        let (_, report) = get.reported().await.expect("a later attempt");
        assert!(report.attempts >= 2, "{report}");

        let server = Server::start([Act::StallInBody]).await;
        let post = policy.send(client.post(server.url("a"))).reply();
        let failed = post.reported().await.expect_err("it may have been applied");
        assert_eq!(failed.reason, StopReason::MaybeApplied);
        assert_eq!(failed.error.delivery(), Some(Delivery::MaybeSent));
    }
}

#[tokio::test]
async fn a_post_is_not_made_twice_because_the_next_server_did_nothing() {
    let next = Server::start([reply(429, "", "")]).await;
    let location = format!("location: {}\r\n", next.url("done"));
    let server = Server::start([reply(303, &location, "")]).await;
    let post = FAST.send(client().post(server.url("orders")).body("x"));
    let failed = post.reply().reported().await.expect_err("429");
    assert_eq!(failed.reason, StopReason::MaybeApplied);
    assert_eq!((server.requests(), next.requests()), (1, 1));

    let server = Server::start([reply(429, "", "")]).await;
    let post = client().post(server.url("orders?a=b#c")).body("x");
    FAST.send(post).await.expect("the second attempt");
}

/// Only a rule of the caller looks at the body, and is given a copy.
#[tokio::test]
async fn a_long_body_is_not_copied_to_find_out_what_may_be_repeated() {
    const LONG: usize = 8 << 20;
    let client = client();
    let put = || client.put("http://127.0.0.1:9/a").body(vec![b'x'; LONG]);
    let (plain, ruled) = (FAST.send(put()), FAST.send(put()));
    let bytes = |prepare: &mut dyn FnMut()| allocation_counter::measure(prepare).bytes_total;
    let (mut plain, mut ruled) = (Some(plain), Some(ruled));
    let copied = bytes(&mut || drop(plain.take().map(|sending| sending.reply())));
    assert!(copied < LONG as u64 / 8, "{copied}");
    let rule = storage::is_idempotent;
    let copied = bytes(&mut || drop(ruled.take().map(|it| it.idempotent_if(rule).reply())));
    assert!(copied >= LONG as u64, "{copied}");
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

    let refused = format!("http://{}/a?key=SECRET", nobody());
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
