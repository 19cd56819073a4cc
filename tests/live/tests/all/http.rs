//! What a reply, or the lack of one, becomes in `backoff_cloud::http`: made on a real socket.

use crate::{
    clients::failures::reqwest_client,
    server::{
        Column, MAYBE_SENT, NOTHING,
        Repeated::{Always, IfIdempotent, Never},
        Target, assert_row, client, fails_on_the_way, failure, head, raw, reply, serve, status,
    },
};
use backoff_cloud::{
    GrpcCode,
    http::{self, ApiError},
};
use serde_json::Value;

struct Http;

impl Column for Http {
    type Error = ApiError;

    const SPEAKS: (bool, bool) = (true, true);

    const REPLIES: (bool, bool) = (true, true);

    /// reqwest calls it a body that cannot be decoded.
    const CANNOT: &str = "a chunk without a length";

    async fn read(target: Target) -> Result<(), ApiError> {
        let get = reqwest_client(&target).get(target.origin);
        http::json::<Value>(get.send().await?).await.map(drop)
    }

    fn fits(error: &ApiError, row: &str) -> bool {
        row != "nobody listens" || error.to_string().contains("refused")
    }
}

/// What the bodies of errors say are rows of `backoff-cloud/src/http/body.rs` and of `error/tests.rs` beside it.
#[tokio::test]
async fn what_a_reply_becomes() {
    fails_on_the_way::<Http>().await;
    let html = |status| reply(status, "content-type: text/html\r\n", "<h1>Busy</h1>");
    let cut = "409 No\r\nretry-after: 3\r\ncontent-length: 100";
    let cut = head(cut, r#"{"error": {"status": "ALREADY_EXISTS", "#);
    let aborted = status(409).code(GrpcCode::Aborted);
    let inside = r#"{"error": {"code": 409, "status": "ABORTED", "message": "again"}}"#;
    let inside = reply(200, "retry-after: 2\r\n", inside);
    let again = "HTTP 409 ABORTED: again";
    // HTTP does not say where this body ends, so only its text shows that it ended too early.
    let endless = raw("HTTP/1.0 200 OK\r\n\r\n{\"etag\": ");
    for (act, facts, repeated, beginning) in [
        (endless, MAYBE_SENT, IfIdempotent, ""),
        // A `POST` that is answered by nothing has been made; to make it again would do it twice.
        (reply(204, "", ""), NOTHING, Never, ""),
        (reply(200, "", ""), NOTHING, Never, ""),
        (html(200), NOTHING, Never, ""),
        (html(502), status(502), IfIdempotent, "HTTP 502: <"),
        (inside, aborted.after(2_000), Always, again),
        // The missing part may say `ABORTED`.
        (cut, aborted.after(3_000), Always, "HTTP 409, but"),
    ] {
        let (row, error) = (format!("{act:?}"), failure::<Http>(act).await);
        let shown = error.to_string();
        assert!(shown.starts_with(beginning), "{row}: {shown}");
        assert_row(&row, error, facts, repeated);
    }
}

#[tokio::test]
async fn a_success_is_a_value_or_the_response_as_it_came() {
    let get = async |act| {
        let got = client().get(format!("http://{}/", serve(act))).send().await;
        got.expect("a response")
    };
    let operation = r#"{"name": "operations/1", "done": true, "error": {"code": 5}}"#;
    let operation = reply(200, "content-type: application/json\r\n", operation);
    let value: Value = http::json(get(operation.clone()).await).await.expect("one");
    assert_eq!(value["error"]["code"], 5);
    let response = http::check(get(operation).await).await;
    let mut response = response.expect("a success");
    assert!(response.headers().contains_key("content-type"));
    // Nobody has read the body.
    let body = response.chunk().await.expect("a body").expect("a chunk");
    assert!(body.starts_with(b"{"), "{body:?}");
    let busy = r#"{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m"}}"#;
    let busy = get(reply(429, "retry-after: 7\r\n", busy)).await;
    let error = http::check(busy).await.expect_err("the failure");
    assert_eq!(error.to_string(), "HTTP 429 RESOURCE_EXHAUSTED: m");
    let facts = status(429).code(GrpcCode::ResourceExhausted).after(7_000);
    assert_row("checked", error, facts, Always);
}
