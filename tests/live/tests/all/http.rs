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

fn retry_info(delay: &str, headers: &str) -> Act {
    let info = format!(
        r#"{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "{delay}"}}"#
    );
    let body = format!(r#"{{"error": {{"code": 503, "details": [{info}]}}}}"#);
    reply(503, headers, body)
}

#[tokio::test]
async fn what_a_reply_becomes() {
    let html = |status| reply(status, "content-type: text/html\r\n", "<h1>Busy</h1>");
    let inside = |body: &str| reply(200, "retry-after: 2\r\n", format!(r#"{{"error": {body}}}"#));
    let conflict = inside(r#"{"code": 409, "status": "ABORTED", "message": "again"}"#);
    let cut = |status: u16, body| {
        let first = format!("{status} No\r\nretry-after: 3\r\ncontent-length: 100");
        head(first, body)
    };
    let half = r#"{"error": {"code": 4"#;
    let half_a_conflict = cut(409, r#"{"error": {"status": "ALREADY_EXISTS", "#);
    let seven = "retry-after: 7\r\n";
    let slow = google(429, "RESOURCE_EXHAUSTED", seven);
    let throttled = status(429).code(GrpcCode::ResourceExhausted).after(7_000);
    let aborted = status(409).code(GrpcCode::Aborted);
    let exists = status(409).code(GrpcCode::AlreadyExists);
    let unavailable = status(200).code(GrpcCode::Unavailable).after(2_000);
    let (busy, info) = (status(503), retry_info("3.5s", ""));
    // The longer hint counts.
    let two_hints = retry_info("3.5s", "retry-after: 2\r\n");
    let name = r#"{"status": "UNAVAILABLE"}"#;
    let cut_409 = "HTTP 409, but its body was cut: ";
    let cut_404 = "HTTP 404, but its body was cut: error decoding";
    // HTTP does not say where this body ends, so only its text shows that it ended too early.
    let endless = raw("HTTP/1.0 200 OK\r\n\r\n{\"etag\": ");
    for (act, facts, repeated, beginning) in [
        (
            google(503, "A", seven),
            busy.after(7_000),
            IfIdempotent,
            "HTTP 503",
        ),
        (html(502), status(502), IfIdempotent, "HTTP 502: <"),
        (info, busy.after(3_500), IfIdempotent, "HTTP 503"),
        (two_hints, busy.after(3_500), IfIdempotent, "HTTP 503"),
        // Rubbish is no hint.
        (retry_info("soon", ""), busy, IfIdempotent, "HTTP 503"),
        // A thousand years are told as they are: a policy bounds what is waited.
        (
            retry_info("31536000000s", ""),
            busy.after(31_536_000_000_000),
            IfIdempotent,
            "HTTP 503",
        ),
        (
            inside(name),
            unavailable,
            IfIdempotent,
            "HTTP 200 UNAVAILABLE",
        ),
        (RESET, MAYBE_SENT, IfIdempotent, ""),
        (CLOSE, MAYBE_SENT, IfIdempotent, ""),
        (STALL, MAYBE_SENT, IfIdempotent, ""),
        (broken(), MAYBE_SENT, IfIdempotent, ""),
        (broken().then(End::Stall), MAYBE_SENT, IfIdempotent, ""),
        (endless, MAYBE_SENT, IfIdempotent, ""),
        (slow, throttled, Always, "HTTP 429 RESOURCE_EXHAUSTED: m"),
        (
            google(409, "ABORTED", ""),
            aborted,
            Always,
            "HTTP 409 ABORTED: m",
        ),
        (
            conflict,
            aborted.after(2_000),
            Always,
            "HTTP 409 ABORTED: again",
        ),
        // The missing part may say `ABORTED`.
        (half_a_conflict, aborted.after(3_000), Always, cut_409),
        (html(409), status(409), Never, "HTTP 409: <"),
        (
            google(409, "ALREADY_EXISTS", ""),
            exists,
            Never,
            "HTTP 409 ALREADY_EXISTS: m",
        ),
        (cut(404, half), status(404).after(3_000), Never, cut_404),
        // A `POST` that is answered by nothing has been made; to make it again would do it twice.
        (html(200), NOTHING, Never, "the reply is not the JSON"),
        (reply(204, "", ""), NOTHING, Never, ""),
        (reply(200, "", ""), NOTHING, Never, ""),
        (reply(200, "", "}"), NOTHING, Never, ""),
    ] {
        let (row, error) = (format!("{act:?}"), said(act).await);
        let shown = error.to_string();
        assert!(shown.starts_with(beginning), "{row}: {shown}");
        let is_shown = !beginning.contains("decoding") || shown.ends_with(&format!(": {half}…"));
        assert!(is_shown, "{row}: {shown}");
        assert_row(&row, error, facts, repeated);
    }
    let error = get(nobody()).await.expect_err("nobody listens");
    assert!(error.to_string().contains("refused"), "{error}");
    assert_row("refused", error, NOT_SENT, Always);
    assert_eq!(said(retry_info("3.5s", "")).await.details().len(), 1);
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
