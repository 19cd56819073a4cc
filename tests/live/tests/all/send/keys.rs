//! The key by which a server recognises a repeated request.

use crate::{
    send::client_012,
    server::{FAST, RESET, Server, broken, client, raw, reply},
};
use backoff_cloud::{
    Codes, StopReason, codes,
    http::{Outgoing, SendExt as _},
};

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

/// A row: how the first attempt ends, the body of the 409 to the second one, the codes that the policy has too, and
/// how the call ends: with the reply to the third request, or at once.
#[tokio::test]
async fn a_409_to_a_key_that_the_server_may_know_is_no_end() {
    let in_use = r#"{"error": {"code": "idempotency_key_in_use", "message": "in progress"}}"#;
    let exists = r#"{"error": {"code": "order_exists"}}"#;
    let aborted = r#"{"error": {"code": 409, "status": "ALREADY_EXISTS"}}"#;
    let (busy, slow) = (|| reply(503, "", ""), || reply(429, "", ""));
    let permanent = Err(StopReason::Permanent);
    for (first, body, also, end) in [
        (RESET, in_use, Codes::NONE, Ok(())),
        (RESET, "", Codes::NONE, Ok(())),
        (RESET, exists, Codes::NONE, Ok(())),
        (busy(), "", Codes::NONE, Ok(())),
        // The first attempt did nothing, but another request with this key is being made.
        (slow(), in_use, Codes::NONE, Ok(())),
        (slow(), "", Codes::NONE, permanent),
        (slow(), "", codes![409], Ok(())),
        // Google's code decides.
        (RESET, aborted, Codes::NONE, permanent),
    ] {
        let success = end.is_ok().then(|| reply(200, "", ""));
        let script: Vec<_> = [first, reply(409, "", body)]
            .into_iter()
            .chain(success)
            .collect();
        let server = Server::start([script.clone(), script.clone()].concat());
        for (post, seen) in posts(&server, None).into_iter().zip([1, 2]) {
            let sending = FAST.also_on(also).send(post).idempotency_key().reply();
            let ended = sending.reported().await;
            let ended = ended.map(drop).map_err(|error| error.reason);
            assert_eq!(
                (ended, server.requests()),
                (end, seen * script.len()),
                "{body}"
            );
        }
    }
}

/// The body of the 409 is cut, so that nothing but its status is known.
#[tokio::test]
async fn a_409_to_a_key_whose_body_is_cut_is_no_end() {
    let cut = raw("HTTP/1.1 409 \r\ncontent-length: 900\r\n\r\n{");
    let server = Server::start([RESET, cut, reply(200, "", "")]);
    let [post, _] = posts(&server, None);
    let ended = FAST.send(post).idempotency_key().reply().await;
    assert!(ended.is_ok(), "{:?}", ended.err());
}

/// The order is still being made when the call ends: a queue keeps the message. The key is the caller's own.
#[tokio::test]
async fn a_key_that_stays_in_use_is_no_final_reason() {
    let conflict = || reply(409, "", "");
    let server = Server::start([RESET, conflict(), conflict(), conflict()]);
    let [post, _] = posts(&server, Some("mine"));
    let ended = FAST.send(post).reply().reported().await;
    let error = ended.map(|_| ()).expect_err("a conflict to the end");
    assert_eq!(error.reason, StopReason::Attempts);
    assert!(!error.reason.is_final());
    assert_eq!(server.requests(), 4);
}
