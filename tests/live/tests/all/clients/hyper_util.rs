//! hyper-util's client, and its connectors.

use crate::{
    clients::facts::{Facts, MAYBE_SENT, NOT_SENT, NOTHING, Repeated, assert_row},
    server::{CLOSE, RESET, nobody, reply, serve},
};
use Repeated::{Always, IfIdempotent, Never};
use backoff_core::Fault as _;
use http_1::Uri;
use http_body_util::Empty;
use hyper_1::body::Bytes;
use hyper_util::{
    client::legacy::{
        Client, Error,
        connect::{Connect, HttpConnector, proxy::Tunnel},
    },
    rt::{TokioExecutor, TokioIo},
};
use std::{
    future::ready,
    io::{self, ErrorKind},
};
use tokio::net::TcpStream;

/// The error of a `GET` of this URL.
async fn failure(connector: impl Connect + Clone + Send + Sync + 'static, url: &str) -> Error {
    let client = Client::builder(TokioExecutor::new()).build::<_, Empty<Bytes>>(connector);
    let got = client.get(url.parse().expect("a URL")).await;
    got.expect_err("the failure")
}

/// A row: the URL, and what is said of its failure: the last word is the cause.
#[tokio::test]
async fn a_line_names_the_cause() {
    let (reset, closed) = (serve(RESET), serve(CLOSE));
    let rows: [(String, Facts, Repeated, &str); 6] = [
        (
            format!("http://{}/", nobody()),
            NOT_SENT,
            Always,
            "onnection refused",
        ),
        (
            "http://no-such-host.invalid/".to_owned(),
            NOT_SENT,
            Always,
            "failed to lookup address",
        ),
        (
            format!("http://{reset}/"),
            MAYBE_SENT,
            IfIdempotent,
            "reset by peer",
        ),
        (
            format!("http://{closed}/"),
            MAYBE_SENT,
            IfIdempotent,
            "before message completed",
        ),
        (
            "https://127.0.0.1:9/".to_owned(),
            NOTHING,
            Never,
            "scheme is not http",
        ),
        (
            "ftp://127.0.0.1:9/".to_owned(),
            NOTHING,
            Never,
            "scheme is not http",
        ),
    ];
    for (url, facts, repeated, cause) in rows {
        let error = failure(HttpConnector::new(), &url).await;
        let line = error.message().expect("a text").to_string();
        assert!(line.contains(cause), "{url}: {line}");
        assert_row(&url, error, facts, repeated);
    }
}

/// A row: the reply of the proxy to `CONNECT`.
#[tokio::test]
async fn a_proxy_makes_no_tunnel() {
    for (status, facts, repeated) in [
        (407, NOTHING, Never),
        (502, NOT_SENT, Always),
        (503, NOT_SENT, Always),
    ] {
        let proxy: Uri = format!("http://{}", serve(reply(status, "", "")))
            .parse()
            .expect("a URL");
        let tunnel = Tunnel::new(proxy, HttpConnector::new());
        let error = failure(tunnel, "http://a.example/").await;
        assert_row(&format!("a proxy's {status}"), error, facts, repeated);
    }
    let proxy: Uri = format!("http://{}", nobody()).parse().expect("a URL");
    let error = failure(
        Tunnel::new(proxy, HttpConnector::new()),
        "http://a.example/",
    )
    .await;
    assert_row("no proxy", error, NOT_SENT, Always);
}

/// A connector of TLS says this, without the certificates of a test.
#[tokio::test]
async fn a_handshake_that_is_cut_is_another_thing_than_a_certificate() {
    for (kind, text, facts, repeated) in [
        (
            ErrorKind::UnexpectedEof,
            "tls handshake eof",
            NOT_SENT,
            Always,
        ),
        (
            ErrorKind::ConnectionReset,
            "Connection reset by peer",
            NOT_SENT,
            Always,
        ),
        (
            ErrorKind::InvalidData,
            "invalid peer certificate: UnknownIssuer",
            NOTHING,
            Never,
        ),
        (
            ErrorKind::Other,
            "invalid peer certificate: Expired",
            NOTHING,
            Never,
        ),
        (
            ErrorKind::Other,
            "error:0A000086:SSL routines::certificate verify failed:",
            NOTHING,
            Never,
        ),
    ] {
        let connect = tower::service_fn(move |_: Uri| {
            ready(Err::<TokioIo<TcpStream>, _>(io::Error::new(kind, text)))
        });
        let error = failure(connect, "http://a.example/").await;
        assert_row(text, error, facts, repeated);
    }
}
