//! object_store, with its client for S3.

use crate::{
    facts::{MAYBE_SENT, NOT_SENT, NOTHING, POLICY, Repeated, assert_row},
    install_tls,
    server::{AMPLE, End, Meeting, PATIENCE, Request, Server, full, half, html_502, nobody, reply},
    status,
};
use backoff_core::{Delivery, Fault, FaultKind, StopReason, TimedOut, known_fault};
use object_store::{
    ClientOptions, Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, RetryConfig,
    UpdateVersion,
    aws::{AmazonS3, AmazonS3Builder},
    memory::InMemory,
    path::Path,
};
use object_store_014 as object_store;
use std::{
    fmt::Display,
    sync::{Arc, Mutex},
};

fn builder(host: impl Display, options: ClientOptions) -> AmazonS3Builder {
    install_tls();
    AmazonS3Builder::new()
        .with_bucket_name("bucket")
        .with_endpoint(format!("http://{host}"))
        .with_client_options(options.with_allow_http(true))
        .with_skip_signature(true)
}

/// A client without the retries that object_store makes by itself.
fn store(host: impl Display, options: ClientOptions) -> AmazonS3 {
    let once = RetryConfig {
        max_retries: 0,
        ..Default::default()
    };
    let built = builder(host, options).with_retry(once).build();
    built.expect("a client")
}

fn patient() -> ClientOptions {
    ClientOptions::new().with_timeout(AMPLE)
}

fn path() -> Path {
    Path::from("object")
}

async fn get(store: &AmazonS3) -> Result<Vec<u8>, Error> {
    Ok(store.get(&path()).await?.bytes().await?.to_vec())
}

/// The error of the client when the server does this.
async fn failure(bytes: impl Into<Vec<u8>>, end: End) -> Error {
    let server = Server::of(bytes, end);
    let options = ClientOptions::new().with_timeout(end.patience());
    let got = get(&store(&server, options)).await;
    // On a slow machine the time may be over before the server has read the request.
    assert!(server.calls() <= 1, "its own retries are off");
    got.expect_err("the failure")
}

/// What it says of a write in this mode.
async fn failure_to_put(mode: PutMode, answer: String) -> Error {
    let server = Server::of(answer, End::Close);
    let store = store(&server, patient());
    let put = store.put_opts(&path(), "new".into(), mode.into()).await;
    put.expect_err("the failure")
}

fn update() -> PutMode {
    PutMode::Update(UpdateVersion {
        e_tag: Some("\"1\"".to_owned()),
        version: None,
    })
}

#[tokio::test]
async fn refused() {
    let got = get(&store(nobody(), patient())).await;
    let error = got.expect_err("refused");
    assert!(matches!(error, Error::Generic { .. }), "{error:?}");
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn dns() {
    let got = get(&store("no-such-host.invalid", patient())).await;
    assert_row(&got.expect_err("no name"), NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn connect_timeout() {
    let (server, _socket, _queue) = full();
    let options = ClientOptions::new().with_connect_timeout(PATIENCE);
    let got = get(&store(server, options)).await;
    assert_row(&got.expect_err("no answer"), NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn broken_off() {
    for (bytes, end) in [
        (Vec::new(), End::Reset),
        (Vec::new(), End::Close),
        (b"HTTP/1.1 200 OK\r\ncontent-le".to_vec(), End::Close),
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), End::Close),
        (Vec::new(), End::Stall),
    ] {
        let error = failure(bytes, end).await;
        assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    }
}

#[tokio::test]
async fn truncated_body() {
    let headers = "etag: \"1\"\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    for end in [End::Close, End::Reset, End::Stall] {
        let error = failure(half(headers, b"half"), end).await;
        assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    }
}

#[tokio::test]
async fn statuses() {
    for (code, repeated) in [
        (503, Repeated::IfIdempotent),
        (500, Repeated::IfIdempotent),
        (429, Repeated::Always),
        (400, Repeated::Never),
        (401, Repeated::Never),
        (403, Repeated::Never),
        (404, Repeated::Never),
    ] {
        // The header is lost.
        let answer = reply(code, "retry-after: 7\r\n", "<Error/>");
        let error = failure(answer, End::Close).await;
        assert_row(&error, status(code), repeated);
    }
    let page = failure(html_502(), End::Close).await;
    assert_row(&page, status(502), Repeated::IfIdempotent);
}

#[tokio::test]
async fn an_error_inside_of_a_success() {
    let slow = "<Error><Code>SlowDown</Code></Error>";
    let server = Server::of(reply(200, "", slow), End::Close);
    let copied = store(&server, patient())
        .copy(&path(), &Path::from("to"))
        .await;
    let error = copied.expect_err("too fast");
    assert_eq!(error.kind(), Some(FaultKind::Transient));
    assert_row(&error, NOTHING, Repeated::IfIdempotent);
}

#[tokio::test]
async fn conflicts() {
    let stale = failure_to_put(update(), reply(412, "", "<Error/>")).await;
    assert!(matches!(stale, Error::Precondition { .. }), "{stale:?}");
    assert_row(&stale, status(412), Repeated::Never);
    let also = POLICY.also_on(backoff_core::codes![412]);
    assert_ne!(also.judge(&stale), false.into());

    let exists = failure_to_put(PutMode::Create, reply(412, "", "<Error/>")).await;
    assert!(matches!(exists, Error::AlreadyExists { .. }), "{exists:?}");
    assert_eq!(exists.kind(), Some(FaultKind::Permanent));
    assert_row(&exists, status(409), Repeated::Never);

    let body = "<Error><Code>ConditionalRequestConflict</Code></Error>";
    for mode in [update(), PutMode::Create] {
        let under_way = failure_to_put(mode, reply(409, "", body)).await;
        assert_eq!(under_way.kind(), Some(FaultKind::Conflict));
        let patient = POLICY.retry_conflicts(true);
        assert_ne!(patient.judge(&under_way), false.into());
    }
    // A name in the reply is not its code.
    let body = "<Error><Code>Other</Code><Key>ConditionalRequestConflict</Key></Error>";
    let other = failure_to_put(PutMode::Create, reply(409, "", body)).await;
    assert_eq!(other.kind(), Some(FaultKind::Permanent));
}

#[tokio::test]
async fn its_own_retries_are_on_by_default() {
    let answers = Mutex::new(vec![reply(503, "", ""), reply(503, "", "")]);
    let headers = "etag: \"1\"\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    let server = Server::answering(move |_| {
        let next = answers.lock().expect("no panic").pop();
        next.unwrap_or_else(|| reply(200, headers, "done"))
    });
    let eager = builder(&server, patient()).build().expect("a client");
    assert_eq!(get(&eager).await.expect("an object"), b"done");
    assert_eq!(server.calls(), 3);
}

#[tokio::test]
async fn own_doing() {
    let unknown = Error::UnknownConfigurationKey {
        store: "S3",
        key: "k".to_owned(),
    };
    let odd = AmazonS3Builder::new().build().expect_err("no bucket");
    for error in [unknown, odd] {
        assert_eq!(error.kind(), Some(FaultKind::Permanent), "{error:?}");
        assert_row(&error, NOTHING, Repeated::Never);
    }
}

#[tokio::test]
async fn inside_other_errors() {
    let refused = get(&store(nobody(), patient())).await;
    let hidden = std::io::Error::from(refused.expect_err("refused"));
    let found = known_fault(&hidden).and_then(Fault::delivery);
    assert_eq!(found, Some(Delivery::NotSent));
    let cut = Error::from(TimedOut::new(PATIENCE));
    assert_row(&cut, MAYBE_SENT, Repeated::IfIdempotent);
}

/// Adds one to the number in an object, as often as it takes.
async fn count(store: &dyn ObjectStore) -> backoff_core::UpdateReport {
    let path = &path();
    let written = POLICY
        .update(
            || store.get(path),
            |_| true,
            |read| async move {
                let version = UpdateVersion {
                    e_tag: read.meta.e_tag.clone(),
                    version: read.meta.version.clone(),
                };
                let text = String::from_utf8(read.bytes().await?.to_vec());
                let number: u32 = text.expect("a text").parse().expect("a number");
                let options = PutOptions::from(PutMode::Update(version));
                let next = (number + 1).to_string();
                store.put_opts(path, next.into(), options).await
            },
        )
        .reported()
        .await;
    written.expect("written").1
}

async fn writers_lose_nothing(store: &dyn ObjectStore) -> bool {
    let mut conflicts = 0;
    for _ in 0..4 {
        let (a, b, c, d) = tokio::join!(count(store), count(store), count(store), count(store));
        conflicts += [a, b, c, d].iter().map(|it| it.conflicts).sum::<u32>();
    }
    conflicts > 0
}

#[tokio::test]
async fn writers_of_one_object_lose_nothing() {
    let kept = Arc::new(Mutex::new(0));
    let (number, meeting) = (Arc::clone(&kept), Meeting::of(4));
    let server = Server::answering(move |request: Request| {
        let mut number = number.lock().expect("no panic");
        let headers =
            format!("etag: \"{number}\"\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
        match &*request.method {
            "GET" => {
                let read = reply(200, &headers, &number.to_string());
                drop(number);
                meeting.has_read();
                read
            }
            _ if !request
                .head
                .contains(&format!("if-match: \"{number}\"\r\n")) =>
            {
                reply(412, "", "<Error><Code>PreconditionFailed</Code></Error>")
            }
            _ => {
                *number = request.body.parse().expect("a number");
                reply(200, &format!("etag: \"{number}\"\r\n"), "")
            }
        }
    });
    assert!(writers_lose_nothing(&store(&server, patient())).await);
    assert_eq!(*kept.lock().expect("no panic"), 16);
}

#[tokio::test]
async fn nor_do_those_of_one_object_in_memory() {
    let store = InMemory::new();
    store.put(&path(), "0".into()).await.expect("written");
    writers_lose_nothing(&store).await;
    let kept = store.get(&path()).await.expect("an object").bytes().await;
    assert_eq!(kept.expect("its bytes"), "16");
    // Outside of an update it is the end.
    let stale = || {
        let options = PutOptions::from(update());
        let (store, path) = (&store, path());
        async move { store.put_opts(&path, "0".into(), options).await }
    };
    let refused = POLICY.retry(stale).reported().await;
    assert_eq!(refused.expect_err("stale").reason, StopReason::Permanent);
}
