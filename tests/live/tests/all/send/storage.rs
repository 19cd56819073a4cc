//! Tests Cloud Storage's rules for retries: calls operations of its JSON API on a server that fails in
//! each way that the public conformance tests name, and in some other ways.
//!
//! Source of the scenarios: <https://github.com/googleapis/conformance-tests>, `storage/v1/retry_tests.json`.

use crate::server::{Act, CLOSE, LIMIT, RESET, STALL, Server, broken, client, reply};
use backoff_cloud::{
    Policy, StopReason,
    http::{Reply, SendExt as _},
    storage,
};
use reqwest::{Client, Method, RequestBuilder};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

/// The preset with waits that a test can afford, and time for a slow machine.
const FAST: Policy = storage::REQUEST
    .scaled(0.001)
    .deadline(Duration::from_secs(60));

/// Operations of each rule, perhaps with a body, and whether they may be made twice. The rule of each other one is tested
/// beside `storage::is_idempotent`.
const OPERATIONS: [(&str, bool); 9] = [
    ("GET storage/v1/b/b1/o/a%2Fb?alt=media", true),
    ("DELETE storage/v1/b/b1", true),
    ("DELETE storage/v1/b/b1/o/a%2Fb", false),
    ("DELETE storage/v1/b/b1/o/a%2Fb?ifGenerationMatch=1", true),
    ("PATCH storage/v1/b/b1 {}", false),
    ("PATCH storage/v1/b/b1?ifMetagenerationMatch=1 {}", true),
    ("PUT storage/v1/b/b1/iam {}", false),
    (r#"PUT storage/v1/b/b1/iam {"etag":"CAE="}"#, true),
    ("POST storage/v1/b/b1/notificationConfigs {}", false),
];

/// How the first requests fail: in the scenarios 1 to 6, and in each other way.
const FAILS: &str = "503 503|reset reset|reset 503|503 400|reset 401|408|429|500|502|503|504|400|401|403|404|409|412|reset|\
                     close|broken|stall|429 503 broken";

fn act(word: &str) -> Act {
    match word {
        "reset" => RESET,
        "close" => CLOSE,
        "broken" => broken(),
        "stall" => STALL,
        _ => {
            let body = format!(r#"{{"error": {{"code": {word}, "message": "m"}}}}"#);
            let status = word.parse().expect(word);
            reply(status, "content-type: application/json\r\n", body)
        }
    }
}

/// Why an operation that fails so is not made again, by the documented rules.
fn ends(word: &str, is_idempotent: bool) -> Option<StopReason> {
    match word {
        // These say that nothing was done.
        "408" | "429" => None,
        _ if word.starts_with('4') => Some(StopReason::Permanent),
        _ => (!is_idempotent).then_some(StopReason::MaybeApplied),
    }
}

#[tokio::test]
async fn every_rule_and_every_failure() {
    let (client, at_a_time) = (client(), Arc::new(Semaphore::new(32)));
    let mut playing = JoinSet::new();
    for (operation, is_idempotent) in OPERATIONS {
        for fails in FAILS.split('|') {
            let (client, at_a_time) = (client.clone(), at_a_time.clone());
            playing.spawn(async move {
                let _permit = at_a_time.acquire().await.expect("it is never closed");
                let server = Server::start(fails.split(' ').map(act));
                let mut words = operation.split(' ');
                let method: Method = words.next().unwrap_or_default().parse().expect("a method");
                let url = server.url(words.next().expect("a path"));
                let request = client.request(method, url);
                let request = match words.next() {
                    Some(body) => request.body(body),
                    None => request,
                };
                let sending = FAST.send(request).idempotent_if(storage::is_idempotent);
                // Only what stalls is cut; the others may be slow.
                let sending = sending.reply().attempt_timeout(LIMIT);
                let sending = sending.runtime(server.until_it_stalls()).reported();
                let reason = sending.await.err().map(|error| error.reason);

                let ends = fails.split(' ').map(|it| ends(it, is_idempotent));
                let last = ends.clone().position(|it| it.is_some());
                let all = fails.split(' ').count();
                let expected = (last.unwrap_or(all) + 1, ends.flatten().next());
                let row = format!("{operation}: {fails}");
                assert_eq!((server.requests(), reason), expected, "{row}");
            });
        }
    }
    // No limit of time ends an attempt that hangs where the server does not stall.
    let net = Duration::from_secs(120);
    while let Some(done) = timeout(net, playing.join_next()).await.expect("it hangs") {
        done.expect("no panic");
    }
}

const PART: usize = 256 << 10;

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| index as u8).collect()
}

async fn sent(request: RequestBuilder) -> Reply {
    let sending = FAST.send(request).idempotent_if(storage::is_idempotent);
    sending.await.expect("it succeeds in the end")
}

/// Begins an upload; the address of its session.
async fn begun(client: &Client, server: &Server) -> String {
    let begin = "upload/storage/v1/b/b1/o?uploadType=resumable&name=a&ifGenerationMatch=0";
    let begun = sent(client.post(server.url(begin)).body("{}")).await;
    server.url(begun.header("location").expect("the session"))
}

fn session() -> Act {
    let path = "upload/storage/v1/b/b1/o?uploadType=resumable&upload_id=u1";
    reply(200, &format!("location: {path}\r\n"), "")
}

/// Scenario 7: the whole content is sent again, and the service passes over what it has.
#[tokio::test]
async fn a_resumable_upload_is_repeated_after_each_failure() {
    let unavailable = |reads| reply(503, "", "").after(reads);
    for (length, fails) in [
        (PART, RESET),
        (2 * PART, unavailable(PART)),
        (9 << 20, unavailable(8 << 20)),
    ] {
        let acts = [RESET, act("503"), session(), fails];
        let (client, server) = (client(), Server::start(acts));
        let session = begun(&client, &server).await;
        let content = content(length);
        sent(client.put(session).body(content.clone())).await;
        let seen = server.seen();
        let lines: Vec<_> = seen.iter().map(|seen| &seen.line[..4]).collect();
        assert_eq!(lines, ["POST", "POST", "POST", "PUT ", "PUT "]);
        assert!(seen[4].body == content, "the second has all of it");
    }
}

/// The one call for Cloud Storage asks by itself whether a request may be made twice.
#[tokio::test]
async fn the_function_of_the_service_knows_its_operations() {
    let server = Server::start([RESET, RESET]);
    let delete = client().delete(server.url("storage/v1/b/b1/o/a"));
    let failed = storage::send(delete).reply().reported().await;
    let failed = failed.expect_err("it may have been deleted");
    assert_eq!(failed.reason, StopReason::MaybeApplied);
    let guarded = server.url("storage/v1/b/b1/o/a?ifGenerationMatch=1");
    let delete = storage::send(client().delete(guarded)).reply();
    let first = delete.delays([Duration::from_millis(1)]).await;
    first.expect("the second attempt");
    assert_eq!(server.requests(), 3);
}
