//! The key by which a server recognises a repeated request.

use crate::server::{FAST, RESET, Server, both, broken, raw, reply};
use backoff_cloud::{
    Codes, StopReason, codes,
    http::{Outgoing, SendExt as _},
};

/// A `POST` of either version of reqwest, whose caller gives this key.
fn posts(server: &Server, key: Option<&str>) -> [Outgoing; 2] {
    let key = key.map(|key| ("Idempotency-Key", key));
    both("POST", &server.url("orders"), key.as_slice())
}

/// The same in all attempts, another one in each call; the caller's own is left as it is, but an empty key is none.
#[tokio::test]
async fn a_key_is_the_same_in_all_attempts() {
    for of_the_caller in [None, Some(""), Some("mine")] {
        let acts = [RESET, reply(503, "", ""), broken(), reply(200, "", "")];
        let server = Server::start([acts.clone(), acts].concat());
        for post in posts(&server, of_the_caller) {
            FAST.send(post).idempotency_key().await.expect("the fourth");
        }
        let keys = server.values("idempotency-key");
        let (first, second) = keys.split_at(4);
        assert!(first.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert!(second.iter().all(|key| *key == keys[4]), "{keys:?}");
        if of_the_caller == Some("mine") {
            assert_eq!(keys, ["mine"; 8]);
        } else {
            assert!(keys.len() == 8 && keys[0] != keys[4], "{keys:?}");
            assert!(keys.iter().all(|key| key.len() == 36), "{keys:?}");
        }
    }
    // The caller's word counts before the key.
    let server = Server::always(RESET);
    for post in posts(&server, None) {
        let sending = FAST.send(post).idempotency_key().idempotent(false);
        assert!(sending.await.is_err());
    }
    let keys = server.values("idempotency-key").len();
    assert_eq!((keys, server.requests()), (2, 2));
}

/// A row: how the first attempt ends, the body of the 409 to the second one, the codes that the policy has too, and
/// whether the third request is made, which succeeds.
#[tokio::test]
async fn a_409_to_a_key_that_the_server_may_know_is_no_end() {
    let conflict = |body: &str| reply(409, "", body);
    let in_use = r#"{"error": {"code": "idempotency_key_in_use", "message": "in progress"}}"#;
    let exists = conflict(r#"{"error": {"code": "order_exists"}}"#);
    let aborted = conflict(r#"{"error": {"code": 409, "status": "ALREADY_EXISTS"}}"#);
    // Nothing but the status of this one is known.
    let cut = raw("HTTP/1.1 409 \r\ncontent-length: 900\r\n\r\n{");
    let (busy, slow) = (|| reply(503, "", ""), || reply(429, "", ""));
    for (first, second, also, goes_on) in [
        (RESET, conflict(in_use), Codes::NONE, true),
        (RESET, conflict(""), Codes::NONE, true),
        (RESET, exists, Codes::NONE, true),
        (RESET, cut, Codes::NONE, true),
        (busy(), conflict(""), Codes::NONE, true),
        // The first attempt did nothing, but another request with this key is being made.
        (slow(), conflict(in_use), Codes::NONE, true),
        (slow(), conflict(""), Codes::NONE, false),
        (slow(), conflict(""), codes![409], true),
        // Google's code decides.
        (RESET, aborted, Codes::NONE, false),
    ] {
        let row = format!("{first:?}, {second:?}");
        let success = goes_on.then(|| reply(200, "", ""));
        let script: Vec<_> = [first, second].into_iter().chain(success).collect();
        let server = Server::start([script.clone(), script].concat());
        let requests = if goes_on { 3 } else { 2 };
        for (post, calls) in posts(&server, None).into_iter().zip([1, 2]) {
            let sending = FAST.also_on(also).send(post).idempotency_key().reply();
            let ended = sending.reported().await.err().map(|error| error.reason);
            let expected = (!goes_on).then_some(StopReason::Permanent);
            let made = (ended, server.requests());
            assert_eq!(made, (expected, calls * requests), "{row}");
        }
    }
    // The order is still being made when the call ends: a queue keeps the message.
    let script = [RESET, conflict(""), conflict(""), conflict("")];
    let server = Server::start(script);
    let [post, _] = posts(&server, Some("mine"));
    let ended = FAST.send(post).reply().reported().await;
    let reason = ended.map(drop).expect_err("a conflict to the end").reason;
    assert_eq!((reason, server.requests()), (StopReason::Attempts, 4));
    assert!(!reason.is_final());
}
