//! Tests of the errors, and of what a policy does after them.

use super::*;
use crate::{Policy, Verdict, azure, iam};

fn error(status: u16, body: &str) -> ApiError {
    ApiError::new(
        status,
        &HeaderMap::new(),
        body.as_bytes(),
        SystemTime::UNIX_EPOCH,
    )
}

fn is_retried(policy: Policy, error: &ApiError) -> bool {
    matches!(policy.judge(error), Verdict::Retry { .. })
}

#[test]
fn the_two_kinds_of_409() {
    let of = |code| {
        error(
            409,
            &format!(r#"{{"error": {{"code": 409, "status": "{code}"}}}}"#),
        )
    };
    assert!(is_retried(iam::READ_MODIFY_WRITE, &of("ABORTED")));
    let exists = of("ALREADY_EXISTS");
    assert_eq!(exists.grpc_code(), Some(GrpcCode::AlreadyExists));
    assert!(!is_retried(iam::READ_MODIFY_WRITE, &exists));
}

#[test]
fn the_reply_of_another_url_leaves_doubt() {
    let policy = iam::READ_MODIFY_WRITE.idempotent(false);
    assert!(is_retried(policy, &error(429, "")));
    let elsewhere = error(429, "").elsewhere();
    assert_eq!(elsewhere.delivery(), Some(Delivery::MaybeSent));
    assert_eq!(policy.judge(&elsewhere), Verdict::MaybeApplied);
    assert!(is_retried(iam::READ_MODIFY_WRITE, &elsewhere));
}

#[test]
fn the_longest_hint_counts() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", "2".parse().unwrap());
    headers.insert("retry-after-ms", "2500".parse().unwrap());
    let info = r#"{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}"#;
    let body = format!(r#"{{"error": {{"details": [{{}}, {info}]}}}}"#);
    let error = ApiError::new(429, &headers, body.as_bytes(), SystemTime::UNIX_EPOCH);
    assert_eq!(error.retry_after(), Some(Duration::from_millis(2_500)));
    assert!(!error.is_retry_info());
    let longer = body.replace("1s", "3s");
    let error = ApiError::new(429, &headers, longer.as_bytes(), SystemTime::UNIX_EPOCH);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    assert!(error.is_retry_info());
}

#[test]
fn of_a_long_body_the_beginning_is_shown() {
    let long = "x".repeat(ERROR_BODY);
    let body = format!(r#"{{"error": {{"status": "ABORTED", "message": "{long}"}}}}"#);
    let error = error(503, &body);
    assert_eq!((error.status(), error.grpc_code()), (Some(503), None));
    let shown = error.to_string();
    let beginning = "HTTP 503, but its body was cut: it is longer than 65536 bytes: {\"error";
    assert!(shown.starts_with(beginning), "{shown}");
}

#[test]
fn half_a_409_may_be_a_conflict() {
    let half = |status, body: &str| {
        let cut = Some(Cut::Stalled(Duration::from_secs(5)));
        let head = Head::of(&HeaderMap::new(), SystemTime::UNIX_EPOCH);
        ApiError::reply(status, head, Said::read(body.as_bytes()), cut)
    };
    let unnamed = half(409, r#"{"error": {"co"#);
    let aborted = Some(GrpcCode::Aborted);
    assert_eq!(
        (unnamed.status(), unnamed.grpc_code()),
        (Some(409), aborted)
    );
    assert_eq!(Fault::grpc_code(&unnamed), aborted);
    assert!(is_retried(iam::READ_MODIFY_WRITE, &unnamed));
    assert!(!is_retried(iam::REQUEST, &unnamed));
    assert_eq!(
        unnamed.to_string(),
        r#"HTTP 409, but its body was cut: it did not end within 5s: {"error": {"co"#
    );
    // What was read may be the whole body.
    let exists = half(409, r#"{"error": {"status": "ALREADY_EXISTS"}}"#);
    assert!(!is_retried(iam::READ_MODIFY_WRITE, &exists));
    // For every other status the status is enough.
    let missing = half(404, "");
    assert_eq!(Fault::grpc_code(&missing), None);
    assert_eq!(Policy::exponential().judge(&missing), Verdict::Permanent);
}

#[test]
fn the_text_of_a_server_is_one_line_without_secrets_of_urls() {
    let message = "no\\r\\n2026 INFO forged\\u001b[2J https://ann:pw@example.com/?key=1";
    let body = format!(r#"{{"error": {{"message": "{message}"}}}}"#);
    assert_eq!(
        error(503, &body).to_string(),
        "HTTP 503: no 2026 INFO forged\\u{1b}[2J https://…@example.com/?…"
    );
    let long = error(
        503,
        &format!(r#"{{"error": {{"message": "{}"}}}}"#, "x".repeat(9_999)),
    );
    assert_eq!(long.to_string().chars().count(), 501);
}

#[test]
fn neither_the_debug_text_nor_a_source_is_longer_than_the_text() {
    let secret = format!("https://a.b/?key=SECRET {}", "x".repeat(9_999));
    let said = error(
        503,
        &format!(r#"{{"error": {{"message": "{secret}", "details": [{{"a": "{secret}"}}]}}}}"#),
    );
    let page = error(503, &secret);
    let body = format!("\"{secret}\"");
    let problem = serde_json::from_str::<u8>(&body).unwrap_err();
    let not_json = ApiError::not_json(problem, body.as_bytes(), true);
    assert_eq!(not_json.kind(), Some(FaultKind::Permanent));
    for error in [said, page, not_json] {
        let text = error.to_string();
        assert!(
            text.chars().count() <= 501 && text.contains("https://a.b/?…"),
            "{text}"
        );
        let debug = format!("{error:?}");
        assert_eq!(debug, format!("ApiError({text:?})"));
        assert!(!text.contains("SECRET"), "{text}");
        assert!(error.source().is_none(), "{text}");
    }
}

#[test]
fn throttling_of_aws_and_azure_has_names_and_seldom_the_status_429() {
    let throttled = |error: &ApiError| {
        let retry = Verdict::Retry {
            kind: FaultKind::Throttled,
            retry_after: None,
        };
        let careful = Policy::exponential().idempotent(false);
        assert_eq!(careful.judge(error), retry, "{error}");
    };
    let aws = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
    throttled(&error(
        400,
        &format!(r#"{{"__type": "{aws}", "message": "m"}}"#),
    ));
    throttled(&error(
        400,
        r#"{"message": "m", "code": "TooManyRequestsException"}"#,
    ));
    throttled(&error(503, "<Error><Code>SlowDown</Code></Error>"));
    throttled(&error(
        503,
        r#"{"error": {"code": "ServerBusy", "message": "m"}}"#,
    ));
    let shown = error(400, r#"{"__type": "ThrottlingException"}"#).to_string();
    assert!(
        shown.starts_with("HTTP 400 ThrottlingException: "),
        "{shown}"
    );
}

/// As the page of `azure::REQUEST` says: a status among the codes does not retry an error whose code is a
/// conflict.
#[test]
fn a_conflict_that_a_code_names_is_retried_where_the_policy_retries_conflicts() {
    let bare = error(412, "");
    let named = error(412, r#"{"error": {"code": "PreconditionFailed"}}"#);
    assert_eq!(named.kind(), Some(FaultKind::Conflict));
    let by_status = azure::REQUEST.also_on(backoff_core::codes![412]);
    let of = |policy| (is_retried(policy, &bare), is_retried(policy, &named));
    assert_eq!(of(by_status), (true, false));
    assert_eq!(of(azure::READ_MODIFY_WRITE), (true, true));
    assert_eq!(of(azure::REQUEST), (false, false));
}

/// A policy that gives up after a 500 does so whatever the code says, and so does a policy for requests
/// that must not be applied twice: the server itself has failed.
#[test]
fn the_throttling_of_a_service_behind_a_500_is_left_to_the_status() {
    let careful = Policy::exponential().idempotent(false);
    for body in [
        r#"{"code": "ThrottlingException"}"#,
        r#"{"error": {"code": "ServerBusy"}}"#,
        "<Error><Code>SlowDown</Code></Error>",
    ] {
        let error = error(500, body);
        assert_eq!(error.kind(), None, "{error}");
        assert_eq!(careful.judge(&error), Verdict::MaybeApplied, "{error}");
    }
}

#[test]
fn a_code_is_found_behind_long_headers_and_behind_an_empty_one() {
    let mut headers = HeaderMap::new();
    // A name and a value of the greatest length that fits.
    let long = "x".repeat((16 << 10) - "x-long".len());
    headers.insert("x-long", long.parse().unwrap());
    headers.insert("x-amzn-errortype", "SlowDown".parse().unwrap());
    let long = ApiError::new(400, &headers, b"", SystemTime::UNIX_EPOCH);
    assert_eq!(long.header("x-amzn-errortype"), None);
    assert_eq!(long.service_code(), Some("SlowDown"));
    for body in [
        r#"{"code": "", "__type": "ThrottlingException"}"#,
        r#"{"__type": "not a code", "code": "ThrottlingException"}"#,
        r#"{"code": "\u0000", "error": {"code": "ThrottlingException"}}"#,
    ] {
        let error = error(400, body);
        assert_eq!(error.service_code(), Some("ThrottlingException"), "{body}");
    }
}

#[test]
fn the_answer_of_another_url_does_not_say_what_became_of_the_request() {
    let careful = Policy::exponential().idempotent(false);
    assert!(is_retried(careful, &error(429, "")));
    let elsewhere = error(429, "").elsewhere();
    assert_eq!(careful.judge(&elsewhere), Verdict::MaybeApplied);
    assert!(is_retried(Policy::exponential(), &elsewhere));
    assert_eq!(elsewhere.delivery(), Some(Delivery::MaybeSent));
    assert!(!elsewhere.must_reconnect());
}

#[test]
fn a_code_that_google_names_is_the_only_one() {
    let body = r#"{"__type": "ThrottlingException", "error": {"code": 400, "status": "INVALID_ARGUMENT"}}"#;
    assert_eq!(error(400, body).kind(), None);
    assert_eq!(
        Policy::exponential().judge(&error(400, body)),
        Verdict::Permanent
    );
    let plain = error(503, r#"{"error": {"code": 503, "message": "busy"}}"#);
    assert_eq!((plain.service_code(), plain.kind()), (None, None));
}

#[test]
fn no_text_shows_a_header() {
    let mut headers = HeaderMap::new();
    headers.insert("set-cookie", "SECRET".parse().unwrap());
    headers.insert("authorization", "SECRET".parse().unwrap());
    let error = ApiError::new(401, &headers, b"", SystemTime::UNIX_EPOCH);
    assert_eq!(error.header("Set-Cookie"), Some("SECRET"));
    let shown = format!("{error} {error:?} {:?}", error.headers());
    assert!(!shown.contains("SECRET"), "{shown}");
    let other = ApiError::from(TimedOut::new(Duration::ZERO));
    assert!(other.headers().is_none() && other.header("date").is_none());
}

#[test]
fn a_call_that_a_signal_cut_is_permanent_and_says_so() {
    let error = ApiError::from(Stopped::new());
    assert_eq!(Policy::exponential().judge(&error), Verdict::Permanent);
    assert_eq!(error.to_string(), "the call was stopped by a signal");
    let source = std::error::Error::source(&error);
    assert!(source.is_some_and(|source| source.is::<Stopped>()));
}

#[test]
fn a_request_that_was_refused_before_sending_is_permanent() {
    let error = ApiError::not_sent("there is no such resource".to_owned());
    assert_eq!(error.delivery(), Some(Delivery::NotSent));
    assert_eq!(Policy::exponential().judge(&error), Verdict::Permanent);
    let expected = "nothing was sent: there is no such resource";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_success_that_is_too_long_is_permanent_and_says_what_to_write() {
    let error = ApiError::too_long(1_000);
    assert_eq!(Policy::exponential().judge(&error), Verdict::Permanent);
    assert_eq!((error.status(), error.delivery()), (None, None));
    let shown = error.to_string();
    assert!(shown.contains("longer than 1000 bytes"), "{shown}");
    assert!(
        shown.contains("`http::Limits::new().body(bytes)`"),
        "{shown}"
    );
}
