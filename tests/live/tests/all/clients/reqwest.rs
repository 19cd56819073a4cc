//! What the table of failures does not have of reqwest.

use crate::server::{
    AMPLE, CANCEL, End, Frames, GOAWAY_BEFORE, NOT_SENT, POLICY, REFUSED_STREAM,
    Repeated::{Always, IfIdempotent},
    assert_row, builder, client, nobody, reply, serve, serve_frames, status,
};
use backoff_cloud::http::SendExt as _;
use backoff_core::Event;
use std::io;
use tokio::sync::Notify;

/// In one call too, where the feature `http` of backoff-cloud brings what is needed.
#[tokio::test]
async fn a_post_that_was_refused_is_sent_again() {
    let stays = |frames| Frames::Then(frames, End::Stall);
    for (frames, is_repeated) in [
        (stays(REFUSED_STREAM), true),
        (stays(GOAWAY_BEFORE), true),
        (Frames::AtOnce(GOAWAY_BEFORE), true),
        (stays(CANCEL), false),
    ] {
        let server = serve_frames(frames);
        let client = builder().http2_prior_knowledge().timeout(AMPLE);
        let client = client.build().expect("a client");
        let post = client.post(format!("http://{server}/")).body("x");
        let waits = Notify::new();
        let sending = POLICY.send(post).reply().notify(|event| {
            if let Event::Waiting { .. } = event {
                waits.notify_one();
            }
        });
        // The server treats the first request so, and stalls at the next one.
        let outcome = tokio::select! {
            failed = sending.reported() => Some(failed.expect_err("the failure")),
            () = waits.notified() => None,
        };
        assert_eq!(outcome.is_none(), is_repeated, "{outcome:?}");
    }
}

/// An error of reqwest's inside others, as a body that is read through `AsyncRead` gives it.
#[tokio::test]
async fn inside_an_io_error() {
    let refused = client().get(format!("http://{}/", nobody())).send().await;
    let inside = io::Error::other(io::Error::other(refused.expect_err("refused")));
    assert_row("refused", inside, NOT_SENT, Always);
    let got = client().get(format!("http://{}/", serve(reply(503, "", ""))));
    let busy = got.send().await.expect("a reply").error_for_status();
    let inside = io::Error::other(busy.expect_err("503"));
    assert_row("503", inside, status(503), IfIdempotent);
}
