//! Uploads that continue where they stopped, and downloads that break.

use super::{FAST, error};
use crate::server::{Act, RESET, Server, broken, client, reply};
use backoff_cloud::{
    StopReason,
    http::{Reply, SendExt as _},
    storage,
};
use reqwest::{Client, RequestBuilder};
use std::time::Duration;

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
        let acts = [RESET, error(503), session(), act, reply(200, "", "{}")];
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

/// As the documentation has it for large contents: ask how far it is, and send what is missing.
#[tokio::test]
async fn a_resumable_upload_goes_on_where_it_stopped() {
    let far = reply(308, "range: bytes=0-262143\r\n", "");
    let acts = [session(), error(503), far, reply(200, "", "{}")];
    let (client, server) = (client(), Server::start(acts));
    let session = begun(&client, &server).await;
    let content = content(2 * PART);
    let ask = client
        .put(&session)
        .header("content-range", "bytes */524288");
    let far = FAST.send(ask).idempotent_if(storage::is_idempotent).await;
    let far = far.expect_err("it is not complete");
    let last = far.header("range").and_then(|range| range.rsplit_once('-'));
    let next = last.map(|(_, last)| last.parse::<usize>().expect("a number") + 1);
    let next = next.expect("a range");
    let range = format!("bytes {next}-524287/524288");
    let rest = client.put(session).header("content-range", range);
    sent(rest.body(content[next..].to_vec())).await;
    let seen = server.seen();
    assert_eq!((far.status(), seen.len()), (Some(308), 4));
    assert!(seen[3].body == content[PART..], "the rest and nothing else");
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

/// Scenario 8: a download that breaks off is begun anew.
#[tokio::test]
async fn a_download_that_breaks_off_is_begun_anew() {
    let content = content(2 * PART);
    let whole = reply(200, "", &content);
    let after_256_k = whole.clone().without(PART);
    for mut acts in [vec![broken(), broken()], vec![after_256_k]] {
        acts.push(whole.clone());
        let requests = acts.len();
        let server = Server::start(acts);
        let get = client().get(server.url("storage/v1/b/b1/o/a?alt=media"));
        let sending = FAST.send(get).idempotent_if(storage::is_idempotent);
        let got = sending.bytes().await.expect("the last one is whole");
        assert!(got == content && server.requests() == requests);
    }
}
