//! The table of requests: what is sent again, in each form of a call over HTTP.

use super::client_012;
use crate::server::{Act, CLOSE, FAST, RESET, Server, broken, client, nobody, reply};
use backoff_cloud::{StopReason, http::SendExt as _};
use backoff_core::Event;
use http_body_util::Full;
use hyper_1::body::Bytes;
use hyper_util::{client::legacy, rt::TokioExecutor};
use std::sync::{Arc, Mutex};
use tower::{Layer as _, ServiceExt as _};

/// How a user sends a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    Send,
    /// With a request that is built for each attempt.
    SendWith,
    /// With a request of reqwest 0.12.
    Send012,
    /// tower's layer around hyper's client.
    LayerOfHyper,
    /// tower's layer around reqwest's client.
    LayerOfReqwest,
}

pub(super) const ALL: [Form; 5] = [
    Form::Send,
    Form::SendWith,
    Form::Send012,
    Form::LayerOfHyper,
    Form::LayerOfReqwest,
];

/// The forms that read a reply to its end, and its body for what an error says. A layer gives the reply when
/// its head is there.
pub(super) const SENDS: [Form; 3] = [Form::Send, Form::SendWith, Form::Send012];

/// A request, and what its caller says of it: whether it may be made twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) header: Option<(&'static str, &'static str)>,
    pub(super) word: Option<bool>,
}

pub(super) const POST: Request = Request {
    method: "POST",
    header: None,
    word: None,
};

const fn with(name: &'static str, value: &'static str) -> Request {
    let header = Some((name, value));
    Request { header, ..POST }
}

const fn said(method: &'static str, word: bool) -> Request {
    let word = Some(word);
    Request {
        method,
        word,
        ..POST
    }
}

const fn of(method: &'static str) -> Request {
    Request { method, ..POST }
}

/// The request of this client, of either version of reqwest.
macro_rules! built {
    ($request:expr, $client:expr, $url:expr) => {{
        let method = $request.method.parse().expect("a method");
        let built = $client.request(method, $url).body("x");
        match $request.header {
            Some((name, value)) => built.header(name, value),
            None => built,
        }
    }};
}

/// Sends a request through a layer around this client; why it was given up, if it was.
macro_rules! layered {
    ($client:expr, $error:ty, $sent:expr, $word:expr) => {{
        let noted = Arc::new(Mutex::new(None));
        let (told, layer) = (noted.clone(), FAST.layer());
        let layer = match $word {
            Some(word) => layer.idempotent(word),
            None => layer,
        };
        let layer = layer.notify(move |event: &Event<'_, $error>| {
            if let Event::GaveUp { reason, .. } = event {
                *told.lock().expect("no panic in it") = Some(*reason);
            }
        });
        let reply = layer.layer($client).oneshot($sent).await;
        let noted = *noted.lock().expect("no panic in it");
        let is_success = reply.is_ok_and(|reply| reply.status().is_success());
        assert_eq!(is_success, noted.is_none());
        noted
    }};
}

impl Form {
    /// Sends it; why it was given up, if it was.
    pub(super) async fn call(self, request: Request, url: &str) -> Option<StopReason> {
        let client = client();
        let sending = match self {
            Form::Send => FAST.send(built!(request, client, url)),
            Form::SendWith => {
                let url = url.to_owned();
                FAST.send_with(move || built!(request, client, &url))
            }
            Form::Send012 => FAST.send(built!(request, client_012(), url)),
            Form::LayerOfReqwest => {
                let sent = built!(request, client, url).build();
                let sent = sent.expect("a request");
                return layered!(client, reqwest::Error, sent, request.word);
            }
            Form::LayerOfHyper => {
                let sent = http_1::Request::builder().method(request.method).uri(url);
                let sent = match request.header {
                    Some((name, value)) => sent.header(name, value),
                    None => sent,
                };
                let sent = sent.body(Full::<Bytes>::from("x")).expect("a request");
                let client = legacy::Client::builder(TokioExecutor::new()).build_http();
                return layered!(client, legacy::Error, sent, request.word);
            }
        };
        let sending = match request.word {
            Some(word) => sending.idempotent(word),
            None => sending,
        };
        let sent = sending.reply().reported().await;
        sent.err().map(|failed| failed.reason)
    }
}

const GUARDED: Request = with("if-match", "\"e\"");

/// What the server does first, which forms notice it, what is sent, how often, and why it is given up.
type Row = (
    Vec<Act>,
    &'static [Form],
    Request,
    usize,
    Option<StopReason>,
);

fn rows() -> Vec<Row> {
    let maybe_applied = Some(StopReason::MaybeApplied);
    let busy = |headers| reply(503, headers, "");
    let mut rows = Vec::new();
    let lost = [
        (RESET, &ALL[..]),
        (CLOSE, &ALL),
        (broken(), &SENDS),
        (busy(""), &ALL),
    ];
    for (act, forms) in lost {
        for (request, requests, reason) in [
            (POST, 1, maybe_applied),
            (with("Idempotency-Key", "k"), 2, None),
            // No server knows a request by it.
            (with("Idempotency-Key", ""), 1, maybe_applied),
            (GUARDED, 2, None),
            (with("If-Match", "*"), 1, maybe_applied),
            (said("POST", true), 2, None),
            (said("GET", true), 2, None),
            (said("POST", false), 1, maybe_applied),
            (said("GET", false), 1, maybe_applied),
        ] {
            rows.push((vec![act.clone()], forms, request, requests, reason));
        }
        for method in ["GET", "PUT", "DELETE"] {
            rows.push((vec![act.clone(); 2], forms, of(method), 3, None));
        }
        let all_lost = vec![act; 4];
        rows.push((all_lost, forms, GUARDED, 4, Some(StopReason::Attempts)));
    }
    let throttled = "x-amzn-errortype: ThrottlingException\r\n";
    let throttled = reply(400, throttled, "{}");
    // These say that nothing was done.
    let refused = reply(429, "", "");
    let unchanged = busy("x-ms-error-code: ServerBusy\r\n");
    rows.push((vec![refused], &ALL, POST, 2, None));
    rows.push((vec![throttled, unchanged], &SENDS, POST, 3, None));
    let mixed = vec![RESET, broken(), busy("retry-after-ms: 20\r\n")];
    rows.push((mixed, &SENDS, of("PUT"), 4, None));
    rows
}

#[tokio::test]
async fn what_is_sent_again() {
    for (acts, forms, request, requests, reason) in rows() {
        for form in forms {
            let server = Server::start(acts.clone());
            let given_up = form.call(request, &server.url("a?b=c")).await;
            let row = format!("{form:?}, {request:?}, {acts:?}");
            let outcome = (given_up, server.requests());
            assert_eq!(outcome, (reason, requests), "{row}");
            for seen in server.seen() {
                assert_eq!(seen.line, format!("{} /a?b=c", request.method), "{row}");
                assert_eq!(seen.body, b"x", "{row}");
                if let Some((name, value)) = request.header {
                    assert_eq!(seen.header(name), Some(value), "{row}");
                }
            }
        }
    }
}

#[tokio::test]
async fn nobody_listens() {
    for form in ALL {
        let url = format!("http://{}/a", nobody());
        let given_up = form.call(POST, &url).await;
        assert_eq!(given_up, Some(StopReason::Attempts), "{form:?}");
    }
}
