//! What a reply, or the lack of one, becomes in `backoff_cloud::http`: made on a real socket.

use crate::{
    clients::facts::{MAYBE_SENT, NOT_SENT, NOTHING, Repeated, assert_row, status},
    server::{
        Act, CLOSE, End, RESET, STALL, broken, builder, client, head, nobody, raw, reply, serve,
    },
};
use Repeated::{Always, IfIdempotent, Never};
use backoff_cloud::{
    Fault as _, FaultKind, GrpcCode,
    http::{self, ApiError},
};
use serde_json::Value;
use std::fmt::Display;

async fn get(host: impl Display) -> Result<Value, ApiError> {
    http::json(client().get(format!("http://{host}/")).send().await?).await
}

/// What a read fails of that is answered like this.
pub(crate) async fn said(act: Act) -> ApiError {
    let client = builder().timeout(act.end.patience()).build();
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

pub(crate) fn retry_info(delay: &str, headers: &str) -> Act {
    let info = format!(
        r#"{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "{delay}"}}"#
    );
    let body = format!(r#"{{"error": {{"code": 503, "details": [{info}]}}}}"#);
    reply(503, headers, body)
}

const CODE_503: &str = r#"{"error": {"code": 503}}"#;
const NAME: &str = r#"{"error": {"status": "UNAVAILABLE"}}"#;
const CODE_14: &str = r#"{"error": {"code": 14}}"#;

#[tokio::test]
async fn what_a_reply_becomes() {
    let html = |status| reply(status, "content-type: text/html\r\n", "<h1>Busy</h1>");
    let seven = |code, name| google(code, name, "retry-after: 7\r\n");
    let inside = |body| reply(200, "retry-after: 2\r\n", body);
    let conflict = r#"{"error": {"code": 409, "status": "ABORTED", "message": "try again"}}"#;
    let cut = |status: u16, body| {
        let first = format!("{status} No\r\nretry-after: 3\r\ncontent-length: 100");
        head(first, body)
    };
    let half_an_error = r#"{"error": {"code": 4"#;
    let half_a_conflict = cut(409, r#"{"error": {"status": "ALREADY_EXISTS", "#);
    let named = |number, code| status(number).code(code);
    let aborted = named(409, GrpcCode::Aborted);
    let exists = named(409, GrpcCode::AlreadyExists);
    let throttled = named(429, GrpcCode::ResourceExhausted);
    let unavailable = named(200, GrpcCode::Unavailable);
    let info = retry_info("3.5s", "");
    // The longer hint counts.
    let two_hints = retry_info("3.5s", "retry-after: 2\r\n");
    let shown = "HTTP 409, but its body was cut: ";
    let if_idempotent = vec![
        (seven(503, "A"), status(503).after(7_000), "HTTP 503"),
        (html(502), status(502), "HTTP 502: <"),
        (info, status(503).after(3_500), "HTTP 503"),
        (two_hints, status(503).after(3_500), "HTTP 503"),
        (inside(CODE_503), status(503).after(2_000), "HTTP 503"),
        // Rubbish is no hint.
        (reply(503, "retry-after: soon\r\n", ""), status(503), ""),
        (retry_info("soon", ""), status(503), "HTTP 503"),
        (
            inside(NAME),
            unavailable.after(2_000),
            "HTTP 200 UNAVAILABLE",
        ),
        (inside(CODE_14), unavailable.after(2_000), ""),
        (RESET, MAYBE_SENT, ""),
        (CLOSE, MAYBE_SENT, ""),
        (STALL, MAYBE_SENT, ""),
        (broken(), MAYBE_SENT, ""),
        (broken().then(End::Stall), MAYBE_SENT, ""),
        // HTTP does not say where this body ends, so only its text shows that it ended too early.
        (raw("HTTP/1.0 200 OK\r\n\r\n{\"etag\": "), MAYBE_SENT, ""),
    ];
    let slow = seven(429, "RESOURCE_EXHAUSTED");
    let slow_shown = "HTTP 429 RESOURCE_EXHAUSTED: m";
    let [aborts, exists_already] = ["ABORTED", "ALREADY_EXISTS"].map(|name| google(409, name, ""));
    let inside_shown = "HTTP 409 ABORTED: try again";
    let always = vec![
        (slow, throttled.after(7_000), slow_shown),
        (aborts, aborted, "HTTP 409 ABORTED: m"),
        (inside(conflict), aborted.after(2_000), inside_shown),
        // The missing part may say `ABORTED`.
        (half_a_conflict, aborted.after(3_000), shown),
    ];
    let [gone, banned] = [404, 403].map(|number| cut(number, half_an_error));
    let [gone_shown, banned_shown] = [404, 403]
        .map(|number| format!("HTTP {number}, but its body was cut: error decoding response body"));
    let never = vec![
        (html(409), status(409), "HTTP 409: <"),
        (exists_already, exists, "HTTP 409 ALREADY_EXISTS: m"),
        (gone, status(404).after(3_000), &*gone_shown),
        (banned, status(403).after(3_000), &banned_shown),
        // A `POST` that is answered by nothing has been made; to make it again would do it twice.
        (html(200), NOTHING, "the reply is not the JSON"),
        (reply(204, "", ""), NOTHING, ""),
        (reply(200, "", ""), NOTHING, ""),
        (reply(200, "", "}"), NOTHING, ""),
    ];
    for (repeated, rows) in [
        (IfIdempotent, if_idempotent),
        (Always, always),
        (Never, never),
    ] {
        for (act, facts, beginning) in rows {
            let (row, error) = (format!("{act:?}"), said(act).await);
            let shown = error.to_string();
            assert!(shown.starts_with(beginning), "{row}: {shown}");
            if beginning.contains("decoding") {
                assert!(shown.ends_with(&format!(": {half_an_error}")), "{shown}");
            }
            if facts == NOTHING {
                assert_eq!(error.kind(), Some(FaultKind::Permanent), "{row}");
            }
            assert_row(&row, error, facts, repeated);
        }
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
