//! reqwest 0.12. Its errors have the same facts as those of 0.13.

use crate::clients::{
    facts::{Facts, MAYBE_SENT, NOT_SENT, NOTHING, Repeated, assert_row},
    http2,
    server::{AMPLE, End, Failing, half, nobody, reply, serve},
};
use backoff_core::{Fault, FaultKind};
use reqwest_012::{Body, Client, ClientBuilder, Error, retry};
use serde_json::Value;
use std::{fmt::Display, io::ErrorKind, time::Duration};

/// A client without the retries that reqwest makes by itself.
fn builder() -> ClientBuilder {
    Client::builder().retry(retry::never()).timeout(AMPLE)
}

async fn get(host: impl Display, client: ClientBuilder) -> Result<Value, Error> {
    let client = client.build().expect("a client");
    let response = client.get(format!("http://{host}/")).send().await?;
    response.error_for_status()?.json().await
}

/// The error of reqwest when the server does this.
async fn failure(bytes: impl Into<String>, end: End) -> Error {
    let server = serve(bytes, end).await;
    let got = get(server, builder().timeout(end.patience())).await;
    got.expect_err("the failure")
}

#[tokio::test]
async fn refused() {
    let error = get(nobody(), builder()).await.expect_err("refused");
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn no_reply_or_half_of_one() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{\"na";
    for (bytes, end) in [
        (String::new(), End::Reset),
        (String::new(), End::Close),
        (String::new(), End::Stall),
        ("HTTP/1.1 200 OK\r\ncontent-le".to_owned(), End::Close),
        (half("{\"name\":"), End::Close),
        (half("{\"name\":"), End::Reset),
        (half("{\"name\":"), End::Stall),
        (chunked.to_owned(), End::Close),
        ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), End::Close),
    ] {
        assert_row(
            &failure(bytes, end).await,
            MAYBE_SENT,
            Repeated::IfIdempotent,
        );
    }
}

#[tokio::test]
async fn what_no_repetition_cures() {
    let redirect = reply(302, "location: /\r\n", "");
    for bytes in [redirect, reply(200, "", "<html>")] {
        assert_row(&failure(bytes, End::Close).await, NOTHING, Repeated::Never);
    }
    let client = builder().build().expect("a client");
    let request = client.get("no address").send().await;
    let error = request.expect_err("no address");
    assert_row(&error, NOTHING, Repeated::Never);
}

#[tokio::test]
async fn own_body() {
    let client = builder().build().expect("a client");
    let server = serve("", End::Stall).await;
    let body = Body::wrap(Failing::with(ErrorKind::ConnectionRefused));
    let put = client.put(format!("http://{server}/")).body(body);
    let error = put.send().await.expect_err("the body failed");
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
    assert_row(&error, NOTHING, Repeated::Never);
}

#[tokio::test]
async fn refused_stream() {
    let client = || builder().http2_prior_knowledge();
    for frames in [http2::REFUSED_STREAM, http2::GOAWAY_BEFORE] {
        let server = http2::serve(http2::Act::Frames(frames)).await;
        let error = get(server, client()).await.expect_err("it was refused");
        assert_row(&error, NOT_SENT, Repeated::Always);
    }
    let server = http2::serve(http2::Act::Frames(http2::CANCEL)).await;
    let error = get(server, client()).await.expect_err("it was reset");
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn statuses() {
    let bytes = reply(429, "retry-after: 7\r\n", "");
    let client = builder().build().expect("a client");
    let server = serve(bytes, End::Close).await;
    let get = client.get(format!("http://{server}/")).send().await;
    let response = get.expect("a reply");
    let facts = Facts {
        status: Some(429),
        retry_after: Some(Duration::from_secs(7)),
        ..NOTHING
    };
    assert_row(&response, facts, Repeated::Always);
    let error = response.error_for_status().expect_err("429");
    let facts = Facts {
        retry_after: None,
        ..facts
    };
    assert_row(&error, facts, Repeated::Always);
    let hidden: Box<dyn std::error::Error + Send + Sync> = error.into();
    assert_row(&hidden, facts, Repeated::Always);
}
