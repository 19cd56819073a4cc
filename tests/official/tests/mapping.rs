//! The errors of Google's own clients, and the facts that `Fault` reads from them. Each failure is caused on
//! a real socket.

use backoff_cloud::{Codes, Fault, FaultKind, GrpcCode, HintSource, Policy, Verdict, codes};
use google_cloud_gax_1::{error::Error, options::RequestOptionsBuilder, retry_policy::NeverRetry};
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::client;
use std::time::Duration;
use support::{
    Act, Column, MAYBE_SENT, NOTHING, POLICY,
    Repeated::{Always, IfIdempotent, Never},
    Target, assert_row, fails_on_the_way, failure, head, reply, status,
};

struct Google;

impl Column for Google {
    type Error = Error;

    /// It has no limit for the connection alone. It calls a chunk without a length a body that cannot be read.
    const CANNOT: &[&str] = &["nobody accepts", "a chunk without a length"];

    const HAS_TLS: bool = true;

    async fn read(target: Target) -> Result<(), Error> {
        let client = client!(
            SecretManagerService,
            target.origin,
            with_retry_policy(NeverRetry)
        );
        let get = client.get_secret().set_name("projects/p/secrets/s");
        get.with_attempt_timeout(target.whole)
            .send()
            .await
            .map(drop)
    }

    fn fits(error: &Error, row: &str) -> bool {
        row != "no reply" || error.is_timeout()
    }
}

/// A reply with an error as Google's services write it.
fn named(status: u16, code: &str, details: &str) -> Act {
    let body = format!(
        r#"{{"error":{{"code":{status},"message":"m","status":"{code}","details":[{details}]}}}}"#
    );
    reply(status, "content-type: application/json\r\n", body)
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<Google>().await;
    // Half a 409 may be a conflict or not, so the status does not decide.
    let half = head("409 Conflict\r\ncontent-length: 100", "{\"err");
    let error = failure::<Google>(half).await;
    assert_row("half an error", error, MAYBE_SENT, IfIdempotent);
    // What makes no sense is permanent.
    let list = reply(200, "content-type: application/json\r\n", "[1, 2]");
    let list = failure::<Google>(list).await;
    assert!(list.is_deserialization(), "{list:?}");
    assert_row("a list", list, NOTHING, Never);
    let again = Target::at(support::serve(reply(302, "location: /again\r\n", "")));
    let error = Google::read(again).await.expect_err("a circle");
    assert_eq!(POLICY.judge(&error), Verdict::Permanent, "{error:?}");
}

#[tokio::test]
async fn what_the_service_says() {
    let page = "<html><title>502 Bad Gateway</title></html>";
    let page = reply(502, "content-type: text/html\r\n", page);
    let unnamed = r#"{"error":{"code":429,"message":"too many"}}"#;
    let asks = |after: &str| reply(429, &format!("retry-after: {after}\r\n"), "slow down");
    let info = |delay: &str| {
        let info = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"DELAY"}"#;
        named(429, "RESOURCE_EXHAUSTED", &info.replace("DELAY", delay))
    };
    let down = status(503).code(GrpcCode::Unavailable);
    let (slow, used_up) = (status(429), status(429).code(GrpcCode::ResourceExhausted));
    let mut for_ever = slow;
    for_ever.retry_after = Some(Duration::MAX);
    let (by_header, by_info) = (HintSource::RetryAfter, HintSource::RetryInfo);
    for (act, facts, source) in [
        (page, status(502), by_header),
        (named(503, "UNAVAILABLE", ""), down, by_header),
        // A body that names no code leaves the word to the status.
        (reply(429, "", unnamed), slow, by_header),
        (asks("7"), slow.after(7_000), by_header),
        (asks("-1"), slow, by_header),
        (asks("soon"), slow, by_header),
        (asks("1.5"), slow.after(1_500), by_header),
        (asks("99999999999999999999999"), for_ever, by_header),
        (info("3.5s"), used_up.after(3_500), by_info),
        // A thousand years are told as they are: the policy bounds what is waited.
        (
            info("31557600000s"),
            used_up.after(31_557_600_000_000),
            by_info,
        ),
        (info("-5s"), used_up, by_header),
    ] {
        let row = format!("{act:?}");
        let error = failure::<Google>(act).await;
        assert_eq!(error.hint_source(), source, "{row}");
        // What was throttled did nothing.
        let repeated = match facts.status {
            Some(429) => Always,
            _ => IfIdempotent,
        };
        assert_row(&row, error, facts, repeated);
    }
}

#[tokio::test]
async fn conflicts() {
    use GrpcCode::{Aborted, AlreadyExists, FailedPrecondition};
    const PATIENT: Policy = Policy::exponential().on(codes![429, 500..=504]);
    let conflict = Verdict::Retry {
        kind: FaultKind::Conflict,
        retry_after: None,
    };
    let conflicts = Policy::exponential().on(codes![409, Codes::ABORTED]);
    let no = Verdict::Permanent;
    for (code, name, grpc, verdict) in [
        (409, "ABORTED", Aborted, conflict),
        (409, "ALREADY_EXISTS", AlreadyExists, no),
        // A conflict only where the caller says so.
        (400, "FAILED_PRECONDITION", FailedPrecondition, no),
    ] {
        let error = failure::<Google>(named(code, name, "")).await;
        let says = (Fault::status(&error), error.grpc_code());
        assert_eq!(says, (Some(code), Some(grpc)), "{name}");
        let judged = (conflicts.judge(&error), PATIENT.judge(&error));
        assert_eq!(judged, (verdict, no), "{name}");
    }

    let policy = PATIENT.scaled(0.001);
    let says_so = policy.when(|error: &Error| match error.grpc_code() {
        Some(FailedPrecondition) => conflict,
        _ => policy.judge(error),
    });
    let mut reads = 0;
    let read = || {
        reads += 1;
        std::future::ready(Ok(reads))
    };
    let write = |read| async move {
        match read {
            1 => Err(failure::<Google>(named(400, "FAILED_PRECONDITION", "")).await),
            _ => Ok(read),
        }
    };
    let updated = says_so.update(read, |_| true, write).await;
    assert_eq!(updated.unwrap().into_inner(), 2);
}
