//! A request that the program's own configuration prevents: no policy repeats it.

use crate::server::{
    NOT_SENT, NOTHING, Repeated::Never, STALL, Server, assert_row, client, client_012,
};
use backoff_cloud::{
    http::{ApiError, SendExt as _},
    presets,
};
use backoff_core::{StopReason, Verdict};

/// A reqwest without TLS. The server counts what is sent to it all the same.
#[tokio::test]
async fn an_https_url_without_tls_ends_at_the_first_attempt() {
    let server = Server::always(STALL);
    let url = format!("https://{}/", server.address);
    let newer = client().get(&url).send().await.expect_err("no TLS");
    let older = client_012().get(&url).send().await.expect_err("no TLS");
    assert!(newer.is_connect() && older.is_connect());
    assert_row("reqwest", newer, NOT_SENT, Never);
    assert_row("reqwest 0.12", older, NOT_SENT, Never);
    for (preset, policy) in presets::ALL {
        let sent = policy.send(client().get(&url)).reply().reported().await;
        let ended = sent.expect_err("no TLS");
        let said = (ended.reason, ended.report.attempts);
        assert_eq!(said, (StopReason::Permanent, 1), "{preset}");
    }
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn an_invalid_url_is_never_sent() {
    for url in ["", "no address", "http://", "ftp://127.0.0.1/", "/path"] {
        let error = ApiError::from(client().get(url).send().await.expect_err(url));
        for (preset, policy) in presets::ALL {
            assert_eq!(policy.judge(&error), Verdict::Permanent, "{preset} {url}");
        }
    }
    let newer = client().get("no address").send().await;
    assert_row("reqwest", newer.expect_err("a URL"), NOTHING, Never);
    let older = client_012().get("no address").send().await;
    assert_row("reqwest 0.12", older.expect_err("a URL"), NOTHING, Never);
}
