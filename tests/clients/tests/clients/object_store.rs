//! object_store, with its client for S3.

use crate::{assert_cut, install_tls};
use backoff_core::{Fault, FaultKind, StopReason, codes};
use object_store::{
    ClientOptions, Error, GetResult, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions,
    RetryConfig, UpdateVersion,
    aws::{AmazonS3, AmazonS3Builder},
    memory::InMemory,
    path::Path,
};
use object_store_014 as object_store;
use std::fmt::Display;
use support::{
    AMPLE, Act, Column, LAST_MODIFIED, NOTHING, POLICY,
    Repeated::{Always, IfIdempotent, Never},
    Server, Target, assert_row, fails_on_the_way, reply, says, serve, status,
};

fn builder(origin: impl Display, options: ClientOptions) -> AmazonS3Builder {
    install_tls();
    AmazonS3Builder::new()
        .with_bucket_name("bucket")
        .with_endpoint(origin.to_string())
        .with_client_options(options.with_allow_http(true))
        .with_skip_signature(true)
}

/// A client without the retries that object_store makes by itself.
fn once(origin: impl Display, options: ClientOptions) -> AmazonS3 {
    let once = RetryConfig {
        max_retries: 0,
        ..Default::default()
    };
    let builder = builder(origin, options).with_retry(once);
    builder.build().expect("a client")
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

impl Column for S3 {
    type Error = Error;

    /// An object has a length.
    const CANNOT: &[&str] = &["closed in a chunk", "a chunk without a length"];

    const HAS_TLS: bool = true;

    async fn read(target: Target) -> Result<(), Error> {
        let options = ClientOptions::new().with_connect_timeout(target.connect);
        let store = once(target.origin, options.with_timeout(target.whole));
        get(&store).await.map(drop)
    }

    fn fits(error: &Error, row: &str) -> bool {
        row != "nobody listens" || matches!(error, Error::Generic { .. })
    }
}

/// What it says of a write in this mode.
async fn failure_to_put(mode: PutMode, answer: Act) -> Error {
    let store = once(format!("http://{}", serve(answer)), patient());
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
    assert_cut::<Error>();
    let unknown = Error::UnknownConfigurationKey {
        store: "S3",
        key: "k".to_owned(),
    };
    assert_row("own doing", unknown, NOTHING, Never);
    let odd = AmazonS3Builder::new().build().expect_err("no bucket");
    assert_row("own doing", odd, NOTHING, Never);
}

#[tokio::test]
async fn statuses() {
    let rows = [
        (503, IfIdempotent),
        (502, IfIdempotent),
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
    // An error inside of a success.
    let slow = reply(200, "", "<Error><Code>SlowDown</Code></Error>");
    let store = once(format!("http://{}", serve(slow)), patient());
    let copied = store.copy(&path(), &Path::from("to")).await;
    let error = copied.expect_err("too fast");
    assert_eq!(error.kind(), Some(FaultKind::Transient));
    assert_row("inside", error, NOTHING, IfIdempotent);
}

/// Rows: the mode of the write, the status, the code in the body, and the kind of the error.
#[tokio::test]
async fn conflicts() {
    let conflict = "ConditionalRequestConflict";
    // A name in the reply is not its code.
    let other = "Other</Code><Key>ConditionalRequestConflict</Key><Code>Other";
    let (is_conflict, permanent) = (Some(FaultKind::Conflict), Some(FaultKind::Permanent));
    for (mode, code, name, kind) in [
        (PutMode::Create, 412, "", permanent),
        (PutMode::Create, 409, "OperationAborted", is_conflict),
        (PutMode::Create, 409, conflict, is_conflict),
        (update(), 409, conflict, is_conflict),
        (PutMode::Create, 409, other, permanent),
    ] {
        let body = format!("<Error><Code>{name}</Code></Error>");
        let error = failure_to_put(mode, reply(code, "", body)).await;
        assert_eq!(error.kind(), kind, "{name}: {error:?}");
        let is_repeated = POLICY.retry_conflicts(true).judge(&error) != false.into();
        assert_eq!(is_repeated, kind == is_conflict, "{name}: {error:?}");
        if code == 412 {
            assert!(matches!(error, Error::AlreadyExists { .. }), "{error:?}");
            assert_row("exists", error, status(409), Never);
        }
    }
    let stale = failure_to_put(update(), reply(412, "", "<Error/>")).await;
    assert!(matches!(stale, Error::Precondition { .. }), "{stale:?}");
    assert_ne!(POLICY.also_on(codes![412]).judge(&stale), false.into());
    assert_row("stale", stale, status(412), Never);
}

#[tokio::test]
async fn its_own_retries_are_on_by_default() {
    let busy = || reply(503, "", "");
    let server = Server::start([busy(), busy(), reply(200, LAST_MODIFIED, "done")]);
    let eager = builder(server.url(""), patient())
        .build()
        .expect("a client");
    assert_eq!(get(&eager).await.expect("an object"), b"done");
    assert_eq!(server.requests(), 3);
}

/// Somebody else writes after the first read.
#[tokio::test]
async fn a_stale_write_leads_back_to_the_read() {
    let (store, path, mut reads) = (&InMemory::new(), &path(), 0);
    store.put(path, "0".into()).await.expect("written");
    let write = |read: GetResult, number: u32| async move {
        let version = UpdateVersion {
            e_tag: read.meta.e_tag.clone(),
            version: read.meta.version.clone(),
        };
        if number == 1 {
            store.put(path, "theirs".into()).await?;
        }
        let options = PutOptions::from(PutMode::Update(version));
        store.put_opts(path, "ours".into(), options).await
    };
    let read = || {
        reads += 1;
        let number = reads;
        async move { Ok((store.get(path).await?, number)) }
    };
    let written = POLICY.update(read, |_| true, |(read, number)| write(read, number));
    assert_eq!(written.reported().await.expect("written").1.conflicts, 1);
    // Outside of an update it is the end.
    let stale = || store.put_opts(path, "0".into(), PutOptions::from(update()));
    let refused = POLICY.retry(stale).reported().await;
    assert_eq!(refused.expect_err("stale").reason, StopReason::Permanent);
}
