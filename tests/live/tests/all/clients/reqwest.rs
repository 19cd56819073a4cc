//! reqwest, and `backoff_cloud::http` on top of it.

use crate::clients::{
    facts::{Facts, MAYBE_SENT, NOT_SENT, NOTHING, POLICY, Repeated, assert_row},
    http2,
    server::{AMPLE, End, Failing, PATIENCE, half, nobody, reply, serve},
};
use backoff_cloud::http::{self, ApiError, SendExt as _};
use backoff_core::{Event, Fault, FaultKind, GrpcCode};
use reqwest::{Client, ClientBuilder, Error};
use serde_json::Value;
use std::{fmt::Display, io::ErrorKind, time::Duration};
use tokio::{
    net::{TcpSocket, TcpStream},
    sync::Notify,
    time::timeout,
};

/// A client without the retries that reqwest makes by itself.
pub(crate) fn builder() -> ClientBuilder {
    Client::builder().retry(reqwest::retry::never())
}

async fn get(host: impl Display, client: ClientBuilder) -> Result<Vec<u8>, Error> {
    let client = client.build().expect("a client");
    let response = client.get(format!("http://{host}/")).send().await?;
    Ok(response.error_for_status()?.bytes().await?.to_vec())
}

/// The error of reqwest when the server does this.
async fn failure(bytes: impl Into<String>, end: End) -> Error {
    failure_within(end.patience(), bytes, end).await
}

async fn failure_within(limit: Duration, bytes: impl Into<String>, end: End) -> Error {
    let server = serve(bytes, end).await;
    let got = get(server, builder().timeout(limit)).await;
    got.expect_err("the failure")
}

/// The result of `backoff_cloud::http::json` for a reply.
pub(crate) async fn said(reply: String) -> ApiError {
    let server = serve(reply, End::Close).await;
    let client = builder().build().expect("a client");
    let get = client.get(format!("http://{server}/")).send().await;
    let answer = http::json::<Value>(get.expect("a reply")).await;
    answer.expect_err("an error")
}

#[tokio::test]
async fn refused() {
    let error = get(nobody(), builder()).await.expect_err("refused");
    assert!(error.is_request() && error.is_connect());
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn dns() {
    // No resolver may know a name below it: RFC 6761, section 6.4.
    let error = get("no-such-host.invalid", builder())
        .await
        .expect_err("no name");
    assert!(error.is_connect());
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn connect_timeout() {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let listener = socket.listen(1).expect("a short queue");
    let server = listener.local_addr().expect("its address");
    // Nobody accepts, and when the queue is full the kernel answers no more.
    let mut queue = Vec::new();
    while let Ok(stream) = timeout(PATIENCE, TcpStream::connect(server)).await {
        queue.push(stream);
        assert!(queue.len() < 64, "the queue is never full");
    }
    let client = builder().connect_timeout(PATIENCE).timeout(AMPLE);
    let got = get(server, client).await;
    let error = got.expect_err("nobody answers");
    assert!(error.is_timeout() && error.is_connect());
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn reset() {
    let error = failure("", End::Reset).await;
    assert!(error.is_request() && !error.is_connect());
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn closed_before_the_reply() {
    let error = failure("", End::Close).await;
    assert!(error.is_request() && !error.is_connect());
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn closed_in_the_middle_of_the_head() {
    let error = failure("HTTP/1.1 200 OK\r\ncontent-le", End::Close).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn truncated_body() {
    let error = failure(half("{\"name\":"), End::Close).await;
    assert!(error.is_decode() && !error.is_body());
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn truncated_chunk() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{\"na";
    let error = failure(chunked, End::Close).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn reset_in_the_body() {
    let error = failure(half("{\"name\":"), End::Reset).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn stall_before_the_reply() {
    let error = failure("", End::Stall).await;
    assert!(error.is_timeout() && error.is_request());
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn stall_in_the_body() {
    let mut limit = PATIENCE;
    let mut error = failure_within(limit, half("{\"name\":"), End::Stall).await;
    // On a slow machine the head of the reply may be late too: then there is more time for both.
    while error.is_request() && limit < AMPLE {
        limit *= 4;
        error = failure_within(limit, half("{\"name\":"), End::Stall).await;
    }
    assert!(error.is_timeout() && error.is_decode());
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn no_http() {
    let error = failure("SSH-2.0-OpenSSH_9.2\r\n", End::Close).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

/// The error of reqwest when an HTTP/2 server does this with a request.
async fn failure_of_http2(act: http2::Act) -> Error {
    let server = http2::serve(act).await;
    let client = builder().http2_prior_knowledge().timeout(AMPLE);
    get(server, client).await.expect_err("the failure")
}

#[tokio::test]
async fn refused_stream() {
    for frames in [http2::REFUSED_STREAM, http2::GOAWAY_BEFORE] {
        let error = failure_of_http2(http2::Act::Frames(frames)).await;
        assert!(error.is_request() && !error.is_connect());
        assert_row(&error, NOT_SENT, Repeated::Always);
    }
}

/// In one call too, where the feature `http` of backoff-cloud brings what is needed.
#[tokio::test]
async fn a_post_that_was_refused_is_sent_again() {
    for (frames, is_repeated) in [
        (http2::REFUSED_STREAM, true),
        (http2::GOAWAY_BEFORE, true),
        (http2::CANCEL, false),
    ] {
        let server = http2::serve(http2::Act::Frames(frames)).await;
        let client = builder().http2_prior_knowledge().timeout(AMPLE);
        let client = client.build().expect("a client");
        let post = client.post(format!("http://{server}/")).body("x");
        let waits = Notify::new();
        let sending = POLICY.send(post).reply().notify(|event| {
            if let Event::Waiting { .. } = event {
                waits.notify_one();
            }
        });
        // The server treats the first request so, and stalls at the next one.
        let outcome = tokio::select! {
            failed = sending.reported() => Some(failed.expect_err("the failure")),
            () = waits.notified() => None,
        };
        assert_eq!(outcome.is_none(), is_repeated, "{outcome:?}");
    }
}

#[tokio::test]
async fn stream_reset() {
    let error = failure_of_http2(http2::Act::Frames(http2::CANCEL)).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    let error = failure_of_http2(http2::Act::FramesAndClose(http2::GOAWAY_AFTER)).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn stream_reset_in_the_body() {
    let error = failure_of_http2(http2::Act::Frames(http2::HALF_A_REPLY)).await;
    assert!(error.is_decode());
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

/// A file that is missing, or another connection that broke: not the failure of this request.
#[tokio::test]
async fn own_body() {
    let kinds = [
        ErrorKind::NotFound,
        ErrorKind::ConnectionRefused,
        ErrorKind::TimedOut,
        ErrorKind::Interrupted,
    ];
    for kind in kinds {
        let http1 = (serve("", End::Stall).await, builder());
        let http2 = http2::serve(http2::Act::Frames(b"")).await;
        for (server, client) in [http1, (http2, builder().http2_prior_knowledge())] {
            let client = client.build().expect("a client");
            let put = client.put(format!("http://{server}/"));
            let body = reqwest::Body::wrap(Failing::with(kind));
            let error = put.body(body).send().await.expect_err("the body failed");
            assert!(error.is_request());
            assert_eq!(error.kind(), Some(FaultKind::Permanent));
            assert_row(&error, NOTHING, Repeated::Never);
        }
    }
}

#[tokio::test]
async fn bad_json() {
    let server = serve(reply(200, "", "<html>"), End::Close).await;
    let client = builder().build().expect("a client");
    let get = client.get(format!("http://{server}/")).send().await;
    let json = get.expect("a reply").json::<Value>().await;
    let error = json.expect_err("no JSON");
    assert!(error.is_decode());
    assert_row(&error, NOTHING, Repeated::Never);
}

#[tokio::test]
async fn builder_error() {
    let client = builder().build().expect("a client");
    let error = client
        .get("no address")
        .send()
        .await
        .expect_err("no address");
    assert!(error.is_builder());
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
    assert_row(&error, NOTHING, Repeated::Never);
}

#[tokio::test]
async fn redirect_loop() {
    let error = failure(reply(302, "location: /\r\n", ""), End::Close).await;
    assert!(error.is_redirect());
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
    assert_row(&error, NOTHING, Repeated::Never);
}

#[tokio::test]
async fn error_for_status() {
    let error = failure(reply(503, "retry-after: 7\r\n", ""), End::Close).await;
    // The header is lost: read it from the response, as `backoff_cloud::http` does.
    let facts = Facts {
        status: Some(503),
        ..NOTHING
    };
    assert_row(&error, facts, Repeated::IfIdempotent);
    let kept = said(reply(503, "retry-after: 7\r\n", "")).await;
    let facts = Facts {
        retry_after: Some(Duration::from_secs(7)),
        ..facts
    };
    assert_row(&kept, facts, Repeated::IfIdempotent);
}

#[tokio::test]
async fn html_502() {
    let error = said(reply(
        502,
        "content-type: text/html\r\n",
        "<h1>Bad Gateway</h1>",
    ))
    .await;
    let facts = Facts {
        status: Some(502),
        ..NOTHING
    };
    assert_row(&error, facts, Repeated::IfIdempotent);
}

fn google(status: u16, name: &str) -> String {
    let body = format!(r#"{{"error": {{"code": {status}, "status": "{name}"}}}}"#);
    reply(status, "", &body)
}

#[tokio::test]
async fn aborted_409() {
    let error = said(google(409, "ABORTED")).await;
    let grpc_code = Some(GrpcCode::Aborted);
    let facts = Facts {
        status: Some(409),
        grpc_code,
        ..NOTHING
    };
    assert_row(&error, facts, Repeated::Always);
}

#[tokio::test]
async fn already_exists_409() {
    let error = said(google(409, "ALREADY_EXISTS")).await;
    let grpc_code = Some(GrpcCode::AlreadyExists);
    let facts = Facts {
        status: Some(409),
        grpc_code,
        ..NOTHING
    };
    assert_row(&error, facts, Repeated::Never);
}

#[tokio::test]
async fn throttled_429() {
    let error = said(google(429, "RESOURCE_EXHAUSTED")).await;
    let grpc_code = Some(GrpcCode::ResourceExhausted);
    let facts = Facts {
        status: Some(429),
        grpc_code,
        ..NOTHING
    };
    assert_row(&error, facts, Repeated::Always);
}

/// An error of reqwest's inside others, as a body that is read through `AsyncRead` gives it.
#[tokio::test]
async fn inside_an_io_error() {
    let refused = get(nobody(), builder()).await.expect_err("refused");
    let inside = std::io::Error::other(std::io::Error::other(refused));
    assert_row(&inside, NOT_SENT, Repeated::Always);
    let status = failure(reply(503, "", ""), End::Close).await;
    let facts = Facts {
        status: Some(503),
        ..NOTHING
    };
    assert_row(
        &std::io::Error::other(status),
        facts,
        Repeated::IfIdempotent,
    );
}
