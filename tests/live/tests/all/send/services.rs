//! The functions of services that send requests by themselves.

use crate::server::{RESET, Server, client, reply};
use backoff_cloud::{
    StopReason, anthropic,
    http::{SendExt as _, Sending},
    openai, s3,
};
use std::time::Duration;

const SOON: [Duration; 2] = [Duration::from_millis(1); 2];

fn post(server: &Server) -> reqwest::RequestBuilder {
    client().post(server.url("v1/messages")).body("{}")
}

/// A completion is sent again after a 503, a 529 and a lost reply. The preset alone follows the rule for a `POST`.
#[tokio::test]
async fn a_completion_may_be_made_twice() {
    type Send = fn(reqwest::RequestBuilder) -> Sending;
    let (by_openai, by_anthropic): (Send, Send) = (|it| openai::send(it), |it| anthropic::send(it));
    for send in [by_openai, by_anthropic] {
        for script in [
            [reply(503, "", ""), RESET],
            [reply(529, "", ""), reply(529, "", "")],
        ] {
            let server = Server::start(script);
            let completion = send(post(&server)).reply().delays(SOON).await;
            completion.expect("the third attempt");
            assert_eq!(server.requests(), 3);
        }
    }
    let server = Server::start([reply(503, "", ""), reply(503, "", "")]);
    let once = openai::REQUEST.send(post(&server)).reply().reported().await;
    assert_eq!(once.unwrap_err().reason, StopReason::MaybeApplied);
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn the_servers_word_counts_more_than_its_status() {
    let server = Server::start([reply(503, "x-should-retry: false\r\n", "")]);
    let stopped = openai::send(post(&server)).reply().reported().await;
    assert_eq!(stopped.unwrap_err().reason, StopReason::StoppedByServer);
    let server = Server::start([reply(404, "x-should-retry: true\r\n", "")]);
    openai::send(post(&server))
        .reply()
        .delays(SOON)
        .await
        .expect("the second attempt");
    assert_eq!(server.requests(), 2);
}

/// Rows: the method, the body of each 200, the requests, and the status of the error.
#[tokio::test]
async fn an_error_inside_a_200_of_s3_is_an_error() {
    let error = |code: &str| {
        let declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n";
        format!("{declaration}<Error><Code>{code}</Code><Message>..</Message></Error>")
    };
    for (method, body, requests, status) in [
        ("PUT", error("InternalError"), 3, Some(500)),
        ("PUT", error("SlowDown"), 3, Some(503)),
        (
            "PUT",
            "<CopyObjectResult><ETag>1</ETag></CopyObjectResult>".to_owned(),
            1,
            None,
        ),
        // What somebody has stored.
        ("GET", error("InternalError"), 1, None),
    ] {
        let server = Server::always(reply(200, "", body));
        let request = client().request(method.parse().unwrap(), server.url("bucket/key"));
        let sent = s3::send(request).reply().delays(SOON).await;
        assert_eq!(
            sent.err().and_then(|error| error.status()),
            status,
            "{method}"
        );
        assert_eq!(server.requests(), requests, "{method}");
    }
}
