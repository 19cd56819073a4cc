//! Servers that lie: whatever they say, the deadline holds, and nothing panics.

use crate::clients::{
    facts::{Facts, POLICY, Repeated, assert_row},
    reqwest::{builder, said},
    server::{End, reply, serve},
    tonic::{answer, retry_info_of},
};
use backoff_cloud::http;
use backoff_core::{Fault, GrpcCode, Policy, StopReason, testing::VirtualTime};
use serde_json::Value;
use std::time::{Duration, Instant};

const THOUSAND_YEARS: i64 = 1_000 * 365 * 86_400;

/// Far below what the server asks for, far above what the test takes.
const BOUNDED: Policy = POLICY.deadline(Duration::from_secs(600));

/// Gives up at once, and says why.
async fn assert_stops(error: impl Fault + Clone + std::fmt::Debug) {
    let started = Instant::now();
    let retried = BOUNDED
        .retry(async || Err::<(), _>(error.clone()))
        .reported()
        .await;
    let given_up = retried.expect_err("an error every time");
    assert_eq!(given_up.reason, StopReason::RetryAfter, "{error:?}");
    assert_eq!(given_up.report.attempts, 1);
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn a_retry_after_that_is_no_number_of_seconds_is_ignored() {
    for odd in [
        "-1",
        "-99999999999999999999",
        "1.5",
        "1e9",
        "99999999999999999999",
        "0x10",
        "",
    ] {
        let error = said(reply(503, &format!("retry-after: {odd}\r\n"), "")).await;
        assert_eq!(
            (error.status(), error.retry_after()),
            (Some(503), None),
            "{odd}"
        );
    }
}

#[tokio::test]
async fn a_huge_retry_after_ends_it_at_once() {
    for huge in [
        "31536000000",
        "18446744073709551615",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ] {
        let busy = reply(503, &format!("retry-after: {huge}\r\n"), "");
        let server = serve(busy, End::Close).await;
        let client = builder().build().expect("a client");
        let get = async || {
            let got = client.get(format!("http://{server}/")).send().await?;
            http::json::<Value>(got).await
        };
        let given_up = BOUNDED
            .retry(get)
            .reported()
            .await
            .expect_err("busy for ever");
        assert_eq!(given_up.reason, StopReason::RetryAfter, "{huge}");
        assert_eq!(given_up.report.attempts, 1);
    }
}

#[tokio::test]
async fn a_retry_info_of_a_thousand_years_ends_it_at_once() {
    assert_stops(answer(retry_info_of(THOUSAND_YEARS)).await).await;
    // What the type can hold at most, which is more than the specification allows.
    assert_stops(answer(retry_info_of(i64::MAX)).await).await;
    let ignored = answer(retry_info_of(i64::MIN)).await;
    assert_eq!(ignored.retry_after(), None);
}

#[tokio::test]
async fn a_retry_info_in_json_of_a_thousand_years_ends_it_at_once() {
    let info = format!(
        r#"{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "{THOUSAND_YEARS}s"}}"#
    );
    let body = format!(r#"{{"error": {{"code": 503, "details": [{info}]}}}}"#);
    let error = said(reply(503, "", &body)).await;
    assert_eq!(
        error.retry_after(),
        Some(Duration::from_secs(THOUSAND_YEARS as u64))
    );
    assert_stops(std::sync::Arc::new(error)).await;
}

#[tokio::test]
async fn a_200_with_an_error_inside_is_the_error() {
    let hints = "retry-after: 2\r\n";
    let body = r#"{"error": {"code": 409, "status": "ABORTED", "message": "try again"}}"#;
    let error = said(reply(200, hints, body)).await;
    let facts = Facts {
        status: Some(409),
        grpc_code: Some(GrpcCode::Aborted),
        retry_after: Some(Duration::from_secs(2)),
        ..crate::clients::facts::NOTHING
    };
    assert_row(&error, facts, Repeated::Always);
    assert_eq!(error.to_string(), "HTTP 409 ABORTED: try again");

    let unnamed = said(reply(200, "", r#"{"error": {"code": 503}}"#)).await;
    assert_eq!(Repeated::of(&unnamed), Repeated::IfIdempotent);
    let numbered = said(reply(200, "", r#"{"error": {"code": 14}}"#)).await;
    assert_eq!(numbered.grpc_code(), Some(GrpcCode::Unavailable));
}

#[tokio::test]
async fn a_200_with_an_error_for_ever_is_bounded() {
    let body = r#"{"error": {"status": "UNAVAILABLE"}}"#;
    let server = serve(reply(200, "", body), End::Close).await;
    let client = builder().build().expect("a client");
    let short = POLICY
        .max_backoff(Duration::from_millis(20))
        .deadline(Duration::from_millis(200));
    let get = async || {
        let got = client.get(format!("http://{server}/")).send().await?;
        http::json::<Value>(got).await
    };
    // The waits alone use up the deadline: in virtual time the machine does not count.
    let given_up = short
        .retry(get)
        .runtime(VirtualTime::new())
        .reported()
        .await
        .expect_err("an error every time");
    assert_eq!(given_up.reason, StopReason::Deadline);
    assert!(given_up.report.attempts > 1, "{}", given_up.report);
    assert_eq!(given_up.error.grpc_code(), Some(GrpcCode::Unavailable));
}

#[tokio::test]
async fn an_operation_that_failed_is_a_value() {
    let body = r#"{"name": "operations/1", "done": true, "error": {"code": 5}}"#;
    let server = serve(reply(200, "", body), End::Close).await;
    let client = builder().build().expect("a client");
    let got = client.get(format!("http://{server}/")).send().await;
    let operation: Value = http::json(got.expect("a reply")).await.expect("a value");
    assert_eq!(operation["error"]["code"], 5);
}
