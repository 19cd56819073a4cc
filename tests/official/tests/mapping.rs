//! The errors of Google's own clients, and the facts that `Fault` reads from them. Each failure is caused on
//! a real socket.

use backoff_cloud::{
    Codes, Delivery, Fault,
    FaultKind::{Conflict, Throttled, Transient},
    GrpcCode, HintSource, Policy, Verdict, codes,
};
use google_cloud_gax_1::{error::Error, options::RequestOptionsBuilder, retry_policy::NeverRetry};
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::{client, listen, nobody, read_request, reply};
use std::{
    io::{Read, Write},
    time::Duration,
};

const PATIENT: Policy = Policy::exponential().on(codes![429, 500..=504]);
const CAREFUL: Policy = PATIENT.idempotent(false);

/// How a connection ends after the bytes of a reply.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Close,
    /// With bytes unread, so that the client is told of it by an RST.
    Reset,
    /// Not before the client hangs up.
    Stall,
}

/// The error of one request, made once.
async fn error_of(endpoint: String, limit: Duration) -> Error {
    let client = client!(
        SecretManagerService,
        endpoint,
        with_retry_policy(NeverRetry)
    );
    let get = client.get_secret().set_name("projects/p/secrets/s");
    let sent = get.with_attempt_timeout(limit).send().await;
    sent.expect_err("the server never does what it is asked")
}

/// The error when the server answers by these bytes.
async fn failure(said: String, end: End) -> Error {
    let address = listen(move |mut stream| {
        if end == End::Reset {
            return drop(stream.peek(&mut [0]));
        }
        read_request(&stream);
        drop(stream.write_all(said.as_bytes()));
        if end == End::Stall {
            drop(stream.read(&mut [0]));
        }
    });
    // Reached only where the server stalls, on a slow machine too.
    let limit = match end {
        End::Stall => Duration::from_millis(300),
        End::Close | End::Reset => Duration::from_secs(60),
    };
    error_of(format!("http://{address}"), limit).await
}

/// A reply with an error as Google's services write it.
fn named(status: u16, code: &str, details: &str) -> String {
    let body = format!(
        r#"{{"error":{{"code":{status},"message":"m","status":"{code}","details":[{details}]}}}}"#
    );
    reply(status, "content-type: application/json\r\n", &body)
}

/// Nobody answered.
fn assert_on_its_way(row: &str, error: &Error, transport: Delivery) {
    let says = (error.delivery(), Fault::status(error), error.grpc_code());
    assert_eq!(says, (Some(transport), None, None), "{row}: {error:?}");
    assert!(error.must_reconnect(), "{row}");
    let retried = |policy: &Policy| matches!(policy.judge(error), Verdict::Retry { .. });
    let is_safe = transport == Delivery::NotSent;
    let both = (retried(&PATIENT), retried(&CAREFUL));
    assert_eq!(both, (true, is_safe), "{row}: {error:?}");
}

#[tokio::test]
async fn on_the_way() {
    let refused = error_of(format!("http://{}", nobody()), Duration::from_secs(60)).await;
    assert_on_its_way("nobody listens", &refused, Delivery::NotSent);
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"name\":";
    // Half a 409 may be a conflict or not, so the status does not decide.
    let half_an_error = "HTTP/1.1 409 Conflict\r\ncontent-length: 100\r\n\r\n{\"err";
    let half_a_head = "HTTP/1.1 200 OK\r\ncontent-le";
    for (row, said, end) in [
        ("reset", "", End::Reset),
        ("closed before the reply", "", End::Close),
        ("closed in the head", half_a_head, End::Close),
        ("closed in the body", half, End::Close),
        ("closed in the body of an error", half_an_error, End::Close),
        ("no reply", "", End::Stall),
        ("no second half", half, End::Stall),
    ] {
        let error = failure(said.to_owned(), end).await;
        assert_on_its_way(row, &error, Delivery::MaybeSent);
        assert!(row != "no reply" || error.is_timeout(), "{error:?}");
    }
}

/// Seconds and milliseconds of a hint.
fn after(seconds: u64, millis: u64) -> Option<Duration> {
    Some(Duration::from_secs(seconds) + Duration::from_millis(millis))
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
    let down = Some(GrpcCode::Unavailable);
    let used_up = Some(GrpcCode::ResourceExhausted);
    let ages = after(31_557_600_000, 0);
    for (said, status, code, kind, hint) in [
        (page, 502, None, Transient, None),
        (named(503, "UNAVAILABLE", ""), 503, down, Transient, None),
        // A body that names no code leaves the word to the status.
        (reply(429, "", unnamed), 429, None, Throttled, None),
        (asks("7"), 429, None, Throttled, after(7, 0)),
        (asks("-1"), 429, None, Throttled, None),
        (asks("soon"), 429, None, Throttled, None),
        (asks("1.5"), 429, None, Throttled, after(1, 500)),
        (
            asks("99999999999999999999999"),
            429,
            None,
            Throttled,
            Some(Duration::MAX),
        ),
        (info("3.5s"), 429, used_up, Throttled, after(3, 500)),
        // A thousand years are told as they are: the policy bounds what is waited.
        (info("31557600000s"), 429, used_up, Throttled, ages),
        (info("-5s"), 429, used_up, Throttled, None),
    ] {
        let error = failure(said.clone(), End::Close).await;
        let says = (Fault::status(&error), error.grpc_code());
        assert_eq!(says, (Some(status), code), "{said}: {error:?}");
        assert_eq!(error.retry_after(), hint, "{said}: {error:?}");
        assert_eq!(error.delivery(), None, "{said}: {error:?}");
        let source = match code.is_some() && hint.is_some() {
            true => HintSource::RetryInfo,
            false => HintSource::RetryAfter,
        };
        assert_eq!(error.hint_source(), source, "{said}");
        let most = Duration::from_nanos(u64::MAX);
        let retry_after = hint.map(|hint| hint.min(most));
        let verdict = Verdict::Retry { kind, retry_after };
        assert_eq!(PATIENT.judge(&error), verdict, "{said}: {error:?}");
        // What was throttled did nothing.
        let careful = match kind {
            Transient => Verdict::MaybeApplied,
            _ => verdict,
        };
        assert_eq!(CAREFUL.judge(&error), careful, "{said}: {error:?}");
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_permanent() {
    let json = "content-type: application/json\r\n";
    let list = failure(reply(200, json, "[1, 2]"), End::Close).await;
    assert!(list.is_deserialization(), "{list:?}");
    let again = reply(302, "location: /again\r\n", "");
    for error in [list, failure(again, End::Close).await] {
        assert_eq!(PATIENT.judge(&error), Verdict::Permanent, "{error:?}");
    }
}

const CONFLICT: Verdict = Verdict::Retry {
    kind: Conflict,
    retry_after: None,
};

#[tokio::test]
async fn conflicts() {
    use GrpcCode::{Aborted, AlreadyExists, FailedPrecondition};
    let conflicts = Policy::exponential().on(codes![409, Codes::ABORTED]);
    let no = Verdict::Permanent;
    for (status, name, code, verdict) in [
        (409, "ABORTED", Aborted, CONFLICT),
        (409, "ALREADY_EXISTS", AlreadyExists, no),
        // A conflict only where the caller says so.
        (400, "FAILED_PRECONDITION", FailedPrecondition, no),
    ] {
        let error = failure(named(status, name, ""), End::Close).await;
        let says = (Fault::status(&error), error.grpc_code());
        assert_eq!(says, (Some(status), Some(code)), "{name}");
        assert_eq!(conflicts.judge(&error), verdict, "{name}");
        assert_eq!(PATIENT.judge(&error), Verdict::Permanent, "{name}");
    }

    let policy = PATIENT.scaled(0.001);
    let says_so = policy.when(|error: &Error| match error.grpc_code() {
        Some(FailedPrecondition) => CONFLICT,
        _ => policy.judge(error),
    });
    let mut reads = 0;
    let read = || {
        reads += 1;
        std::future::ready(Ok(reads))
    };
    let write = |read| async move {
        match read {
            1 => Err(failure(named(400, "FAILED_PRECONDITION", ""), End::Close).await),
            _ => Ok(read),
        }
    };
    let updated = says_so.update(read, |_| true, write).await;
    assert_eq!(updated.unwrap().into_inner(), 2);
}
