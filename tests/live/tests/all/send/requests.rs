//! What is sent, and how often.

use crate::clients::server::nobody;
use crate::send::server::{Act, FAST, LIMIT, Server, client, reply};
use backoff_cloud::{
    Delivery, Fault, FaultKind, StopReason, Verdict, http::SendExt as _, iam, plain_http, storage,
};
use reqwest::{Body, Method, RequestBuilder, multipart::Form};
use std::time::Duration;

/// What became of a request, and how many of them came.
async fn sent(
    acts: impl IntoIterator<Item = Act>,
    request: impl FnOnce(&Server) -> RequestBuilder,
) -> (Option<StopReason>, usize) {
    let server = Server::start(acts).await;
    let sending = FAST.send(request(&server)).reply().reported().await;
    (sending.err().map(|error| error.reason), server.requests())
}

const MAYBE_APPLIED: Option<StopReason> = Some(StopReason::MaybeApplied);

#[tokio::test]
async fn a_post_is_not_made_twice_after_a_lost_reply() {
    for act in [
        Act::Reset,
        Act::Close,
        Act::BrokenStream,
        reply(503, "", ""),
    ] {
        let post = |server: &Server| client().post(server.url("a")).body("x");
        assert_eq!(
            sent([act.clone()], post).await,
            (MAYBE_APPLIED, 1),
            "{act:?}"
        );
        let keyed = |server: &Server| post(server).header("Idempotency-Key", "k");
        assert_eq!(sent([act.clone()], keyed).await, (None, 2), "{act:?}");
        let guarded = |server: &Server| post(server).header("If-Match", "\"e\"");
        assert_eq!(sent([act.clone()], guarded).await, (None, 2), "{act:?}");
        let unguarded = |server: &Server| post(server).header("If-Match", "*");
        assert_eq!(sent([act.clone()], unguarded).await, (MAYBE_APPLIED, 1));
    }
}

#[tokio::test]
async fn a_get_and_a_delete_are_made_again_when_the_body_is_cut() {
    for act in [Act::BrokenStream, Act::Reset, reply(503, "", "")] {
        let acts = [act.clone(), act];
        let get = |server: &Server| client().get(server.url("a"));
        assert_eq!(sent(acts.clone(), get).await, (None, 3));
        let delete = |server: &Server| client().delete(server.url("a"));
        assert_eq!(sent(acts, delete).await, (None, 3));
    }
}

#[tokio::test]
async fn a_throttled_post_is_made_again_after_what_the_server_asks() {
    let wait = Duration::from_millis(120);
    let acts = [
        reply(429, "retry-after-ms: 120\r\n", ""),
        reply(400, "x-amzn-errortype: ThrottlingException\r\n", "{}"),
        reply(503, "x-ms-error-code: ServerBusy\r\n", ""),
    ];
    let server = Server::start(acts).await;
    let post = FAST.send(client().post(server.url("a")).body("x"));
    let (_, report) = post.reply().reported().await.expect("the fourth succeeds");
    assert!(report.slept >= wait, "{report:?}");
    let bodies: Vec<_> = server.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies, vec![b"x".to_vec(); 4]);
}

/// The same write would fail for ever; an update that sends it reads again.
#[tokio::test]
async fn a_stale_write_is_not_repeated_by_the_policy_of_a_read_modify_write() {
    let named = r#"{"error": {"code": "PreconditionFailed"}}"#;
    let stale = [
        reply(412, "", ""),
        reply(412, "", named),
        reply(409, "", r#"{"error": {"code": 409, "status": "ABORTED"}}"#),
    ];
    for stale in stale {
        for policy in [storage::READ_MODIFY_WRITE, iam::READ_MODIFY_WRITE] {
            let server = Server::start([stale.clone()]).await;
            let put = client().put(server.url("a")).body("x");
            let sending = policy.scaled(0.001).send(put).reply();
            let failed = sending.reported().await.expect_err("stale");
            assert_eq!(failed.reason, StopReason::Permanent, "{failed}");
            assert_eq!(server.requests(), 1, "{failed}");
        }

        let server = Server::start([reply(200, "", "{}"), stale]).await;
        let policy = storage::READ_MODIFY_WRITE.scaled(0.001);
        // Its deadline is scaled too, and a slow machine needs time.
        let policy = policy.deadline(Duration::from_secs(600));
        let read = || policy.send(client().get(server.url("a"))).bytes();
        let write = |body| {
            policy
                .send(client().put(server.url("a")).body(body))
                .bytes()
        };
        let updated = policy.update(read, |_| true, write).await;
        updated.expect("the second write");
        assert_eq!(server.requests(), 4);
    }
}

#[tokio::test]
async fn the_callers_word_holds() {
    let acts = [Act::Reset];
    for (idempotent, requests) in [(true, 2), (false, 1)] {
        for method in [Method::POST, Method::GET] {
            let server = Server::start(acts.clone()).await;
            let request = client().request(method, server.url("a"));
            let sending = FAST.send(request).idempotent(idempotent).await;
            assert_eq!((sending.is_ok(), server.requests()), (idempotent, requests));
        }
    }
    let careful = plain_http::NOT_IDEMPOTENT.scaled(0.001);
    let server = Server::start(acts.clone()).await;
    assert!(
        careful
            .send(client().delete(server.url("a")))
            .await
            .is_err()
    );
    assert_eq!(server.requests(), 1);
    let server = Server::start(acts).await;
    assert!(careful.send(client().get(server.url("a"))).await.is_ok());
}

#[tokio::test]
async fn a_body_that_is_a_stream_is_refused_before_anything_is_sent() {
    let server = Server::start([]).await;
    let streams: [fn(RequestBuilder) -> RequestBuilder; 2] = [
        |request| request.body(Body::wrap(stream())),
        |request| request.multipart(Form::new().text("a", "b")),
    ];
    for stream in streams {
        let request = || stream(client().put(server.url("a")));
        let error = FAST.send(request()).await.expect_err("a stream");
        assert_eq!(server.requests(), 0);
        assert_eq!(error.delivery(), Some(Delivery::NotSent));
        assert_eq!(FAST.judge(&error), Verdict::Permanent);
        let shown = error.to_string();
        assert!(
            shown.contains("is a stream or a multipart form")
                && shown.contains("max_attempts(1)")
                && shown.contains("send_with"),
            "{shown}"
        );
    }
    // A policy that makes one attempt sends it.
    let once = FAST.max_attempts(1);
    let body = Body::wrap(stream());
    let put = client().put(server.url("a")).header("content-length", "1");
    once.send(put.body(body)).await.expect("it is sent");
    assert_eq!(server.seen()[0].body, b"x");
}

#[tokio::test]
async fn a_request_that_is_built_for_each_attempt_may_have_a_stream() {
    let busy = [reply(503, "", ""), Act::Reset];
    for (method, outcome) in [(Method::PUT, (None, 3)), (Method::POST, (MAYBE_APPLIED, 1))] {
        let server = Server::start(busy.clone()).await;
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
}

#[tokio::test]
async fn a_form_that_is_built_for_each_attempt_has_the_key_of_the_call() {
    let server = Server::start([reply(503, "", "")]).await;
    let (client, url) = (client(), server.url("a"));
    let sending = FAST.send_with(move || {
        let form = Form::new().text("a", "b");
        client.post(&url).multipart(form)
    });
    sending.idempotency_key().await.expect("the second attempt");
    let seen = server.seen();
    let keys: Vec<_> = seen
        .iter()
        .map(|seen| seen.header("idempotency-key"))
        .collect();
    assert!(keys.len() == 2 && keys[0].is_some() && keys[0] == keys[1]);
}

#[tokio::test]
async fn a_builder_that_refuses_a_later_request_ends_the_call() {
    let server = Server::start([reply(503, "", "")]).await;
    let (client, url) = (client(), server.url("a"));
    let mut headers = ["fine", "\n"].into_iter();
    let sending = FAST.send_with(move || client.get(&url).header("a", headers.next().unwrap()));
    let failed = sending.reply().reported().await.expect_err("a line end");
    assert_eq!(
        (failed.report.attempts, failed.reason),
        (2, StopReason::Permanent)
    );
    assert_eq!(server.requests(), 1);
    assert_eq!(failed.error.delivery(), Some(Delivery::NotSent));
}

#[tokio::test]
async fn what_the_builder_refused_is_the_error_and_nothing_is_sent() {
    let server = Server::start([]).await;
    let no_url = client().get("no url?key=SECRET");
    let no_header = client().get(server.url("a")).header("a", "\n");
    for request in [no_url, no_header] {
        let failed = FAST.send(request).reply().reported().await;
        let failed = failed.expect_err("the builder refused it");
        assert_eq!(
            (failed.report.attempts, failed.reason),
            (1, StopReason::Permanent)
        );
        assert_eq!(failed.error.kind(), Some(FaultKind::Permanent));
        let shown = failed.error.to_string();
        assert!(
            shown.starts_with("nothing was sent: builder error"),
            "{shown}"
        );
        assert!(!shown.contains("SECRET"), "{shown}");
    }
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn attempts_and_calls_have_their_limits() {
    let server = Server::start([Act::Stall]).await;
    let get = client().get(server.url("a"));
    let mut events = 0;
    let sending = FAST.send(get).text().attempt_timeout(LIMIT);
    let sending = sending.runtime(server.until_it_stalls());
    let text = sending.notify(|_| events += 1).await;
    assert_eq!(
        (text.expect("the second attempt").as_str(), events),
        // The wait and the success after it.
        ("{}", 2)
    );
    assert_eq!(server.requests(), 2);

    let server = Server::start([Act::Stall]).await;
    let get = client().get(server.url("a"));
    let call = FAST.send(get).bytes().timeout(Duration::from_millis(100));
    let error = call.await.expect_err("it stalls");
    assert!(error.to_string().contains("the attempt was cut"), "{error}");
}

#[tokio::test]
async fn a_request_that_is_refused_was_not_sent() {
    let url = format!("http://{}/a", nobody());
    let failed = FAST.send(client().post(&url)).reply().reported().await;
    let failed = failed.expect_err("nobody listens");
    assert_eq!(
        (failed.report.attempts, failed.reason),
        (4, StopReason::Attempts)
    );
}

/// What a request says of its own time holds in each attempt.
#[tokio::test]
async fn the_requests_own_timeout_is_that_of_an_attempt() {
    let server = Server::start([Act::Stall]).await;
    let get = client().get(server.url("a"));
    let get = get.timeout(Duration::from_secs(1));
    // On a slow machine a good answer may be late too.
    let sending = FAST.max_attempts(60).send(get).reply();
    let (_, report) = sending.reported().await.expect("a later attempt");
    assert!(report.attempts >= 2, "{report}");
}

/// A `Sent` can be stored and spawned.
#[tokio::test]
async fn it_is_a_task_of_its_own() {
    let server = Server::start([reply(503, "", "")]).await;
    let policy = FAST.max_attempts(2);
    let sending = policy.send(client().get(server.url("a"))).bytes();
    let body = tokio::spawn(sending).await.expect("no panic");
    assert_eq!(body.expect("the second attempt"), b"{}");
}

/// A body of one byte that can be read once.
fn stream() -> http_body_util::Full<&'static [u8]> {
    http_body_util::Full::new(b"x")
}
