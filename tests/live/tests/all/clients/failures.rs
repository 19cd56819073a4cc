//! The table of failures: what a server does, and what the errors of the clients say of it.

use crate::{
    clients::facts::{Facts, MAYBE_SENT, NOT_SENT, NOTHING, Repeated, assert_row, status},
    h2::{self, CANCEL, GOAWAY_AFTER, GOAWAY_BEFORE, HALF_A_REPLY, REFUSED_STREAM},
    server::{self, AMPLE, CLOSE, End, Pieces, RESET, STALL, half, nobody, raw, reply},
};
use Does::{H1, H2, HasNoName, Refuses};
use Repeated::{Always, IfIdempotent, Never};
use backoff_core::{Fault as _, FaultKind};
use hyper_1::body::Bytes;
use serde_json::Value;
use std::{
    io::{Error, ErrorKind},
    mem::replace,
    task::Poll,
    time::Duration,
};

/// What a server does.
enum Does {
    H1(server::Act),
    H2(h2::Act),
    /// Nobody listens.
    Refuses,
    /// The name is unknown. No resolver may know a name below it: RFC 6761, section 6.4.
    HasNoName,
}

impl Does {
    /// The address, whether it speaks HTTP/2, and how long a client waits.
    fn served(self) -> (String, bool, Duration) {
        match self {
            H1(act) => {
                let patience = act.end.patience();
                (server::serve(act).to_string(), false, patience)
            }
            H2(act) => (h2::serve(act).to_string(), true, AMPLE),
            Refuses => (nobody().to_string(), false, AMPLE),
            HasNoName => ("no-such-host.invalid".to_owned(), false, AMPLE),
        }
    }
}

/// What all of a group's errors say, and whether hyper alone can have them. Then a row for each: what
/// happens, what reqwest calls it, and what the server does.
type Group = (
    Facts,
    Repeated,
    bool,
    Vec<(&'static str, &'static str, Does)>,
);

fn table() -> Vec<Group> {
    let frames = |frames| H2(h2::Act::Frames(frames));
    let goes_away = H2(h2::Act::FramesAndClose(GOAWAY_AFTER));
    let json = || half("{\"name\":");
    let chunk = raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{\"na");
    let not_sent = vec![
        ("stream refused", "request", frames(REFUSED_STREAM)),
        ("went away before it", "request", frames(GOAWAY_BEFORE)),
        (
            "went away at once",
            "request",
            H2(h2::Act::FramesAtOnce(GOAWAY_BEFORE)),
        ),
    ];
    let not_connected = vec![
        ("refused", "connect request", Refuses),
        ("no name", "connect request", HasNoName),
    ];
    let lost = vec![
        ("reset", "request", H1(RESET)),
        ("closed before the reply", "request", H1(CLOSE)),
        ("half a head", "request", H1(raw("HTTP/1.1 200 OK\r\nco"))),
        ("half a body", "decode", H1(json())),
        ("half a chunk", "decode", H1(chunk)),
        ("reset in the body", "decode", H1(json().then(End::Reset))),
        ("no HTTP", "request", H1(raw("SSH-2.0-OpenSSH_9.2\r\n"))),
        ("stream reset", "request", frames(CANCEL)),
        ("went away after it", "request", goes_away),
        ("reset in a stream's body", "decode", frames(HALF_A_REPLY)),
    ];
    let stalled = vec![
        ("no reply", "timeout request", H1(STALL)),
        ("in a body", "timeout decode", H1(json().then(End::Stall))),
    ];
    let circle = reply(302, "location: /\r\n", "");
    let permanent = vec![
        ("in a circle", "redirect", H1(circle)),
        ("no JSON", "decode", H1(reply(200, "", "<html>"))),
    ];
    // The header is lost: read it from the response, as `backoff_cloud::http` does.
    let hint = |status| H1(reply(status, "retry-after: 7\r\n", ""));
    let busy = vec![("503", "status", hint(503))];
    let slow = vec![("429", "status", hint(429))];
    vec![
        (NOT_SENT, Always, true, not_sent),
        (MAYBE_SENT, IfIdempotent, true, lost),
        // hyper alone opens no connection, has no limit of time, and judges no reply.
        (NOT_SENT, Always, false, not_connected),
        (MAYBE_SENT, IfIdempotent, false, stalled),
        (NOTHING, Never, false, permanent),
        (status(503), IfIdempotent, false, busy),
        (status(429), Always, false, slow),
    ]
}

macro_rules! form {
    ($client:ident, $fails:ident, $puts:ident, $reqwest:ident) => {
        /// A client of this version of reqwest.
        fn $client(is_h2: bool, limit: Duration) -> $reqwest::Client {
            let client = $reqwest::Client::builder().retry($reqwest::retry::never());
            let client = match is_h2 {
                true => client.http2_prior_knowledge(),
                false => client,
            };
            client.timeout(limit).build().expect("a client")
        }

        /// The error of a `GET` by this version of reqwest, and what reqwest calls it.
        async fn $fails(host: &str, is_h2: bool, limit: Duration) -> ($reqwest::Error, String) {
            let got = async {
                let response = $client(is_h2, limit)
                    .get(format!("http://{host}/"))
                    .send()
                    .await?;
                response.error_for_status()?.json::<Value>().await
            };
            let error = got.await.expect_err("the failure");
            let names = [
                ("builder", error.is_builder()),
                ("redirect", error.is_redirect()),
                ("status", error.is_status()),
                ("timeout", error.is_timeout()),
                ("connect", error.is_connect()),
                ("request", error.is_request()),
                ("body", error.is_body()),
                ("decode", error.is_decode()),
            ];
            let names = names.iter().filter(|(_, is_so)| *is_so);
            let names: Vec<_> = names.map(|(name, _)| *name).collect();
            (error, names.join(" "))
        }

        /// The error of a `PUT` whose own body fails.
        async fn $puts(is_h2: bool, body: Pieces) -> $reqwest::Error {
            let url = format!("http://{}/", Does::stalling(is_h2));
            let put = $client(is_h2, AMPLE).put(url);
            let sent = put.body($reqwest::Body::wrap(body)).send().await;
            sent.expect_err("the body failed")
        }
    };
}

form!(reqwest_client, reqwest_fails, reqwest_puts, reqwest);
form!(
    reqwest_012_client,
    reqwest_012_fails,
    reqwest_012_puts,
    reqwest_012
);

#[tokio::test]
async fn every_client_says_the_same_of_a_failure() {
    for (facts, repeated, has_hyper, rows) in table() {
        for (row, name, does) in rows {
            let (host, is_h2, mut limit) = does.served();
            loop {
                let (error, shape) = reqwest_fails(&host, is_h2, limit).await;
                let (older, older_shape) = reqwest_012_fails(&host, is_h2, limit).await;
                // On a slow machine the head of a reply may be late too: then there is more time for both.
                let is_late = |shape: &str| name == "timeout decode" && shape == "timeout request";
                if (is_late(&shape) || is_late(&older_shape)) && limit < AMPLE {
                    limit *= 4;
                    continue;
                }
                assert_eq!((&*shape, &*older_shape), (name, name), "{row}: {error:?}");
                if name == "redirect" {
                    assert_eq!(error.kind(), Some(FaultKind::Permanent));
                }
                assert_row(row, error, facts, repeated);
                assert_row(&format!("{row}, reqwest 0.12"), older, facts, repeated);
                break;
            }
            if has_hyper {
                let error = super::hyper::failure(&host, is_h2).await;
                assert_row(&format!("{row}, hyper"), error, facts, repeated);
            }
        }
    }
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
        for is_h2 in [false, true] {
            let error = reqwest_puts(is_h2, failing(kind)).await;
            assert!(error.is_request());
            assert_eq!(error.kind(), Some(FaultKind::Permanent));
            assert_row("reqwest", error, NOTHING, Never);
            let error = reqwest_012_puts(is_h2, failing(kind)).await;
            assert_eq!(error.kind(), Some(FaultKind::Permanent));
            assert_row("reqwest 0.12", error, NOTHING, Never);
        }
        let (mut sender, connection) = super::hyper::http1(Does::stalling(false)).await;
        tokio::spawn(connection);
        let put = http_1::Request::put("http://localhost/").body(failing(kind));
        let sent = sender.send_request(put.expect("a request")).await;
        let error = sent.expect_err("the body failed");
        assert_eq!(error.kind(), Some(FaultKind::Permanent));
        assert_row("hyper", error, NOTHING, Never);
    }
}

impl Does {
    fn stalling(is_h2: bool) -> std::net::SocketAddr {
        match is_h2 {
            true => h2::serve(h2::Act::Frames(b"")),
            false => server::serve(STALL),
        }
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
