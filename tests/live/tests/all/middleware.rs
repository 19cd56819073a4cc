//! The layer as a middleware of reqwest-middleware. `send/forms.rs` has the table of requests.

use crate::server::{FAST, LIMIT, Pieces, STALL, Server, client, reply};
use backoff_core::{Hedge, TimedOut, codes, testing::VirtualTime};
use http_1::Extensions;
use hyper_1::body::Bytes;
use reqwest::{Body, Method, Request, Response};
use reqwest_middleware_05::{ClientBuilder, ClientWithMiddleware, Error, Middleware, Next, Result};
use std::{fmt, future::pending, io, pin::Pin, task::Poll, time::Duration};

fn with(layer: impl Middleware) -> ClientWithMiddleware {
    ClientBuilder::new(client()).with(layer).build()
}

#[tokio::test]
async fn the_caller_gets_the_last_reply_unchanged() {
    for (layer, requests) in [
        (FAST.layer(), 4),
        (FAST.max_attempts(1).layer(), 1),
        (FAST.on(codes![500]).layer(), 1),
    ] {
        let server = Server::always(reply(503, "x-request-id: 7\r\n", "busy"));
        // On a thread of the runtime: the whole call is `Send`.
        let sent = tokio::spawn(with(layer).get(server.url("a")).send()).await;
        let reply = sent.expect("no panic").expect("a reply");
        assert_eq!(
            (reply.status().as_u16(), server.requests()),
            (503, requests)
        );
        assert_eq!(reply.headers()["x-request-id"], "7");
        assert_eq!(reply.text().await.expect("a body"), "busy");
    }
}

#[tokio::test]
async fn a_hint_in_the_headers_is_waited_for() {
    let server = Server::start([reply(429, "retry-after: 100\r\n", "")]);
    let time = VirtualTime::new();
    let client = with(FAST.layer().runtime(time.clone()));
    let reply = client.post(server.url("a")).send().await.expect("a reply");
    assert_eq!((reply.status().as_u16(), server.requests()), (200, 2));
    assert!(time.elapsed() >= Duration::from_secs(100));
}

#[tokio::test]
async fn a_body_that_is_a_stream_is_sent_once() {
    let server = Server::always(reply(503, "", ""));
    let mut pieces = vec![Bytes::from_static(b"x")];
    let pieces = Pieces::new(move |_| Poll::Ready(pieces.pop().map(Ok)));
    let put = with(FAST.layer()).put(server.url("a"));
    let put = put.header("content-length", 1).body(Body::wrap(pieces));
    let reply = put.send().await.expect("a reply");
    assert_eq!((reply.status().as_u16(), server.requests()), (503, 1));
    assert_eq!(server.seen()[0].body, b"x");
}

#[tokio::test]
async fn an_attempt_without_a_reply_is_cut() {
    let server = Server::start([STALL, STALL]);
    let layer = FAST.layer().attempt_timeout(LIMIT);
    let get = with(layer.runtime(server.until_it_stalls())).get(server.url("a"));
    let reply = get.send().await.expect("the third attempt");
    assert_eq!((reply.status().as_u16(), server.requests()), (200, 3));
    let server = Server::always(STALL);
    let post = with(layer.runtime(server.until_it_stalls())).post(server.url("a"));
    let error = post.send().await.expect_err("no reply");
    let Error::Middleware(inner) = &error else {
        panic!("{error:?}");
    };
    assert!(inner.is::<TimedOut>(), "{error:?}");
    assert_eq!(server.requests(), 1);
}

/// Counts the attempts in an extension; fails in the first one.
struct Fails(fn() -> Error);

#[derive(Clone, Default)]
struct Attempts(usize);

impl Middleware for Fails {
    fn handle<'this, 'extensions, 'next, 'r>(
        &'this self,
        request: Request,
        extensions: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'r>>
    where
        'this: 'r,
        'extensions: 'r,
        'next: 'r,
    {
        Box::pin(async move {
            let attempts: &mut Attempts = extensions.get_or_insert_default();
            attempts.0 += 1;
            match attempts.0 {
                1 => Err((self.0)()),
                _ => next.run(request, extensions).await,
            }
        })
    }
}

/// A row: the error of a middleware inside, the method, and the attempts. Each attempt has the extensions of the one
/// before, and the caller those of the last one.
#[tokio::test]
async fn what_an_inner_middleware_says_is_judged() {
    let unknown = || Error::middleware(fmt::Error);
    let refused = || Error::middleware(io::Error::from(io::ErrorKind::ConnectionRefused));
    let reset = || Error::middleware(io::Error::from(io::ErrorKind::ConnectionReset));
    let rows: [(fn() -> Error, _, _); 5] = [
        (unknown, Method::GET, 1),
        (refused, Method::GET, 2),
        (refused, Method::POST, 2),
        (reset, Method::GET, 2),
        (reset, Method::POST, 1),
    ];
    for (error, method, attempts) in rows {
        let server = Server::start([]);
        let client = ClientBuilder::new(client()).with(FAST.layer());
        let client = client.with(Fails(error)).build();
        let request = client.request(method.clone(), server.url("a")).build();
        let (request, mut extensions) = (request.expect("a request"), Extensions::new());
        let sent = client.execute_with_extensions(request, &mut extensions);
        assert_eq!(sent.await.is_ok(), attempts == 2, "{method} {}", error());
        let counted = extensions.get().map(|Attempts(counted)| *counted);
        assert_eq!(counted, Some(attempts), "{method} {}", error());
        assert_eq!(server.requests(), attempts - 1, "{method} {}", error());
    }
}

/// Of two requests that run at the same time, the first reply wins.
#[tokio::test]
async fn a_layer_with_every_setting_is_a_middleware() {
    static READS: Hedge = Hedge::after(Duration::from_millis(1));
    let server = Server::start([STALL]);
    let layer = FAST.when(|_: &Error| false).layer().hedge(&READS);
    let layer = layer
        .operation("reads")
        .idempotent(true)
        .cut_on(pending::<()>);
    let reply = with(layer).post(server.url("a")).send().await;
    assert_eq!(reply.expect("a reply").status(), 200);
    assert_eq!(server.requests(), 2);
}
