//! tower's layer around real clients, on loopback sockets.

mod server;

use self::server::{Answer::*, serve, serve_grpc};
use crate::clients::server::nobody;
use backoff_core::{Event, Fault as _, GrpcCode, Policy, codes, tower::Idempotent};
use http_1::{Request, Response};
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

#[tokio::test]
async fn hyper_sends_a_put_until_it_is_answered() {
    let (server, asked) = serve(&[Status(503, ""), Closes, Status(200, "")]).await;
    let client = ServiceBuilder::new().layer(POLICY.layer()).service(hyper());
    let put = request("PUT", server, "body");
    assert_eq!(send(client, put).await.expect("a reply"), 200);
    assert_eq!(*asked.lock().unwrap(), ["put /a body"; 3]);
}

#[tokio::test]
async fn hyper_sends_a_post_once_unless_it_was_surely_not_applied() {
    let (server, asked) = serve(&[Closes]).await;
    let client = POLICY.layer().layer(hyper());
    let post = || request("POST", server, "order");
    send(client.clone(), post()).await.expect_err("no reply");
    assert_eq!(asked.lock().unwrap().len(), 1);
    let mut keyed = post();
    keyed
        .headers_mut()
        .insert("idempotency-key", "k".parse().expect("a value"));
    send(client.clone(), keyed).await.expect_err("no reply");
    assert_eq!(asked.lock().unwrap().len(), 1 + 5);
    let mut search = post();
    search.extensions_mut().insert(Idempotent(true));
    send(client.clone(), search).await.expect_err("no reply");
    assert_eq!(asked.lock().unwrap().len(), 1 + 5 + 5);

    let (server, asked) = serve(&[Status(429, ""), Status(201, "")]).await;
    let post = request("POST", server, "order");
    assert_eq!(send(client, post).await.expect("a reply"), 201);
    assert_eq!(*asked.lock().unwrap(), ["post /a order"; 2]);
}

#[tokio::test]
async fn hyper_waits_as_long_as_the_server_asks() {
    let (server, asked) = serve(&[Status(503, "retry-after-ms: 300\r\n"), Status(200, "")]).await;
    let client = POLICY.layer().layer(hyper());
    let began = Instant::now();
    let get = request("GET", server, "");
    assert_eq!(send(client, get).await.expect("a reply"), 200);
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_connection_that_was_refused_is_opened_again_for_a_post() {
    let (events, server) = (Arc::new(Mutex::new(Vec::new())), nobody());
    let told = events.clone();
    let layer = POLICY
        .layer()
        .notify(move |event: &Event<'_, legacy::Error>| {
            told.lock().unwrap().push(event.to_string());
        });
    let error = send(layer.layer(hyper()), request("POST", server, "")).await;
    assert!(error.expect_err("refused").is_connect());
    let events = events.lock().unwrap();
    assert_eq!(events.len(), 5);
    assert!(
        events[4].starts_with("gave up after 5 attempts (attempts)"),
        "{events:?}"
    );
}

/// Nothing can be sent to such an address, so no attempt follows.
#[tokio::test]
async fn what_hyper_refuses_to_send_is_permanent() {
    let mut request = request("GET", "a.example", "");
    *request.uri_mut() = "/no-host".parse().expect("a path");
    let error = send(hyper(), request).await.expect_err("no host");
    assert_eq!(error.kind(), Some(backoff_core::FaultKind::Permanent));
}

#[tokio::test]
async fn reqwest_is_a_service_too() {
    let (server, asked) = serve(&[Status(503, ""), Closes, Status(200, "")]).await;
    let client = reqwest::Client::new();
    let put = client.put(format!("http://{server}/a")).body("body");
    let mut service = ServiceBuilder::new()
        .layer(POLICY.layer())
        .service(client.clone());
    let put = put.build().expect("a request");
    let reply = service.ready().await.expect("ready").call(put).await;
    assert_eq!(reply.expect("a reply").status(), 200);
    assert_eq!(*asked.lock().unwrap(), ["put /a body"; 3]);

    let (server, asked) = serve(&[Closes]).await;
    let post = client
        .post(format!("http://{server}/a"))
        .build()
        .expect("a request");
    let reply = service.ready().await.expect("ready").call(post).await;
    assert!(reply.is_err());
    assert_eq!(asked.lock().unwrap().len(), 1);
}

/// A multipart form is a stream to reqwest: it cannot be copied.
#[tokio::test]
async fn a_request_of_reqwest_that_cannot_be_copied_is_sent_once() {
    let (server, asked) = serve(&[Status(503, "")]).await;
    let client = reqwest::Client::new();
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = events.clone();
    let layer = POLICY
        .layer()
        .notify(move |event: &Event<'_, reqwest::Error>| {
            told.lock().unwrap().push(event.to_string());
        });
    let form = reqwest::multipart::Form::new().text("a", "b");
    let put = client
        .put(format!("http://{server}/a"))
        .multipart(form)
        .build();
    let mut service = layer.layer(client);
    let reply = service
        .ready()
        .await
        .expect("ready")
        .call(put.expect("a request"))
        .await;
    assert_eq!(reply.expect("a reply").status(), 503);
    assert_eq!(asked.lock().unwrap().len(), 1);
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

#[tokio::test]
async fn a_channel_of_tonic_sends_a_unary_call_again() {
    let (server, asked) = serve_grpc(&[14, 8]).await;
    let layer = POLICY.layer().idempotent(true);
    let layer = layer.replaying(64 * 1024, tonic_014::body::Body::new);
    let channel = ServiceBuilder::new().layer(layer).service(channel(server));
    assert_eq!(call(channel).await.expect("a reply"), "");
    // The message has a frame of 5 bytes and a field's tag and length.
    let message = b"\0\0\0\0\x06\x0a\x04name".as_slice();
    assert_eq!(
        *asked.lock().unwrap(),
        [format!("/test.Service/Get {message:?}").as_str(); 3]
    );
}

/// Each call of gRPC is a `POST`; `UNAVAILABLE` does not say that nothing was done.
#[tokio::test]
async fn a_call_of_grpc_may_not_be_made_twice_unless_it_is_said() {
    let (server, asked) = serve_grpc(&[14]).await;
    let layer = POLICY
        .layer()
        .replaying(64 * 1024, tonic_014::body::Body::new);
    let error = call(layer.layer(channel(server)))
        .await
        .expect_err("UNAVAILABLE");
    assert_eq!(error.grpc_code(), Some(GrpcCode::Unavailable));
    assert_eq!(asked.lock().unwrap().len(), 1);
    // Surely not applied.
    let (server, asked) = serve_grpc(&[8]).await;
    assert!(call(layer.layer(channel(server))).await.is_ok());
    assert_eq!(asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_message_that_is_too_long_to_be_kept_is_sent_once_and_whole() {
    let (server, asked) = serve_grpc(&[14]).await;
    let layer = POLICY
        .layer()
        .idempotent(true)
        .replaying(3, tonic_014::body::Body::new);
    call(layer.layer(channel(server)))
        .await
        .expect_err("UNAVAILABLE");
    let message = b"\0\0\0\0\x06\x0a\x04name".as_slice();
    assert_eq!(
        *asked.lock().unwrap(),
        [format!("/test.Service/Get {message:?}")]
    );
}
