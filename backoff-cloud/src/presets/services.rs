//! What services reply, as they document it, and what their presets do: the waits without jitter's random part, and the
//! end. Each reply is sent again and again.

use crate::{anthropic, github, http::ApiError, kubernetes, openai, reply::life, s3};
use backoff_core::{
    Policy,
    StopReason::{self, Attempts, Permanent, RetryAfter, StoppedByServer},
};
use std::time::{Duration, SystemTime};

/// A reply: the status, the headers, and the body. The reply was sent at 10⁹ s.
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
    ApiError::new(status, &map, body.as_bytes(), SystemTime::UNIX_EPOCH)
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
    let spent = r#"{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}"#;
    let limit = r#"{"error": {"message": "..", "type": "insufficient_quota", "code": "project_spend_limit_exceeded"}}"#;
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
        ((429, "", spent), &[], Permanent),
        ((429, "", limit), &[], Permanent),
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
    let left = "anthropic-ratelimit-input-tokens-remaining: 5000|anthropic-ratelimit-input-tokens-reset: 2001-09-09T01:47:10Z";
    let own = [375, 750];
    for (reply, waits, end) in [
        ((529, "", overloaded), &own[..], Attempts),
        ((529, "x-should-retry: true", overloaded), &own, Attempts),
        ((429, "retry-after: 12", limited), &[12_000; 2], Attempts),
        ((429, used_up, limited), &[30_000; 2], Attempts),
        ((429, left, limited), &own, Attempts),
        ((429, "", limited), &own, Attempts),
        ((402, "", billing), &[], Permanent),
        ((413, "", "{}"), &[], Permanent),
        ((500, "", "{}"), &own, Attempts),
    ] {
        check(anthropic::REQUEST, reply, waits, end);
    }
}

#[test]
fn github_limits_with_a_403() {
    const GITHUB: &str = "x-github-request-id: A:1|x-ratelimit-remaining: ";
    let headers = |rest: &str| -> &'static str { format!("{GITHUB}{rest}").leak() };
    let primary =
        r#"{"message": "API rate limit exceeded for user ID 1.", "documentation_url": ".."}"#;
    let secondary = r#"{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}"#;
    let denied = r#"{"message": "Resource not accessible by integration"}"#;
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
            &[90_000, 120_000, 240_000],
            Attempts,
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
        // Another service.
        (
            (
                403,
                "x-ratelimit-remaining: 0|x-ratelimit-reset: 1000000250",
                "{}",
            ),
            &[],
            Permanent,
        ),
    ] {
        check(github::REQUEST, reply, waits, end);
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
    for (policy, reply, waits, end) in [
        (
            kubernetes::REQUEST,
            (429, "retry-after: 7", status),
            &[7_000; 10][..],
            Attempts,
        ),
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
    ] {
        check(policy, reply, waits, end);
    }
}
