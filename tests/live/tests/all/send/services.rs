//! The functions of services that send requests by themselves.

use crate::server::{RESET, Server, client, reply};
use backoff_cloud::{
    StopReason, anthropic, aws, azure,
    http::{SendExt as _, Sending},
    openai, plain_http, s3,
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
    let senders: [fn(reqwest::RequestBuilder) -> Sending; 4] = [
        |it| s3::send(it),
        |it| s3::REQUEST.send(it),
        |it| aws::STANDARD.max_attempts(3).send(it),
        |it| plain_http::BY_METHOD.max_attempts(3).send(it),
    ];
    for (method, body, requests, status) in [
        ("PUT", error("InternalError"), 3, Some(500)),
        ("PUT", error("SlowDown"), 3, Some(503)),
        ("POST", error("SlowDown"), 3, Some(503)),
        // It may have been made.
        ("POST", error("InternalError"), 1, Some(500)),
        (
            "PUT",
            "<CopyObjectResult><ETag>1</ETag></CopyObjectResult>".to_owned(),
            1,
            None,
        ),
        ("POST", "<Error>no code</Error>".to_owned(), 1, None),
        // What somebody has stored.
        ("GET", error("InternalError"), 1, None),
    ] {
        for send in senders {
            let server = Server::always(reply(200, "", &body));
            let request = client().request(method.parse().unwrap(), server.url("bucket/key"));
            let sent = send(request).idempotent(method != "POST").reply();
            let sent = sent.delays(SOON).await;
            let found = sent.err().and_then(|error| error.status());
            assert_eq!(found, status, "{method} {body}");
            assert_eq!(server.requests(), requests, "{method} {body}");
        }
    }
}

/// A signature that is too old is made anew once, also for a request that must not be made twice, because the service
/// did nothing.
#[tokio::test]
async fn a_request_that_is_built_anew_is_signed_anew_once() {
    let stale = |code| reply(403, "", format!("<Error><Code>{code}</Code></Error>"));
    let put = |server: &Server| client().post(server.url("bucket/key")).body("{}");
    for code in ["RequestTimeTooSkewed", "InvalidSignatureException"] {
        let server = Server::start([stale(code)]);
        let request = put(&server);
        let build = move || request.try_clone().expect("a copy");
        let signed = s3::REQUEST.send_with(build).reply().delays(SOON).await;
        assert_eq!(
            (signed.map(|it| it.status()).ok(), server.requests()),
            (Some(200), 2)
        );

        let server = Server::always(stale(code));
        let request = put(&server);
        let build = move || request.try_clone().expect("a copy");
        let wrong_clock = s3::REQUEST
            .send_with(build)
            .reply()
            .delays(SOON)
            .reported()
            .await;
        assert_eq!(wrong_clock.unwrap_err().reason, StopReason::Permanent);
        assert_eq!(server.requests(), 2);

        let server = Server::always(stale(code));
        let copies = s3::REQUEST.send(put(&server)).reply().delays(SOON).await;
        assert_eq!((copies.is_err(), server.requests()), (true, 1));
    }
}

/// A success may say when to look again, as for a deployment that goes on.
#[tokio::test]
async fn a_hint_beside_a_success_repeats_nothing() {
    let hints = "retry-after: 30\r\nx-ms-retry-after-ms: 30000\r\n";
    let senders: [fn(reqwest::RequestBuilder) -> Sending; 2] =
        [|it| azure::send(it), |it| azure::REQUEST.send(it)];
    for send in senders {
        let server = Server::start([reply(201, hints, r#"{"status":"InProgress"}"#)]);
        let put = client().put(server.url("deployments/a")).body("{}");
        let sent = send(put).reply().reported().await;
        let (reply, report) = sent.expect("a success");
        assert_eq!((reply.status(), report.attempts), (201, 1));
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn azure_appends_no_block_twice() {
    for (query, requests) in [
        ("comp=block", 2),
        ("comp=appendblock", 1),
        ("comp=lease", 1),
    ] {
        let server = Server::start([RESET]);
        let put = client()
            .put(server.url(&format!("logs/today?{query}")))
            .body("line");
        let sent = azure::send(put).reply().delays(SOON).await;
        assert_eq!(
            (sent.is_ok(), server.requests()),
            (requests == 2, requests),
            "{query}"
        );
    }
}
