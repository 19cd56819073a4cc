//! What a reply, or the lack of one, becomes: every kind of failure made on a real socket.

use crate::clients::server::{AMPLE, PATIENCE, nobody};
use backoff_cloud::emulator::{Call, Emulator, Reply};
use backoff_cloud::{
    Delivery, Fault, FaultKind, GrpcCode, Policy, Verdict, http, http::ApiError, iam,
};
use reqwest::Client;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn client() -> Client {
    client_within(AMPLE)
}

fn client_within(limit: Duration) -> Client {
    Client::builder()
        .retry(reqwest::retry::never())
        .timeout(limit)
        .build()
        .expect("a client")
}

async fn read(url: &str) -> Result<serde_json::Value, ApiError> {
    read_within(AMPLE, url).await
}

async fn read_within(limit: Duration, url: &str) -> Result<serde_json::Value, ApiError> {
    let url = format!("{url}/v1/projects/p/secrets/s:getIamPolicy");
    http::json(client_within(limit).get(url).send().await?).await
}

/// What one read fails of when the service answers so.
async fn failure(reply: Reply) -> ApiError {
    failure_within(AMPLE, reply).await
}

async fn failure_within(limit: Duration, reply: Reply) -> ApiError {
    let emulator = Emulator::start().expect("a port on loopback");
    emulator.script(Call::GetIamPolicy, [reply]);
    read_within(limit, emulator.url())
        .await
        .expect_err("the scripted failure")
}

fn is_retried(policy: Policy, error: &ApiError) -> bool {
    matches!(policy.judge(error), Verdict::Retry { .. })
}

#[tokio::test]
async fn a_success_is_a_value() {
    let emulator = Emulator::start().expect("a port on loopback");
    let policy = read(emulator.url()).await.expect("a policy");
    assert!(policy["etag"].is_string());
}

#[tokio::test]
async fn a_success_that_is_checked_is_the_response_as_it_came() {
    let emulator = Emulator::start().expect("a port on loopback");
    let url = format!("{}/v1/projects/p/secrets/s:getIamPolicy", emulator.url());
    let response = client().get(&url).send().await.expect("a response");
    let mut response = http::check(response).await.expect("a success");
    assert!(response.headers().contains_key("content-type"));
    // Nobody has read the body.
    let body = response.chunk().await.expect("a body").expect("a chunk");
    assert!(body.starts_with(b"{"), "{body:?}");
}

#[tokio::test]
async fn an_error_that_is_checked_keeps_status_code_and_hint() {
    let emulator = Emulator::start().expect("a port on loopback");
    emulator.script(Call::GetIamPolicy, [Reply::status(429).retry_after("7")]);
    let url = format!("{}/v1/projects/p/secrets/s:getIamPolicy", emulator.url());
    let response = client().get(&url).send().await.expect("a response");
    let error = http::check(response).await.expect_err("the failure");
    assert_eq!(error.status(), Some(429));
    assert_eq!(error.grpc_code(), Some(GrpcCode::ResourceExhausted));
    assert_eq!(error.retry_after(), Some(7 * SECOND));
}

#[tokio::test]
async fn an_error_keeps_status_code_and_hint() {
    let error = failure(Reply::status(429).retry_after("7")).await;
    assert_eq!(error.status(), Some(429));
    assert_eq!(error.grpc_code(), Some(GrpcCode::ResourceExhausted));
    assert_eq!(error.retry_after(), Some(7 * SECOND));
    assert!(
        error
            .to_string()
            .starts_with("HTTP 429 RESOURCE_EXHAUSTED: "),
        "{error}"
    );
}

#[tokio::test]
async fn retry_info_is_a_hint_and_the_longer_hint_counts() {
    let error = failure(Reply::status(503).retry_info("3.5s")).await;
    assert_eq!(error.retry_after(), Some(Duration::from_millis(3_500)));
    assert_eq!(error.details().len(), 1);
    let error = failure(Reply::status(503).retry_info("3.5s").retry_after("2")).await;
    assert_eq!(error.retry_after(), Some(Duration::from_millis(3_500)));
}

#[tokio::test]
async fn a_retry_after_of_rubbish_is_ignored() {
    for rubbish in [
        "soon",
        "-1",
        "1.5",
        "",
        "99999999999999999999",
        "Thu, 99 Foo 2026",
    ] {
        let error = failure(Reply::status(503).retry_after(rubbish)).await;
        assert_eq!(
            (error.status(), error.retry_after()),
            (Some(503), None),
            "{rubbish:?}"
        );
    }
}

#[tokio::test]
async fn a_retry_info_of_rubbish_is_ignored() {
    for rubbish in ["soon", "-3s", "3.5", "1e9s"] {
        let error = failure(Reply::status(503).retry_info(rubbish)).await;
        assert_eq!(
            (error.status(), error.retry_after()),
            (Some(503), None),
            "{rubbish:?}"
        );
    }
}

#[tokio::test]
async fn a_proxys_html_is_judged_by_its_status() {
    let error = failure(Reply::status(502).html()).await;
    assert_eq!((error.status(), error.grpc_code()), (Some(502), None));
    assert!(is_retried(iam::REQUEST, &error));
    assert!(error.to_string().starts_with("HTTP 502: <"), "{error}");
}

#[tokio::test]
async fn a_success_that_is_not_json_is_permanent() {
    let error = failure(Reply::status(200).html()).await;
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
    assert!(error.to_string().contains("not the JSON"), "{error}");
}

#[tokio::test]
async fn a_refused_connection_was_surely_not_sent() {
    let url = format!("http://{}", nobody());
    let error = read(&url).await.expect_err("nobody listens");
    assert_eq!(
        (error.kind(), error.delivery()),
        (None, Some(Delivery::NotSent))
    );
    assert!(is_retried(iam::REQUEST.idempotent(false), &error));
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_reset_a_cut_and_a_stall_may_have_been_applied() {
    for (reply, limit) in [
        (Reply::reset(), AMPLE),
        (Reply::cut(), AMPLE),
        (Reply::stall(), PATIENCE),
        (Reply::stall_body(), PATIENCE),
    ] {
        let shown = format!("{reply:?}");
        let error = failure_within(limit, reply).await;
        let said = (error.status(), error.kind(), error.delivery());
        assert_eq!(
            said,
            (None, None, Some(Delivery::MaybeSent)),
            "{shown}: {error}"
        );
        assert!(is_retried(iam::REQUEST, &error), "{shown}");
        assert!(
            !is_retried(iam::REQUEST.idempotent(false), &error),
            "{shown}"
        );
    }
}

/// The missing half may say `ABORTED`, so whoever retries conflicts reads again.
#[tokio::test]
async fn half_a_conflict_is_retried_where_conflicts_are() {
    let emulator = Emulator::start().expect("a port on loopback");
    let url = format!("{}/v1/projects/p/secrets/s:setIamPolicy", emulator.url());
    let write = async || {
        let body = r#"{"policy": {"etag": "c3RhbGU="}}"#;
        http::json::<serde_json::Value>(client().post(&url).body(body).send().await?).await
    };
    emulator.script(Call::SetIamPolicy, [Reply::cut()]);
    let error = write().await.expect_err("half a 409");
    assert_eq!(
        (error.status(), error.grpc_code(), error.delivery()),
        (Some(409), Some(GrpcCode::Aborted), None)
    );
    assert!(
        error
            .to_string()
            .starts_with("HTTP 409, but its body was cut: "),
        "{error}"
    );
    assert!(is_retried(iam::READ_MODIFY_WRITE, &error) && !is_retried(iam::REQUEST, &error));
    let error = write().await.expect_err("a whole 409");
    assert_eq!(
        (error.status(), error.grpc_code()),
        (Some(409), Some(GrpcCode::Aborted))
    );
}

#[tokio::test]
async fn what_reqwest_says_by_itself_is_told_apart_too() {
    let get = async |reply| {
        let emulator = Emulator::start().expect("a port on loopback");
        emulator.script(Call::GetIamPolicy, [reply]);
        let url = format!("{}/v1/p:getIamPolicy", emulator.url());
        let response = client().get(url).send().await?;
        response.error_for_status()?.text().await
    };
    let status = get(Reply::status(503)).await.expect_err("a status");
    assert_eq!(Fault::status(&status), Some(503));
    // What is cut looks to reqwest like what cannot be decoded.
    let cut = get(Reply::cut()).await.expect_err("half a body");
    assert!(cut.is_decode());
    assert_eq!(cut.delivery(), Some(Delivery::MaybeSent));
    let builder = client().get("no url").send().await.expect_err("no url");
    assert_eq!(builder.kind(), Some(FaultKind::Permanent));
}

#[tokio::test]
async fn a_conflict_says_aborted() {
    let error = failure(Reply::status(409)).await;
    assert_eq!(error.grpc_code(), Some(GrpcCode::Aborted));
    assert!(is_retried(iam::READ_MODIFY_WRITE, &error) && !is_retried(iam::REQUEST, &error));
}

/// Answers every connection with these bytes, and ends it.
fn answering(reply: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // What the client sends fits into one read; unread, it would make the end a reset.
            drop(stream.read(&mut [0; 4096]));
            drop(stream.write_all(reply));
        }
    });
    url
}

/// A `POST` that is answered by nothing has been made; to make it again would do it twice.
#[tokio::test]
async fn a_body_that_is_whole_but_not_json_is_no_lost_reply() {
    let once = Policy::exponential().base(Duration::ZERO);
    let whole: [&[u8]; 3] = [
        b"HTTP/1.1 204 Nothing\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n}",
    ];
    for reply in whole {
        let url = answering(reply);
        let error = read(&url).await.expect_err("no JSON");
        assert_eq!(once.judge(&error), Verdict::Permanent, "{error}");
        assert_eq!(error.delivery(), None);
    }
    // HTTP does not say where this body ends, so only its text shows that it ended too early.
    let url = answering(b"HTTP/1.0 200 OK\r\n\r\n{\"etag\": ");
    let error = read(&url).await.expect_err("half a body");
    assert_eq!(error.delivery(), Some(Delivery::MaybeSent), "{error}");
}

#[tokio::test]
async fn an_error_is_found_in_a_box() {
    let emulator = Emulator::start().expect("a port on loopback");
    emulator.script(Call::GetIamPolicy, [Reply::status(503), Reply::status(503)]);
    let calls = std::cell::Cell::new(0);
    let policy = Policy::exponential().base(Duration::from_millis(1));
    let read = async || -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
        calls.set(calls.get() + 1);
        Ok(read(emulator.url()).await?)
    };
    policy.retry(read).await.expect("the third succeeds");
    assert_eq!(calls.get(), 3);
}
