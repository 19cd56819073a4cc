//! What services reply, as they document it, and what their presets do: the waits without jitter's random part, and the
//! end. Each reply is sent again and again.

use crate::{
    aip194, anthropic, azure, github, http::ApiError, iam, kubernetes, memorystore, openai,
    plain_http, pubsub, reply::life, s3, storage,
};
use backoff_core::{
    Policy,
    StopReason::{self, Attempts, Permanent, RetryAfter, StoppedByServer},
};
use std::time::{Duration, SystemTime};

/// A reply: the status, the headers, and the body. The reply was sent at 10⁹ s, and the client's clock is a minute late.
type Reply = (u16, &'static str, &'static str);

const DATE: &str = "date: Sun, 09 Sep 2001 01:46:40 GMT";

fn error((status, headers, body): Reply) -> ApiError {
    let mut map = reqwest::header::HeaderMap::new();
    for line in headers
        .split('|')
        .chain([DATE])
        .filter(|line| !line.is_empty())
    {
        let (name, value) = line.split_once(": ").expect(line);
        let name: reqwest::header::HeaderName = name.parse().expect(line);
        map.append(name, value.parse().expect(line));
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(999_999_940);
    ApiError::new(status, &map, body.as_bytes(), now)
}

/// The least waits in milliseconds, and the end.
#[track_caller]
fn check(policy: Policy, reply: Reply, waits: &[u64], end: StopReason) {
    let waits: Vec<_> = waits.iter().map(|ms| Duration::from_millis(*ms)).collect();
    let played = life(&policy.without_budget(), &error(reply), 0, 99);
    assert_eq!(played, (waits, Some(end)), "{policy:?} after {reply:?}");
}

#[test]
fn openai_says_by_headers_and_codes_what_passes() {
    let rate_limited = r#"{"error": {"message": "Rate limit reached for gpt-5", "type": "tokens", "param": null, "code": "rate_limit_exceeded"}}"#;
    let used_up = r#"{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}"#;
    let limit = r#"{"error": {"message": "..", "type": "insufficient_quota", "code": "project_spend_limit_exceeded"}}"#;
    let no_credit = r#"{"error": {"message": "..", "type": "insufficient_quota", "code": "credit_balance_exhausted"}}"#;
    let by_type = r#"{"error": {"message": "..", "type": "insufficient_quota", "param": null, "code": null}}"#;
    let overloaded =
        r#"{"error": {"message": "..", "type": "server_error", "code": "server_is_overloaded"}}"#;
    let own = [375, 750];
    for (reply, waits, end) in [
        ((429, "", rate_limited), &own[..], Attempts),
        (
            (429, "retry-after-ms: 1200", rate_limited),
            &[1_200, 1_200],
            Attempts,
        ),
        (
            (429, "retry-after: 20", rate_limited),
            &[20_000; 2],
            Attempts,
        ),
        ((429, "retry-after: 301", rate_limited), &[], RetryAfter),
        (
            (
                429,
                "retry-after: 20.5|retry-after-ms: 20499.5",
                rate_limited,
            ),
            &[20_500; 2],
            Attempts,
        ),
        // When the quota is full again says nothing about a failure of the server.
        (
            (
                500,
                "x-ratelimit-remaining-requests: 0|x-ratelimit-reset-requests: 4m0s",
                "",
            ),
            &own,
            Attempts,
        ),
        (
            (
                500,
                "x-ratelimit-remaining-requests: 0|x-ratelimit-reset-requests: 6m0s",
                "",
            ),
            &own,
            Attempts,
        ),
        (
            (
                429,
                "x-ratelimit-remaining-tokens: 0|x-ratelimit-reset-tokens: 6s",
                rate_limited,
            ),
            &[6_000; 2],
            Attempts,
        ),
        (
            (
                429,
                "x-ratelimit-remaining-tokens: 90|x-ratelimit-reset-tokens: 6s",
                rate_limited,
            ),
            &own,
            Attempts,
        ),
        (
            (
                429,
                "x-ratelimit-remaining-requests: 0|x-ratelimit-reset-requests: 6m0s",
                rate_limited,
            ),
            &[],
            RetryAfter,
        ),
        ((429, "", used_up), &[], Permanent),
        ((429, "", limit), &[], Permanent),
        ((429, "", no_credit), &[], Permanent),
        ((429, "", by_type), &[], Permanent),
        (
            (429, "x-should-retry: false", rate_limited),
            &[],
            StoppedByServer,
        ),
        ((503, "", overloaded), &own, Attempts),
        (
            (503, "x-should-retry: false", overloaded),
            &[],
            StoppedByServer,
        ),
        ((400, "x-should-retry: true", "{}"), &own, Attempts),
        ((408, "", ""), &own, Attempts),
        ((409, "", ""), &own, Attempts),
        ((529, "", ""), &own, Attempts),
        ((401, "", "{}"), &[], Permanent),
        ((400, "", "{}"), &[], Permanent),
    ] {
        check(openai::REQUEST, reply, waits, end);
    }
}

#[test]
fn anthropic_has_its_own_status_and_headers() {
    let overloaded =
        r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
    let limited = r#"{"type": "error", "error": {"type": "rate_limit_error", "message": "..."}}"#;
    let billing = r#"{"type": "error", "error": {"type": "billing_error", "message": "..."}}"#;
    let used_up = "anthropic-ratelimit-input-tokens-remaining: 0|anthropic-ratelimit-input-tokens-reset: 2001-09-09T01:47:10Z";
    let priority = "anthropic-priority-input-tokens-remaining: 0|anthropic-priority-input-tokens-reset: 2001-09-09T01:47:10Z";
    let left = "anthropic-ratelimit-input-tokens-remaining: 5000|anthropic-ratelimit-input-tokens-reset: 2001-09-09T01:47:10Z";
    let own = [375, 750];
    for (reply, waits, end) in [
        ((529, "", overloaded), &own[..], Attempts),
        ((529, "x-should-retry: true", overloaded), &own, Attempts),
        ((429, "retry-after: 12", limited), &[12_000; 2], Attempts),
        ((429, used_up, limited), &[30_000; 2], Attempts),
        ((429, left, limited), &own, Attempts),
        ((429, priority, limited), &[30_000; 2], Attempts),
        ((429, "", limited), &own, Attempts),
        ((402, "", billing), &[], Permanent),
        ((413, "", "{}"), &[], Permanent),
        ((500, "", "{}"), &own, Attempts),
    ] {
        check(anthropic::REQUEST, reply, waits, end);
    }
}

/// The body of an error of Google with these fields beside its status.
fn google(status: &str, fields: &str) -> &'static str {
    format!(r#"{{"error": {{"status": "{status}", "message": "..", {fields}}}}}"#).leak()
}

/// Rows: the reply, and how a policy ends that retries a 429. A reason of a limit counts as a 429, so a policy that does
/// not retry a 429 ends at once, and any other policy at its usual end.
#[test]
fn google_names_a_limit_beside_any_status() {
    let reasons = |status, reason: &str| {
        let field = format!(r#""errors": [{{"domain": "usageLimits", "reason": "{reason}"}}]"#);
        google(status, &field)
    };
    let info = |status, reason: &str, metadata: &str| {
        let kind = "type.googleapis.com/google.rpc.ErrorInfo";
        let info =
            format!(r#"{{"@type": "{kind}", "reason": "{reason}", "metadata": {{{metadata}}}}}"#);
        google(status, &format!(r#""details": [{info}]"#))
    };
    let quota = |id: &str| {
        let kind = "type.googleapis.com/google.rpc.QuotaFailure";
        let field =
            format!(r#""details": [{{"@type": "{kind}", "violations": [{{"quotaId": "{id}"}}]}}]"#);
        google("RESOURCE_EXHAUSTED", &field)
    };
    let denied = "PERMISSION_DENIED";
    let per_day = r#""quota_unit": "1/d/{project}""#;
    for (status, body, is_limit) in [
        (403, reasons(denied, "rateLimitExceeded"), true),
        (403, reasons("", "userRateLimitExceeded"), true),
        (403, reasons(denied, "jobRateLimitExceeded"), true),
        (
            400,
            reasons("INVALID_ARGUMENT", "concurrentLimitExceeded"),
            true,
        ),
        (403, info(denied, "RATE_LIMIT_EXCEEDED", ""), true),
        (
            429,
            info("RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED", ""),
            true,
        ),
        (
            400,
            info(
                "FAILED_PRECONDITION",
                "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED",
                "",
            ),
            true,
        ),
        (
            429,
            quota("GenerateRequestsPerMinutePerProjectPerModel"),
            true,
        ),
        (
            429,
            quota("GenerateRequestsPerDayPerProjectPerModel"),
            false,
        ),
        (
            429,
            info("RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED", per_day),
            false,
        ),
        (403, reasons(denied, "dailyLimitExceeded"), false),
        (429, reasons("RESOURCE_EXHAUSTED", "quotaExceeded"), false),
        (403, reasons(denied, "accessNotConfigured"), false),
        (403, reasons(denied, "forbidden"), false),
        (
            403,
            google(denied, r#""errors": "rateLimitExceeded""#),
            false,
        ),
        // The reason may be that of another service, which the failed one has called.
        (501, reasons("UNIMPLEMENTED", "rateLimitExceeded"), false),
    ] {
        let reply = error((status, "", body));
        for policy in [
            aip194::REQUEST.also_on(backoff_core::codes![429]),
            iam::READ_MODIFY_WRITE,
            memorystore::REQUEST.on(backoff_core::codes![429, 503]),
            storage::NOT_IDEMPOTENT,
            pubsub::PUBLISH,
        ] {
            let is_retried = life(&policy, &reply, 0, 1).1.is_none();
            assert_eq!(is_retried, is_limit, "{policy:?} after {body}");
        }
        for policy in [aip194::REQUEST, iam::REQUEST] {
            assert_eq!(
                life(&policy, &reply, 0, 1).1,
                Some(Permanent),
                "{policy:?} after {body}"
            );
        }
    }
    // A policy that retries a 503 and no limit still retries it.
    let busy = error((503, "", reasons("UNAVAILABLE", "rateLimitExceeded")));
    for policy in [aip194::REQUEST, iam::REQUEST] {
        assert_eq!(life(&policy, &busy, 0, 1).1, None, "{policy:?}");
    }
    let named = error((403, "", reasons(denied, "userRateLimitExceeded")));
    assert_eq!(named.service_code(), Some("userRateLimitExceeded"));
    assert_eq!(
        named.to_string(),
        "HTTP 403 PERMISSION_DENIED userRateLimitExceeded: .."
    );
}

#[test]
fn azure_says_what_passes_with_a_409_and_cosmos_with_a_449() {
    let code =
        |code: &str| -> &'static str { format!(r#"{{"error": {{"code": "{code}"}}}}"#).leak() };
    let own = [640, 1_280, 2_560];
    for (reply, end) in [
        (
            (409, "x-ms-error-code: ContainerBeingDeleted", ""),
            Attempts,
        ),
        (
            (409, "", "<Error><Code>QueueBeingDeleted</Code></Error>"),
            Attempts,
        ),
        ((409, "", code("AnotherOperationInProgress")), Attempts),
        ((449, "", code("RetryWith")), Attempts),
        (
            (409, "x-ms-error-code: ContainerAlreadyExists", ""),
            Permanent,
        ),
        ((409, "", code("Conflict")), Permanent),
        ((409, "", ""), Permanent),
    ] {
        let waits = if end == Attempts { &own[..] } else { &[] };
        check(azure::REQUEST, reply, waits, end);
    }
}

#[test]
fn github_limits_with_a_403() {
    const GITHUB: &str = "x-github-request-id: A:1|x-ratelimit-remaining: ";
    const USED_UP: &str = "x-ratelimit-remaining: 0|x-ratelimit-reset: 1000000250";
    let headers = |rest: &str| -> &'static str { format!("{GITHUB}{rest}").leak() };
    let primary =
        r#"{"message": "API rate limit exceeded for user ID 1.", "documentation_url": ".."}"#;
    let secondary = r#"{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}"#;
    let denied = r#"{"message": "Resource not accessible by integration"}"#;
    let abuse = r#"{"message": "You have triggered an abuse detection mechanism. Please wait a few minutes."}"#;
    let late = format!(
        r#"{{"documentation_url": "{}", "message": "abuse detection"}}"#,
        "x".repeat(300)
    );
    let late: &'static str = late.leak();
    let doubling = [60_000, 120_000, 240_000];
    for (reply, waits, end) in [
        (
            (403, headers("0|x-ratelimit-reset: 1000000250"), primary),
            &[250_000; 3][..],
            Attempts,
        ),
        (
            (429, headers("0|x-ratelimit-reset: 1000000250"), primary),
            &[250_000; 3],
            Attempts,
        ),
        (
            (403, headers("0|x-ratelimit-reset: 1000003000"), primary),
            &[],
            RetryAfter,
        ),
        (
            (403, headers("4000|retry-after: 90"), secondary),
            &[90_000; 3],
            Attempts,
        ),
        (
            (403, headers("4000|retry-after: 1"), secondary),
            &[1_000; 3],
            Attempts,
        ),
        (
            (429, headers("4000|retry-after: 1"), "{}"),
            &[1_000; 3],
            Attempts,
        ),
        ((403, headers("4000"), abuse), &doubling, Attempts),
        ((403, "", late), &doubling, Attempts),
        (
            (429, headers("4000|retry-after: 1209600"), "{}"),
            &[],
            RetryAfter,
        ),
        ((403, headers("4000"), secondary), &doubling, Attempts),
        ((429, headers("4000"), "{}"), &doubling, Attempts),
        ((403, headers("4000"), denied), &[], Permanent),
        (
            (404, headers("0|x-ratelimit-reset: 1000000250"), "{}"),
            &[],
            Permanent,
        ),
        ((502, headers("4000"), ""), &[1_000, 2_000, 4_000], Attempts),
        // Without the mark of GitHub.
        ((403, "x-ratelimit-remaining: 4000", denied), &[], Permanent),
        ((403, "", secondary), &doubling, Attempts),
        ((403, "", abuse), &doubling, Attempts),
        ((403, "x-ratelimit-remaining: 0", "{}"), &doubling, Attempts),
        ((403, USED_UP, "{}"), &[250_000; 3], Attempts),
        // A limit that is over already is no minute.
        (
            (
                403,
                "x-ratelimit-remaining: 0|x-ratelimit-reset: 1000000000",
                "{}",
            ),
            &[0; 3],
            Attempts,
        ),
        ((429, "retry-after: 0", "{}"), &[0; 3], Attempts),
        ((403, "retry-after: 1", "{}"), &[1_000; 3], Attempts),
        (
            (403, "x-ratelimit-remaining: 0.0", "{}"),
            &doubling,
            Attempts,
        ),
        ((403, "x-ratelimit-remaining: -0", "{}"), &[], Permanent),
        ((403, "x-ratelimit-remaining: 05", "{}"), &[], Permanent),
        (
            (503, "retry-after: 1", ""),
            &[1_000, 2_000, 4_000],
            Attempts,
        ),
    ] {
        check(github::REQUEST, reply, waits, end);
        if reply.0 == 403 && !reply.1.starts_with(GITHUB) {
            check(plain_http::BY_METHOD, reply, &[], Permanent);
        }
    }
    assert_ne!(github::REQUEST, github::REQUEST.retry_after_alone(false));
    let rule: fn(&dyn backoff_core::Fault) -> bool = |_| false;
    assert_ne!(github::REQUEST, github::REQUEST.throttled_if(rule));
}

/// An operation may return the reply itself, without reading its body. Rows: the policy, the status, a header, the waits
/// without jitter's random part, and the end.
#[test]
fn a_reply_without_its_body_is_heard_too() {
    let (alone, used_up) = (("retry-after", "20.5"), ("x-ratelimit-remaining", "0"));
    let doubling = [60_000, 120_000, 240_000];
    for (policy, status, (name, value), waits, end) in [
        (openai::REQUEST, 429, alone, &[20_500; 2][..], Attempts),
        (anthropic::REQUEST, 429, alone, &[20_500; 2], Attempts),
        (github::REQUEST, 429, alone, &[20_500; 3], Attempts),
        (github::REQUEST, 403, alone, &[20_500; 3], Attempts),
        (github::REQUEST, 403, used_up, &doubling, Attempts),
        (github::REQUEST, 403, ("x-a", "b"), &[], Permanent),
        (kubernetes::UPDATE, 429, alone, &[20_510; 4], Attempts),
    ] {
        let reply = http_1::Response::builder().status(status);
        let reply = reply.header(name, value).body(()).unwrap();
        let (played, stop) = life(&policy.without_budget(), &reply, 0, 99);
        let played: Vec<_> = played.iter().map(Duration::as_millis).collect();
        assert_eq!(
            (&*played, stop),
            (waits, Some(end)),
            "{policy:?} {status} {name}"
        );
    }
}

/// Services without a preset, as they were seen.
#[test]
fn any_service_is_heard() {
    let stripe = "stripe-should-retry: ";
    let asks = |answer: &str| -> &'static str { format!("{stripe}{answer}").leak() };
    let in_use = r#"{"error": {"code": "idempotency_key_in_use"}}"#;
    for (reply, waits, end) in [
        ((429, "retry-after: 12.493", ""), &[12_493][..], Attempts),
        ((429, "retry-after: 299.997", ""), &[299_997], Attempts),
        ((429, "retry-after: 1m0s", ""), &[60_000], Attempts),
        // Docker Hub.
        (
            (
                429,
                "retry-after: 1000000060|x-ratelimit-remaining: 0|x-ratelimit-reset: 1000000060",
                "",
            ),
            &[60_000],
            Attempts,
        ),
        // Okta.
        (
            (
                429,
                "x-rate-limit-limit: 600|x-rate-limit-remaining: 0|x-rate-limit-reset: 1000000047",
                "",
            ),
            &[47_000],
            Attempts,
        ),
        // Discord.
        (
            (
                429,
                "x-ratelimit-remaining: 0|x-ratelimit-reset: 1000000060.180|x-ratelimit-reset-after: 60.18",
                "",
            ),
            &[60_180],
            Attempts,
        ),
        // Reddit.
        (
            (429, "x-ratelimit-remaining: 0.0|x-ratelimit-reset: 41", ""),
            &[41_000],
            Attempts,
        ),
        ((409, asks("true"), in_use), &[0], Attempts),
        ((409, "", in_use), &[0], Attempts),
        ((409, asks("false"), in_use), &[], StoppedByServer),
        ((400, "", in_use), &[], Permanent),
        ((503, asks("false"), ""), &[], StoppedByServer),
        ((409, asks("perhaps"), ""), &[], Permanent),
        (
            (409, "x-should-retry: perhaps|stripe-should-retry: true", ""),
            &[0],
            Attempts,
        ),
        (
            (503, "x-should-retry: false|stripe-should-retry: true", ""),
            &[],
            StoppedByServer,
        ),
    ] {
        check(plain_http::IDEMPOTENT.max_attempts(2), reply, waits, end);
    }
}

#[test]
fn s3_tells_a_lost_race_from_one_that_runs() {
    let code = |code: &str| -> &'static str {
        format!("<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>..</Message></Error>")
            .leak()
    };
    let zero = [0; 2];
    for (reply, one, update) in [
        ((412, "", code("PreconditionFailed")), Permanent, Attempts),
        (
            (409, "", code("ConditionalRequestConflict")),
            Attempts,
            Attempts,
        ),
        ((409, "", code("OperationAborted")), Attempts, Attempts),
        ((409, "", code("BucketAlreadyExists")), Permanent, Permanent),
        ((503, "", code("SlowDown")), Attempts, Attempts),
        ((500, "", code("InternalError")), Attempts, Attempts),
        ((403, "", code("AccessDenied")), Permanent, Permanent),
    ] {
        let waits = |end, most: usize| vec![0; if end == Attempts { most } else { 0 }];
        check(s3::REQUEST, reply, &waits(one, zero.len()), one);
        check(s3::READ_MODIFY_WRITE, reply, &waits(update, 9), update);
    }
}

#[test]
fn kubernetes_asks_for_a_time() {
    let status = r#"{"kind": "Status", "code": 429, "details": {"retryAfterSeconds": 7}}"#;
    let unnamed = r#"{"kind": "Status", "code": 429, "details": {"retryAfterSeconds": 0}}"#;
    for (policy, reply, waits, end) in [
        (
            kubernetes::REQUEST,
            (429, "retry-after: 7", status),
            &[7_000; 10][..],
            Attempts,
        ),
        (
            kubernetes::REQUEST,
            (429, "", status),
            &[7_000; 10],
            Attempts,
        ),
        (kubernetes::REQUEST, (429, "", unnamed), &[0; 10], Attempts),
        (kubernetes::REQUEST, (504, "", ""), &[0; 10], Attempts),
        (kubernetes::REQUEST, (409, "", "{}"), &[], Permanent),
        (kubernetes::UPDATE, (409, "", "{}"), &[10; 4], Attempts),
        (
            kubernetes::UPDATE_MANAGED,
            (409, "", "{}"),
            &[10, 50, 250],
            Attempts,
        ),
        (kubernetes::UPDATE, (422, "", "{}"), &[], Permanent),
        (kubernetes::UPDATE, (429, "", status), &[7_010; 4], Attempts),
        (
            kubernetes::UPDATE,
            (503, "retry-after: 1", ""),
            &[1_010; 4],
            Attempts,
        ),
        (kubernetes::UPDATE, (500, "", ""), &[10; 4], Attempts),
        (
            kubernetes::UPDATE_MANAGED,
            (504, "retry-after: 2", ""),
            &[2_010, 2_050, 2_250],
            Attempts,
        ),
    ] {
        check(policy, reply, waits, end);
    }
}
