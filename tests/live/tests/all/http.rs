//! What a reply, or the lack of one, becomes in `backoff_cloud::http`: made on a real socket.

use crate::server::{
    Act, CLOSE, End, MAYBE_SENT, NOT_SENT, NOTHING, RESET,
    Repeated::{Always, IfIdempotent, Never},
    STALL, assert_row, broken, builder, client, head, nobody, raw, reply, serve, status,
};
use backoff_cloud::{
    GrpcCode,
    http::{self, ApiError},
};
use serde_json::Value;
use std::fmt::Display;

async fn get(host: impl Display) -> Result<Value, ApiError> {
    http::json(client().get(format!("http://{host}/")).send().await?).await
}

/// What a read fails of that is answered like this.
async fn said(act: Act) -> ApiError {
    let client = builder().timeout(act.patience()).build();
    let get = client
        .expect("a client")
        .get(format!("http://{}/", serve(act)));
    let read = async { http::json::<Value>(get.send().await?).await };
    read.await.expect_err("an error")
}

/// An error as Google's services write it.
fn google(code: u16, name: &str, headers: &str) -> Act {
    let body = format!(r#"{{"error": {{"code": {code}, "status": "{name}", "message": "m"}}}}"#);
    reply(code, headers, body)
}

/// What the bodies of errors say are rows of `backoff-cloud/src/http/body.rs`.
#[tokio::test]
async fn what_a_reply_becomes() {
    let html = |status| reply(status, "content-type: text/html\r\n", "<h1>Busy</h1>");
    let cut = |status: u16, body| {
        let first = format!("{status} No\r\nretry-after: 3\r\ncontent-length: 100");
        head(first, body)
    };
    let half = r#"{"error": {"code": 4"#;
    let half_a_conflict = cut(409, r#"{"error": {"status": "ALREADY_EXISTS", "#);
    let slow = google(429, "RESOURCE_EXHAUSTED", "retry-after: 7\r\n");
    let throttled = status(429).code(GrpcCode::ResourceExhausted).after(7_000);
    let aborted = status(409).code(GrpcCode::Aborted);
    let inside = r#"{"error": {"code": 409, "status": "ABORTED", "message": "again"}}"#;
    let inside = reply(200, "retry-after: 2\r\n", inside);
    let exists = google(409, "ALREADY_EXISTS", "");
    // The longer hint counts.
    let info = r#"{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}"#;
    let info = format!(r#"{{"error": {{"code": 503, "details": [{info}]}}}}"#);
    let two_hints = reply(503, "retry-after: 2\r\n", info);
    // HTTP does not say where this body ends, so only its text shows that it ended too early.
    let endless = raw("HTTP/1.0 200 OK\r\n\r\n{\"etag\": ");
    let broken_then_stalled = broken().then(End::Stall);
    let lost = [RESET, CLOSE, STALL, broken(), broken_then_stalled, endless];
    let lost = lost.map(|act| (act, MAYBE_SENT, IfIdempotent, ""));
    // A `POST` that is answered by nothing has been made; to make it again would do it twice.
    let answered = [
        reply(204, "", ""),
        reply(200, "", ""),
        reply(200, "", "}"),
        html(200),
    ];
    let answered = answered.map(|act| (act, NOTHING, Never, ""));
    let named = [
        (html(502), status(502), IfIdempotent, "HTTP 502: <"),
        (
            two_hints,
            status(503).after(3_500),
            IfIdempotent,
            "HTTP 503",
        ),
        (slow, throttled, Always, "HTTP 429 RESOURCE_EXHAUSTED: m"),
        (
            inside,
            aborted.after(2_000),
            Always,
            "HTTP 409 ABORTED: again",
        ),
        // The missing part may say `ABORTED`.
        (
            half_a_conflict,
            aborted.after(3_000),
            Always,
            "HTTP 409, but",
        ),
        (html(409), status(409), Never, "HTTP 409: <"),
        (
            exists,
            status(409).code(GrpcCode::AlreadyExists),
            Never,
            "HTTP 409 ",
        ),
        (
            cut(404, half),
            status(404).after(3_000),
            Never,
            "HTTP 404, but",
        ),
    ];
    for (act, facts, repeated, beginning) in lost.into_iter().chain(answered).chain(named) {
        let (row, error) = (format!("{act:?}"), said(act).await);
        let shown = error.to_string();
        assert!(shown.starts_with(beginning), "{row}: {shown}");
        assert_row(&row, error, facts, repeated);
    }
    let error = get(nobody()).await.expect_err("nobody listens");
    assert!(error.to_string().contains("refused"), "{error}");
    assert_row("refused", error, NOT_SENT, Always);
}

#[tokio::test]
async fn a_success_is_a_value_or_the_response_as_it_came() {
    let operation = r#"{"name": "operations/1", "done": true, "error": {"code": 5}}"#;
    let server = serve(reply(200, "content-type: application/json\r\n", operation));
    let value = get(server).await.expect("a value");
    assert_eq!(value["error"]["code"], 5);
    let response = client().get(format!("http://{server}/")).send().await;
    let response = http::check(response.expect("a response")).await;
    let mut response = response.expect("a success");
    assert!(response.headers().contains_key("content-type"));
    // Nobody has read the body.
    let body = response.chunk().await.expect("a body").expect("a chunk");
    assert!(body.starts_with(b"{"), "{body:?}");
    let busy = serve(google(429, "RESOURCE_EXHAUSTED", "retry-after: 7\r\n"));
    let response = client().get(format!("http://{busy}/")).send().await;
    let error = http::check(response.expect("a response")).await;
    let facts = status(429).code(GrpcCode::ResourceExhausted).after(7_000);
    assert_row("checked", error.expect_err("the failure"), facts, Always);
}
