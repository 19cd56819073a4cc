//! Replies whose body is read piece by piece.

use crate::server::{
    self, Act, End, FAST, RESET, Server, both, broken, client, head, raw, reply, serve,
};
use backoff_cloud::{
    Delivery, Fault as _, Verdict, anthropic,
    http::{ApiError, Limits, OpenReply, SendExt as _},
    openai, testing,
};
use std::{error::Error as _, time::Duration};
use tokio::time::{Instant, pause, sleep, timeout};

/// A success in chunks of HTTP, without the last one.
fn chunks(chunks: &[&str]) -> Act {
    let chunks = chunks
        .iter()
        .map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    let head = "200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
    server::head(head, chunks.collect::<String>())
}

/// What comes before the end, and the error of the end.
async fn read(mut reply: OpenReply) -> (Vec<String>, Option<ApiError>) {
    let mut read = Vec::new();
    loop {
        match reply.chunk().await {
            Ok(Some(chunk)) => read.push(String::from_utf8(chunk).expect("a text")),
            Ok(None) => return (read, None),
            Err(error) => return (read, Some(error)),
        }
    }
}

/// All chunks come, also if the body is longer than a whole one may be.
#[tokio::test]
async fn what_comes_before_the_body_is_retried() {
    let _instant = testing::instant();
    let half_an_error = head("503 Busy\r\ncontent-length: 100", "no");
    let stream = chunks(&["one", "two", ""]);
    for first in [
        RESET,
        reply(503, "", "busy"),
        reply(429, "", ""),
        half_an_error,
    ] {
        let server = Server::start(vec![[first.clone(), stream.clone()]; 4].concat());
        let get = both("GET", &server.url("a"), &[]).map(|get| FAST.send(get));
        let [newer, older] = both("POST", &server.url("a"), &[]);
        let ask = [openai::send(newer), anthropic::send(older)];
        for sending in get.into_iter().chain(ask) {
            let sending = sending.limits(Limits::new().body(1));
            let (open, report) = sending.open().reported().await.expect("the second attempt");
            assert_eq!((open.status(), report.attempts), (200, 2), "{first:?}");
            assert_eq!(open.header("Content-Type"), Some("text/event-stream"));
            let (read, error) = read(open).await;
            assert!(
                error.is_none() && read == ["one", "two"],
                "{read:?} {error:?}"
            );
        }
        assert_eq!(server.requests(), 8);
    }
    let server = Server::always(reply(403, "", "no"));
    let error = FAST.send(client().get(server.url("a"))).open().await;
    assert_eq!(error.expect_err("403").to_string(), "HTTP 403: no");
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn nothing_is_retried_after_the_head() {
    let begun = chunks(&["one", "two"]);
    for (act, came) in [
        (begun.clone(), "onetwo"),
        (begun.clone().without(1), "onetwo"),
        (begun.without(4), "onet"),
        (chunks(&[]), ""),
        (broken(), "{\"half\": "),
    ] {
        let server = Server::always(act.clone());
        for (get, requests) in both("GET", &server.url("a"), &[]).into_iter().zip(1..) {
            let open = FAST.send(get).open().await.expect("a head");
            let (read, error) = read(open).await;
            let error = error.expect("it is cut");
            assert_eq!(
                (read.concat().as_str(), server.requests()),
                (came, requests),
                "{act:?}"
            );
            let begin = "the body of the reply ended too early: error decoding";
            assert!(error.to_string().starts_with(begin), "{error}");
            assert_is_lost(&error);
            assert!(
                error
                    .source()
                    .is_some_and(|source| source.is::<reqwest::Error>())
            );
        }
    }
    // Nothing says that this one is cut, nor that it is an error.
    let error = "<Error><Code>SlowDown</Code></Error>";
    for act in [
        raw(format!("HTTP/1.1 200 OK\r\n\r\n{error}")),
        reply(200, "", error),
    ] {
        let server = Server::start([act]);
        let open = FAST.send(client().put(server.url("a"))).open().await;
        let (read, end) = read(open.expect("a head")).await;
        assert!(end.is_none() && read.concat() == error, "{read:?} {end:?}");
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_unpacked_did_not_arrive() {
    let server = Server::start([reply(200, "content-encoding: gzip\r\n", "no gzip")]);
    let open = FAST.send(client().get(server.url("a"))).open().await;
    let (_, error) = read(open.expect("a head")).await;
    assert_is_lost(&error.expect("no gzip"));
}

/// The whole call may be repeated, if that is allowed twice.
fn assert_is_lost(error: &ApiError) {
    assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
    let judged = openai::REQUEST.judge(error);
    assert!(matches!(judged, Verdict::Retry { .. }), "{judged:?}");
    let once = openai::REQUEST.idempotent(false);
    assert_eq!(once.judge(error), Verdict::MaybeApplied);
}

/// From the pause on, the time is virtual: it jumps to the end of the wait when nothing else is to be done.
#[tokio::test]
async fn a_stream_may_pause_for_thirty_seconds() {
    let short = Limits::new().read_timeout(Duration::from_secs(7));
    let url = format!(
        "http://{}/",
        serve(chunks(&["one", "two"]).then(End::Stall))
    );
    let [newer, older] = both("GET", &url, &[]);
    let newer = FAST.send(newer).open().await.expect("a head");
    let older = FAST.send(older).limits(short).open().await.expect("a head");
    let mut opens = [(newer, 30), (older, 7)];
    for (open, _) in &mut opens {
        for chunk in ["one", "two"] {
            let came = open.chunk().await.expect("it has come");
            assert_eq!(came.as_deref(), Some(chunk.as_bytes()));
        }
    }
    pause();
    for (open, seconds) in opens {
        // What the caller does meanwhile does not count.
        sleep(Duration::from_secs(100)).await;
        let begin = Instant::now();
        let read = timeout(Duration::from_secs(3_600), read(open)).await;
        let (_, error) = read.expect("a limit");
        assert_eq!(begin.elapsed().as_secs(), seconds);
        let error = error.expect("it stalls");
        let begin = format!("the body of the reply stopped: no byte arrived within {seconds}s");
        assert!(error.to_string().starts_with(&begin), "{error}");
        assert_is_lost(&error);
    }
}

#[tokio::test]
async fn a_stream_that_is_dropped_is_closed() {
    let server = Server::always(head("200 OK", "").then(End::More(u64::MAX, "x")));
    let client = client();
    let mut open = FAST
        .send(client.get(server.url("a")))
        .open()
        .await
        .expect("a head");
    assert!(open.chunk().await.expect("it comes").is_some());
    drop(open);
    server.is_done().await;
    drop(client);
}
