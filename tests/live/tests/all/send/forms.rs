//! The table of requests: what is sent again, in each form of a call over HTTP. The table of tower's layer is in
//! `backoff-core/tests/all/tower.rs`.

use crate::server::{
    Act, CLOSE, FAST, RESET, Server, both, broken, builder, client, client_012, nobody, reply,
};
use backoff_cloud::{Delivery, Event, Fault as _, StopReason, codes, http::SendExt as _};
use backoff_core::tower::Idempotent;
use reqwest_middleware_05::ClientBuilder;
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// How a user sends a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Send,
    /// With a request that is built for each attempt.
    SendWith,
    /// With a request of reqwest 0.12.
    Send012,
    /// By a client of reqwest-middleware.
    Middleware,
}

use Form::{Middleware, Send, Send012, SendWith};

const FORMS: [Form; 4] = [Send, SendWith, Send012, Middleware];

/// A request: its method, a header, and what its caller says of it: whether it may be made twice.
type Request = (
    &'static str,
    Option<(&'static str, &'static str)>,
    Option<bool>,
);

const POST: Request = ("POST", None, None);

const fn with(name: &'static str, value: &'static str) -> Request {
    ("POST", Some((name, value)), None)
}

/// The request of this client, of either version of reqwest.
macro_rules! built {
    ($request:expr, $client:expr, $url:expr) => {{
        let (method, header, _) = $request;
        let built = $client.request(method.parse().expect("a method"), $url);
        match header {
            Some((name, value)) => built.body("x").header(name, value),
            None => built.body("x"),
        }
    }};
}

impl Form {
    /// Sends it; why it was given up, if it was.
    async fn call(self, request: Request, url: &str) -> Option<StopReason> {
        let (client, (_, _, word)) = (client(), request);
        let sending = match self {
            Send => FAST.send(built!(request, client, url)),
            SendWith => {
                let url = url.to_owned();
                FAST.send_with(move || built!(request, client, &url))
            }
            Send012 => FAST.send(built!(request, client_012(), url)),
            Middleware => {
                let reason = Arc::new(Mutex::new(None));
                let told = reason.clone();
                let hook = move |event: &Event<'_, reqwest_middleware_05::Error>| {
                    if let Event::GaveUp { reason, .. } = event {
                        *told.lock().expect("no panic in it") = Some(*reason);
                    }
                };
                let layer = FAST.layer().notify(hook);
                let client = ClientBuilder::new(client).with(layer).build();
                let mut built = built!(request, client, url);
                if let Some(word) = word {
                    built = built.with_extension(Idempotent(word));
                }
                let sent = built.send().await;
                let reason = *reason.lock().expect("no panic in it");
                let is_success = sent.is_ok_and(|reply| reply.status().is_success());
                assert_eq!(is_success, reason.is_none());
                return reason;
            }
        };
        let sending = match word {
            Some(word) => sending.idempotent(word),
            None => sending,
        };
        let sent = sending.reply().reported().await;
        sent.err().map(|failed| failed.reason)
    }
}

const GUARDED: Request = with("if-match", "\"e\"");

/// What the server does first, what is sent, how often, and why it is given up.
type Row = (Vec<Act>, Request, usize, Option<StopReason>);

fn rows(form: Form) -> Vec<Row> {
    let maybe_applied = Some(StopReason::MaybeApplied);
    let busy = |headers| reply(503, headers, "");
    let (mut rows, mut acts) = (Vec::new(), vec![RESET, CLOSE, busy("")]);
    // A middleware reads no body, and no code of a service.
    if form != Middleware {
        acts.push(broken());
    }
    for act in acts {
        for (request, requests, reason) in [
            (POST, 1, maybe_applied),
            (with("Idempotency-Key", "k"), 2, None),
            // No server knows a request by it.
            (with("Idempotency-Key", ""), 1, maybe_applied),
            (GUARDED, 2, None),
            (with("If-Match", "*"), 1, maybe_applied),
            (("POST", None, Some(true)), 2, None),
            (("GET", None, Some(true)), 2, None),
            (("POST", None, Some(false)), 1, maybe_applied),
            (("GET", None, Some(false)), 1, maybe_applied),
        ] {
            rows.push((vec![act.clone()], request, requests, reason));
        }
        for method in ["GET", "PUT", "DELETE"] {
            let request = (method, None, None);
            rows.push((vec![act.clone(); 2], request, 3, None));
        }
        let attempts = Some(StopReason::Attempts);
        rows.push((vec![act; 4], GUARDED, 4, attempts));
    }
    rows.push((vec![reply(429, "", "")], POST, 2, None));
    if form == Middleware {
        return rows;
    }
    let throttled = "x-amzn-errortype: ThrottlingException\r\n";
    let throttled = reply(400, throttled, "{}");
    // These say that nothing was done.
    let unchanged = busy("x-ms-error-code: ServerBusy\r\n");
    rows.push((vec![throttled, unchanged], POST, 3, None));
    let mixed = vec![RESET, broken(), busy("retry-after-ms: 20\r\n")];
    rows.push((mixed, ("PUT", None, None), 4, None));
    rows
}

#[tokio::test]
async fn what_is_sent_again() {
    for form in FORMS {
        for (acts, request, requests, reason) in rows(form) {
            let server = Server::start(acts.clone());
            let given_up = form.call(request, &server.url("a?b=c")).await;
            let row = format!("{form:?}, {request:?}, {acts:?}");
            let outcome = (given_up, server.requests());
            assert_eq!(outcome, (reason, requests), "{row}");
            let (method, header, _) = request;
            for seen in server.seen() {
                let line = format!("{method} /a?b=c");
                assert_eq!((seen.line.as_str(), &seen.body[..]), (&*line, &b"x"[..]));
                if let Some((name, value)) = header {
                    assert_eq!(seen.header(name), Some(value), "{row}");
                }
            }
        }
    }
    for form in FORMS {
        let given_up = form.call(POST, &format!("http://{}/a", nobody())).await;
        assert_eq!(given_up, Some(StopReason::Attempts), "{form:?}");
    }
}

/// A reply that sends the client to another URL.
fn redirect_to(status: u16, url: &str) -> Act {
    reply(status, &format!("location: {url}\r\n"), "")
}

/// The server that was asked may have applied the request before it sent the client elsewhere, so what the
/// next server says does not count.
#[tokio::test]
async fn a_post_is_not_made_twice_because_the_next_server_did_nothing() {
    let policy = FAST.also_on(codes![408, 425]);
    for refusal in [
        reply(408, "", ""),
        reply(425, "", ""),
        reply(429, "", ""),
        reply(503, "x-ms-error-code: ServerBusy\r\n", ""),
        reply(200, "", r#"{"error": {"code": 429}}"#),
    ] {
        for status in [301, 302, 303] {
            let next = Server::always(refusal.clone());
            let server = Server::always(redirect_to(status, &next.url("done")));
            for post in both("POST", &server.url("orders"), &[]) {
                let failed = policy.send(post).json::<Value>().reported().await;
                let failed = failed.expect_err("the next server refuses");
                assert_eq!(failed.reason, StopReason::MaybeApplied, "{failed}");
                assert_eq!(failed.error.delivery(), Some(Delivery::MaybeSent));
            }
            assert_eq!((server.requests(), next.requests()), (2, 2));
        }
    }
    // What may be made twice is made again through the redirect.
    for request in [("GET", None, None), ("POST", None, Some(true))] {
        for form in FORMS {
            let next = Server::start([reply(429, "", "")]);
            let server = Server::always(redirect_to(302, &next.url("page")));
            assert_eq!(form.call(request, &server.url("a")).await, None);
            assert_eq!((server.requests(), next.requests()), (2, 2), "{form:?}");
        }
    }
}

/// The URL of the response is compared with that of the request, however that is written.
#[tokio::test]
async fn without_a_redirect_a_throttled_post_is_made_again() {
    for path in [
        "",
        "?",
        "a%2Fb?x=%20y&z={}|^`\"'",
        "\u{e4}/..//b?\u{e4}=[1]#\u{e4}",
    ] {
        for form in [Send, Send012] {
            let server = Server::start([reply(429, "", "")]);
            let url = server.url(path).replacen("//", "//ann:pw@", 1);
            assert_eq!(form.call(POST, &url).await, None, "{url}");
            assert_eq!(server.requests(), 2, "{url}");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_followed_in_each_attempt_or_is_the_error() {
    let moved = redirect_to(302, "/b");
    let (busy, list) = (reply(503, "", ""), reply(200, "", "[]"));
    let server = Server::start([moved.clone(), busy, moved, list]);
    let get = client().get(server.url("a"));
    let list: Vec<u8> = FAST.send(get).json().await.expect("the second attempt");
    let lines: Vec<_> = server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines, ["GET /a", "GET /b", "GET /a", "GET /b"]);
    assert!(list.is_empty());
    // Of a client that follows none.
    let server = Server::start([redirect_to(303, "/done")]);
    let follows_none = builder().redirect(reqwest::redirect::Policy::none());
    let client = follows_none.build().expect("a client");
    let error = FAST.send(client.post(server.url("orders"))).await;
    let error = error.expect_err("a redirect");
    let said = (error.status(), error.header("location"), server.requests());
    assert_eq!(said, (Some(303), Some("/done"), 1));
}
