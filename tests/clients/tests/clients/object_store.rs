//! object_store, with its client for S3.

use crate::{
    facts::{
        NOT_SENT, NOTHING, POLICY,
        Repeated::{Always, IfIdempotent, Never},
        assert_says,
    },
    forms::{Form, fails_on_the_way, says, sixteen_writes, status},
    install_tls,
    server::{AMPLE, End, LAST_MODIFIED, Server, object, reply},
};
use backoff_core::{Fault, FaultKind, StopReason};
use object_store::{
    ClientOptions, Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, RetryConfig,
    UpdateVersion,
    aws::{AmazonS3, AmazonS3Builder},
    memory::InMemory,
    path::Path,
};
use object_store_014 as object_store;
use std::{fmt::Display, time::Duration};

fn builder(host: impl Display, options: ClientOptions) -> AmazonS3Builder {
    builder_of(&format!("http://{host}"), options)
}

fn builder_of(origin: &str, options: ClientOptions) -> AmazonS3Builder {
    install_tls();
    AmazonS3Builder::new()
        .with_bucket_name("bucket")
        .with_endpoint(origin)
        .with_client_options(options.with_allow_http(true))
        .with_skip_signature(true)
}

/// A client without the retries that object_store makes by itself.
fn store(host: impl Display, options: ClientOptions) -> AmazonS3 {
    once(builder(host, options))
}

fn once(builder: AmazonS3Builder) -> AmazonS3 {
    let once = RetryConfig {
        max_retries: 0,
        ..Default::default()
    };
    builder.with_retry(once).build().expect("a client")
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

struct S3;

impl Form for S3 {
    type Error = Error;

    const CANNOT: &[(&str, &str)] = &[
        ("closed in a chunk", "an object has a length"),
        ("a chunk without a length", "an object has a length"),
    ];

    async fn read(origin: &str, connect: Duration, whole: Duration) -> Result<(), Error> {
        let options = ClientOptions::new().with_connect_timeout(connect);
        let store = once(builder_of(origin, options.with_timeout(whole)));
        get(&store).await.map(drop)
    }

    fn fits(error: &Error, row: &str) -> bool {
        row != "nobody listens" || matches!(error, Error::Generic { .. })
    }
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
async fn on_the_way() {
    fails_on_the_way::<S3>().await;
}

/// A proxy that makes no tunnel, because the program has no password for it, or because the proxy is busy.
#[tokio::test]
async fn a_proxy_without_a_tunnel() {
    for (code, repeated) in [(407, Never), (502, Always)] {
        let proxy = Server::of(reply(code, "", ""), End::Close);
        let options = patient().with_proxy_url(format!("http://{proxy}"));
        let error = get(&once(builder_of("https://a.example", options))).await;
        let error = error.expect_err("no tunnel");
        assert_says(&error, NOT_SENT, repeated);
        assert_eq!(
            Fault::kind(&error).is_some(),
            repeated == Never,
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn statuses() {
    let rows = [
        (503, IfIdempotent),
        (500, IfIdempotent),
        (429, Always),
        (400, Never),
        (401, Never),
        (403, Never),
        (404, Never),
    ];
    // The header is lost.
    let said = |code| reply(code, "retry-after: 7\r\n", "<Error/>");
    says::<S3>(rows.map(|(code, repeated)| (code, said(code), None, repeated))).await;
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
    assert_says(&error, NOTHING, IfIdempotent);
}

#[tokio::test]
async fn conflicts() {
    let stale = failure_to_put(update(), reply(412, "", "<Error/>")).await;
    assert!(matches!(stale, Error::Precondition { .. }), "{stale:?}");
    assert_says(&stale, status(412), Never);
    let also = POLICY.also_on(backoff_core::codes![412]);
    assert_ne!(also.judge(&stale), false.into());

    let exists = failure_to_put(PutMode::Create, reply(412, "", "<Error/>")).await;
    assert!(matches!(exists, Error::AlreadyExists { .. }), "{exists:?}");
    assert_eq!(exists.kind(), Some(FaultKind::Permanent));
    assert_says(&exists, status(409), Never);

    let body = "<Error><Code>OperationAborted</Code></Error>";
    let aborted = failure_to_put(PutMode::Create, reply(409, "", body)).await;
    assert_eq!(aborted.kind(), Some(FaultKind::Conflict));
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
    let busy = || reply(503, "", "");
    let server = Server::in_turn(vec![busy(), busy(), reply(200, LAST_MODIFIED, "done")]);
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
        assert_says(&error, NOTHING, Never);
    }
}

/// Adds one to the number in an object, and returns the conflicts that it met.
async fn count(store: &dyn ObjectStore) -> u32 {
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
    written.expect("written").1.conflicts
}

#[tokio::test]
async fn writers_of_one_object_lose_nothing() {
    let (server, kept) = object("/bucket/object", 4);
    let store = &store(&server, patient());
    assert!(sixteen_writes(async || count(store).await).await > 0);
    assert_eq!(*kept.lock().expect("no panic"), 16);
}

#[tokio::test]
async fn nor_do_those_of_one_object_in_memory() {
    let store = InMemory::new();
    store.put(&path(), "0".into()).await.expect("written");
    sixteen_writes(async || count(&store).await).await;
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
