//! hyper alone, whose replies are those of the crate `http`; its errors are hidden in a box, as a
//! program hides them.

use crate::{
    facts::{Facts, MAYBE_SENT, NOT_SENT, NOTHING, Repeated, assert_row},
    http2,
    server::{End, half, nobody, reply, serve},
};
use http_1::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper_1::{
    body::Bytes,
    client::conn::{http1, http2 as h2_client},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::{error::Error, net::SocketAddr, time::Duration};
use tokio::net::TcpStream;

type Hidden = Box<dyn Error + Send + Sync>;

fn request() -> Request<Empty<Bytes>> {
    let request = Request::get("http://localhost/");
    request.body(Empty::new()).expect("a request")
}

async fn get(server: SocketAddr) -> Result<Response<Bytes>, Hidden> {
    let stream = TokioIo::new(TcpStream::connect(server).await?);
    let (mut sender, connection) = http1::handshake(stream).await?;
    tokio::spawn(connection);
    let (head, body) = sender.send_request(request()).await?.into_parts();
    Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
}

async fn failure(bytes: impl Into<String>, end: End) -> Hidden {
    get(serve(bytes, end).await).await.expect_err("the failure")
}

async fn failure_of_http2(act: http2::Act) -> Hidden {
    let stream = TcpStream::connect(http2::serve(act).await).await;
    let stream = TokioIo::new(stream.expect("a connection"));
    let handshake = h2_client::handshake(TokioExecutor::new(), stream).await;
    let (mut sender, connection) = handshake.expect("a handshake");
    tokio::spawn(connection);
    sender
        .send_request(request())
        .await
        .expect_err("the failure")
        .into()
}

#[tokio::test]
async fn refused() {
    let error = get(nobody().await).await.expect_err("refused");
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn reset() {
    let error = failure("", End::Reset).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn closed_before_the_reply() {
    let error = failure("", End::Close).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn truncated_body() {
    let error = failure(half("{\"name\":"), End::Close).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn refused_stream() {
    for frames in [http2::REFUSED_STREAM, http2::GOAWAY_BEFORE] {
        let error = failure_of_http2(http2::Act::Frames(frames)).await;
        assert_row(&error, NOT_SENT, Repeated::Always);
    }
    let error = failure_of_http2(http2::Act::Frames(http2::CANCEL)).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn a_response_is_an_error_with_its_hints() {
    let headers = "retry-after: 2\r\nx-amz-retry-after: 2500\r\nretry-after-ms: -1\r\n";
    let server = serve(reply(429, headers, "slow down"), End::Close).await;
    let response = get(server).await.expect("a reply");
    let status = response.status();
    let facts = Facts {
        status: Some(429),
        ..NOTHING
    };
    assert_row(&status, facts, Repeated::Always);
    let retry_after = Some(Duration::from_millis(2_500));
    assert_row(
        &response,
        Facts {
            retry_after,
            ..facts
        },
        Repeated::Always,
    );
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
}
