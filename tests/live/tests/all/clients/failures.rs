//! Both versions of reqwest in the table of failures, and what they do beside it.

use crate::server::{
    Column, End, Frames, NOTHING, Pieces,
    Repeated::{Always, IfIdempotent, Never},
    STALL, Target, assert_row, fails_on_the_way, reply, says, serve, serve_frames,
};
use hyper_1::body::Bytes;
use serde_json::Value;
use std::{
    io::{Error, ErrorKind},
    mem::replace,
    task::Poll,
};

macro_rules! column {
    ($column:ident, $puts:ident, $reqwest:ident) => {
        struct $column;

        fn $puts(target: &Target) -> $reqwest::Client {
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
            const CANNOT: &[&str] = &["a chunk without a length"];

            async fn read(target: Target) -> $reqwest::Result<()> {
                let sent = $puts(&target).get(&target.origin).send().await;
                let response = sent?.error_for_status()?;
                response.json::<Value>().await.map(drop)
            }

            fn fits(error: &$reqwest::Error, row: &str) -> bool {
                let is_timeout = ["nobody accepts", "no reply", "no second half"];
                let is_timeout = is_timeout.iter().any(|it| row.starts_with(it));
                let opens = ["nobody listens", "no such name", "nobody accepts"].contains(&row);
                let in_body = [
                    "in the body",
                    "in the gzip",
                    "in a chunk",
                    "half of a stream",
                ];
                let in_body = in_body.iter().any(|it| row.ends_with(it));
                // On a slow machine the head of a reply may be late too.
                let is_decode = in_body == error.is_decode() || row == "no second half";
                error.is_timeout() == is_timeout && error.is_connect() == opens && is_decode
            }
        }
    };
}

column!(Reqwest, reqwest_client, reqwest);
column!(Reqwest012, reqwest_012_client, reqwest_012);

#[tokio::test]
async fn both_versions_of_reqwest_say_the_same_of_a_failure() {
    fails_on_the_way::<Reqwest>().await;
    fails_on_the_way::<Reqwest012>().await;
    // The header is lost: read it from the response, as `backoff_cloud::http` does.
    let hint = "retry-after: 7\r\n";
    let rows = || {
        let busy = (503, reply(503, hint, ""), None, IfIdempotent);
        [busy, (429, reply(429, hint, ""), None, Always)]
    };
    says::<Reqwest>(rows()).await;
    says::<Reqwest012>(rows()).await;
    for act in [reply(302, "location: /\r\n", ""), reply(200, "", "<html>")] {
        let row = format!("{act:?}");
        let (newer, older) = (Target::at(serve(act.clone())), Target::at(serve(act)));
        let newer = Reqwest::read(newer).await.expect_err(&row);
        assert_row(&row, newer, NOTHING, Never);
        let older = Reqwest012::read(older).await.expect_err(&row);
        assert_row(&row, older, NOTHING, Never);
    }
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
    for kind in [
        ErrorKind::NotFound,
        ErrorKind::ConnectionRefused,
        ErrorKind::TimedOut,
        ErrorKind::Interrupted,
    ] {
        let stalls = Frames::Then(b"", End::Stall);
        for (is_h2, address) in [(false, serve(STALL)), (true, serve_frames(stalls))] {
            let mut target = Target::at(address);
            target.is_h2 = is_h2;
            let put = reqwest_client(&target).put(&target.origin);
            let sent = put.body(reqwest::Body::wrap(failing(kind))).send().await;
            assert_row("reqwest", sent.expect_err("a body"), NOTHING, Never);
            let put = reqwest_012_client(&target).put(&target.origin);
            let sent = put.body(reqwest_012::Body::wrap(failing(kind)));
            let error = sent.send().await.expect_err("a body");
            assert_row("reqwest 0.12", error, NOTHING, Never);
        }
        let (mut sender, connection) = super::hyper::http1(serve(STALL)).await;
        tokio::spawn(connection);
        let put = http_1::Request::put("http://localhost/").body(failing(kind));
        let sent = sender.send_request(put.expect("a request")).await;
        assert_row("hyper", sent.expect_err("a body"), NOTHING, Never);
    }
}
