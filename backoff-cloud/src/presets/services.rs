//! What services reply, as they document it, and what their presets do. Each reply is sent again and again. The replies
//! were sent at 10⁹ s, and the client's clock is a minute late.

use crate::{
    aip194, anthropic, azure, github,
    http::ApiError,
    iam, kubernetes, memorystore, openai, plain_http, pubsub,
    reply::{cells, life},
    s3, storage,
};
use backoff_core::{Fault, Policy, StopReason};
use reqwest::header::{HeaderMap, HeaderName};
use std::time::{Duration, SystemTime};

/// A reply with these headers, separated by semicolons.
fn error(status: u16, headers: &str, body: &str) -> ApiError {
    let date = "date: Sun, 09 Sep 2001 01:46:40 GMT";
    let mut map = HeaderMap::new();
    let lines = headers.split("; ").filter(|it| !it.is_empty());
    for line in lines.chain([date]) {
        let (name, value) = line.split_once(": ").expect(line);
        let name: HeaderName = name.parse().expect(line);
        map.append(name, value.parse().expect(line));
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(999_999_940);
    ApiError::new(status, &map, body.as_bytes(), now)
}

/// The waits without jitter's random part, and the end, as a row names them.
fn lived(policy: Policy, reply: &impl Fault) -> String {
    let (waits, end) = life(&policy.without_budget(), reply, 0, 99);
    let waits = waits.iter().map(|wait| wait.as_millis().to_string());
    let waits = Vec::from_iter(waits).join(" ");
    format!("{waits} | {:?}", end.expect("an end"))
}

/// Rows: the status, the headers, what `body` makes the body of, the least waits in milliseconds, and the end.
#[track_caller]
fn check(policy: Policy, body: impl Fn(&str) -> String, rows: &str) {
    for row in cells(rows) {
        let [status, headers, of, waits, end] = row;
        let reply = error(status.parse().expect("a status"), headers, &body(of));
        let expected = format!("{waits} | {end}");
        assert_eq!(lived(policy, &reply), expected, "{policy:?} after {row:?}");
    }
}

#[test]
fn openai_says_by_headers_and_codes_what_passes() {
    let body = |of: &str| match of.split_once(' ') {
        Some((kind, code)) => format!(r#"{{"error": {{"type": "{kind}", "code": {code}}}}}"#),
        None => of.to_owned(),
    };
    let rows = r#"
        429 |                                      | tokens "rate_limit_exceeded" | 375 750 | Attempts
        429 | retry-after-ms: 1200                 | tokens "rate_limit_exceeded" | 1200 1200 | Attempts
        429 | retry-after: 20                      | tokens "rate_limit_exceeded" | 20000 20000 | Attempts
        429 | retry-after: 301                     | tokens "rate_limit_exceeded" | | RetryAfter
        429 | retry-after: 20.5; retry-after-ms: 20499.5 | tokens "rate_limit_exceeded" | 20500 20500 | Attempts
        500 | x-ratelimit-remaining-requests: 0; x-ratelimit-reset-requests: 4m0s | | 375 750 | Attempts
        500 | x-ratelimit-remaining-requests: 0; x-ratelimit-reset-requests: 6m0s | | 375 750 | Attempts
        429 | x-ratelimit-remaining-tokens: 0; x-ratelimit-reset-tokens: 6s  | tokens "rate_limit_exceeded" | 6000 6000 | Attempts
        429 | x-ratelimit-remaining-tokens: 90; x-ratelimit-reset-tokens: 6s | tokens "rate_limit_exceeded" | 375 750 | Attempts
        429 | x-ratelimit-remaining-requests: 0; x-ratelimit-reset-requests: 6m0s | tokens "rate_limit_exceeded" | | RetryAfter
        429 |                       | insufficient_quota "insufficient_quota"           | | Permanent
        429 |                       | insufficient_quota "project_spend_limit_exceeded" | | Permanent
        429 |                       | insufficient_quota "credit_balance_exhausted"     | | Permanent
        429 |                       | insufficient_quota null                           | | Permanent
        429 | x-should-retry: false | tokens "rate_limit_exceeded"         | | StoppedByServer
        503 |                       | server_error "server_is_overloaded"  | 375 750 | Attempts
        503 | x-should-retry: false | server_error "server_is_overloaded"  | | StoppedByServer
        503 |                       | server_error "slow_down"             | 375 750 | Attempts
        400 | x-should-retry: true  | {} | 375 750 | Attempts
        408 |                       |    | 375 750 | Attempts
        409 |                       |    | 375 750 | Attempts
        529 |                       |    | 375 750 | Attempts
        401 |                       | {} | | Permanent
        400 |                       | {} | | Permanent
    "#;
    check(openai::REQUEST, body, rows);
}

#[test]
fn anthropic_has_its_own_status_and_headers() {
    let body = |kind: &str| {
        format!(r#"{{"type": "error", "error": {{"type": "{kind}", "message": "..."}}}}"#)
    };
    let rows = "
        529 |                      | overloaded_error | 375 750     | Attempts
        529 | x-should-retry: true | overloaded_error | 375 750     | Attempts
        429 | retry-after: 12      | rate_limit_error | 12000 12000 | Attempts
        429 | anthropic-ratelimit-input-tokens-remaining: 0; anthropic-ratelimit-input-tokens-reset: 2001-09-09T01:47:10Z | rate_limit_error | 31000 31000 | Attempts
        429 | anthropic-ratelimit-input-tokens-remaining: 5000; anthropic-ratelimit-input-tokens-reset: 2001-09-09T01:47:10Z | rate_limit_error | 375 750 | Attempts
        429 | anthropic-priority-input-tokens-remaining: 0; anthropic-priority-input-tokens-reset: 2001-09-09T01:47:10Z | rate_limit_error | 31000 31000 | Attempts
        429 |                      | rate_limit_error | 375 750     | Attempts
        402 |                      | billing_error    |             | Permanent
        413 |                      |                  |             | Permanent
        500 |                      |                  | 375 750     | Attempts
    ";
    check(anthropic::REQUEST, body, rows);
}

/// The body of an error of Google with these fields beside its status.
fn google(status: &str, fields: &str) -> String {
    format!(r#"{{"error": {{"status": "{status}", "message": "..", {fields}}}}}"#)
}

/// A reason of a limit counts as a 429, so a policy that does not retry a 429 ends at once.
#[test]
fn google_names_a_limit_beside_any_status() {
    let reasons = |status: &str, reason: &str| {
        let field = format!(r#""errors": [{{"domain": "usageLimits", "reason": "{reason}"}}]"#);
        google(status, &field)
    };
    // The name of a field in `metadata` or a quota follows after the reason.
    let detail = |status: &str, kind: &str, fields: &str| {
        let detail = format!(r#"{{"@type": "type.googleapis.com/google.rpc.{kind}", {fields}}}"#);
        google(status, &format!(r#""details": [{detail}]"#))
    };
    let info = |status: &str, reason: &str, metadata: &str| {
        let fields = format!(r#""reason": "{reason}", "metadata": {{{metadata}}}"#);
        detail(status, "ErrorInfo", &fields)
    };
    let body = |form: &str, status: &str, what: &str| match form {
        "reason" => reasons(status, what),
        "info" => info(status, what, ""),
        "daily" => info(status, what, r#""quota_unit": "1/d/{project}""#),
        "quota" => {
            let violation = format!(r#""violations": [{{"quotaId": "{what}"}}]"#);
            detail(status, "QuotaFailure", &violation)
        }
        _ => google(status, what),
    };
    // Rows: the status, the form of the body, the status in it, the reason, and whether it is a limit.
    let rows = r#"
        403 | reason | PERMISSION_DENIED   | rateLimitExceeded    | true
        403 | info   | PERMISSION_DENIED   | RATE_LIMIT_EXCEEDED  | true
        429 | info   | RESOURCE_EXHAUSTED  | RATE_LIMIT_EXCEEDED  | true
        400 | info   | FAILED_PRECONDITION | CONCURRENT_OPERATIONS_QUOTA_EXCEEDED | true
        429 | quota  | RESOURCE_EXHAUSTED  | GenerateRequestsPerMinutePerProjectPerModel | true
        429 | quota  | RESOURCE_EXHAUSTED  | GenerateRequestsPerDayPerProjectPerModel | false
        429 | daily  | RESOURCE_EXHAUSTED  | RATE_LIMIT_EXCEEDED  | false
        403 | reason | PERMISSION_DENIED   | dailyLimitExceeded   | false
        403 | reason | PERMISSION_DENIED   | forbidden            | false
        403 | plain  | PERMISSION_DENIED   | "errors": "rateLimitExceeded" | false
        501 | reason | UNIMPLEMENTED       | rateLimitExceeded    | false
    "#;
    for row in cells(rows) {
        let [status, form, named, what, is_limit] = row;
        let reply = error(status.parse().unwrap(), "", &body(form, named, what));
        let first = |policy: Policy| life(&policy, &reply, 0, 1).1;
        for policy in [
            aip194::REQUEST.also_on(backoff_core::codes![429]),
            iam::READ_MODIFY_WRITE,
            memorystore::REQUEST.on(backoff_core::codes![429, 503]),
            storage::NOT_IDEMPOTENT,
            pubsub::PUBLISH,
        ] {
            let waits = first(policy).is_none();
            assert_eq!(waits.to_string(), is_limit, "{policy:?} after {row:?}");
        }
        for policy in [aip194::REQUEST, iam::REQUEST] {
            let end = Some(StopReason::Permanent);
            assert_eq!(first(policy), end, "{policy:?} after {row:?}");
        }
    }
    // A policy that retries a 503 and no limit still retries it.
    let busy = error(503, "", &reasons("UNAVAILABLE", "rateLimitExceeded"));
    for policy in [aip194::REQUEST, iam::REQUEST] {
        assert_eq!(life(&policy, &busy, 0, 1).1, None, "{policy:?}");
    }
    let denied = reasons("PERMISSION_DENIED", "userRateLimitExceeded");
    let named = error(403, "", &denied);
    assert_eq!(named.service_code(), Some("userRateLimitExceeded"));
    let text = "HTTP 403 PERMISSION_DENIED userRateLimitExceeded: ..";
    assert_eq!(named.to_string(), text);
}

#[test]
fn azure_says_what_passes_with_a_409_and_cosmos_with_a_449() {
    let body = |code: &str| format!(r#"{{"error": {{"code": "{code}"}}}}"#);
    let rows = "
        409 | x-ms-error-code: ContainerBeingDeleted  | | 640 1280 2560 | Attempts
        409 | | AnotherOperationInProgress              | 640 1280 2560 | Attempts
        449 | | RetryWith                               | 640 1280 2560 | Attempts
        409 | x-ms-error-code: ContainerAlreadyExists | |               | Permanent
        409 | | Conflict                                |               | Permanent
        409 | |                                         |               | Permanent
    ";
    check(azure::REQUEST, body, rows);
    let row = "409 | | QueueBeingDeleted | 640 1280 2560 | Attempts";
    let body = |code: &str| format!("<Error><Code>{code}</Code></Error>");
    check(azure::REQUEST, body, row);
}

#[test]
fn github_limits_with_a_403() {
    let body = |of: &str| {
        let message = match of {
            "primary" => "API rate limit exceeded for user ID 1.",
            "secondary" => "You have exceeded a secondary rate limit. Please wait a few minutes.",
            "denied" => "Resource not accessible by integration",
            "abuse" => "You have triggered an abuse detection mechanism. Please wait.",
            _ => "abuse detection",
        };
        // A long text before the message.
        let url = "x".repeat(if of == "late" { 300 } else { 2 });
        match of {
            "{}" | "" => of.to_owned(),
            _ => format!(r#"{{"documentation_url": "{url}", "message": "{message}"}}"#),
        }
    };
    // Without the mark of GitHub. A limit that is over already is no minute.
    let unmarked = "
        403 |                                 | late      | 60000 120000 240000  | Attempts
        403 | x-ratelimit-remaining: 4000     | denied    |                      | Permanent
        403 |                                 | secondary | 60000 120000 240000  | Attempts
        403 |                                 | abuse     | 60000 120000 240000  | Attempts
        403 | x-ratelimit-remaining: 0        | {}        | 60000 120000 240000  | Attempts
        403 | x-ratelimit-remaining: 0; x-ratelimit-reset: 1000000250 | {} | 251000 251000 251000 | Attempts
        403 | x-ratelimit-remaining: 0; x-ratelimit-reset: 1000000000 | {} | 1000 1000 1000 | Attempts
        403 | retry-after: 1                  | {}        | 1000 1000 1000       | Attempts
        403 | x-ratelimit-remaining: 0.0      | {}        | 60000 120000 240000  | Attempts
        403 | x-ratelimit-remaining: -0       | {}        |                      | Permanent
        403 | x-ratelimit-remaining: 05       | {}        |                      | Permanent
    ";
    check(github::REQUEST, body, unmarked);
    for [status, headers, of, ..] in cells::<5>(unmarked) {
        let reply = error(status.parse().unwrap(), headers, &body(of));
        let plain = lived(plain_http::BY_METHOD, &reply);
        assert_eq!(plain, " | Permanent", "{headers} {of}");
    }
    let marked = "
        403 | x-ratelimit-remaining: 0; x-ratelimit-reset: 1000000250 | primary | 251000 251000 251000 | Attempts
        429 | x-ratelimit-remaining: 0; x-ratelimit-reset: 1000000250 | primary | 251000 251000 251000 | Attempts
        403 | x-ratelimit-remaining: 0; x-ratelimit-reset: 1000003000 | primary |     | RetryAfter
        403 | x-ratelimit-remaining: 4000; retry-after: 90 | secondary | 90000 90000 90000 | Attempts
        403 | x-ratelimit-remaining: 4000; retry-after: 1  | secondary | 1000 1000 1000    | Attempts
        429 | x-ratelimit-remaining: 4000; retry-after: 1  | {}        | 1000 1000 1000    | Attempts
        403 | x-ratelimit-remaining: 4000                  | abuse     | 60000 120000 240000 | Attempts
        429 | x-ratelimit-remaining: 4000; retry-after: 1209600 | {}   |                   | RetryAfter
        403 | x-ratelimit-remaining: 4000                  | secondary | 60000 120000 240000 | Attempts
        429 | x-ratelimit-remaining: 4000                  | {}        | 60000 120000 240000 | Attempts
        403 | x-ratelimit-remaining: 4000                  | denied    |                   | Permanent
        404 | x-ratelimit-remaining: 0; x-ratelimit-reset: 1000000250 | {} |               | Permanent
        502 | x-ratelimit-remaining: 4000                  |           | 1000 2000 4000    | Attempts
        429 | retry-after: 0                               | {}        | 1000 1000 1000    | Attempts
        503 | retry-after: 1                               |           | 1000 2000 4000    | Attempts
    "
    .replace("x-ratelimit-remaining", "x-github-request-id: A:1; x-ratelimit-remaining");
    check(github::REQUEST, body, &marked);
    assert_ne!(github::REQUEST, github::REQUEST.retry_after_alone(false));
    let rule: fn(&dyn Fault) -> bool = |_| false;
    assert_ne!(github::REQUEST, github::REQUEST.throttled_if(rule));
}

/// An operation may return the reply itself, without reading its body.
#[test]
fn a_reply_without_its_body_is_heard_too() {
    let (alone, used_up) = (("retry-after", "20.5"), ("x-ratelimit-remaining", "0"));
    let (github, kubernetes) = (github::REQUEST, kubernetes::UPDATE);
    for (policy, status, (name, value), lives) in [
        (openai::REQUEST, 429, alone, "20500 20500 | Attempts"),
        (anthropic::REQUEST, 429, alone, "20500 20500 | Attempts"),
        (github, 429, alone, "20500 20500 20500 | Attempts"),
        (github, 403, alone, "20500 20500 20500 | Attempts"),
        (github, 403, used_up, "60000 120000 240000 | Attempts"),
        (github, 403, ("x-a", "b"), " | Permanent"),
        (kubernetes, 429, alone, "20510 20510 20510 20510 | Attempts"),
    ] {
        let reply = http_1::Response::builder().status(status);
        let reply = reply.header(name, value).body(()).unwrap();
        assert_eq!(lived(policy, &reply), lives, "{policy:?} {status} {name}");
    }
}

/// Services without a preset, as they were seen: Docker Hub, Okta, Discord, Reddit and Stripe are among them.
#[test]
fn any_service_is_heard() {
    let body = |code: &str| format!(r#"{{"error": {{"code": "{code}"}}}}"#);
    let rows = "
        429 | retry-after: 12.493  | | 12493  | Attempts
        429 | retry-after: 1000000060; x-ratelimit-remaining: 0; x-ratelimit-reset: 1000000060 | | 61000 | Attempts
        429 | x-rate-limit-limit: 600; x-rate-limit-remaining: 0; x-rate-limit-reset: 1000000047 | | 48000 | Attempts
        429 | x-ratelimit-remaining: 0; x-ratelimit-reset: 1000000060.180; x-ratelimit-reset-after: 60.18 | | 60180 | Attempts
        429 | x-ratelimit-remaining: 0.0; x-ratelimit-reset: 41 | | 41000 | Attempts
        409 | stripe-should-retry: true  | idempotency_key_in_use | 0 | Attempts
        409 |                            | idempotency_key_in_use | 0 | Attempts
        409 | stripe-should-retry: false | idempotency_key_in_use |   | StoppedByServer
        400 |                            | idempotency_key_in_use |   | Permanent
        503 | stripe-should-retry: false   | |   | StoppedByServer
        409 | stripe-should-retry: perhaps | |   | Permanent
        409 | x-should-retry: perhaps; stripe-should-retry: true | | 0 | Attempts
        503 | x-should-retry: false; stripe-should-retry: true   | |   | StoppedByServer
    ";
    check(plain_http::IDEMPOTENT.max_attempts(2), body, rows);
}

#[test]
fn s3_tells_a_lost_race_from_one_that_runs() {
    let body = |code: &str| format!("<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code></Error>");
    let rows = "
        409 | | ConditionalRequestConflict | 0 0 | Attempts
        409 | | OperationAborted           | 0 0 | Attempts
        409 | | BucketAlreadyExists        |     | Permanent
        503 | | SlowDown                   | 0 0 | Attempts
        500 | | InternalError              | 0 0 | Attempts
        403 | | AccessDenied               |     | Permanent
    ";
    check(s3::REQUEST, body, rows);
    let most = "0 0 0 0 0 0 0 0 0";
    check(s3::READ_MODIFY_WRITE, body, &rows.replace("0 0", most));
    let one = "412 | | PreconditionFailed | | Permanent";
    check(s3::REQUEST, body, one);
    let update = format!("412 | | PreconditionFailed | {most} | Attempts");
    check(s3::READ_MODIFY_WRITE, body, &update);
}

#[test]
fn kubernetes_asks_for_a_time() {
    let body = |seconds: &str| match seconds {
        "" => "{}".to_owned(),
        _ => format!(r#"{{"code": 429, "details": {{"retryAfterSeconds": {seconds}}}}}"#),
    };
    let request = "
        429 | retry-after: 7 | 7 | 7000 7000 7000 7000 7000 7000 7000 7000 7000 7000 | Attempts
        429 |                | 7 | 7000 7000 7000 7000 7000 7000 7000 7000 7000 7000 | Attempts
        429 |                | 0 | 0 0 0 0 0 0 0 0 0 0 | Attempts
        504 |                |   | 0 0 0 0 0 0 0 0 0 0 | Attempts
        409 |                |   |                     | Permanent
    ";
    let update = "
        409 |                |   | 10 10 10 10         | Attempts
        422 |                |   |                     | Permanent
        429 |                | 7 | 7010 7010 7010 7010 | Attempts
        503 | retry-after: 1 |   | 1010 1010 1010 1010 | Attempts
        500 |                |   | 10 10 10 10         | Attempts
    ";
    let managed = "
        409 |                |   | 10 50 250           | Attempts
        504 | retry-after: 2 |   | 2010 2050 2250      | Attempts
    ";
    check(kubernetes::REQUEST, body, request);
    check(kubernetes::UPDATE, body, update);
    check(kubernetes::UPDATE_MANAGED, body, managed);
}
