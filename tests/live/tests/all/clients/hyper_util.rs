//! hyper-util's client, and its connectors.

use crate::server::{
    Column, NOT_SENT, NOTHING,
    Repeated::{Always, Never},
    Target, assert_row, fails_on_the_way, nobody, reply, serve,
};
use backoff_core::{Fault as _, FaultKind};
use http_1::Uri;
use http_body_util::Empty;
use hyper_1::body::Bytes;
use hyper_util::{
    client::legacy::{
        Client, Error,
        connect::{Connect, HttpConnector, proxy::Tunnel},
    },
    rt::TokioExecutor,
};

/// The error of a `GET` of this URL.
async fn failure(connector: impl Connect + Clone + Send + Sync + 'static, url: &str) -> Error {
    let client = Client::builder(TokioExecutor::new()).build::<_, Empty<Bytes>>(connector);
    let got = client.get(url.parse().expect("a URL")).await;
    got.expect_err("the failure")
}

struct HyperUtil;

impl Column for HyperUtil {
    type Error = Error;

    /// It has no limit of time, and whoever reads the body gets an error of hyper's.
    const CANNOT: &str = "closed in the body|reset in the body|closed in the gzip|reset in the gzip|\
        closed in a chunk|a chunk without a length|no reply|no second half";

    const REPLIES: (bool, bool) = (false, false);

    async fn read(target: Target) -> Result<(), Error> {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(target.connect));
        Err(failure(connector, &target.origin).await)
    }

    /// A line of the log names the cause.
    fn fits(error: &Error, row: &str) -> bool {
        let line = error.message().expect("a text").to_string();
        let cause = match row {
            "nobody listens" => "onnection refused",
            "no such name" => "failed to lookup address",
            "reset" => "reset by peer",
            "closed before the reply" => "before message completed",
            _ => "",
        };
        line.contains(cause)
    }
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<HyperUtil>().await;
    for url in ["https://127.0.0.1:9/", "ftp://127.0.0.1:9/"] {
        let error = failure(HttpConnector::new(), url).await;
        let line = error.message().expect("a text").to_string();
        assert!(line.contains("scheme is not http"), "{url}: {line}");
        assert_row(url, error, NOTHING, Never);
    }
    // Nothing can be sent to such an address, so no attempt follows.
    let error = failure(HttpConnector::new(), "/no-host").await;
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
}

/// A row: the proxy, which answers `CONNECT` so, or is not there.
#[tokio::test]
async fn a_proxy_makes_no_tunnel() {
    for (proxy, facts, repeated) in [
        (serve(reply(407, "", "")), NOTHING, Never),
        (serve(reply(502, "", "")), NOT_SENT, Always),
        (serve(reply(503, "", "")), NOT_SENT, Always),
        (nobody(), NOT_SENT, Always),
    ] {
        let proxy: Uri = format!("http://{proxy}").parse().expect("a URL");
        let tunnel = Tunnel::new(proxy, HttpConnector::new());
        let error = failure(tunnel, "http://a.example/").await;
        assert_row("a proxy", error, facts, repeated);
    }
}
