//! tonic, against a server that has HTTP/2 only.

use crate::{
    clients::facts::{MAYBE_SENT, NOT_SENT, NOTHING, POLICY, Repeated, assert_row, code},
    clients::hyper::Hidden,
    h2::{
        Act, CANCEL, GOAWAY_AFTER, GOAWAY_BEFORE, HALF_A_MESSAGE, NO_TRAILERS, REFUSED_STREAM,
        serve,
    },
    server::{PATIENCE, nobody, raw},
};
use Repeated::{Always, IfIdempotent, Never, Refused};
use backoff_core::{Delivery, Fault as _, GrpcCode, Jitter, Policy, Reconnect};
use http_1::HeaderMap;
use hyper_1::body::{Body, Bytes};
use hyper_util::rt::TokioIo;
use std::{error::Error as _, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpStream;
use tonic_014::{
    Code, Request, Status,
    client::{Grpc, GrpcService},
    transport::{Channel, Endpoint},
};
use tonic_prost_014::{ProstCodec, prost::Message as _};
use tonic_types_014::{ErrorDetails, StatusExt as _, pb};

pub(crate) fn endpoint(server: SocketAddr) -> Endpoint {
    Endpoint::from_shared(format!("http://{server}")).expect("an address")
}

/// A unary call whose message is a text, as a generated client makes it.
pub(crate) async fn unary<S, B>(mut client: Grpc<S>, text: &str) -> Result<String, Status>
where
    S: GrpcService<tonic_014::body::Body, ResponseBody = B>,
    B: Body<Data = Bytes, Error: Into<Hidden>> + Send + 'static,
{
    let ready = client.ready().await;
    ready.map_err(|error| Status::from_error(error.into()))?;
    let method = "/test.Service/Get".parse().expect("a path");
    let (request, codec) = (Request::new(text.to_owned()), ProstCodec::default());
    let reply = client.unary(request, method, codec).await?;
    Ok(reply.into_inner())
}

async fn call_on(channel: Channel) -> Result<String, Status> {
    unary(Grpc::new(channel), "").await
}

/// The error of a call.
async fn failure(server: SocketAddr) -> Status {
    let channel = endpoint(server).connect_lazy();
    call_on(channel).await.expect_err("the failure")
}

/// The reply of a server that says this.
pub(crate) fn says(status: &Status) -> Act {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/grpc".parse().expect("a value"));
    status.add_header(&mut headers).expect("headers");
    Act::Headers(headers)
}

/// The error of a call that the server answers like this.
pub(crate) async fn answer(status: Status) -> Status {
    let error = failure(serve(says(&status))).await;
    assert!(error.source().is_none(), "{error:?}");
    error
}

#[tokio::test]
async fn what_becomes_of_a_connection() {
    let (stays, closes) = (Act::Frames, Act::FramesAndClose);
    let not_sent = vec![
        ("refused stream", stays(REFUSED_STREAM), None),
        ("goaway before", stays(GOAWAY_BEFORE), None),
        ("goaway at once", Act::FramesAtOnce(GOAWAY_BEFORE), None),
    ];
    let lost = vec![
        ("closed", closes(b""), Some("transport error")),
        ("reset", stays(CANCEL), None),
        ("goaway after", closes(GOAWAY_AFTER), None),
    ];
    for (rows, facts, repeated) in [
        (not_sent, NOT_SENT, Always),
        (lost, MAYBE_SENT, IfIdempotent),
    ] {
        for (row, act, message) in rows {
            let error = failure(serve(act)).await;
            if let Some(message) = message {
                let said = (error.code(), error.message());
                assert_eq!(said, (Code::Unknown, message), "{row}");
            }
            assert_row(row, error, facts, repeated);
        }
    }
    // tonic gives these a code and no source; the server has said nothing.
    for (frames, code) in [
        (NO_TRAILERS, Code::Unknown),
        (HALF_A_MESSAGE, Code::Internal),
    ] {
        let error = failure(serve(stays(frames))).await;
        assert_eq!(error.code(), code, "{error:?}");
        assert!(error.source().is_none(), "{error:?}");
        assert_row("truncated", error, MAYBE_SENT, IfIdempotent);
    }
}

#[tokio::test]
async fn what_was_never_connected() {
    let refused = failure(nobody()).await;
    assert_eq!(refused.code(), Code::Unavailable);
    assert_row("refused", refused, NOT_SENT, Always);
    let error = endpoint(nobody()).connect().await.expect_err("refused");
    assert_row("refused while connecting", error, NOT_SENT, Always);
    let endpoint = Endpoint::from_static("http://no-such-host.invalid");
    let error = call_on(endpoint.connect_lazy()).await.expect_err("no name");
    assert_row("no name", error, NOT_SENT, Always);
}

/// The connection broke before hyper had begun the request, and it says so.
#[tokio::test]
async fn no_http2() {
    let http1 = crate::server::serve(raw("HTTP/1.1 400 Bad Request\r\n\r\n"));
    // The request would be begun if the server were slow. So hyper gets the connection when the reply is there.
    let connect = tower::service_fn(move |_| async move {
        let stream = TcpStream::connect(http1).await?;
        stream.writable().await?;
        stream.try_write(b"\r\n\r\n")?;
        stream.readable().await?;
        Ok::<_, io::Error>(TokioIo::new(stream))
    });
    let channel = endpoint(http1).connect_with_connector_lazy(connect);
    let error = call_on(channel).await.expect_err("no HTTP/2");
    assert_eq!(error.code(), Code::Cancelled);
    assert_row("no HTTP/2", error, NOT_SENT, Always);
}

#[tokio::test]
async fn client_timeout() {
    let server = serve(Act::Frames(b""));
    let channel = endpoint(server).timeout(PATIENCE).connect_lazy();
    let error = call_on(channel).await.expect_err("too late");
    let said = (error.code(), error.message());
    assert_eq!(said, (Code::Cancelled, "Timeout expired"));
    assert_row("timeout", error, MAYBE_SENT, IfIdempotent);
}

/// A request that is longer than the client sends: its body fails, and nobody can cure that.
#[tokio::test]
async fn message_too_long() {
    let channel = endpoint(serve(Act::Frames(b""))).connect_lazy();
    let client = Grpc::new(channel).max_encoding_message_size(1);
    let error = unary(client, "long").await.expect_err("too long");
    assert_row("too long", error, NOTHING, Never);
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

pub(crate) fn pushed_back(code: Code, values: &[&str]) -> Status {
    let mut status = Status::new(code, "busy");
    for value in values {
        let value = value.parse().expect("a value");
        let metadata = status.metadata_mut();
        metadata.append("grpc-retry-pushback-ms", value);
    }
    status
}

#[tokio::test]
async fn what_a_server_answers() {
    let unavailable = code(GrpcCode::Unavailable);
    let aborted = code(GrpcCode::Aborted);
    let late = code(GrpcCode::DeadlineExceeded);
    let exists = code(GrpcCode::AlreadyExists);
    let unknown = code(GrpcCode::Unknown);
    let throttled = code(GrpcCode::ResourceExhausted).after(1_500);
    let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(1_500)));
    let pushed = pushed_back(Code::Unavailable, &["250"]);
    let busy = Status::with_error_details(Code::ResourceExhausted, "busy", details);
    for (status, facts, repeated) in [
        (Status::unavailable("try again"), unavailable, IfIdempotent),
        (Status::aborted("somebody was faster"), aborted, Always),
        (Status::deadline_exceeded("too late"), late, IfIdempotent),
        // So says a tonic server.
        (Status::cancelled("Timeout expired"), late, IfIdempotent),
        (Status::already_exists("it is there"), exists, Never),
        // As the server's word it is a code like any other; the transport's has a source.
        (Status::unknown("transport error"), unknown, IfIdempotent),
        (busy, throttled, Always),
        (retry_info_of(-3), unavailable, IfIdempotent),
        (pushed, unavailable.after(250), IfIdempotent),
    ] {
        let row = status.to_string();
        assert_row(&row, answer(status).await, facts, repeated);
    }
    let mut stop = unavailable;
    stop.must_stop = true;
    for values in ["-1", "soon", "1.5", "99999999999", "1 1"] {
        let values: Vec<_> = values.split(' ').collect();
        let error = answer(pushed_back(Code::Unavailable, &values)).await;
        assert_row(&format!("{values:?}"), error, stop, Refused);
    }
}

/// A connection that closed is opened anew, and the next attempt gets an answer on it.
#[tokio::test]
async fn a_lost_connection_is_opened_anew() {
    let broken = serve(Act::FramesAndClose(b""));
    let whole = serve(says(&Status::not_found("")));
    let servers = std::cell::RefCell::new(vec![whole, broken]);
    let channel = Reconnect::new(async || {
        let server = servers.borrow_mut().pop().expect("one of two");
        Ok::<_, Status>(endpoint(server).connect_lazy())
    });
    let outcome = POLICY
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
