//! A request that the program's own configuration prevents: no policy repeats it.

use crate::server::{
    Facts, NOT_SENT, NOTHING, Repeated::Never, STALL, Server, assert_row, client, client_012,
};
use backoff_cloud::{
    http::{ApiError, SendExt as _},
    presets,
};
use backoff_core::{StopReason, Verdict};

/// A reqwest without TLS, and URLs that are none. The server counts what is sent to it all the same.
#[tokio::test]
async fn what_cannot_be_sent_ends_at_the_first_attempt() {
    let server = Server::always(STALL);
    let https = format!("https://{}/", server.address);
    let invalid = ["", "no address", "http://", "ftp://127.0.0.1/", "/path"];
    let urls = invalid.map(|url| (url, NOTHING)).into_iter();
    for (url, facts) in urls.chain([(&*https, NOT_SENT)]) {
        let newer = client().get(url).send().await.expect_err(url);
        let older = client_012().get(url).send().await.expect_err(url);
        assert_row(url, older, facts, Never);
        assert_says(url, newer, facts);
        for (preset, policy) in presets::ALL {
            let sent = policy.send(client().get(url)).reply().reported().await;
            let ended = sent.expect_err(url);
            let said = (ended.reason, ended.report.attempts);
            assert_eq!(said, (StopReason::Permanent, 1), "{preset} {url}");
        }
    }
    assert_eq!(server.requests(), 0);
}

/// As an error of a function, too, which sends by itself.
fn assert_says(url: &str, error: reqwest::Error, facts: Facts) {
    let error = ApiError::from(error);
    for (preset, policy) in presets::ALL {
        assert_eq!(policy.judge(&error), Verdict::Permanent, "{preset} {url}");
    }
    assert_row(url, error, facts, Never);
}
