//! Answers come whole, or the caller hears of it.

use crate::scripted;
use backoff_cloud::{Delivery, Fault as _, Verdict, openai};
use reqwest::Client;
use support::{Act, End, RESET, head, reply};
use tokio::time::Instant;

#[path = "../../cookbook/llm.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod program;

#[tokio::test(start_paused = true)]
async fn a_limit_is_waited_for() {
    let server = scripted([
        reply(429, "retry-after: 20\r\n", ""),
        RESET,
        reply(200, "", r#"{"choices": [{"message": {"content": "4"}}]}"#),
    ]);
    let begin = Instant::now();
    let answer = program::answer(Client::new().post(server.url("")), "2 + 2?").await;
    assert_eq!(answer.unwrap()["choices"][0]["message"]["content"], "4");
    assert!(begin.elapsed().as_secs() >= 20);
    assert_eq!(server.requests(), 3);
}

/// A success in chunks of HTTP of three bytes each, which end inside of lines and of characters, without the last chunk.
fn chunks(body: &str) -> Act {
    let mut chunks = Vec::new();
    for bytes in body.as_bytes().chunks(3) {
        chunks.extend(format!("{:x}\r\n", bytes.len()).bytes());
        chunks.extend([bytes, b"\r\n"].concat());
    }
    head("200 OK\r\ntransfer-encoding: chunked", chunks)
}

const PIECES: &str = "data: {\"choices\": [{\"delta\": {\"content\": \"zwölf\"}}]}\n\n\
                      : a comment\n\ndata: {\"choices\": [{\"delta\": {\"content\": \" Äpfel\"}}]}\n\n";

const FAILED: &str = r#"data: {"error": {"type": "server_error", "message": "overloaded"}}"#;

#[tokio::test(start_paused = true)]
async fn a_stream_arrives_whole() {
    let [done, failed] =
        ["data: [DONE]\n\n", FAILED].map(|last| chunks(&format!("{PIECES}{last}\n\n")));
    let closed = |last: &str| reply(200, "", format!("{PIECES}{last}"));
    // Rows: how the stream begins and ends, and the status of its error. A connection may stay open after the last event.
    for (acts, end) in [
        ([RESET, reply(503, "", ""), done.clone()], Ok(())),
        ([RESET, RESET, done.then(End::Stall)], Ok(())),
        ([RESET, RESET, closed("data: [DONE]")], Ok(())),
        (
            [reply(429, "", ""), RESET, failed.then(End::Stall)],
            Err(Some(500)),
        ),
        ([RESET, RESET, closed(FAILED)], Err(Some(500))),
        ([RESET, RESET, chunks(PIECES)], Err(None)),
        ([RESET, RESET, closed("")], Err(None)),
        ([RESET, RESET, closed("data: {\"cho")], Err(None)),
    ] {
        let (server, mut shown) = (scripted(acts), String::new());
        let show = |piece: &str| shown.push_str(piece);
        let ended = program::stream(Client::new().post(server.url("")), "?", show).await;
        assert_eq!((shown.as_str(), server.requests()), ("zwölf Äpfel", 3));
        if let Err(error) = &ended {
            assert!(matches!(
                openai::REQUEST.judge(error),
                Verdict::Retry { .. }
            ));
            assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
        }
        assert_eq!(ended.map_err(|error| error.status()), end);
    }
}
