//! object_store, with its client for S3.

use crate::{assert_cut, install_tls};
use backoff_core::{Fault, FaultKind};
use object_store::{
    ClientOptions, Error, ObjectStore as _, ObjectStoreExt as _, PutMode, RetryConfig,
    UpdateVersion,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
};
use object_store_014 as object_store;
use std::fmt::Display;
use support::{
    AMPLE, Act, Column, LAST_MODIFIED, NOTHING,
    Repeated::{IfIdempotent, Never},
    Server, Target, assert_row, fails_on_the_way, reply, serve, status,
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
    let store = builder(origin, options).with_retry(once).build();
    store.expect("a client")
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
    const CANNOT: &str = "closed in a chunk|a chunk without a length";

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
    let odd = AmazonS3Builder::new().build().expect_err("no bucket");
    assert_row("own doing", odd, NOTHING, Never);
}

/// An error inside of a success.
#[tokio::test]
async fn too_fast() {
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
        if code == 412 {
            assert!(matches!(error, Error::AlreadyExists { .. }), "{error:?}");
            assert_row("exists", error, status(409), Never);
        }
    }
    let stale = failure_to_put(update(), reply(412, "", "<Error/>")).await;
    assert!(matches!(stale, Error::Precondition { .. }), "{stale:?}");
    assert_row("stale", stale, status(412), Never);
}

#[tokio::test]
async fn its_own_retries_are_on_by_default() {
    let busy = || reply(503, "", "");
    let server = Server::start([busy(), busy(), reply(200, LAST_MODIFIED, "done")]);
    let eager = builder(server.url(""), patient()).build();
    let got = get(&eager.expect("a client")).await;
    assert_eq!(got.expect("an object"), b"done");
    assert_eq!(server.requests(), 3);
}
