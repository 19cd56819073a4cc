//! tonic, against a server that has HTTP/2 only.

use crate::{
    clients::hyper::Hidden,
    h2::{Act, script},
    server::{
        Column, End, Facts, Frames, MAYBE_SENT, NOT_SENT, NOTHING,
        Repeated::{Always, IfIdempotent, Never, Refused},
        Target, assert_row, fails_on_the_way, nobody, serve_frames,
    },
};
use backoff_core::GrpcCode;
use http_1::HeaderMap;
use hyper_1::body::{Body, Bytes};
use std::{error::Error as _, fmt::Display, time::Duration};
use tonic_014::{
    Code, Request, Status,
    client::{Grpc, GrpcService},
    transport::{Channel, Endpoint},
};
use tonic_prost_014::ProstCodec;
use tonic_types_014::{ErrorDetails, StatusExt as _};

/// Status 200, and the stream ends where gRPC's last word should come: HTTP/2 has no complaint.
const NO_TRAILERS: &[u8] = b"\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\0\0\x01\0\0\0\x01";
/// Status 200 and the first 6 of the 14 bytes of a message, at which the stream ends.
const HALF_A_MESSAGE: &[u8] =
    b"\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x06\0\x01\0\0\0\x01\0\0\0\0\x09{";

pub(crate) fn endpoint(server: impl Display) -> Endpoint {
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
async fn failure(server: impl Display) -> Status {
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

struct Tonic;

impl Column for Tonic {
    type Error = Status;

    const SPEAKS: (bool, bool) = (false, true);

    /// Half of a stream is a reply without gRPC's type.
    const CANNOT: &str = "https|half of a stream";

    const REPLIES: (bool, bool) = (false, false);

    async fn read(target: Target) -> Result<(), Status> {
        let endpoint = Endpoint::from_shared(target.origin).expect("an address");
        let endpoint = endpoint.connect_timeout(target.connect);
        let called = call_on(endpoint.timeout(target.whole).connect_lazy());
        called.await.map(drop)
    }

    fn fits(error: &Status, row: &str) -> bool {
        let said = (error.code(), error.message());
        match row {
            "nobody listens" => error.code() == Code::Unavailable,
            "closed in HTTP/2" => said == (Code::Unknown, "transport error"),
            "no reply in HTTP/2" => said == (Code::Cancelled, "Timeout expired"),
            _ => true,
        }
    }
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<Tonic>().await;
    let error = endpoint(nobody()).connect().await.expect_err("refused");
    assert_row("refused while connecting", error, NOT_SENT, Always);
    // tonic gives these a code and no source; the server has said nothing.
    for frames in [NO_TRAILERS, HALF_A_MESSAGE] {
        let error = failure(serve_frames(Frames::Then(frames, End::Stall))).await;
        assert!(error.source().is_none(), "{error:?}");
        assert_row("truncated", error, MAYBE_SENT, IfIdempotent);
    }
}

/// A request that is longer than the client sends: its body fails, and nobody can cure that.
#[tokio::test]
async fn message_too_long() {
    let server = serve_frames(Frames::Then(b"", End::Stall));
    let client = Grpc::new(endpoint(server).connect_lazy()).max_encoding_message_size(1);
    let error = unary(client, "long").await.expect_err("too long");
    assert_row("too long", error, NOTHING, Never);
}

pub(crate) fn pushed_back(code: Code, values: &[&str]) -> Status {
    let mut status = Status::new(code, "busy");
    for value in values.iter().map(|it| it.parse().expect("a value")) {
        let metadata = status.metadata_mut();
        metadata.append("grpc-retry-pushback-ms", value);
    }
    status
}

/// The codes and the hints are rows of `backoff-core/src/clients/tonic.rs`.
#[tokio::test]
async fn what_a_server_answers() {
    let throttled = NOTHING.code(GrpcCode::ResourceExhausted).after(1_500);
    let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(1_500)));
    let busy = Status::with_error_details(Code::ResourceExhausted, "busy", details);
    let unavailable = NOTHING.code(GrpcCode::Unavailable).after(250);
    let stop = Facts {
        must_stop: true,
        ..NOTHING.code(GrpcCode::Aborted)
    };
    for (status, facts, repeated) in [
        (busy, throttled, Always),
        (
            pushed_back(Code::Unavailable, &["250"]),
            unavailable,
            IfIdempotent,
        ),
        (pushed_back(Code::Aborted, &["1", "1"]), stop, Refused),
    ] {
        let error = failure(script(vec![says(&status)]).0).await;
        assert!(error.source().is_none(), "{error:?}");
        assert_row(&status.to_string(), error, facts, repeated);
    }
}
