//! tonic, against a server that has HTTP/2 only.

use crate::clients::{
    facts::{Facts, MAYBE_SENT, NOT_SENT, NOTHING, Repeated, assert_row},
    http2::{
        Act, CANCEL, GOAWAY_AFTER, GOAWAY_BEFORE, HALF_A_MESSAGE, NO_TRAILERS, REFUSED_STREAM,
        serve,
    },
    server::{self, PATIENCE, nobody},
};
use backoff_core::{Delivery, Fault as _, GrpcCode, Jitter, Policy, Reconnect};
use http_1::HeaderMap;
use hyper_util::rt::TokioIo;
use std::{error::Error as _, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic_014::{
    Code, Request, Status,
    client::Grpc,
    transport::{Channel, Endpoint},
};
use tonic_prost_014::{ProstCodec, prost::Message as _};
use tonic_types_014::{ErrorDetails, StatusExt as _, pb};

fn endpoint(server: SocketAddr) -> Endpoint {
    Endpoint::from_shared(format!("http://{server}")).expect("an address")
}

async fn call_on(channel: Channel) -> Result<(), Status> {
    let mut client = Grpc::new(channel);
    client
        .ready()
        .await
        .map_err(|error| Status::from_error(error.into()))?;
    let method = "/test.Service/Method".parse().expect("a path");
    let codec = ProstCodec::<(), ()>::default();
    client
        .unary(Request::new(()), method, codec)
        .await
        .map(drop)
}

/// The error of a call.
async fn failure(server: SocketAddr) -> Status {
    let channel = endpoint(server).connect_lazy();
    call_on(channel).await.expect_err("the failure")
}

/// The error of a call that the server answers like this.
pub(crate) async fn answer(status: Status) -> Status {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/grpc".parse().expect("a value"));
    status.add_header(&mut headers).expect("headers");
    let error = failure(serve(Act::Headers(headers)).await).await;
    assert!(error.source().is_none(), "{error:?}");
    error
}

#[tokio::test]
async fn refused() {
    let error = failure(nobody()).await;
    assert_eq!(error.code(), Code::Unavailable);
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn refused_while_connecting() {
    let error = endpoint(nobody()).connect().await.expect_err("refused");
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn dns() {
    let endpoint = Endpoint::from_static("http://no-such-host.invalid");
    let error = call_on(endpoint.connect_lazy()).await.expect_err("no name");
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn closed_mid_request() {
    let error = failure(serve(Act::FramesAndClose(b"")).await).await;
    assert_eq!(error.code(), Code::Unknown);
    assert_eq!(error.message(), "transport error");
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

/// The connection broke before hyper had begun the request, and it says so.
#[tokio::test]
async fn no_http2() {
    let listener = server::listener().await;
    let http1 = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await?;
        stream.read(&mut [0; 1_024]).await
    });
    // The request would be begun if the server were slow. So hyper gets the connection when the reply is there.
    let connect = tower::service_fn(move |_| async move {
        let stream = TcpStream::connect(http1).await?;
        stream.readable().await?;
        Ok::<_, io::Error>(TokioIo::new(stream))
    });
    let channel = endpoint(http1).connect_with_connector_lazy(connect);
    let error = call_on(channel).await.expect_err("no HTTP/2");
    assert_eq!(error.code(), Code::Cancelled);
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn client_timeout() {
    let server = serve(Act::Frames(b"")).await;
    let channel = endpoint(server).timeout(PATIENCE).connect_lazy();
    let error = call_on(channel).await.expect_err("too late");
    assert_eq!(
        (error.code(), error.message()),
        (Code::Cancelled, "Timeout expired")
    );
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn refused_stream() {
    let error = failure(serve(Act::Frames(REFUSED_STREAM)).await).await;
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn stream_reset() {
    let error = failure(serve(Act::Frames(CANCEL)).await).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn goaway_before_the_stream() {
    let error = failure(serve(Act::Frames(GOAWAY_BEFORE)).await).await;
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn goaway_after_the_stream() {
    let error = failure(serve(Act::FramesAndClose(GOAWAY_AFTER)).await).await;
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

/// tonic gives these a code and no source; the server has said nothing.
#[tokio::test]
async fn truncated_reply() {
    for (frames, code) in [
        (NO_TRAILERS, Code::Unknown),
        (HALF_A_MESSAGE, Code::Internal),
    ] {
        let error = failure(serve(Act::Frames(frames)).await).await;
        assert_eq!(error.code(), code, "{error:?}");
        assert!(error.source().is_none(), "{error:?}");
        assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    }
}

/// A request that is longer than the client sends: its body fails, and nobody can cure that.
#[tokio::test]
async fn message_too_long() {
    let channel = endpoint(serve(Act::Frames(b"")).await).connect_lazy();
    let mut client = Grpc::new(channel).max_encoding_message_size(1);
    client.ready().await.expect("a lazy channel");
    let method = "/test.Service/Method".parse().expect("a path");
    let codec = ProstCodec::<String, ()>::default();
    let called = client.unary(Request::new("long".to_owned()), method, codec);
    let error = called.await.expect_err("too long");
    assert_row(&error, NOTHING, Repeated::Never);
}

fn code(code: GrpcCode) -> Facts {
    Facts {
        grpc_code: Some(code),
        ..NOTHING
    }
}

#[tokio::test]
async fn unavailable() {
    let error = answer(Status::unavailable("try again")).await;
    assert_row(&error, code(GrpcCode::Unavailable), Repeated::IfIdempotent);
}

#[tokio::test]
async fn aborted() {
    let error = answer(Status::aborted("somebody was faster")).await;
    assert_row(&error, code(GrpcCode::Aborted), Repeated::Always);
}

#[tokio::test]
async fn deadline_exceeded() {
    let error = answer(Status::deadline_exceeded("too late")).await;
    assert_row(
        &error,
        code(GrpcCode::DeadlineExceeded),
        Repeated::IfIdempotent,
    );
}

#[tokio::test]
async fn timeout_of_a_tonic_server() {
    let error = answer(Status::cancelled("Timeout expired")).await;
    assert_row(
        &error,
        code(GrpcCode::DeadlineExceeded),
        Repeated::IfIdempotent,
    );
}

#[tokio::test]
async fn already_exists() {
    let error = answer(Status::already_exists("it is there")).await;
    assert_row(&error, code(GrpcCode::AlreadyExists), Repeated::Never);
}

#[tokio::test]
async fn unknown_of_the_server() {
    // As the server's word it is a code like any other; the transport's has a source.
    let error = answer(Status::unknown("transport error")).await;
    assert_row(&error, code(GrpcCode::Unknown), Repeated::IfIdempotent);
}

#[tokio::test]
async fn retry_info() {
    let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(1_500)));
    let busy = Status::with_error_details(Code::ResourceExhausted, "busy", details);
    let facts = Facts {
        retry_after: Some(Duration::from_millis(1_500)),
        ..code(GrpcCode::ResourceExhausted)
    };
    assert_row(&answer(busy).await, facts, Repeated::Always);
}

/// A `RetryInfo` of so many seconds, which tonic's own types would not make.
pub(crate) fn retry_info_of(seconds: i64) -> Status {
    let mut info = pb::RetryInfo::default();
    info.retry_delay.get_or_insert_default().seconds = seconds;
    let mut status = pb::Status {
        code: Code::Unavailable as i32,
        ..Default::default()
    };
    status.details.resize_with(1, Default::default);
    status.details[0].type_url = "type.googleapis.com/google.rpc.RetryInfo".to_owned();
    status.details[0].value = info.encode_to_vec();
    Status::with_details(Code::Unavailable, "busy", status.encode_to_vec().into())
}

#[tokio::test]
async fn retry_info_below_zero() {
    let error = answer(retry_info_of(-3)).await;
    assert_row(&error, code(GrpcCode::Unavailable), Repeated::IfIdempotent);
}

fn pushed_back(values: &[&str]) -> Status {
    let mut status = Status::unavailable("busy");
    for value in values {
        let value = value.parse().expect("a value");
        status
            .metadata_mut()
            .append("grpc-retry-pushback-ms", value);
    }
    status
}

#[tokio::test]
async fn pushback() {
    let wait = Facts {
        retry_after: Some(Duration::from_millis(250)),
        ..code(GrpcCode::Unavailable)
    };
    assert_row(
        &answer(pushed_back(&["250"])).await,
        wait,
        Repeated::IfIdempotent,
    );
    let stop = Facts {
        must_stop: true,
        ..code(GrpcCode::Unavailable)
    };
    for values in [
        &["-1"][..],
        &["soon"],
        &["1.5"],
        &["99999999999"],
        &["1", "1"],
    ] {
        assert_row(&answer(pushed_back(values)).await, stop, Repeated::Refused);
    }
}

/// A connection that closed is opened anew, and the next attempt gets an answer on it.
#[tokio::test]
async fn a_lost_connection_is_opened_anew() {
    let broken = serve(Act::FramesAndClose(b"")).await;
    let whole = {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-status", "5".parse().expect("a value"));
        headers.insert("content-type", "application/grpc".parse().expect("a value"));
        serve(Act::Headers(headers)).await
    };
    let servers = std::cell::RefCell::new(vec![whole, broken]);
    let channel = Reconnect::new(async || {
        let server = servers.borrow_mut().pop().expect("one of two");
        Ok::<_, Status>(endpoint(server).connect_lazy())
    });
    let outcome = crate::clients::facts::POLICY
        .retry(|| channel.with(async |it| call_on(it).await))
        .await;
    assert_eq!(outcome.expect_err("the answer").code(), Code::NotFound);
    assert_eq!(channel.opened(), 2);
}

/// The error of a channel is no status and cannot be cloned; the calls fail with a status that says
/// that nothing was sent.
#[tokio::test]
async fn a_channel_that_nobody_answers_was_not_opened() {
    /// The second call comes within such a pause, however slow the machine is.
    const PAUSE: Duration = Duration::from_secs(3600);
    let nobody = nobody();
    let channel = Reconnect::new(async || endpoint(nobody).connect().await.map_err(Arc::new));
    let pauses = Policy::constant(PAUSE).max_backoff(PAUSE);
    let channel = channel.opening_backoff(pauses.jitter(Jitter::None));
    for _ in 0..2 {
        let outcome = channel.with(async |it| call_on(it).await).await;
        let status = outcome.expect_err("nobody there");
        assert_eq!(status.code(), Code::Unavailable);
        assert_eq!(status.delivery(), Some(Delivery::NotSent));
        let pause = status.retry_after().expect("a pause");
        assert!(pause <= PAUSE, "{pause:?}");
    }
    assert_eq!((channel.opened(), channel.failed()), (0, 1));
}
