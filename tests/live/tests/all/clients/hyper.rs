//! hyper alone. Its errors are in a `Box<dyn Error>`, as in many programs.

use crate::server::{
    Column, End, Frames, GOAWAY_BEFORE, MAYBE_SENT, NOT_SENT, Pieces,
    Repeated::{Always, IfIdempotent},
    STALL, Target, assert_row, assert_says, fails_on_the_way, raw, reply, serve, serve_frames,
    status,
};
use http_1::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_1::{
    body::{Body, Bytes},
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::{error::Error, future::poll_fn, net::SocketAddr, pin::pin, task::Poll};
use tokio::net::TcpStream;

pub(super) type Hidden = Box<dyn Error + Send + Sync>;
type Io = TokioIo<TcpStream>;

fn request() -> Request<Empty<Bytes>> {
    let request = Request::get("http://localhost/");
    request.body(Empty::new()).expect("a request")
}

async fn connected(server: SocketAddr) -> Io {
    TokioIo::new(TcpStream::connect(server).await.expect("a connection"))
}

/// A connection of HTTP/1.
pub(super) async fn http1<B: Body<Data: Send, Error: Into<Hidden>> + 'static>(
    server: SocketAddr,
) -> (http1::SendRequest<B>, http1::Connection<Io, B>) {
    let handshake = http1::handshake(connected(server).await).await;
    handshake.expect("a handshake")
}

struct Hyper;

impl Column for Hyper {
    type Error = hyper_1::Error;

    const SPEAKS: (bool, bool) = (true, true);

    /// It opens no connection and has no limit of time. Of a chunk without a length it does not say whether the
    /// connection is of use.
    const CANNOT: &str = "nobody listens|no such name|nobody accepts|https|\
        a chunk without a length|no reply|no second half|no reply in HTTP/2";

    const REPLIES: (bool, bool) = (false, false);

    async fn read(target: Target) -> Result<(), hyper_1::Error> {
        let server = target.origin["http://".len()..].parse();
        let server = server.expect("an address");
        let response = if target.is_h2 {
            let handshake = http2::handshake(TokioExecutor::new(), connected(server).await);
            let (mut sender, connection) = handshake.await?;
            tokio::spawn(connection);
            sender.send_request(request()).await?
        } else {
            let (mut sender, connection) = http1(server).await;
            tokio::spawn(connection);
            sender.send_request(request()).await?
        };
        response.into_body().collect().await.map(drop)
    }
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<Hyper>().await;
}

/// The task of the connection was dropped, as with the runtime that it ran on: the request may be
/// with the server.
#[tokio::test]
async fn connection_dropped() {
    let (mut sender, connection) = http1(serve(STALL)).await;
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
    assert_row("taken up", error, MAYBE_SENT, IfIdempotent);
}

/// Dropped before the request was taken up.
#[tokio::test]
async fn never_begun() {
    let (mut sender, connection) = http1(serve(STALL)).await;
    let sending = sender.send_request(request());
    drop(connection);
    let error = sending.await.expect_err("no connection");
    let later = sender.send_request(request()).await.expect_err("not ready");
    for error in [error, later] {
        assert!(error.is_canceled());
        assert_row("never begun", error, NOT_SENT, Always);
    }
}

/// The server has gone away before the connection was ready for a request: hyper-util waits for this.
#[tokio::test]
async fn never_ready() {
    let server = serve_frames(Frames::AtOnce(GOAWAY_BEFORE));
    let handshake = http2::handshake(TokioExecutor::new(), connected(server).await).await;
    let (mut sender, connection): (http2::SendRequest<Empty<Bytes>>, _) =
        handshake.expect("a handshake");
    let _ = connection.await;
    let error = sender.ready().await.expect_err("the connection is over");
    assert!(error.is_closed(), "{error:?}");
    assert_row("never ready", error, NOT_SENT, Always);
}

/// The server has agreed to another protocol, while the request's body was still to come; then the
/// connection was dropped.
#[tokio::test]
async fn upgrade_not_completed() {
    let switch = raw("HTTP/1.1 101 \r\nconnection: upgrade\r\nupgrade: test\r\n\r\n");
    let (mut sender, connection) = http1(serve(switch.then(End::Stall))).await;
    let connection = tokio::spawn(connection.with_upgrades());
    let request = Request::put("http://localhost/").body(Pieces::new(|_| Poll::Pending));
    let answer = sender.send_request(request.expect("a request")).await;
    let upgrade = hyper_1::upgrade::on(answer.expect("a reply"));
    connection.abort();
    let error = upgrade.await.expect_err("nobody completes it");
    assert!(error.is_canceled(), "{error:?}");
    assert_row("upgrade", error, MAYBE_SENT, IfIdempotent);
}

/// `backoff-core/src/clients/http.rs` has the rows of hyper's response, which is one of the crate `http`.
#[tokio::test]
async fn a_response_of_reqwest_012_is_an_error_with_its_hints() {
    let headers = "retry-after: 2\r\nx-amz-retry-after: 2500\r\nretry-after-ms: -1\r\n";
    let server = serve(reply(429, headers, "slow down"));
    let response = reqwest_012::get(format!("http://{server}/")).await;
    let response = response.expect("a reply");
    assert_says("a response", &response, status(429).after(2_500), Always);
}
