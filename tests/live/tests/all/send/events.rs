//! Streams of LLMs over sockets. The lines and the errors of all services are rows of `backoff-cloud/src/http/events.rs`
//! and `event_kind.rs`.

use crate::server::{Act, End, FAST, Pieces, RESET, Server, client, head, reply};
use backoff_cloud::{
    Fault as _, FaultKind, anthropic,
    http::{ApiError, Limits, SendExt as _},
    openai, retry, testing,
};
use hyper_1::body::Bytes;
use serde_json::Value;
use std::{
    future::Future as _,
    task::{Poll, ready},
    time::Duration,
};
use tokio::time::{sleep, timeout};

/// Begins anew after each failure.
#[retry(policy = openai::REQUEST)]
async fn answer(client: &reqwest::Client, url: &str) -> Result<String, ApiError> {
    let response = client.post(url).send().await?;
    let mut events = Limits::new().open(response).await?.events();
    let mut answer = String::new();
    while let Some(event) = events.next().await? {
        if let Some(kind) = anthropic::event_kind(&event) {
            return Err(event.to_error(kind));
        }
        if openai::ends_stream(&event) {
            return Ok(answer);
        }
        let value: Value = event.json()?;
        let chat = &value["choices"][0]["delta"]["content"];
        for piece in [chat, &value["delta"], &value["delta"]["text"]] {
            answer += piece.as_str().unwrap_or_default();
        }
    }
    Err(ApiError::ended_early())
}

/// How the call ends after the stream.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    /// With the answer `zwölf Äpfel`.
    Whole,
    /// The next attempt brings the answer.
    Retried,
    /// With this error.
    With(&'static str),
}

const CHAT: &str = "\
data: {\"choices\": [{\"index\": 0, \"delta\": {\"role\": \"assistant\", \"content\": \"\"}}]}

data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"zwölf\"}}]}

data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \" Äpfel\"}}]}

data: {\"choices\": [{\"index\": 0, \"delta\": {}, \"finish_reason\": \"stop\"}]}

data: {\"choices\": [], \"usage\": {\"total_tokens\": 9}}

";

const MESSAGE: &str = "\
event: message_start
data: {\"type\": \"message_start\", \"message\": {\"id\": \"m\", \"content\": []}}

event: content_block_delta
data: {\"type\": \"content_block_delta\", \"index\": 0, \"delta\": {\"type\": \"text_delta\", \"text\": \"zwölf\"}}

event: ping
data: {\"type\": \"ping\"}

event: content_block_delta
data: {\"type\": \"content_block_delta\", \"index\": 0, \"delta\": {\"type\": \"text_delta\", \"text\": \" Äpfel\"}}

";

const STOP: &str = "event: message_stop\ndata: {\"type\": \"message_stop\"}\n\n";
const BUSY: &str = "data: {\"error\": {\"message\": \"sorry\", \"type\": \"server_error\"}}\n\n";
const MONEY: &str = "data: {\"error\": {\"code\": 402, \"message\": \"money\"}}\n\n";

/// Rows: how a stream begins, its last event, and how the call ends.
const STREAMS: [(&str, &str, Ends); 10] = [
    (CHAT, "data: [DONE]\n\n", Ends::Whole),
    (CHAT, "data: [DONE]", Ends::Whole),
    (CHAT, "data: [DO", Ends::Whole),
    (CHAT, "", Ends::Retried),
    (CHAT, "data: {\"choices\": [{\"ind", Ends::Retried),
    (CHAT, "data:", Ends::Retried),
    (CHAT, BUSY, Ends::Retried),
    (CHAT, MONEY, Ends::With("HTTP 402: money")),
    (MESSAGE, STOP, Ends::Whole),
    (MESSAGE, "", Ends::Retried),
];

/// In chunks of HTTP of so many bytes.
fn chunks(body: &str, size: usize) -> Vec<u8> {
    let mut chunks = Vec::new();
    for bytes in body.as_bytes().chunks(size) {
        chunks.extend(format!("{:x}\r\n", bytes.len()).bytes());
        chunks.extend([bytes, b"\r\n"].concat());
    }
    chunks
}

fn stream(chunks: Vec<u8>) -> Act {
    let kind = "content-type: text/event-stream\r\ntransfer-encoding: chunked";
    head(format!("200 OK\r\n{kind}"), chunks)
}

#[tokio::test]
async fn a_whole_call_reads_a_stream_anew() {
    let _instant = testing::instant();
    let whole = stream(chunks(&format!("{CHAT}data: [DONE]\n\n"), 1_000));
    let client = client();
    for (begin, last, ends) in STREAMS {
        let chunks = chunks(&format!("{begin}{last}"), 3);
        let closed = stream([&chunks[..], b"0\r\n\r\n"].concat());
        // The connection stays open behind the last event, or breaks.
        let open = stream(chunks.clone()).then(End::Stall);
        let acts = [closed, open, stream(chunks)];
        let is_complete = last.ends_with("\n\n");
        for act in acts.into_iter().take(if is_complete { 3 } else { 1 }) {
            let server = Server::start([act, whole.clone()]);
            let answer = answer(&client, &server.url("a")).await;
            let answer = answer.map_err(|error| error.to_string());
            let (expected, requests) = match ends {
                Ends::Whole => (Ok("zwölf Äpfel".to_owned()), 1),
                Ends::Retried => (Ok("zwölf Äpfel".to_owned()), 2),
                Ends::With(error) => (Err(error.to_owned()), 1),
            };
            assert_eq!((answer, server.requests()), (expected, requests), "{last}");
        }
    }
    for first in [reply(503, "", ""), RESET] {
        let server = Server::start([first, whole.clone()]);
        let answer = answer(&client, &server.url("a")).await;
        assert_eq!(answer.expect("the second attempt"), "zwölf Äpfel");
        assert_eq!(server.requests(), 2);
    }
}

/// A line without an end is not kept beyond the limit of a body, and is not asked for again.
#[tokio::test]
async fn a_line_without_an_end_is_a_permanent_error() {
    let server = Server::always(head("200 OK", "data: ").then(End::More(64 << 20, "x")));
    let limits = Limits::new().body(1 << 20);
    let sending = FAST.send(client().get(server.url("a"))).limits(limits);
    let mut events = sending.open().await.expect("a head").events();
    let error = events.next().await.expect_err("too long");
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
    assert_eq!(
        error.to_string().split(';').next(),
        Some("an event of the stream is longer than 1048576 bytes, the limit of `http::Limits`")
    );
}

/// The time is virtual, so the body comes from memory.
#[tokio::test(start_paused = true)]
async fn an_event_that_is_given_up_is_not_lost() {
    let pause = || Box::pin(sleep(Duration::from_secs(20)));
    let (mut left, mut paused) = (vec!["\ndata: two\n\n", "ne\n", "data: o"], pause());
    let slow = Pieces::new(move |context| {
        ready!(paused.as_mut().poll(context));
        paused = pause();
        Poll::Ready(left.pop().map(|piece| Ok(Bytes::from(piece))))
    });
    let reply = http_1::Response::new(reqwest::Body::wrap(slow));
    let open = Limits::new().open(reply.into()).await.expect("a success");
    let (mut events, mut read, mut given_up) = (open.events(), Vec::new(), 0);
    loop {
        match timeout(Duration::from_secs(3), events.next()).await {
            Err(_) => given_up += 1,
            Ok(Ok(Some(event))) => read.push(event.data().to_owned()),
            Ok(end) => break assert!(end.expect("an end").is_none()),
        }
    }
    assert_eq!(read, ["one", "two"]);
    assert!(given_up >= 24, "{given_up}");
}
