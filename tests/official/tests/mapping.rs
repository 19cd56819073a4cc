//! The errors of Google's own clients, and the facts that `Fault` reads from them. Each failure is caused on
//! a real socket.

use backoff_cloud::{Delivery, Fault, FaultKind, GrpcCode, Policy, Verdict, codes};
use google_cloud_gax_1::{error::Error, options::RequestOptionsBuilder, retry_policy::NeverRetry};
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::{credentials, listen, nobody, read_request, reply};
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

const PATIENT: Policy = Policy::exponential().on(codes![429, 500..=504]);
const CAREFUL: Policy = PATIENT.idempotent(false);
const CONFLICT: Verdict = Verdict::Retry {
    kind: FaultKind::Conflict,
    retry_after: None,
};

/// A limit that is to be reached.
const PATIENCE: Duration = Duration::from_millis(300);

/// A limit that is not to be reached, on a slow machine either.
const AMPLE: Duration = Duration::from_secs(60);

/// The error of one request, made once.
async fn error_of(endpoint: String, limit: Duration) -> Error {
    let client = SecretManagerService::builder()
        .with_endpoint(endpoint)
        .with_credentials(credentials())
        .with_retry_policy(NeverRetry)
        .build()
        .await
        .expect("nothing is sent yet");
    let get = client.get_secret().set_name("projects/p/secrets/s");
    get.with_attempt_timeout(limit)
        .send()
        .await
        .expect_err("the server never does what it is asked")
}

async fn error_on(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> Error {
    error_of(format!("http://{}", listen(serve)), AMPLE).await
}

/// The error of a request whose server does this, and then nothing until the client hangs up.
async fn error_after_a_stall(serve: impl Fn(&mut TcpStream) + Clone + Send + 'static) -> Error {
    let address = listen(move |mut stream| {
        serve(&mut stream);
        drop(stream.read(&mut [0]));
    });
    error_of(format!("http://{address}"), PATIENCE).await
}

async fn error_said(status: u16, headers: &'static str, body: &'static str) -> Error {
    error_on(move |mut stream| {
        read_request(&stream);
        drop(stream.write_all(reply(status, headers, body).as_bytes()));
    })
    .await
}

async fn error_named(status: u16, code: &'static str, details: &'static str) -> Error {
    let body = format!(
        r#"{{"error":{{"code":{status},"message":"m","status":"{code}","details":[{details}]}}}}"#
    );
    error_said(status, "content-type: application/json\r\n", body.leak()).await
}

fn retried(policy: &Policy, error: &Error) -> bool {
    matches!(policy.judge(error), Verdict::Retry { .. })
}

/// Nobody answered.
fn assert_on_its_way(error: &Error, transport: Delivery) {
    assert_eq!(error.delivery(), Some(transport), "{error:?}");
    assert_eq!((Fault::status(error), error.grpc_code()), (None, None));
    assert!(error.must_reconnect());
    assert!(retried(&PATIENT, error), "{error:?}");
    let is_safe = transport == Delivery::NotSent;
    assert_eq!(retried(&CAREFUL, error), is_safe, "{error:?}");
}

#[tokio::test]
async fn refused() {
    let error = error_of(format!("http://{}", nobody()), AMPLE).await;
    assert_on_its_way(&error, Delivery::NotSent);
}

#[tokio::test]
async fn reset() {
    // What is closed with bytes unread is reset.
    let error = error_on(|stream| drop(stream.peek(&mut [0]))).await;
    assert_on_its_way(&error, Delivery::MaybeSent);
}

#[tokio::test]
async fn closed_before_the_reply() {
    let error = error_on(|stream| drop(read_request(&stream))).await;
    assert_on_its_way(&error, Delivery::MaybeSent);
}

#[tokio::test]
async fn closed_in_the_middle_of_the_reply() {
    let error = error_on(|mut stream| {
        read_request(&stream);
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-le"));
    })
    .await;
    assert_on_its_way(&error, Delivery::MaybeSent);
}

#[tokio::test]
async fn body_cut_short() {
    let error = error_on(|mut stream| {
        read_request(&stream);
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"name\":"));
        drop(stream.shutdown(Shutdown::Both));
    })
    .await;
    assert_on_its_way(&error, Delivery::MaybeSent);
}

#[tokio::test]
async fn error_body_cut_short() {
    let error = error_on(|mut stream| {
        read_request(&stream);
        drop(stream.write_all(b"HTTP/1.1 409 Conflict\r\ncontent-length: 100\r\n\r\n{\"err"));
    })
    .await;
    // Half a 409 may be a conflict or not, so the status does not decide.
    assert_on_its_way(&error, Delivery::MaybeSent);
}

#[tokio::test]
async fn stall_before_the_reply() {
    let error = error_after_a_stall(|stream| drop(read_request(stream))).await;
    assert!(error.is_timeout(), "{error:?}");
    assert_on_its_way(&error, Delivery::MaybeSent);
}

#[tokio::test]
async fn stall_in_the_body() {
    let error = error_after_a_stall(|stream| {
        read_request(stream);
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"name\":"));
    })
    .await;
    assert_on_its_way(&error, Delivery::MaybeSent);
}

#[tokio::test]
async fn tls_refused() {
    // It closes the connection on the first bytes of the handshake.
    let address = listen(|mut stream| {
        drop(stream.read(&mut [0; 4096]));
        drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    });
    let error = error_of(format!("https://{address}"), AMPLE).await;
    assert_on_its_way(&error, Delivery::NotSent);
}

#[tokio::test]
async fn the_page_of_a_proxy_has_a_status_and_no_code() {
    let page = "<html><title>502 Bad Gateway</title></html>";
    let error = error_said(502, "content-type: text/html\r\n", page).await;
    assert_eq!(
        (Fault::status(&error), error.grpc_code()),
        (Some(502), None)
    );
    assert_eq!(error.delivery(), None);
    assert!(retried(&PATIENT, &error));
    assert_eq!(CAREFUL.judge(&error), Verdict::MaybeApplied);
}

#[tokio::test]
async fn a_body_that_names_no_code_leaves_the_word_to_the_status() {
    let body = r#"{"error":{"code":429,"message":"too many"}}"#;
    let error = error_said(429, "", body).await;
    assert_eq!(
        (Fault::status(&error), error.grpc_code()),
        (Some(429), None)
    );
    assert_eq!(PATIENT.judge(&error), throttled(None));
}

fn throttled(retry_after: Option<Duration>) -> Verdict {
    Verdict::Retry {
        kind: FaultKind::Throttled,
        retry_after,
    }
}

#[tokio::test]
async fn throttled_with_retry_after() {
    let error = error_said(429, "retry-after: 7\r\n", "slow down").await;
    let hint = Some(Duration::from_secs(7));
    assert_eq!(PATIENT.judge(&error), throttled(hint));
    assert_eq!(CAREFUL.judge(&error), throttled(hint), "it did nothing");
}

#[tokio::test]
async fn a_retry_after_that_makes_no_sense_is_passed_over() {
    for odd in ["-1", "soon", "1.5", "99999999999999999999999"] {
        let headers = format!("retry-after: {odd}\r\n").leak();
        let error = error_said(429, headers, "").await;
        assert_eq!(PATIENT.judge(&error), throttled(None), "{odd}");
    }
}

#[tokio::test]
async fn exhausted_resources_with_retry_info() {
    let of = async |delay: &str| {
        let info = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"DELAY"}"#;
        let info = info.replace("DELAY", delay).leak();
        error_named(429, "RESOURCE_EXHAUSTED", info).await
    };
    let error = of("3.5s").await;
    assert_eq!(error.grpc_code(), Some(GrpcCode::ResourceExhausted));
    let hint = Duration::from_millis(3_500);
    assert_eq!(PATIENT.judge(&error), throttled(Some(hint)));
    assert!(error.is_retry_info());
    // A thousand years are told as they are: the policy bounds what is waited.
    let ages = of("31557600000s").await;
    assert_eq!(
        ages.retry_after(),
        Some(Duration::from_secs(31_557_600_000))
    );
    let negative = of("-5s").await;
    assert_eq!(negative.retry_after(), None);
}

#[tokio::test]
async fn unavailable() {
    let error = error_named(503, "UNAVAILABLE", "").await;
    assert_eq!(error.grpc_code(), Some(GrpcCode::Unavailable));
    assert!(retried(&PATIENT, &error));
    assert_eq!(CAREFUL.judge(&error), Verdict::MaybeApplied);
}

#[tokio::test]
async fn the_two_kinds_of_409() {
    let conflicts = Policy::exponential().on(codes![409, backoff_cloud::Codes::ABORTED]);
    let aborted = error_named(409, "ABORTED", "").await;
    assert_eq!(aborted.grpc_code(), Some(GrpcCode::Aborted));
    assert_eq!(conflicts.judge(&aborted), CONFLICT);
    assert_eq!(PATIENT.judge(&aborted), Verdict::Permanent);
    let exists = error_named(409, "ALREADY_EXISTS", "").await;
    assert_eq!(Fault::status(&exists), Some(409));
    assert_eq!(conflicts.judge(&exists), Verdict::Permanent);
}

#[tokio::test]
async fn a_failed_precondition_is_a_conflict_only_where_the_caller_says_so() {
    let error = error_named(400, "FAILED_PRECONDITION", "").await;
    assert_eq!(error.grpc_code(), Some(GrpcCode::FailedPrecondition));
    assert_eq!(PATIENT.judge(&error), Verdict::Permanent);
    let policy = PATIENT.scaled(0.001);
    let says_so = policy.when(|error: &Error| match error.grpc_code() {
        Some(GrpcCode::FailedPrecondition) => CONFLICT,
        _ => policy.judge(error),
    });
    let mut reads = 0;
    let updated = says_so
        .update(
            || {
                reads += 1;
                std::future::ready(Ok(reads))
            },
            |_| true,
            |read| async move {
                if read > 1 {
                    Ok(read)
                } else {
                    Err(error_named(400, "FAILED_PRECONDITION", "").await)
                }
            },
        )
        .await;
    assert_eq!(updated.unwrap().into_inner(), 2);
}

#[tokio::test]
async fn what_a_request_makes_no_sense_of_is_permanent() {
    let not_json = error_said(200, "content-type: application/json\r\n", "[1, 2]").await;
    assert!(not_json.is_deserialization(), "{not_json:?}");
    assert_eq!(PATIENT.judge(&not_json), Verdict::Permanent);
    let loops = error_said(302, "location: /again\r\n", "").await;
    assert_eq!(PATIENT.judge(&loops), Verdict::Permanent, "{loops:?}");
}
