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

/// What a read fails of that is answered like this.
async fn said(act: Act) -> ApiError {
    let client = builder().timeout(act.patience()).build().expect("a client");
    let get = client.get(format!("http://{}/", serve(act)));
    let read = async { http::json::<Value>(get.send().await?).await };
    read.await.expect_err("an error")
}

/// What the bodies of errors say are rows of `backoff-cloud/src/http/body.rs` and of `error/tests.rs` beside it.
#[tokio::test]
async fn what_a_reply_becomes() {
    let html = |status| reply(status, "content-type: text/html\r\n", "<h1>Busy</h1>");
    let cut = "409 No\r\nretry-after: 3\r\ncontent-length: 100";
    let cut = head(cut, r#"{"error": {"status": "ALREADY_EXISTS", "#);
    let aborted = status(409).code(GrpcCode::Aborted);
    let inside = r#"{"error": {"code": 409, "status": "ABORTED", "message": "again"}}"#;
    let inside = reply(200, "retry-after: 2\r\n", inside);
    // HTTP does not say where this body ends, so only its text shows that it ended too early.
    let endless = raw("HTTP/1.0 200 OK\r\n\r\n{\"etag\": ");
    let stalled = broken().then(End::Stall);
    let lost = [RESET, CLOSE, STALL, broken(), stalled, endless];
    let lost = lost.map(|act| (act, MAYBE_SENT, IfIdempotent, ""));
    // A `POST` that is answered by nothing has been made; to make it again would do it twice.
    let empty = [204, 200].map(|status| reply(status, "", ""));
    let answered = empty.into_iter().chain([reply(200, "", "}"), html(200)]);
    let answered = answered.map(|act| (act, NOTHING, Never, ""));
    let again = "HTTP 409 ABORTED: again";
    let named = [
        (html(502), status(502), IfIdempotent, "HTTP 502: <"),
        (inside, aborted.after(2_000), Always, again),
        // The missing part may say `ABORTED`.
        (cut, aborted.after(3_000), Always, "HTTP 409, but"),
    ];
    for (act, facts, repeated, beginning) in lost.into_iter().chain(answered).chain(named) {
        let (row, error) = (format!("{act:?}"), said(act).await);
        let shown = error.to_string();
        assert!(shown.starts_with(beginning), "{row}: {shown}");
        assert_row(&row, error, facts, repeated);
    }
    let refused = client().get(format!("http://{}/", nobody())).send().await;
    let error = ApiError::from(refused.expect_err("nobody listens"));
    assert!(error.to_string().contains("refused"), "{error}");
    assert_row("refused", error, NOT_SENT, Always);
}

#[tokio::test]
async fn a_success_is_a_value_or_the_response_as_it_came() {
    let operation = r#"{"name": "operations/1", "done": true, "error": {"code": 5}}"#;
    let server = serve(reply(200, "content-type: application/json\r\n", operation));
    let get = |server| client().get(format!("http://{server}/")).send();
    let value: Value = http::json(get(server).await.expect("a response"))
        .await
        .expect("a value");
    assert_eq!(value["error"]["code"], 5);
    let response = http::check(get(server).await.expect("a response")).await;
    let mut response = response.expect("a success");
    assert!(response.headers().contains_key("content-type"));
    // Nobody has read the body.
    let body = response.chunk().await.expect("a body").expect("a chunk");
    assert!(body.starts_with(b"{"), "{body:?}");
    let busy = r#"{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m"}}"#;
    let busy = serve(reply(429, "retry-after: 7\r\n", busy));
    let checked = http::check(get(busy).await.expect("a response")).await;
    let error = checked.expect_err("the failure");
    assert_eq!(error.to_string(), "HTTP 429 RESOURCE_EXHAUSTED: m");
    let facts = status(429).code(GrpcCode::ResourceExhausted).after(7_000);
    assert_row("checked", error, facts, Always);
}
