//! Both versions of reqwest in the table of failures, and what they do beside it.

use crate::server::{
    Column, End, Frames, NOT_SENT, NOTHING, Pieces,
    Repeated::{Always, IfIdempotent, Never},
    STALL, Server, Target, assert_row, client, client_012, fails_on_the_way, nobody, reply, serve,
    serve_frames, status,
};
use backoff_cloud::http::ApiError;
use hyper_1::body::Bytes;
use reqwest_middleware_05::ClientWithMiddleware;
use serde_json::Value;
use std::{
    io::{Error, ErrorKind},
    mem::replace,
    task::Poll,
};

macro_rules! column {
    ($column:ident, $puts:ident, $reqwest:ident) => {
        struct $column;

        pub(crate) fn $puts(target: &Target) -> $reqwest::Client {
            let client = $reqwest::Client::builder().retry($reqwest::retry::never());
            let client = client.connect_timeout(target.connect).timeout(target.whole);
            let client = match target.is_h2 {
                true => client.http2_prior_knowledge(),
                false => client,
            };
            client.build().expect("a client")
        }

        impl Column for $column {
            type Error = $reqwest::Error;

            const SPEAKS: (bool, bool) = (true, true);

            /// reqwest calls it a body that cannot be decoded.
            const CANNOT: &str = "a chunk without a length";

            async fn read(target: Target) -> $reqwest::Result<()> {
                let sent = $puts(&target).get(&target.origin).send().await;
                let response = sent?.error_for_status()?;
                response.json::<Value>().await.map(drop)
            }

            fn fits(error: &$reqwest::Error, row: &str) -> bool {
                let is_one_of = |rows: &[&str]| rows.iter().any(|it| row.contains(it));
                let is_timeout = is_one_of(&["nobody accepts", "no reply", "no second half"]);
                let opens = is_one_of(&["nobody listens", "no such name", "nobody accepts"]);
                let in_body = is_one_of(&["in the body", "in the gzip", "in a chunk", "half of"]);
                // On a slow machine the head of a reply may be late too.
                let is_decode = in_body == error.is_decode() || row == "no second half";
                error.is_timeout() == is_timeout && error.is_connect() == opens && is_decode
            }
        }
    };
}

column!(Reqwest, reqwest_client, reqwest);
column!(Reqwest012, reqwest_012_client, reqwest_012);

/// The client of reqwest 0.13, without a middleware.
struct ReqwestMiddleware;

impl Column for ReqwestMiddleware {
    type Error = reqwest_middleware_05::Error;

    const SPEAKS: (bool, bool) = Reqwest::SPEAKS;

    const CANNOT: &str = Reqwest::CANNOT;

    async fn read(target: Target) -> reqwest_middleware_05::Result<()> {
        let client = reqwest_client(&target).into();
        let sent = ClientWithMiddleware::get(&client, &target.origin).send();
        let response = sent.await?.error_for_status()?;
        response.json::<Value>().await?;
        Ok(())
    }
}

#[tokio::test]
async fn both_versions_of_reqwest_say_the_same_of_a_failure() {
    fails_on_the_way::<Reqwest>().await;
    fails_on_the_way::<Reqwest012>().await;
    fails_on_the_way::<ReqwestMiddleware>().await;
    for act in [reply(302, "location: /\r\n", ""), reply(200, "", "<html>")] {
        let row = format!("{act:?}");
        let target = Target::at(serve(act));
        let newer = Reqwest::read(target.clone()).await.expect_err(&row);
        assert_row(&row, newer, NOTHING, Never);
        let older = Reqwest012::read(target).await.expect_err(&row);
        assert_row(&row, older, NOTHING, Never);
    }
    // Inside others, as a body that is read through `AsyncRead` gives it.
    let busy = serve(reply(503, "", ""));
    for (host, facts, repeated) in [
        (nobody(), NOT_SENT, Always),
        (busy, status(503), IfIdempotent),
    ] {
        let error = Reqwest::read(Target::at(host)).await.expect_err("no reply");
        let inside = Error::other(Error::other(error));
        assert_row("inside", inside, facts, repeated);
    }
}

/// A reqwest without TLS, and URLs that are none. `send/requests.rs` has what a call makes of them.
#[tokio::test]
async fn what_cannot_be_sent_is_permanent() {
    let server = Server::always(STALL);
    let https = format!("https://{}/", server.address);
    let invalid = ["", "no address", "http://", "ftp://127.0.0.1/", "/path"];
    let urls = invalid.map(|url| (url, NOTHING)).into_iter();
    for (url, facts) in urls.chain([(&*https, NOT_SENT)]) {
        let older = client_012().get(url).send().await.expect_err(url);
        assert_row(url, older, facts, Never);
        let newer = client().get(url).send().await.expect_err(url);
        assert_row(url, ApiError::from(newer), facts, Never);
    }
    assert_eq!(server.requests(), 0);
}

/// A request's body that fails after its first byte, with an error that would be repeated if it were
/// the connection's: it says more about itself than the request does.
fn failing(error: ErrorKind) -> Pieces {
    let mut begun = false;
    Pieces::new(move |_| {
        let piece = match replace(&mut begun, true) {
            false => Ok(Bytes::from_static(b"1")),
            true => Err(Error::other(Error::from(error))),
        };
        Poll::Ready(Some(piece))
    })
}

/// A file that is missing, or another connection that broke: not the failure of this request.
#[tokio::test]
async fn a_body_that_fails_is_no_failure_of_the_request() {
    use ErrorKind::{ConnectionRefused, Interrupted, NotFound, TimedOut};
    for kind in [NotFound, ConnectionRefused, TimedOut, Interrupted] {
        let stalls = Frames::Then(b"", End::Stall);
        for (is_h2, address) in [(false, serve(STALL)), (true, serve_frames(stalls))] {
            let mut target = Target::at(address);
            target.is_h2 = is_h2;
            let put = reqwest_client(&target).put(&target.origin);
            let sent = put.body(reqwest::Body::wrap(failing(kind))).send().await;
            assert_row("reqwest", sent.expect_err("a body"), NOTHING, Never);
            let put = reqwest_012_client(&target).put(&target.origin);
            let sent = put.body(reqwest_012::Body::wrap(failing(kind))).send();
            assert_row("0.12", sent.await.expect_err("a body"), NOTHING, Never);
        }
        let (mut sender, connection) = super::hyper::http1(serve(STALL)).await;
        tokio::spawn(connection);
        let put = http_1::Request::put("http://localhost/").body(failing(kind));
        let sent = sender.send_request(put.expect("a request")).await;
        assert_row("hyper", sent.expect_err("a body"), NOTHING, Never);
    }
}
