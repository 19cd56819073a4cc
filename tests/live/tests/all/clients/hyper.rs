//! hyper alone. Its replies are types of the crate `http`. Its errors are in a `Box<dyn Error>`, as in many
//! programs.

use crate::clients::{
    facts::{Facts, MAYBE_SENT, NOT_SENT, NOTHING, Repeated, assert_row},
    http2,
    server::{End, Failing, half, nobody, reply, serve},
};
use backoff_core::{Fault as _, FaultKind};
use http_1::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper_1::{
    body::{Body, Bytes, Frame},
    client::conn::{http1, http2 as h2_client},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::{
    convert::Infallible,
    error::Error,
    future::{Future as _, poll_fn},
    io::ErrorKind,
    net::SocketAddr,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};
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
    let error = get(nobody()).await.expect_err("refused");
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

/// What the body's error says is not what the request says: a refused connection of the one is not
/// the other's.
#[tokio::test]
async fn own_body() {
    for kind in [ErrorKind::Interrupted, ErrorKind::ConnectionRefused] {
        let stream = TcpStream::connect(serve("", End::Stall).await).await;
        let stream = TokioIo::new(stream.expect("a connection"));
        let (mut sender, connection) = http1::handshake(stream).await.expect("a handshake");
        tokio::spawn(connection);
        let request = Request::put("http://localhost/").body(Failing::with(kind));
        let sent = sender.send_request(request.expect("a request")).await;
        let error = Hidden::from(sent.expect_err("the body failed"));
        assert_eq!(error.kind(), Some(FaultKind::Permanent));
        assert_row(&error, NOTHING, Repeated::Never);
    }
}

/// The task of the connection was dropped, as with the runtime that it ran on: the request may be
/// with the server.
#[tokio::test]
async fn connection_dropped() {
    let stream = TcpStream::connect(serve("", End::Stall).await).await;
    let stream = TokioIo::new(stream.expect("a connection"));
    let (mut sender, connection) = http1::handshake(stream).await.expect("a handshake");
    let mut connection = Some(Box::pin(connection));
    let mut sending = pin!(sender.send_request(request()));
    let sent = poll_fn(|context| {
        let polled = sending.as_mut().poll(context);
        if let Some(mut connection) = connection.take() {
            // It takes the request up, and is no more.
            assert!(connection.as_mut().poll(context).is_pending());
        }
        polled
    });
    let error = sent.await.expect_err("nobody is left to answer");
    assert!(error.is_user());
    assert_row(&Hidden::from(error), MAYBE_SENT, Repeated::IfIdempotent);
}

/// Dropped before the request was taken up.
#[tokio::test]
async fn never_begun() {
    let stream = TcpStream::connect(serve("", End::Stall).await).await;
    let stream = TokioIo::new(stream.expect("a connection"));
    let (mut sender, connection) = http1::handshake(stream).await.expect("a handshake");
    let sending = sender.send_request(request());
    drop(connection);
    let error = sending.await.expect_err("no connection");
    assert!(error.is_canceled());
    assert_row(&Hidden::from(error), NOT_SENT, Repeated::Always);
    let error = sender.send_request(request()).await.expect_err("not ready");
    assert!(error.is_canceled());
    assert_row(&Hidden::from(error), NOT_SENT, Repeated::Always);
}

/// The server has agreed to another protocol, while the request's body was still to come; then the
/// connection was dropped.
#[tokio::test]
async fn upgrade_not_completed() {
    let switch = "HTTP/1.1 101 \r\nconnection: upgrade\r\nupgrade: test\r\n\r\n";
    let stream = TcpStream::connect(serve(switch, End::Stall).await).await;
    let stream = TokioIo::new(stream.expect("a connection"));
    let (mut sender, connection) = http1::handshake(stream).await.expect("a handshake");
    let connection = tokio::spawn(connection.with_upgrades());
    let request = Request::put("http://localhost/").body(Endless);
    let answer = sender.send_request(request.expect("a request")).await;
    let upgrade = hyper_1::upgrade::on(answer.expect("a reply"));
    connection.abort();
    let error = upgrade.await.expect_err("nobody completes it");
    assert!(error.is_canceled(), "{error:?}");
    assert_row(&Hidden::from(error), MAYBE_SENT, Repeated::IfIdempotent);
}

/// A body that never comes.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
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
