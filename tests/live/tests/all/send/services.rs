//! The functions of services that send requests by themselves.

use crate::server::{RESET, Server, client, reply};
use backoff_cloud::{
    Rate, StopReason, anthropic, aws, azure,
    http::{self, SendExt as _, Sending},
    openai, plain_http, s3,
};
use reqwest::RequestBuilder;
use serde_json::Value;
use std::time::{Duration, Instant};

const SOON: [Duration; 2] = [Duration::from_millis(1); 2];

type Send = fn(RequestBuilder) -> Sending;

/// Rows: how a completion is sent, the first replies, the requests, and why the call fails. A completion is sent again
/// after a 503, a 529 and a lost reply. The preset alone follows the rule for a `POST`, and the server's word counts
/// more than its status.
#[tokio::test]
async fn a_completion_may_be_made_twice() {
    let busy = |status| reply(status, "", "");
    let (lost, full) = ([busy(503), RESET], [busy(529), busy(529)]);
    let word = |status, word| reply(status, &format!("x-should-retry: {word}\r\n"), "");
    let (stop, again) = (word(503, "false"), word(404, "true"));
    let (openai, anthropic): (Send, Send) = (|it| openai::send(it), |it| anthropic::send(it));
    let preset: Send = |it| openai::REQUEST.send(it);
    let stopped = Some(StopReason::StoppedByServer);
    for (send, script, requests, reason) in [
        (openai, &lost[..], 3, None),
        (openai, &full, 3, None),
        (anthropic, &lost, 3, None),
        (anthropic, &full, 3, None),
        (preset, &lost, 1, Some(StopReason::MaybeApplied)),
        (openai, &[stop], 1, stopped),
        (openai, &[again], 2, None),
    ] {
        let server = Server::start(script.to_vec());
        let post = client().post(server.url("v1/messages")).body("{}");
        let sent = send(post).reply().delays(SOON).reported().await;
        let ended = sent.err().map(|failed| failed.reason);
        assert_eq!((ended, server.requests()), (reason, requests), "{script:?}");
    }
}

/// The replies of `send`, and those that a function reads by `http::json`, state a quota of one request that comes back
/// in 300 ms. The rate of the call hears that: nobody is refused, and the next call waits.
#[tokio::test]
async fn the_rate_of_a_call_hears_what_the_replies_state() {
    const COMES_BACK: Duration = Duration::from_millis(300);
    let quota = "x-ratelimit-limit-requests: 1\r\nx-ratelimit-remaining-requests: 0\r\n\
                 x-ratelimit-reset-requests: 300ms\r\n";
    let server = Server::start(vec![reply(200, quota, "{}"); 4]);
    let (client, rate) = (client(), Rate::new());
    let mut last = None;
    for is_sent in [true, true, false, false] {
        let get = || client.get(server.url("models"));
        let answer: Result<Value, _> = match is_sent {
            true => openai::send(get()).json().rate(&rate).await,
            false => {
                let ask = || async { http::json(get().send().await?).await };
                openai::REQUEST.retry(ask).rate(&rate).await
            }
        };
        answer.expect("an answer");
        let waited = last.replace(Instant::now()).map(|last| last.elapsed());
        assert!(
            waited.is_none_or(|waited| waited >= COMES_BACK * 9 / 10),
            "{waited:?}"
        );
    }
    assert_eq!(server.requests(), 4);
}

/// Rows: the method, the body of the first 200, and the requests of a service's own `send`, of its preset, and of its preset
/// for a value that holds any JSON. The preset alone repeats a `POST` only where the server did nothing.
#[tokio::test]
async fn an_error_inside_a_200_of_a_gateway_is_repeated_as_one_with_that_status() {
    #[derive(serde::Deserialize)]
    struct Chat {
        #[serde(rename = "choices")]
        _choices: Vec<u8>,
    }
    let gateway = r#"{"error": {"message": "m", "code": 524}, "user_id": "u"}"#;
    let limited =
        r#"{"id": 1, "error": {"message": "m", "type": "rate_limit_error", "code": "429"}}"#;
    let failed = r#"{"status": "failed", "error": {"code": "server_error"}}"#;
    let alone = r#"{"error": {"code": null, "type": "server_error"}}"#;
    let permanent = r#"{"id": 1, "error": {"type": "invalid_request_error", "code": null}}"#;
    let value = r#"{"id": 1, "error": null, "choices": []}"#;
    for (method, body, own, preset, any) in [
        ("POST", gateway, 2, 1, 1),
        ("POST", limited, 2, 2, 1),
        ("POST", failed, 2, 1, 1),
        ("POST", alone, 2, 1, 1),
        ("POST", permanent, 1, 1, 1),
        ("POST", value, 1, 1, 1),
        // Each further read would find the same.
        ("GET", failed, 1, 2, 1),
        ("GET", alone, 2, 2, 2),
    ] {
        let ask = |server: &Server| {
            let request = client().request(method.parse().unwrap(), server.url("v1/responses"));
            request.body("{}")
        };
        let senders: [(Send, u8); 4] = [
            (|it| openai::send(it), own),
            (|it| anthropic::send(it), own),
            (|it| openai::REQUEST.send(it), preset),
            (|it| openai::REQUEST.send(it), any),
        ];
        for (at, (send, requests)) in senders.into_iter().enumerate() {
            let answer = reply(200, "", r#"{"choices": []}"#);
            let server = Server::start([reply(200, "", body), answer]);
            let sending = send(ask(&server));
            let is_ok = match at {
                2 => sending.json::<Chat>().delays(SOON).await.is_ok(),
                _ => sending.json::<Value>().delays(SOON).await.is_ok(),
            };
            let may_have_error = at == 3 || at != 2 && method == "GET";
            let is_value = body == value || may_have_error && body != alone;
            let expected = (is_value || requests == 2, usize::from(requests));
            assert_eq!((is_ok, server.requests()), expected, "{at}: {body}");
            // The reply is read after the last attempt.
            let server = Server::start([reply(200, "", body)]);
            let late = send(ask(&server)).await.expect("a reply").json::<Value>();
            assert!(at == 2 || late.is_ok() == is_value, "{at}: {body}");
        }
    }
}

/// Rows: the method, the body of each 200, the requests, and the status of the error.
#[tokio::test]
async fn an_error_inside_a_200_of_s3_is_an_error() {
    let error = |code: &str| {
        let declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n";
        format!("{declaration}<Error><Code>{code}</Code><Message>..</Message></Error>")
    };
    let senders: [Send; 4] = [
        |it| s3::send(it),
        |it| s3::REQUEST.send(it),
        |it| aws::STANDARD.max_attempts(3).send(it),
        |it| plain_http::BY_METHOD.max_attempts(3).send(it),
    ];
    let copied = "<CopyObjectResult><ETag>1</ETag></CopyObjectResult>".to_owned();
    for (method, body, requests, status) in [
        ("PUT", error("InternalError"), 3, Some(500)),
        ("PUT", error("SlowDown"), 3, Some(503)),
        ("POST", error("SlowDown"), 3, Some(503)),
        // It may have been made.
        ("POST", error("InternalError"), 1, Some(500)),
        ("PUT", copied, 1, None),
        ("POST", "<Error>no code</Error>".to_owned(), 1, None),
        // What somebody has stored.
        ("GET", error("InternalError"), 1, None),
    ] {
        for send in senders {
            let server = Server::always(reply(200, "", &body));
            let request = client().request(method.parse().unwrap(), server.url("bucket/key"));
            let sent = send(request).idempotent(method != "POST").reply();
            let found = sent
                .delays(SOON)
                .await
                .err()
                .and_then(|error| error.status());
            assert_eq!(
                (found, server.requests()),
                (status, requests),
                "{method} {body}"
            );
        }
    }
}

/// A signature that is too old is made anew once, also for a request that must not be made twice, because the service
/// did nothing. Rows: how often the signature is refused, whether the request is built anew, and the requests.
#[tokio::test]
async fn a_request_that_is_built_anew_is_signed_anew_once() {
    for code in ["RequestTimeTooSkewed", "InvalidSignatureException"] {
        let stale = reply(403, "", format!("<Error><Code>{code}</Code></Error>"));
        for (refusals, is_built, requests) in [(1, true, 2), (9, true, 2), (9, false, 1)] {
            let server = Server::start(vec![stale.clone(); refusals]);
            let request = client().post(server.url("bucket/key")).body("{}");
            let sending = match is_built {
                true => s3::REQUEST.send_with(move || request.try_clone().expect("a copy")),
                false => s3::REQUEST.send(request),
            };
            let signed = sending.reply().delays(SOON).reported().await;
            let ended = signed.err().map(|failed| failed.reason);
            let expected = (refusals > 1).then_some(StopReason::Permanent);
            assert_eq!((ended, server.requests()), (expected, requests));
        }
    }
}

#[tokio::test]
async fn azure_appends_no_block_twice_and_repeats_no_success() {
    for (query, requests) in [
        ("comp=block", 2),
        ("comp=appendblock", 1),
        ("comp=lease", 1),
    ] {
        let server = Server::start([RESET]);
        let put = client().put(server.url(&format!("logs/today?{query}")));
        let sent = azure::send(put.body("line")).reply().delays(SOON).await;
        let made = (sent.is_ok(), server.requests());
        assert_eq!(made, (requests == 2, requests), "{query}");
    }
    // A success may say when to look again, as for a deployment that goes on.
    let hints = "retry-after: 30\r\nx-ms-retry-after-ms: 30000\r\n";
    let senders: [Send; 2] = [|it| azure::send(it), |it| azure::REQUEST.send(it)];
    for send in senders {
        let server = Server::start([reply(201, hints, r#"{"status":"InProgress"}"#)]);
        let put = client().put(server.url("deployments/a")).body("{}");
        let sent = send(put).reply().reported().await;
        let (reply, report) = sent.expect("a success");
        let made = (reply.status(), report.attempts, server.requests());
        assert_eq!(made, (201, 1, 1));
    }
}
