//! tower's layer around real clients, on loopback sockets.

use crate::{
    h2::{Act, Asked, script},
    server::{CLOSE, Server, reply},
};
use backoff_core::{Event, Fault as _, GrpcCode, Policy, codes, tower::Idempotent};
use http_1::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::Full;
use hyper_1::body::{Body, Bytes, Incoming};
use hyper_util::{client::legacy, rt::TokioExecutor};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tonic_014::{
    Status,
    client::Grpc,
    transport::{Channel, Endpoint},
};
use tonic_prost_014::ProstCodec;
use tower::{Layer as _, Service, ServiceBuilder, ServiceExt as _};

/// Its waits are short, since these clocks are real.
const POLICY: Policy = Policy::exponential()
    .base(Duration::from_millis(2))
    .on(codes![429, 500..=504]);

type Hyper = legacy::Client<legacy::connect::HttpConnector, Full<Bytes>>;

fn hyper() -> Hyper {
    legacy::Client::builder(TokioExecutor::new()).build_http()
}

fn request(
    method: &str,
    server: impl std::fmt::Display,
    body: &'static str,
) -> Request<Full<Bytes>> {
    let request = Request::builder()
        .method(method)
        .uri(format!("http://{server}/a"));
    request.body(Full::from(body)).expect("a request")
}

async fn send(
    mut service: impl Service<
        Request<Full<Bytes>>,
        Response = Response<Incoming>,
        Error = legacy::Error,
    >,
    request: Request<Full<Bytes>>,
) -> Result<u16, legacy::Error> {
    let reply = service.ready().await?.call(request).await?;
    Ok(reply.status().as_u16())
}

/// A request may say of itself that it may be made twice.
#[tokio::test]
async fn a_request_that_is_marked_is_sent_again() {
    for (is_marked, requests) in [(false, 1), (true, 5)] {
        let server = Server::always(CLOSE);
        let mut search = request("POST", server.address, "order");
        if is_marked {
            search.extensions_mut().insert(Idempotent(true));
        }
        let sent = send(POLICY.layer().layer(hyper()), search).await;
        sent.expect_err("no reply");
        assert_eq!(server.requests(), requests);
    }
}

#[tokio::test]
async fn hyper_waits_as_long_as_the_server_asks() {
    let server = Server::start([reply(503, "retry-after-ms: 300\r\n", "")]);
    let client = POLICY.layer().layer(hyper());
    let began = Instant::now();
    let get = request("GET", server.address, "");
    assert_eq!(send(client, get).await.expect("a reply"), 200);
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(server.requests(), 2);
}

/// Nothing can be sent to such an address, so no attempt follows.
#[tokio::test]
async fn what_hyper_refuses_to_send_is_permanent() {
    let mut request = request("GET", "a.example", "");
    *request.uri_mut() = "/no-host".parse().expect("a path");
    let error = send(hyper(), request).await.expect_err("no host");
    assert_eq!(error.kind(), Some(backoff_core::FaultKind::Permanent));
}

/// A multipart form is a stream to reqwest: it cannot be copied.
#[tokio::test]
async fn a_request_of_reqwest_that_cannot_be_copied_is_sent_once() {
    let server = Server::always(reply(503, "", ""));
    let client = reqwest::Client::new();
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = events.clone();
    let layer = POLICY
        .layer()
        .notify(move |event: &Event<'_, reqwest::Error>| {
            told.lock().unwrap().push(event.to_string());
        });
    let form = reqwest::multipart::Form::new().text("a", "b");
    let put = client.put(server.url("a")).multipart(form).build();
    let mut service = layer.layer(client);
    let ready = service.ready().await.expect("ready");
    let reply = ready.call(put.expect("a request")).await;
    assert_eq!(reply.expect("a reply").status(), 503);
    assert_eq!(server.requests(), 1);
    let events = events.lock().unwrap();
    assert_eq!(events.len(), 1);
    assert!(events[0].contains("(unrepeatable)"), "{events:?}");
}

type Outcome = Result<String, Status>;

/// A unary call of gRPC whose message is a text, as a generated client makes it.
async fn call<S, B>(channel: S) -> Outcome
where
    S: Service<Request<tonic_014::body::Body>, Response = Response<B>>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let mut client = Grpc::new(channel);
    let ready = client.ready().await;
    ready.map_err(|error| Status::from_error(error.into()))?;
    let path = "/test.Service/Get".parse().expect("a path");
    let codec = ProstCodec::<String, String>::default();
    let request = tonic_014::Request::new("name".to_owned());
    client
        .unary(request, path, codec)
        .await
        .map(|reply| reply.into_inner())
}

fn channel(server: std::net::SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{server}"));
    endpoint.expect("an address").connect_lazy()
}

/// A server that answers with these codes, and then with an empty message.
fn serve(codes: &[u16]) -> (std::net::SocketAddr, Asked) {
    let refusals = codes.iter().map(|code| {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/grpc"));
        headers.insert("grpc-status", (*code).into());
        headers.insert("grpc-retry-pushback-ms", HeaderValue::from_static("5"));
        Act::Headers(headers)
    });
    let acts: Vec<_> = refusals.chain([Act::Message]).collect();
    script(acts)
}

/// Each call of gRPC is a `POST`, and `UNAVAILABLE` does not say that nothing was done. A message that is too
/// long to be kept is sent once and whole.
#[tokio::test]
async fn which_calls_of_grpc_are_made_again() {
    const UNAVAILABLE: u16 = 14;
    const EXHAUSTED: u16 = 8;
    let failed = Some(GrpcCode::Unavailable);
    // The message has a frame of 5 bytes and a field's tag and length.
    let message = format!("/test.Service/Get {:?}", b"\0\0\0\0\x06\x0a\x04name");
    for (codes, is_idempotent, kept, code, calls) in [
        (&[UNAVAILABLE, EXHAUSTED][..], true, 64 * 1024, None, 3),
        (&[UNAVAILABLE], false, 64 * 1024, failed, 1),
        (&[EXHAUSTED], false, 64 * 1024, None, 2),
        (&[UNAVAILABLE], true, 3, failed, 1),
    ] {
        let (server, asked) = serve(codes);
        let layer = POLICY.layer();
        let layer = if is_idempotent {
            layer.idempotent(true)
        } else {
            layer
        };
        let layer = layer.replaying(kept, tonic_014::body::Body::new);
        let outcome = call(ServiceBuilder::new().layer(layer).service(channel(server))).await;
        let given = outcome.as_ref().err().map(|error| error.grpc_code());
        assert_eq!(given.flatten(), code, "{codes:?}");
        assert!(outcome.is_err() || outcome.is_ok_and(|text| text.is_empty()));
        let messages = vec![message.clone(); calls];
        assert_eq!(*asked.lock().unwrap(), messages, "{codes:?}");
    }
}
