//! Tests of the errors, and of what a policy does after them.

use super::*;
use crate::{Policy, Verdict, azure, iam, reply};

fn with_headers(status: u16, headers: &[(&'static str, &str)], body: &str) -> ApiError {
    let headers = reply::headers(headers);
    ApiError::new(status, &headers, body.as_bytes(), SystemTime::UNIX_EPOCH)
}

fn error(status: u16, body: &str) -> ApiError {
    with_headers(status, &[], body)
}

fn is_retried(policy: Policy, error: &ApiError) -> bool {
    reply::retries(&policy, error)
}

const CAREFUL: Policy = Policy::exponential().idempotent(false);

/// A row: the policy, the status, the body, and what follows. Throttling of AWS and Azure has names, and
/// seldom the status 429.
#[test]
fn what_follows_from_a_reply() {
    let again = |kind| Verdict::Retry {
        kind,
        retry_after: None,
    };
    let conflict = again(FaultKind::Conflict);
    let throttled = again(FaultKind::Throttled);
    let dynamodb = r#"{"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException"}"#;
    let queues = r#"{"message": "m", "code": "TooManyRequestsException"}"#;
    let s3 = "<Error><Code>SlowDown</Code></Error>";
    let busy = r#"{"error": {"code": "ServerBusy", "message": "m"}}"#;
    let stale = r#"{"error": {"code": "PreconditionFailed"}}"#;
    let aborted = r#"{"error": {"code": 409, "status": "ABORTED"}}"#;
    let exists = r#"{"error": {"code": 409, "status": "ALREADY_EXISTS"}}"#;
    let invalid = r#"{"__type": "SlowDown", "error": {"code": 400, "status": "INVALID_ARGUMENT"}}"#;
    let by_status = azure::REQUEST.also_on(backoff_core::codes![412]);
    for (policy, status, body, verdict) in [
        (iam::READ_MODIFY_WRITE, 409, aborted, conflict),
        (iam::READ_MODIFY_WRITE, 409, exists, Verdict::Permanent),
        (CAREFUL, 429, "", throttled),
        (CAREFUL, 400, dynamodb, throttled),
        (CAREFUL, 400, queues, throttled),
        (CAREFUL, 503, s3, throttled),
        (CAREFUL, 503, busy, throttled),
        // The server itself has failed, whatever the code says.
        (CAREFUL, 500, queues, Verdict::MaybeApplied),
        (CAREFUL, 500, busy, Verdict::MaybeApplied),
        (CAREFUL, 500, s3, Verdict::MaybeApplied),
        // A code that Google names is the only one.
        (CAREFUL, 400, invalid, Verdict::Permanent),
        // A status among the codes does not retry an error whose code is a conflict.
        (by_status, 412, "", conflict),
        (by_status, 412, stale, Verdict::Permanent),
        (azure::READ_MODIFY_WRITE, 412, "", conflict),
        (azure::READ_MODIFY_WRITE, 412, stale, conflict),
        (azure::REQUEST, 412, "", Verdict::Permanent),
        (azure::REQUEST, 412, stale, Verdict::Permanent),
    ] {
        let verdict_is = policy.judge(&error(status, body));
        assert_eq!(verdict_is, verdict, "{policy:?}: {status} {body}");
    }
}

#[test]
fn after_the_reply_of_another_url_the_request_may_be_applied() {
    let redirected = error(429, "").maybe_sent();
    assert_eq!(redirected.delivery(), Some(Delivery::MaybeSent));
    assert!(!redirected.must_reconnect());
    for policy in [CAREFUL, iam::READ_MODIFY_WRITE.idempotent(false)] {
        assert!(is_retried(policy, &error(429, "")));
        assert_eq!(policy.judge(&redirected), Verdict::MaybeApplied);
        assert!(is_retried(policy.idempotent(true), &redirected));
    }
    let stale = "<Error><Code>RequestTimeTooSkewed</Code></Error>";
    assert_eq!(error(403, stale).delivery(), Some(Delivery::NotSent));
    let redirected = error(403, stale).maybe_sent();
    assert_eq!(redirected.delivery(), Some(Delivery::MaybeSent));
}

#[test]
fn the_longest_hint_counts() {
    let headers = [("retry-after", "2"), ("retry-after-ms", "2500")];
    for (delay, longest, source) in [
        ("1s", 2_500, HintSource::RetryAfter),
        ("3s", 3_000, HintSource::RetryInfo),
    ] {
        let info = format!(r#"{{"@type": "a/google.rpc.RetryInfo", "retryDelay": "{delay}"}}"#);
        let body = format!(r#"{{"error": {{"details": [{{}}, {info}]}}}}"#);
        let error = with_headers(429, &headers, &body);
        assert_eq!(error.retry_after(), Some(Duration::from_millis(longest)));
        assert_eq!(error.hint_source(), source);
    }
}

#[test]
fn a_code_is_found_behind_long_headers_and_behind_an_empty_one() {
    // A name and a value of the greatest length that fits.
    let long = "x".repeat((16 << 10) - "x-long".len());
    let headers = [("x-long", &*long), ("x-amzn-errortype", "SlowDown")];
    let long = with_headers(400, &headers, "");
    assert_eq!(long.header("x-amzn-errortype"), None);
    assert_eq!(long.service_code(), Some("SlowDown"));
    let control = r#"{"code": "\u0000", "error": {"code": "Slow"}}"#;
    for (body, code) in [
        (r#"{"code": "", "__type": "Slow"}"#, Some("Slow")),
        (r#"{"__type": "not a code", "code": "Slow"}"#, Some("Slow")),
        (control, Some("Slow")),
        (r#"{"error": {"code": 503, "message": "busy"}}"#, None),
    ] {
        assert_eq!(error(400, body).service_code(), code, "{body}");
    }
}

/// A row: an error that is permanent, what it says of the request, and the beginning of its text.
#[test]
fn an_error_without_a_reply_is_permanent_and_says_so() {
    let stopped = "the call was stopped by a signal";
    let refused = "nothing was sent: no such resource";
    let too_long = "the body of the reply is longer than 1000 bytes, the limit of `http::Limits`; \
                    to read a longer one, pass `http::Limits::new().body(bytes)`";
    let not_sent = ApiError::not_sent("no such resource".to_owned());
    for (error, delivery, text) in [
        (ApiError::from(Stopped::new()), None, stopped),
        (not_sent, Some(Delivery::NotSent), refused),
        (
            Own::too_long("the body of the reply", 1_000).into(),
            None,
            too_long,
        ),
    ] {
        assert_eq!(CAREFUL.judge(&error), Verdict::Permanent, "{error}");
        assert_eq!(error.status(), None, "{error}");
        assert!(error.headers().is_none() && error.header("date").is_none());
        assert_eq!(error.delivery(), delivery, "{error}");
        assert!(error.to_string().starts_with(text), "{error}");
        let is_stopped = error.source().is_some_and(|source| source.is::<Stopped>());
        assert_eq!(is_stopped, text == stopped, "{error}");
    }
}

#[test]
fn the_text_of_a_server_is_one_short_line_without_secrets_of_urls() {
    let said = |message: &str| {
        let body = format!(r#"{{"error": {{"status": "ABORTED", "message": "{message}"}}}}"#);
        error(503, &body)
    };
    let forged = said("no\\r\\n2026 INFO forged\\u001b[2J https://ann:pw@example.com/?key=1");
    let text = "HTTP 503 ABORTED: no 2026 INFO forged\\u{1b}[2J https://…@example.com/?…";
    assert_eq!(forged.to_string(), text);
    assert_eq!(said(&"x".repeat(9_999)).to_string().chars().count(), 501);
    let cut = said(&"x".repeat(ERROR_BODY));
    assert_eq!((cut.status(), cut.grpc_code()), (Some(503), None));
    let beginning = "HTTP 503, but its body was cut: it is longer than 65536 bytes: {\"error";
    assert!(cut.to_string().starts_with(beginning), "{cut}");
    let coded = error(400, r#"{"__type": "SlowDown"}"#).to_string();
    assert!(coded.starts_with("HTTP 400 SlowDown: "), "{coded}");
}

/// Rows: a body, or a header, in which a secret stands for `SECRET`. All forms are rows of
/// `backoff-core/src/text/secrets/tests.rs`.
#[test]
fn a_reply_shows_no_secret() {
    let s3 = "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><Message>The request \
              signature we calculated</Message><CanonicalRequest>GET /k X-Amz-Signature=SECRET\
              </CanonicalRequest></Error>";
    let google = r#"{"error":{"code":400,"message":"bad https://ann:SECRET@h/x?key=SECRET#SECRET","status":"INVALID_ARGUMENT"}}"#;
    let before = "x".repeat(180);
    let (emoji, spaces) = ("\u{1f600}".repeat(190), "x \n".repeat(90));
    let cut = |form: &str| [&before, &*emoji, &*spaces].map(|before| format!("{before} {form}"));
    let bearer = cut("Bearer SECRET");
    let path = cut("https://h/a/SECRET/b");
    let user = cut("redis://ann:p SECRET@h/0");
    let bodies = [
        google,
        s3,
        r#"{"error":"https:\\u002f\\u002fann:SECRET@h"}"#,
        "redirect_uri=https%3A%2F%2Fh%2Fcb%3Fcode%3DSECRET",
    ];
    let cut = bearer.iter().chain(&path).chain(&user).map(String::as_str);
    let replies = bodies.into_iter().chain(cut).map(|body| (body, ""));
    for (body, code) in replies.chain([("{}", "SECRET:http://x"), ("{}", "a.b#SECRET")]) {
        let secret = "q7Zp2mXc9LtB4vRk8NwY3sHd";
        let code = code.replace("SECRET", secret);
        let headers = [("x-amzn-errortype", &*code)];
        let error = with_headers(400, &headers, &body.replace("SECRET", secret));
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(&secret[..5]), "{shown}");
    }
    // The name of a user shows that it is one only behind the end of what is read.
    let user = "https://SECRET:pw@h/";
    for (times, space) in [(1_586, " "), (787, " "), (529, "\u{2003}")] {
        let spaces = space.repeat(times);
        let shown = error(400, &format!("{spaces}{user}{user:>999}")).to_string();
        assert!(!shown.contains("SECRE"), "{shown}");
    }
    let odd = with_headers(400, &[("x-amzn-errortype", "EC2ThrottledException")], "no");
    assert_eq!(odd.to_string(), "HTTP 400 EC2ThrottledException: no");
}

#[test]
fn half_a_409_may_be_a_conflict() {
    let half = |status, body: &str| {
        let cut = Some(Cut::Stalled(Duration::from_secs(5)));
        let head = Head::of(status, &HeaderMap::new(), SystemTime::UNIX_EPOCH);
        ApiError::reply(status, head, BodyFacts::read(body.as_bytes()), cut)
    };
    let unnamed = half(409, r#"{"error": {"co"#);
    let aborted = Some(GrpcCode::Aborted);
    assert_eq!(unnamed.status(), Some(409));
    assert_eq!(unnamed.grpc_code(), aborted);
    assert_eq!(Fault::grpc_code(&unnamed), aborted);
    assert!(is_retried(iam::READ_MODIFY_WRITE, &unnamed));
    assert!(!is_retried(iam::REQUEST, &unnamed));
    let text = r#"HTTP 409, but its body was cut: it did not end within 5s: {"error": {"co…"#;
    assert_eq!(unnamed.to_string(), text);
    let hidden = half(503, "at https://SECRET").to_string();
    assert!(!hidden.contains("SECRET"), "{hidden}");
    // The part that was read may be the whole body.
    let exists = half(409, r#"{"error": {"status": "ALREADY_EXISTS"}}"#);
    assert!(!is_retried(iam::READ_MODIFY_WRITE, &exists));
    // For every other status the status is enough.
    let missing = half(404, "");
    assert_eq!(Fault::grpc_code(&missing), None);
    assert_eq!(Policy::exponential().judge(&missing), Verdict::Permanent);
}

#[test]
fn neither_the_debug_text_nor_a_source_is_longer_than_the_text() {
    let secret = format!("https://a.b/?key=SECRET {}", "x".repeat(9_999));
    let details = format!(r#""message": "{secret}", "details": [{{"a": "{secret}"}}]"#);
    for body in [&format!(r#"{{"error": {{{details}}}}}"#), &secret] {
        let error = error(503, body);
        let text = error.to_string();
        assert!(text.chars().count() <= 501, "{text}");
        assert!(text.contains("https://a.b/?…"), "{text}");
        let debug = format!("{error:?}");
        assert_eq!(debug, format!("ApiError({text:?})"));
        assert!(!text.contains("SECRET"), "{text}");
        assert!(error.source().is_none(), "{text}");
    }
}

/// A row: the body of a success, what is wrong with it, and in which column. Each body contains a secret.
#[test]
fn a_body_of_a_success_is_never_quoted() {
    #[derive(Debug, serde::Deserialize)]
    struct Auth {
        #[serde(rename = "authString")]
        _auth: u8,
    }
    assert_eq!(error(503, "<html>SECRET</html>").excerpt(), None);
    let invalid = "it is not valid JSON";
    let other = "a value has another type, or is missing";
    let too_early = "it ends too early";
    for (body, wrong, column) in [
        ("<html>SECRET</html>", invalid, 1),
        (r#"{"authString": "SECRET"}"#, other, 23),
        (r#"{"access_token": "SECRET"}"#, other, 26),
        (r#"{"authString": "SECRET"#, too_early, 22),
    ] {
        let problem_of = serde_json::from_str::<Auth>(body).unwrap_err();
        let error = ApiError::from(Own::not_json::<Auth>(&problem_of, body.as_bytes(), true));
        assert!(error.excerpt().unwrap().ends_with(body), "{body}");
        let facts = match wrong == too_early {
            true => (Some(Delivery::MaybeSent), None),
            false => (None, Some(FaultKind::Permanent)),
        };
        assert_eq!((error.delivery(), error.kind()), facts, "{body}");
        let shown = format!("{error} {error:?} {:?}", error.source());
        let has = |part: &str| shown.contains(part);
        assert!(!has("SECRET") && !has("html"), "{shown}");
        let begins = shown.starts_with("the reply is not the JSON of a `");
        assert!(begins, "{shown}");
        let length = body.len();
        let text = format!("Auth`: {wrong}, at line 1, column {column}; it has {length} bytes");
        assert!(shown.contains(&text), "{shown}");
    }
    let long = format!("\"{}\"", "x".repeat(9_999));
    let problem = serde_json::from_str::<u8>(&long).unwrap_err();
    let error = ApiError::from(Own::not_json::<u8>(&problem, long.as_bytes(), true));
    assert!(error.excerpt().unwrap().chars().count() <= 404);
}
