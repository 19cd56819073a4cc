//! tower's layer around real clients, on loopback sockets.

use crate::{
    clients::tonic::{endpoint, pushed_back, says, unary},
    h2::{Act, script},
    server::{CLOSE, Server, reply},
};
use backoff_core::{Event, Fault as _, GrpcCode, Policy, codes, tower::Idempotent};
use http_1::Request;
use http_body_util::Full;
use hyper_1::body::Bytes;
use hyper_util::{client::legacy, rt::TokioExecutor};
use std::{
    fmt::Display,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tonic_014::{Code, client::Grpc};
use tower::{Layer as _, ServiceBuilder, ServiceExt as _};

/// Its waits are short, since these clocks are real.
const POLICY: Policy = Policy::exponential()
    .base(Duration::from_millis(2))
    .on(codes![429, 500..=504]);

type Hyper = legacy::Client<legacy::connect::HttpConnector, Full<Bytes>>;

fn hyper() -> Hyper {
    legacy::Client::builder(TokioExecutor::new()).build_http()
}

fn request(method: &str, host: impl Display, body: &'static str) -> Request<Full<Bytes>> {
    let request = Request::builder()
        .method(method)
        .uri(format!("http://{host}/a"));
    request.body(Full::from(body)).expect("a request")
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
        let sent = POLICY.layer().layer(hyper()).oneshot(search);
        sent.await.expect_err("no reply");
        assert_eq!(server.requests(), requests);
    }
}

#[tokio::test]
async fn hyper_waits_as_long_as_the_server_asks() {
    let server = Server::start([reply(503, "retry-after-ms: 300\r\n", "")]);
    let began = Instant::now();
    let get = request("GET", server.address, "");
    let reply = POLICY.layer().layer(hyper()).oneshot(get).await;
    assert_eq!(reply.expect("a reply").status(), 200);
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(server.requests(), 2);
}

/// Nothing can be sent to such an address, so no attempt follows.
#[tokio::test]
async fn what_hyper_refuses_to_send_is_permanent() {
    let mut request = request("GET", "a.example", "");
    *request.uri_mut() = "/no-host".parse().expect("a path");
    let error = hyper().oneshot(request).await.expect_err("no host");
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
    let reply = layer.layer(client).oneshot(put.expect("a request")).await;
    assert_eq!(reply.expect("a reply").status(), 503);
    assert_eq!(server.requests(), 1);
    let events = events.lock().unwrap();
    assert_eq!(events.len(), 1);
    assert!(events[0].contains("(unrepeatable)"), "{events:?}");
}

/// Each call of gRPC is a `POST`, and `UNAVAILABLE` does not say that nothing was done. A message that is too
/// long to be kept is sent once and whole.
#[tokio::test]
async fn which_calls_of_grpc_are_made_again() {
    use Code::{ResourceExhausted, Unavailable};
    let failed = Some(GrpcCode::Unavailable);
    // The message has a frame of 5 bytes and a field's tag and length.
    let message = format!("/test.Service/Get {:?}", b"\0\0\0\0\x06\x0a\x04name");
    for (codes, is_idempotent, kept, code, calls) in [
        (
            &[Unavailable, ResourceExhausted][..],
            true,
            64 * 1024,
            None,
            3,
        ),
        (&[Unavailable], false, 64 * 1024, failed, 1),
        (&[ResourceExhausted], false, 64 * 1024, None, 2),
        (&[Unavailable], true, 3, failed, 1),
    ] {
        let refusals = codes.iter().map(|code| says(&pushed_back(*code, &["5"])));
        let acts: Vec<_> = refusals.chain([Act::Message]).collect();
        let (server, asked) = script(acts);
        let mut layer = POLICY.layer();
        if is_idempotent {
            layer = layer.idempotent(true);
        }
        let layer = layer.replaying(kept, tonic_014::body::Body::new);
        let service = ServiceBuilder::new()
            .layer(layer)
            .service(endpoint(server).connect_lazy());
        let outcome = unary(Grpc::new(service), "name").await;
        let given = outcome.as_ref().err().map(|error| error.grpc_code());
        assert_eq!(given.flatten(), code, "{codes:?}");
        assert!(outcome.is_err() || outcome.is_ok_and(|text| text.is_empty()));
        let messages = vec![message.clone(); calls];
        assert_eq!(*asked.lock().unwrap(), messages, "{codes:?}");
    }
}
