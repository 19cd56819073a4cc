//! What is sent, and how often, beside the table of requests.

use crate::server::{
    End, FAST, LIMIT, RESET, STALL, Server, both, broken, client, client_012, reply, scaled,
};
use backoff_cloud::{
    Delivery, Fault, FaultKind, Jitter, Policy, StopReason, Verdict,
    http::{ApiError, Outgoing, SendExt as _, Sending},
    iam, openai, plain_http, s3, storage,
};
use backoff_core::testing::VirtualTime;
use http_body_util::Full;
use reqwest::{Body, Method, RequestBuilder, multipart::Form};
use std::time::Duration;

/// The same write would fail for ever; an update that sends it reads again.
#[tokio::test]
async fn a_stale_write_is_not_repeated_by_the_policy_of_a_read_modify_write() {
    let named = r#"{"error": {"code": "PreconditionFailed"}}"#;
    for stale in [
        reply(412, "", ""),
        reply(412, "", named),
        reply(409, "", r#"{"error": {"code": 409, "status": "ABORTED"}}"#),
    ] {
        for policy in [storage::READ_MODIFY_WRITE, iam::READ_MODIFY_WRITE] {
            let server = Server::start([stale.clone()]);
            let put = client().put(server.url("a")).body("x");
            let sending = policy.scaled(0.001).send(put).reply();
            let failed = sending.reported().await.expect_err("stale");
            let made = (failed.reason, server.requests());
            assert_eq!(made, (StopReason::Permanent, 1), "{failed}");
        }
        let server = Server::start([reply(200, "", "{}"), stale]);
        let policy = scaled(storage::READ_MODIFY_WRITE, 0.001);
        let url = server.url("a");
        let read = || policy.send(client().get(&url)).bytes();
        let write = |body| policy.send(client().put(&url).body(body)).bytes();
        let updated = policy.update(read, |_| true, write).await;
        updated.expect("the second write");
        assert_eq!(server.requests(), 4);
    }
}

/// A row: how the request is sent, the first reply, what the function says, the requests, the seconds of waits,
/// and why the call fails. Beside the function, what `send` adds stays.
#[tokio::test]
async fn a_function_replaces_the_codes_and_nothing_else() {
    type Decides = fn(&ApiError) -> Verdict;
    type Send = fn(RequestBuilder) -> Sending;
    let (always, never): (Decides, Decides) = (|_| true.into(), |_| false.into());
    let missing: Decides = |error| match error.status() {
        Some(404) => true.into(),
        _ => plain_http::IDEMPOTENT.judge(error),
    };
    const BY_METHOD: Policy = plain_http::BY_METHOD.jitter(Jitter::None).max_attempts(2);
    let plain: Send = |it| BY_METHOD.send(it);
    let with_key: Send = |it| BY_METHOD.send(it).idempotency_key();
    let update: Send = |it| storage::READ_MODIFY_WRITE.max_attempts(2).send(it);
    let completion: Send = |it| openai::send(it);
    let copy: Send = |it| s3::send(it);
    let said = |status| reply(status, "", "");
    let in_200 = reply(200, "", "<Error><Code>InternalError</Code></Error>");
    let later = reply(404, "retry-after: 3\r\n", "");
    let stop = reply(503, "x-should-retry: false\r\n", "");
    let (ok, ended) = (None, Some(StopReason::Permanent));
    let doubt = Some(StopReason::MaybeApplied);
    let stopped = Some(StopReason::StoppedByServer);
    let (get, post) = (Method::GET, Method::POST);
    for (send, method, first, decides, requests, seconds, reason) in [
        (plain, &get, said(404), missing, 2, 1, ok),
        (plain, &get, said(503), missing, 2, 1, ok),
        (plain, &get, said(400), missing, 1, 0, ended),
        (plain, &get, said(503), never, 1, 0, ended),
        (plain, &get, RESET, never, 1, 0, ended),
        (plain, &get, later, always, 2, 3, ok),
        (plain, &get, stop, always, 1, 0, stopped),
        (plain, &post, said(503), always, 1, 0, doubt),
        (plain, &post, said(503), missing, 1, 0, doubt),
        (plain, &post, RESET, always, 1, 0, doubt),
        (plain, &post, said(429), always, 2, 1, ok),
        (with_key, &post, said(404), missing, 2, 1, ok),
        (with_key, &post, RESET, missing, 2, 1, ok),
        (update, &get, said(412), always, 2, 1, ok),
        (completion, &post, said(404), missing, 2, 0, ok),
        (copy, &post, in_200, never, 1, 0, ended),
    ] {
        let row = format!("{method} {first:?}");
        let server = Server::start([first]);
        let request = client().request(method.clone(), server.url("a"));
        let sending = send(request).when(decides).json::<serde_json::Value>();
        let sent = sending.runtime(VirtualTime::new()).reported().await;
        let (report, why) = match sent {
            Ok((_, report)) => (report, None),
            Err(failed) => (failed.report, Some(failed.reason)),
        };
        assert_eq!((why, server.requests()), (reason, requests), "{row}");
        assert_eq!(report.slept.as_secs(), seconds, "{row}");
        let seen = server.seen();
        let keys: Vec<_> = seen.iter().map(|it| it.header("idempotency-key")).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{row}: {keys:?}");
    }
    // The limits of the policy hold too.
    let server = Server::always(said(404));
    let sending = BY_METHOD.send(client().get(server.url("a"))).when(always);
    let sending = sending.text().runtime(VirtualTime::new()).reported();
    assert_eq!(sending.await.unwrap_err().reason, StopReason::Attempts);
    assert_eq!(server.requests(), 2);
}

/// A body of one byte that can be read once.
fn stream() -> Full<&'static [u8]> {
    Full::new(b"x")
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_anything_is_sent() {
    let server = Server::start([]);
    let url = server.url("a");
    let put = || client().put(&url);
    let older = client_012().put(&url);
    let older = older.body(reqwest_012::Body::wrap(stream()));
    let is_stream = "is a stream or a multipart form";
    let not_built = "nothing was sent: builder error";
    let [no_url, no_url_012] = both("GET", "no url?key=SECRET", &[]);
    let rows: [(Outgoing, &str); 6] = [
        (put().body(Body::wrap(stream())).into(), is_stream),
        (
            put().multipart(Form::new().text("a", "b")).into(),
            is_stream,
        ),
        (older.into(), is_stream),
        (no_url, not_built),
        (no_url_012, not_built),
        (put().header("a", "\n").into(), not_built),
    ];
    for (request, part) in rows {
        let failed = FAST.send(request).reply().reported().await;
        let failed = failed.expect_err(part);
        let ended = (failed.report.attempts, failed.reason);
        assert_eq!(ended, (1, StopReason::Permanent), "{failed}");
        let error = failed.error;
        let said = (error.delivery(), error.kind(), FAST.judge(&error));
        let permanent = Some(FaultKind::Permanent);
        assert_eq!(
            said,
            (Some(Delivery::NotSent), permanent, Verdict::Permanent)
        );
        let shown = error.to_string();
        assert!(shown.starts_with("nothing was sent: "), "{shown}");
        assert!(shown.contains(part) && !shown.contains("SECRET"), "{shown}");
        let names_ways = ["max_attempts(1)", "send_with"];
        let names_ways = names_ways.iter().all(|way| shown.contains(way));
        assert_eq!(names_ways, part == is_stream, "{shown}");
    }
    assert_eq!(server.requests(), 0);
    // A policy that makes one attempt sends it.
    let put = put()
        .header("content-length", "1")
        .body(Body::wrap(stream()));
    let sent = FAST.max_attempts(1).send(put).await;
    sent.expect("it is sent");
    assert_eq!(server.seen()[0].body, b"x");
}

#[tokio::test]
async fn a_request_that_is_built_for_each_attempt_may_have_a_stream() {
    let maybe_applied = Some(StopReason::MaybeApplied);
    for (method, outcome) in [(Method::PUT, (None, 3)), (Method::POST, (maybe_applied, 1))] {
        let server = Server::start([reply(503, "", ""), RESET]);
        let (client, url) = (client(), server.url("a"));
        let mut built = 0;
        let sending = FAST.send_with(move || {
            built += 1;
            let request = client.request(method.clone(), &url).header("built", built);
            let request = request.header("content-length", "1");
            request.body(Body::wrap(stream()))
        });
        let sent = sending.reply().reported().await;
        let reason = sent.err().map(|error| error.reason);
        assert_eq!((reason, server.requests()), outcome);
        for (n, seen) in server.seen().iter().enumerate() {
            assert_eq!(seen.body, b"x");
            assert_eq!(seen.header("built"), Some(&*(n + 1).to_string()));
        }
    }
    // A form that is built for each attempt has the key of the call.
    let server = Server::start([reply(503, "", "")]);
    let (sender, url) = (client(), server.url("a"));
    let form = move || sender.post(&url).multipart(Form::new().text("a", "b"));
    let sending = FAST.send_with(form).idempotency_key();
    sending.await.expect("the second attempt");
    let keys = server.values("idempotency-key");
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
    // A builder that refuses a later request ends the call.
    let server = Server::start([reply(503, "", "")]);
    let (sender, url) = (client(), server.url("a"));
    let mut headers = ["fine", "\n"].into_iter();
    let sending = FAST.send_with(move || sender.get(&url).header("a", headers.next().unwrap()));
    let failed = sending.reply().reported().await.expect_err("a line end");
    let ended = (failed.report.attempts, failed.reason, server.requests());
    assert_eq!(ended, (2, StopReason::Permanent, 1));
    assert_eq!(failed.error.delivery(), Some(Delivery::NotSent));
}

/// A `Sending` can be stored and spawned.
#[tokio::test]
async fn attempts_and_calls_have_their_limits() {
    let server = Server::start([STALL]);
    let get = client().get(server.url("a"));
    let mut events = 0;
    let sending = FAST.send(get).text().attempt_timeout(LIMIT);
    let sending = sending.runtime(server.until_it_stalls());
    let text = sending.notify(|_| events += 1).await;
    assert_eq!(text.expect("the second attempt"), "{}");
    // The wait and the success after it.
    assert_eq!((events, server.requests()), (2, 2));

    let server = Server::start([STALL]);
    let get = client().get(server.url("a"));
    let call = FAST.send(get).bytes().timeout(Duration::from_millis(100));
    let error = tokio::spawn(call.into_future()).await.expect("no panic");
    let shown = error.expect_err("it stalls").to_string();
    assert!(shown.contains("the attempt was cut"), "{shown}");
}

/// What a request or a client says of its own time holds in each attempt.
#[tokio::test]
async fn the_requests_own_timeout_is_that_of_an_attempt() {
    const TIME: Duration = Duration::from_millis(500);
    // On a slow machine a good answer may be late too.
    const PATIENT: Policy = FAST.max_attempts(120);
    type Sends<'a> = &'a dyn Fn(Method, String) -> Sending;
    let older = reqwest_012::Client::builder().retry(reqwest_012::retry::never());
    let reads = older.read_timeout(TIME).build().expect("a client");
    let of_a_request: Sends<'_> =
        &|method, url| PATIENT.send(client().request(method, url).timeout(TIME));
    let of_its_reads: Sends<'_> = &|method, url| PATIENT.send(reads.request(method, url));
    for sends in [of_a_request, of_its_reads] {
        for act in [STALL, broken().then(End::Stall)] {
            let server = Server::start([act.clone()]);
            let get = sends(Method::GET, server.url("a")).reply();
            let (_, report) = get.reported().await.expect("a later attempt");
            assert!(report.attempts >= 2, "{report}");

            let server = Server::start([act]);
            let post = sends(Method::POST, server.url("a")).reply();
            let failed = post.reported().await.expect_err("it may have been applied");
            let said = (failed.reason, failed.error.delivery());
            assert_eq!(said, (StopReason::MaybeApplied, Some(Delivery::MaybeSent)));
        }
    }
}

/// A rule is shown the method, the URL, the headers and the body. Only such a rule gets a copy of the body.
#[tokio::test]
async fn a_rule_sees_the_request() {
    for (body, requests) in [(r#"{"etag": "CAE="}"#, 2), ("{}", 1)] {
        let server = Server::start([RESET]);
        let put = client_012().put(server.url("storage/v1/b/b1/iam"));
        let sending = FAST.send(put.body(body));
        let sending = sending.idempotent_if(storage::is_idempotent).reply();
        let reason = sending.reported().await.err().map(|failed| failed.reason);
        let expected = (requests == 1).then_some(StopReason::MaybeApplied);
        assert_eq!((reason, server.requests()), (expected, requests));
    }
    const LONG: usize = 8 << 20;
    let put = || client_012().put("http://127.0.0.1:9/a");
    let [plain, ruled] = [(); 2].map(|()| FAST.send(put().body(vec![b'x'; LONG])));
    let ruled = ruled.idempotent_if(storage::is_idempotent);
    let copied = |sending: Sending| {
        let mut sending = Some(sending);
        let prepare = || drop(sending.take().map(Sending::reply));
        allocation_counter::measure(prepare).bytes_total
    };
    let (plain, ruled) = (copied(plain), copied(ruled));
    assert!(plain < LONG as u64 / 8, "{plain}");
    assert!(ruled >= LONG as u64, "{ruled}");
}
