//! The values and errors that replies become.

use crate::{
    send::client_012,
    server::{Act, FAST, STALL, Server, broken, client, nobody, raw, reply, serve},
};
use backoff_cloud::{
    Delivery, Fault, FaultKind, Verdict,
    http::{self, ApiError, Limits, Outgoing, SendExt as _},
};
use flate2::{Compression, write::GzEncoder};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{io::Write as _, time::Duration};
use tokio::time::Instant;

/// The result of a `GET` that is answered like this.
async fn got<T: DeserializeOwned + 'static>(act: Act) -> Result<T, ApiError> {
    let server = Server::start([act]);
    let sending = FAST.max_attempts(1).send(client().get(server.url("a")));
    sending.json().await
}

#[tokio::test]
async fn an_empty_reply_is_nothing_or_a_unit() {
    for (status, body) in [(204, ""), (200, ""), (200, " \r\n")] {
        let act = reply(status, "", body);
        assert_eq!(got::<Option<Value>>(act.clone()).await.expect("none"), None);
        got::<()>(act.clone()).await.expect("a unit");
        let error = got::<Value>(act).await.expect_err("no JSON");
        assert_eq!(error.kind(), Some(FaultKind::Permanent), "{error}");
    }
    got::<()>(reply(200, "", "{}")).await.expect("a unit");
    let value: Option<u8> = got(reply(200, "", "7")).await.expect("a value");
    assert_eq!(value, Some(7));
    let full = got::<()>(reply(200, "", "{\"a\": 1}")).await;
    let shown = full.expect_err("not empty").to_string();
    assert!(shown.contains("not the JSON"), "{shown}");
    // The function for a response of the caller's own does the same.
    let server = Server::start([reply(204, "", "")]);
    let response = client().delete(server.url("a")).send().await;
    let unit = http::json::<()>(response.expect("a reply")).await;
    unit.expect("a unit");
}

/// If a reply does not say where its body ends, an empty body may have been cut off.
#[tokio::test]
async fn an_empty_body_without_an_end_is_asked_for_again() {
    let endless = raw(b"HTTP/1.0 200 OK\r\n\r\n".to_vec());
    let server = Server::start([endless.clone(), reply(200, "", "7")]);
    let get = client().get(server.url("a"));
    let value: Option<u8> = FAST.send(get).json().await.expect("the second attempt");
    assert_eq!((value, server.requests()), (Some(7), 2));
    // A unit needs no body.
    got::<()>(endless).await.expect("a unit");
}

/// The paused clock jumps to the end of each wait.
#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_holds_an_attempt_for_ten_minutes() {
    let url = format!("http://{}/", serve(STALL));
    let minute = Limits::new().head_timeout(Duration::from_secs(60));
    for (limits, seconds) in [(Limits::new(), 600), (minute, 60)] {
        let post = || Outgoing::from(client().post(&url));
        let [get, get_012] = gets(&url);
        for (request, attempts) in [(get, 4), (get_012, 4), (post(), 1)] {
            let begin = Instant::now();
            let sending = FAST.send(request).limits(limits).reply();
            let failed = sending.reported().await.expect_err("nobody answers");
            assert_eq!(failed.report.attempts, attempts);
            assert_eq!(begin.elapsed().as_secs(), u64::from(attempts) * seconds);
            assert_eq!(failed.error.delivery(), Some(Delivery::MaybeSent));
            let text = format!("no reply arrived within {seconds}s, the limit of `http::Limits`");
            let shown = failed.error.to_string();
            assert!(shown.starts_with(&text), "{shown}");
        }
    }
}

/// The same request of either version of reqwest.
fn gets(url: &str) -> [Outgoing; 2] {
    [client().get(url).into(), client_012().get(url).into()]
}

#[tokio::test]
async fn a_reply_has_status_headers_and_body() {
    let acts = [broken(), reply(201, "etag: \"e\"\r\n", "[1]")];
    let server = Server::start([acts.clone(), acts].concat());
    for get in gets(&server.url("a")) {
        let reply = FAST.send(get).await.expect("the second attempt");
        assert_eq!((reply.status(), reply.header("ETag")), (201, Some("\"e\"")));
        assert_eq!((reply.body(), reply.text().as_str()), (&b"[1]"[..], "[1]"));
        assert_eq!(reply.json::<Vec<u8>>().expect("a list"), [1]);
    }
}

#[tokio::test]
async fn an_error_says_as_much_in_either_version() {
    let server = Server::always(reply(403, "x-request-id: 7\r\n", "no"));
    for get in gets(&server.url("a")) {
        let error = FAST.send(get).await.expect_err("403");
        assert_eq!(error.to_string(), "HTTP 403: no");
        assert_eq!(error.header("x-request-id"), Some("7"));
    }
    let server = Server::start([]);
    for get in gets(&server.url("a")) {
        let sending = FAST.send(get).limits(Limits::new().body(1));
        let shown = sending.await.expect_err("too long").to_string();
        assert!(shown.contains("longer than 1 bytes"), "{shown}");
    }
    for (get, is_older) in gets(&format!("http://{}/a?key=SECRET", nobody()))
        .into_iter()
        .zip([false, true])
    {
        let error = FAST.send(get).await.expect_err("refused");
        assert_eq!(error.delivery(), Some(Delivery::NotSent));
        let (shown, debug) = (error.to_string(), format!("{error:?}"));
        assert!(
            shown.contains("refused") && !debug.contains("SECRET"),
            "{debug}"
        );
        let source = std::error::Error::source(&error).expect("the client's error");
        assert_eq!(source.is::<reqwest_012::Error>(), is_older);
    }
}

#[tokio::test]
async fn a_head_has_no_body_however_long_the_resource_is() {
    let length = "content-encoding: gzip\r\ncontent-length: 9999999999\r\n";
    let server = Server::start([raw(format!("HTTP/1.1 200 OK\r\n{length}\r\n"))]);
    let head = FAST.send(client().head(server.url("a"))).await;
    let head = head.expect("a head");
    assert!(head.body().is_empty());
    let packed_nothing = reply(204, "content-encoding: gzip\r\n", "");
    got::<()>(packed_nothing).await.expect("a unit");
}

#[tokio::test]
async fn a_308_says_how_far_an_upload_is() {
    let server = Server::start([reply(308, "range: bytes=0-42\r\n", "")]);
    let ask = client().put(server.url("upload?upload_id=u"));
    let ask = ask.header("content-range", "bytes */100");
    let error = FAST.send(ask).await.expect_err("it is not complete");
    let said = (error.status(), error.header("range"));
    assert_eq!(said, (Some(308), Some("bytes=0-42")));
    assert_eq!(FAST.judge(&error), Verdict::Permanent);
    assert_eq!(server.requests(), 1);
}

fn packed(body: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body.as_bytes()).expect("it is memory");
    encoder.finish().expect("it is memory")
}

#[tokio::test]
async fn a_packed_reply_is_unpacked_and_half_of_one_is_asked_for_again() {
    let body = packed(&json!({ "name": "x".repeat(5_000) }).to_string());
    let encoding = "content-encoding: gzip\r\n";
    let (half, _) = body.split_at(body.len() / 2);
    let server = Server::start([reply(200, encoding, half), reply(200, encoding, &body)]);
    let get = client().get(server.url("a"));
    let value: Value = FAST.send(get).json().await.expect("the second attempt");
    let length = value["name"].as_str().map(str::len);
    assert_eq!((length, server.requests()), (Some(5_000), 2));
    let bomb = packed(&"x".repeat(100_000));
    let server = Server::start([reply(200, encoding, &bomb)]);
    let sending = FAST.send(client().get(server.url("a")));
    let error = sending.limits(Limits::new().body(1_000)).bytes().await;
    let shown = error.expect_err("too long").to_string();
    assert!(shown.contains("longer than 1000 bytes"), "{shown}");
}
