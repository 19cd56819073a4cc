//! The values and errors that replies become.

use crate::server::{Act, FAST, STALL, Server, both, broken, client, nobody, raw, reply, serve};
use backoff_cloud::{
    Delivery, Fault, Verdict,
    http::{self, ApiError, Limits, SendExt as _},
};
use serde::de::DeserializeOwned;
use std::{error::Error as _, time::Duration};
use tokio::time::Instant;

/// The result of a `GET` that is answered like this.
async fn got<T: DeserializeOwned + 'static>(act: Act) -> Result<T, ApiError> {
    let server = Server::start([act]);
    let sending = FAST.max_attempts(1).send(client().get(server.url("a")));
    sending.json().await
}

#[tokio::test]
async fn an_empty_reply_is_nothing_or_a_unit() {
    // If a reply does not say where its body ends, an empty body may have been cut off, but a unit needs none.
    let endless = raw("HTTP/1.0 200 OK\r\n\r\n");
    let packed_nothing = reply(204, "content-encoding: gzip\r\n", "");
    for (act, is_unit, is_nothing) in [
        (reply(204, "", ""), true, true),
        (reply(200, "", " \r\n"), true, true),
        (reply(200, "", "{}"), true, false),
        (packed_nothing, true, true),
        (endless.clone(), true, false),
        (reply(200, "", "{\"a\": 1}"), false, false),
    ] {
        let unit = got::<()>(act.clone()).await;
        let nothing = got::<Option<u8>>(act.clone()).await;
        let said = (unit.is_ok(), nothing.is_ok_and(|it| it.is_none()));
        assert_eq!(said, (is_unit, is_nothing), "{act:?}");
        got::<u8>(act).await.expect_err("no number");
    }
    let server = Server::start([endless, reply(200, "", "7")]);
    let value = FAST.send(client().get(server.url("a"))).json();
    let value: Option<u8> = value.await.expect("the second attempt");
    assert_eq!((value, server.requests()), (Some(7), 2));
    // The function for a response of the caller's own does the same.
    let response = client().delete(format!("http://{}", serve(reply(204, "", ""))));
    let unit = http::json::<()>(response.send().await.expect("a reply")).await;
    unit.expect("a unit");
}

/// The paused clock jumps to the end of each wait.
#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_holds_an_attempt_for_ten_minutes() {
    let url = format!("http://{}/", serve(STALL));
    let minute = Limits::new().head_timeout(Duration::from_secs(60));
    // The limits of the body are not those of the head.
    let of_body = Limits::new().read_timeout(Duration::ZERO);
    let of_body = of_body.error_body_time(Duration::ZERO);
    for (method, attempts) in [("GET", 4), ("POST", 1)] {
        for (limits, seconds) in [(Limits::new(), 600), (minute, 60), (of_body, 600)] {
            for request in both(method, &url, &[]) {
                let begin = Instant::now();
                let sending = FAST.send(request).limits(limits).reply();
                let failed = sending.reported().await.expect_err("nobody answers");
                assert_eq!(failed.report.attempts, attempts);
                assert_eq!(begin.elapsed().as_secs(), u64::from(attempts) * seconds);
                assert_eq!(failed.error.delivery(), Some(Delivery::MaybeSent));
                let text =
                    format!("no reply arrived within {seconds}s, the limit of `http::Limits`");
                let shown = failed.error.to_string();
                assert!(shown.starts_with(&text), "{shown}");
            }
        }
    }
}

#[tokio::test]
async fn a_reply_or_an_error_says_as_much_in_either_version() {
    let created = reply(201, "etag: \"e\"\r\n", "[1]");
    let acts = [broken(), created];
    let server = Server::start([acts.clone(), acts].concat());
    for get in both("GET", &server.url("a"), &[]) {
        let reply = FAST.send(get).await.expect("the second attempt");
        assert_eq!((reply.status(), reply.header("ETag")), (201, Some("\"e\"")));
        assert_eq!((reply.body(), reply.text().as_str()), (&b"[1]"[..], "[1]"));
        assert_eq!(reply.json::<Vec<u8>>().expect("a list"), [1]);
    }
    let server = Server::always(reply(403, "x-request-id: 7\r\n", "no"));
    for get in both("GET", &server.url("a"), &[]) {
        let error = FAST.send(get).await.expect_err("403");
        assert_eq!(error.to_string(), "HTTP 403: no");
        assert_eq!(error.header("x-request-id"), Some("7"));
    }
    let server = Server::start([]);
    for get in both("GET", &server.url("a"), &[]) {
        let sending = FAST.send(get).limits(Limits::new().body(1));
        let shown = sending.await.expect_err("too long").to_string();
        assert!(shown.contains("longer than 1 bytes"), "{shown}");
    }
    let gets = both("GET", &format!("http://{}/a?key=SECRET", nobody()), &[]);
    for (get, is_older) in gets.into_iter().zip([false, true]) {
        let error = FAST.send(get).await.expect_err("refused");
        assert_eq!(error.delivery(), Some(Delivery::NotSent));
        let (shown, debug) = (error.to_string(), format!("{error:?}"));
        assert!(shown.contains("refused"), "{shown}");
        assert!(!debug.contains("SECRET"), "{debug}");
        let source = error.source().expect("the client's error");
        assert_eq!(source.is::<reqwest_012::Error>(), is_older);
    }
    // Of an upload, how far it is.
    let server = Server::start([reply(308, "range: bytes=0-42\r\n", "")]);
    let ask = client().put(server.url("upload?upload_id=u"));
    let ask = ask.header("content-range", "bytes */100");
    let error = FAST.send(ask).await.expect_err("it is not complete");
    let said = (error.status(), error.header("range"), server.requests());
    assert_eq!(said, (Some(308), Some("bytes=0-42"), 1));
    assert_eq!(FAST.judge(&error), Verdict::Permanent);
    // A head has no body, however long the resource is.
    let length = "content-encoding: gzip\r\ncontent-length: 9999999999\r\n";
    let server = Server::start([raw(format!("HTTP/1.1 200 OK\r\n{length}\r\n"))]);
    let head = FAST.send(client().head(server.url("a"))).await;
    assert!(head.expect("a head").body().is_empty());
}
