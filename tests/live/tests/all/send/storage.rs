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

/// When an operation may be made twice.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Idempotent {
    Always,
    /// With this in its query.
    WithQuery(&'static str),
    /// With an etag in its body.
    WithEtag,
    Never,
}

use Idempotent::{Always, Never, WithEtag, WithQuery};

/// Operations of each rule. The rule of each other one is tested beside `storage::is_idempotent`.
const ALWAYS: &[&str] = &[
    "GET storage/v1/b/b1/o/a%2Fb?alt=media",
    "POST storage/v1/b?project=p1",
    "DELETE storage/v1/b/b1",
];
const BY_GENERATION: &[&str] = &[
    "DELETE storage/v1/b/b1/o/a%2Fb",
    "POST upload/storage/v1/b/b1/o?uploadType=media&name=a%2Fb",
];
const BY_METAGENERATION: &[&str] = &["PATCH storage/v1/b/b1", "PUT storage/v1/b/b1/o/a%2Fb"];
const BY_ETAG: &[&str] = &["PUT storage/v1/b/b1/iam"];
const NEVER: &[&str] = &[
    "DELETE storage/v1/b/b1/acl/allUsers",
    "POST storage/v1/b/b1/notificationConfigs",
];

/// Each operation without its precondition and with it, if that makes a difference: its rule, its line, and
/// whether it has the precondition.
fn operations() -> impl Iterator<Item = (Idempotent, &'static str, bool)> {
    let rules = [
        (Always, ALWAYS),
        (WithQuery("ifGenerationMatch=1"), BY_GENERATION),
        (WithQuery("ifMetagenerationMatch=1"), BY_METAGENERATION),
        (WithEtag, BY_ETAG),
        (Never, NEVER),
    ];
    rules.into_iter().flat_map(|(rule, lines)| {
        let both = match rule {
            Always | Never => &[false][..],
            WithQuery(_) | WithEtag => &[false, true],
        };
        let of_a_line = move |line| both.iter().map(move |it| (rule, line, *it));
        lines.iter().copied().flat_map(of_a_line)
    })
}

fn request(
    rule: Idempotent,
    line: &str,
    has_it: bool,
    client: &Client,
    server: &Server,
) -> RequestBuilder {
    let (method, path) = line.split_once(' ').expect("a request line");
    let method: Method = method.parse().expect("a method");
    let (mut url, mut body) = (server.url(path), "{}");
    match rule {
        WithQuery(query) if has_it => {
            let mark = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{mark}{query}");
        }
        WithEtag if has_it => body = r#"{"etag": "CAE="}"#,
        _ => {}
    }
    let has_body = matches!(method, Method::POST | Method::PUT | Method::PATCH);
    let request = client.request(method, url);
    match has_body {
        true => request
            .header("content-type", "application/json")
            .body(body),
        false => request,
    }
}

/// How a server fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fails {
    Status(u16),
    Reset,
    Close,
    BrokenStream,
    Stall,
}

use Fails::{BrokenStream, Close, Reset, Stall, Status};

impl Fails {
    fn act(self) -> Act {
        match self {
            Status(status) => {
                let body = format!(r#"{{"error": {{"code": {status}, "message": "m"}}}}"#);
                reply(status, "content-type: application/json\r\n", body)
            }
            Reset => RESET,
            Close => CLOSE,
            BrokenStream => broken(),
            Stall => STALL,
        }
    }

    /// Why an operation that fails so is not made again, by the documented rules.
    fn ends(self, is_idempotent: bool) -> Option<StopReason> {
        match self {
            // These say that nothing was done.
            Status(408 | 429) => None,
            Status(400..500) => Some(StopReason::Permanent),
            _ if is_idempotent => None,
            _ => Some(StopReason::MaybeApplied),
        }
    }
}

/// How the first requests fail: in the scenarios 1 to 6, and in each other way.
const FAILS: &[&[Fails]] = &[
    &[Status(503), Status(503)],
    &[Reset, Reset],
    &[Reset, Status(503)],
    &[Status(503), Status(400)],
    &[Reset, Status(401)],
    &[Status(408)],
    &[Status(429)],
    &[Status(500)],
    &[Status(502)],
    &[Status(503)],
    &[Status(504)],
    &[Status(400)],
    &[Status(401)],
    &[Status(403)],
    &[Status(404)],
    &[Status(409)],
    &[Status(412)],
    &[Reset],
    &[Close],
    &[BrokenStream],
    &[Stall],
    &[Status(429), Status(503), BrokenStream],
];

#[tokio::test]
async fn every_rule_and_every_failure() {
    let (client, at_a_time) = (client(), Arc::new(Semaphore::new(32)));
    let mut playing = JoinSet::new();
    for (rule, line, has_it) in operations() {
        for fails in FAILS {
            let (client, at_a_time) = (client.clone(), at_a_time.clone());
            playing.spawn(async move {
                let _permit = at_a_time.acquire().await.expect("it is never closed");
                let server = Server::start(fails.iter().map(|fails| fails.act()));
                let request = request(rule, line, has_it, &client, &server);
                let sending = FAST.send(request).idempotent_if(storage::is_idempotent);
                // Only what stalls is cut; the others may be slow.
                let sending = sending.reply().attempt_timeout(LIMIT);
                let sending = sending.runtime(server.until_it_stalls()).reported();
                let reason = sending.await.err().map(|error| error.reason);

                let is_idempotent = rule == Always || has_it;
                let ends = fails.iter().map(|it| it.ends(is_idempotent));
                let last = ends.clone().position(|it| it.is_some());
                let expected = (last.unwrap_or(fails.len()) + 1, ends.flatten().next());
                let row = format!("{line}, with a precondition: {has_it}, {fails:?}");
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
    for (length, act) in [
        (PART, RESET),
        (2 * PART, unavailable(PART)),
        (9 << 20, unavailable(8 << 20)),
    ] {
        let acts = [RESET, Status(503).act(), session(), act];
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
