//! The values and errors that replies become.

use crate::send::server::{Act, FAST, Server, client, reply};
use backoff_cloud::{
    Fault, FaultKind, Verdict,
    http::{self, ApiError, Limits, SendExt as _},
};
use flate2::{Compression, write::GzEncoder};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::Write as _;

/// The result of a `GET` that is answered like this.
async fn got<T: DeserializeOwned + 'static>(act: Act) -> Result<T, ApiError> {
    let server = Server::start([act]).await;
    let sending = FAST.max_attempts(1).send(client().get(server.url("a")));
    sending.json().await
}

#[tokio::test]
async fn an_empty_reply_is_nothing_or_a_unit() {
    for act in [
        reply(204, "", ""),
        reply(200, "", ""),
        reply(200, "", " \r\n"),
    ] {
        assert_eq!(got::<Option<Value>>(act.clone()).await.expect("none"), None);
        got::<()>(act.clone()).await.expect("a unit");
        let error = got::<Value>(act).await.expect_err("no JSON");
        assert_eq!(error.kind(), Some(FaultKind::Permanent), "{error}");
    }
    got::<()>(reply(200, "", "{}")).await.expect("a unit");
    let value: Option<u8> = got(reply(200, "", "7")).await.expect("a value");
    assert_eq!(value, Some(7));
    let full = got::<()>(reply(200, "", "{\"a\": 1}")).await;
    assert!(
        full.expect_err("not empty")
            .to_string()
            .contains("not the JSON")
    );
    // The function for a response of the caller's own does the same.
    let server = Server::start([reply(204, "", "")]).await;
    let response = client().delete(server.url("a")).send().await;
    http::json::<()>(response.expect("a reply"))
        .await
        .expect("a unit");
}

/// If a reply does not say where its body ends, an empty body may have been cut off.
#[tokio::test]
async fn an_empty_body_without_an_end_is_asked_for_again() {
    let endless = Act::Reply(b"HTTP/1.0 200 OK\r\n\r\n".to_vec());
    let server = Server::start([endless.clone(), reply(200, "", "7")]).await;
    let get = client().get(server.url("a"));
    let value: Option<u8> = FAST.send(get).json().await.expect("the second attempt");
    assert_eq!((value, server.requests()), (Some(7), 2));
    // A unit needs no body.
    got::<()>(endless).await.expect("a unit");
}

#[tokio::test]
async fn a_reply_has_status_headers_and_body() {
    let act = reply(201, "etag: \"e\"\r\n", "[1]");
    let server = Server::start([Act::BrokenStream, act]).await;
    let put = client().put(server.url("a")).body("x");
    let reply = FAST.send(put).await.expect("the second attempt");
    assert_eq!((reply.status(), reply.header("ETag")), (201, Some("\"e\"")));
    assert_eq!((reply.body(), reply.text().as_str()), (&b"[1]"[..], "[1]"));
    assert_eq!(reply.json::<Vec<u8>>().expect("a list"), [1]);
}

#[tokio::test]
async fn a_head_has_no_body_however_long_the_resource_is() {
    let length = "content-encoding: gzip\r\ncontent-length: 9999999999\r\n";
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{length}\r\n");
    let server = Server::start([Act::Reply(head.into_bytes())]).await;
    let head = FAST.send(client().head(server.url("a"))).await;
    let head = head.expect("a head");
    assert!(head.body().is_empty());
    let packed_nothing = reply(204, "content-encoding: gzip\r\n", "");
    got::<()>(packed_nothing).await.expect("a unit");
}

#[tokio::test]
async fn an_error_keeps_its_headers_and_shows_no_secret() {
    let headers = "x-request-id: 7\r\nset-cookie: SECRET\r\nset-cookie: SECRET2\r\n";
    let error = got::<Value>(reply(403, headers, "")).await;
    let error = error.expect_err("403");
    assert_eq!(error.header("X-Request-Id"), Some("7"));
    assert_eq!(
        error
            .headers()
            .expect("headers")
            .get_all("set-cookie")
            .iter()
            .count(),
        2
    );
    let shown = format!("{error} {error:?} {:?}", error.headers());
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[tokio::test]
async fn a_308_says_how_far_an_upload_is() {
    let server = Server::start([reply(308, "range: bytes=0-42\r\n", "")]).await;
    let ask = client().put(server.url("upload?upload_id=u"));
    let ask = ask.header("content-range", "bytes */100");
    let error = FAST.send(ask).await.expect_err("it is not complete");
    assert_eq!(
        (error.status(), error.header("range")),
        (Some(308), Some("bytes=0-42"))
    );
    assert_eq!(FAST.judge(&error), Verdict::Permanent);
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn redirects_are_followed_in_each_attempt() {
    let moved = reply(302, "location: /b\r\n", "");
    let acts = [
        moved.clone(),
        reply(503, "", ""),
        moved,
        reply(200, "", "[]"),
    ];
    let server = Server::start(acts).await;
    let get = client().get(server.url("a"));
    let list: Vec<u8> = FAST.send(get).json().await.expect("the second attempt");
    let lines: Vec<_> = server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(
        (list, lines),
        (
            vec![],
            ["GET /a", "GET /b"]
                .repeat(2)
                .iter()
                .map(ToString::to_string)
                .collect()
        )
    );
    // One that leads in a circle is no matter of patience.
    let circle = vec![reply(302, "location: /a\r\n", ""); 20];
    let server = Server::start(circle).await;
    let failed = FAST.send(client().get(server.url("a"))).await;
    assert_eq!(
        failed.expect_err("a circle").kind(),
        Some(FaultKind::Permanent)
    );
}

fn packed(body: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body.as_bytes()).expect("it is memory");
    encoder.finish().expect("it is memory")
}

#[tokio::test]
async fn a_packed_reply_is_unpacked_and_half_of_one_is_asked_for_again() {
    let body = packed(&json!({ "name": "x".repeat(5_000) }).to_string());
    let encoding = "content-encoding: gzip\r\n";
    let (half, _) = body.split_at(body.len() / 2);
    let server = Server::start([reply(200, encoding, half), reply(200, encoding, &body)]).await;
    let get = client().get(server.url("a"));
    let value: Value = FAST.send(get).json().await.expect("the second attempt");
    assert_eq!(
        (value["name"].as_str().map(str::len), server.requests()),
        (Some(5_000), 2)
    );
    let bomb = packed(&"x".repeat(100_000));
    let server = Server::start([reply(200, encoding, &bomb)]).await;
    let sending = FAST.send(client().get(server.url("a")));
    let error = sending.limits(Limits::new().body(1_000)).bytes().await;
    assert!(
        error
            .expect_err("too long")
            .to_string()
            .contains("longer than 1000 bytes")
    );
}
