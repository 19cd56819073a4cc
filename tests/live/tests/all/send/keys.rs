//! The key by which a server recognises a repeated request.

use crate::send::server::{Act, FAST, Server, client, reply};
use backoff_cloud::http::SendExt as _;

#[tokio::test]
async fn the_key_is_the_same_in_all_attempts_and_another_one_in_each_call() {
    let success = reply(200, "", "");
    let acts = [Act::Reset, reply(503, "", ""), Act::BrokenStream, success];
    let server = Server::start([acts.clone(), acts].concat()).await;
    for _ in 0..2 {
        let post = client().post(server.url("orders")).body("x");
        FAST.send(post).idempotency_key().await.expect("the fourth");
    }
    let seen = server.seen();
    let keys: Vec<_> = seen
        .iter()
        .filter_map(|seen| seen.header("idempotency-key"))
        .collect();
    assert_eq!(keys.len(), 8);
    assert!(
        keys[..4]
            .iter()
            .all(|key| *key == keys[0] && key.len() == 36),
        "{keys:?}"
    );
    assert!(
        keys[4..]
            .iter()
            .all(|key| *key == keys[4] && *key != keys[0]),
        "{keys:?}"
    );
}

#[tokio::test]
async fn a_key_of_the_callers_own_is_left_as_it_is() {
    let server = Server::start([Act::Reset]).await;
    let post = client()
        .post(server.url("orders"))
        .header("Idempotency-Key", "mine");
    FAST.send(post).idempotency_key().await.expect("the second");
    for seen in server.seen() {
        assert_eq!(seen.header("idempotency-key"), Some("mine"));
    }
}

/// No server knows a request by it.
#[tokio::test]
async fn an_empty_key_is_none() {
    let server = Server::start([Act::Reset]).await;
    let post = client().post(server.url("orders"));
    let post = post.header("Idempotency-Key", "");
    assert!(FAST.send(post).await.is_err());
    assert_eq!(server.requests(), 1);

    let server = Server::start([Act::Reset]).await;
    let post = client().post(server.url("orders"));
    let post = post.header("Idempotency-Key", "");
    FAST.send(post).idempotency_key().await.expect("the second");
    let seen = server.seen();
    let keys: Vec<_> = seen
        .iter()
        .filter_map(|seen| seen.header("idempotency-key"))
        .collect();
    assert!(
        keys.len() == 2 && keys[0].len() == 36 && keys[0] == keys[1],
        "{keys:?}"
    );
}

#[tokio::test]
async fn the_callers_word_counts_before_the_key() {
    let server = Server::start([Act::Reset]).await;
    let post = client().post(server.url("orders"));
    let sending = FAST.send(post).idempotency_key().idempotent(false);
    assert!(sending.await.is_err());
    assert!(server.seen()[0].header("idempotency-key").is_some());
    assert_eq!(server.requests(), 1);
}
