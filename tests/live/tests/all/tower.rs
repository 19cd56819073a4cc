//! tower's layer around real clients, on loopback sockets.

use crate::{
    clients::tonic::{endpoint, pushed_back, says, unary},
    h2::{Act, script},
    server::{Server, client, reply},
};
use backoff_core::{Event, Fault as _, GrpcCode, Policy, codes};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tonic_014::{
    Code::{ResourceExhausted, Unavailable},
    client::Grpc,
};
use tower::{Layer as _, ServiceBuilder, ServiceExt as _};

/// Its waits are short, since these clocks are real.
const POLICY: Policy = Policy::exponential()
    .base(Duration::from_millis(2))
    .on(codes![429, 500..=504]);

/// A multipart form is a stream to reqwest: it cannot be copied.
#[tokio::test]
async fn a_request_of_reqwest_that_cannot_be_copied_is_sent_once() {
    let server = Server::always(reply(503, "", ""));
    let events = Arc::new(AtomicU32::new(0));
    let told = events.clone();
    let hook = move |event: &Event<'_, reqwest::Error>| {
        assert!(event.to_string().contains("(unrepeatable)"), "{event}");
        told.fetch_add(1, Relaxed);
    };
    let form = reqwest::multipart::Form::new().text("a", "b");
    let put = client().put(server.url("a")).multipart(form).build();
    let layer = POLICY.layer().notify(hook);
    let reply = layer.layer(client()).oneshot(put.expect("a request")).await;
    assert_eq!(reply.expect("a reply").status(), 503);
    assert_eq!((server.requests(), events.load(Relaxed)), (1, 1));
}

/// Each call of gRPC is a `POST`, and `UNAVAILABLE` does not say that nothing was done. A message that is too
/// long to be kept is sent once and whole.
#[tokio::test]
async fn which_calls_of_grpc_are_made_again() {
    let failed = Some(GrpcCode::Unavailable);
    // The message has a frame of 5 bytes and a field's tag and length.
    let message = format!("/test.Service/Get {:?}", b"\0\0\0\0\x06\x0a\x04name");
    let both = &[Unavailable, ResourceExhausted];
    for (codes, is_idempotent, kept, code, calls) in [
        (&both[..], true, 64 * 1024, None, 3),
        (&both[..1], false, 64 * 1024, failed, 1),
        (&both[1..], false, 64 * 1024, None, 2),
        (&both[..1], true, 3, failed, 1),
    ] {
        let refusals = codes.iter().map(|code| says(&pushed_back(*code, &["5"])));
        let (server, asked) = script(refusals.chain([Act::Message]).collect());
        let mut layer = POLICY.layer();
        if is_idempotent {
            layer = layer.idempotent(true);
        }
        let layer = layer.replaying(kept, tonic_014::body::Body::new);
        let channel = endpoint(server).connect_lazy();
        let service = ServiceBuilder::new().layer(layer).service(channel);
        let outcome = unary(Grpc::new(service), "name").await;
        let given = outcome.as_ref().err().map(|error| error.grpc_code());
        assert_eq!(given.flatten(), code, "{codes:?}");
        assert!(outcome.is_err() || outcome.is_ok_and(|text| text.is_empty()));
        let messages = vec![message.clone(); calls];
        assert_eq!(*asked.lock().unwrap(), messages, "{codes:?}");
    }
}
