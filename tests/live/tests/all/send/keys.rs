//! The key by which a server recognises a repeated request.

use crate::{
    send::client_012,
    server::{FAST, RESET, Server, broken, client, reply},
};
use backoff_cloud::http::{Outgoing, SendExt as _};

/// A `POST` of either version of reqwest, whose caller gives this key.
fn posts(server: &Server, key: Option<&str>) -> [Outgoing; 2] {
    let url = server.url("orders");
    let (newer, older) = (client().post(&url), client_012().post(url));
    match key {
        Some(key) => [
            newer.header("Idempotency-Key", key).into(),
            older.header("Idempotency-Key", key).into(),
        ],
        None => [newer.into(), older.into()],
    }
}

#[tokio::test]
async fn a_key_is_the_same_in_all_attempts_and_another_one_in_each_call() {
    // An empty key is none.
    for of_the_caller in [None, Some("")] {
        let acts = [RESET, reply(503, "", ""), broken(), reply(200, "", "")];
        let server = Server::start([acts.clone(), acts].concat());
        for post in posts(&server, of_the_caller) {
            FAST.send(post).idempotency_key().await.expect("the fourth");
        }
        let keys = server.values("idempotency-key");
        let (first, second) = keys.split_at(4);
        assert_eq!((first.len(), second.len()), (4, 4), "{keys:?}");
        assert!(keys.iter().all(|key| key.len() == 36), "{keys:?}");
        assert!(first.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert!(second.iter().all(|key| *key == keys[4]), "{keys:?}");
        assert_ne!(keys[0], keys[4]);
    }
}

#[tokio::test]
async fn a_key_of_the_callers_own_is_left_as_it_is() {
    let server = Server::start([RESET, reply(200, "", ""), RESET]);
    for post in posts(&server, Some("mine")) {
        FAST.send(post).idempotency_key().await.expect("the second");
    }
    assert_eq!(server.values("idempotency-key"), ["mine"; 4]);
}

#[tokio::test]
async fn the_callers_word_counts_before_the_key() {
    let server = Server::always(RESET);
    for post in posts(&server, None) {
        let sending = FAST.send(post).idempotency_key().idempotent(false);
        assert!(sending.await.is_err());
    }
    assert_eq!(server.values("idempotency-key").len(), 2);
    assert_eq!(server.requests(), 2);
}
