//! What the table of failures does not have of reqwest.

use crate::{
    clients::facts::{Facts, NOT_SENT, NOTHING, POLICY, Repeated, assert_row, status},
    h2::{self, CANCEL, GOAWAY_BEFORE, REFUSED_STREAM},
    server::{AMPLE, PATIENCE, builder, client, nobody, reply, serve},
};
use backoff_cloud::http::SendExt as _;
use backoff_core::{Event, Fault as _, FaultKind};
use tokio::{
    net::{TcpSocket, TcpStream},
    sync::Notify,
    time::timeout,
};

#[tokio::test]
async fn connect_timeout() {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let listener = socket.listen(1).expect("a short queue");
    let server = listener.local_addr().expect("its address");
    // Nobody accepts, and when the queue is full the kernel answers no more.
    let mut queue = Vec::new();
    while let Ok(stream) = timeout(PATIENCE, TcpStream::connect(server)).await {
        queue.push(stream);
        assert!(queue.len() < 64, "the queue is never full");
    }
    let client = builder().connect_timeout(PATIENCE).timeout(AMPLE).build();
    let got = client.expect("a client").get(format!("http://{server}/"));
    let error = got.send().await.expect_err("nobody answers");
    assert!(error.is_timeout() && error.is_connect());
    assert_row("connect", error, NOT_SENT, Repeated::Always);
}

/// In one call too, where the feature `http` of backoff-cloud brings what is needed.
#[tokio::test]
async fn a_post_that_was_refused_is_sent_again() {
    for (act, is_repeated) in [
        (h2::Act::Frames(REFUSED_STREAM), true),
        (h2::Act::Frames(GOAWAY_BEFORE), true),
        (h2::Act::FramesAtOnce(GOAWAY_BEFORE), true),
        (h2::Act::Frames(CANCEL), false),
    ] {
        let server = h2::serve(act);
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

#[tokio::test]
async fn builder_error() {
    let error = client().get("no address").send().await;
    let error = error.expect_err("no address");
    assert!(error.is_builder());
    assert_eq!(error.kind(), Some(FaultKind::Permanent));
    assert_row("0.13", error, NOTHING, Repeated::Never);
    let error = reqwest_012::get("no address").await;
    let error = error.expect_err("no address");
    assert_row("0.12", error, NOTHING, Repeated::Never);
}

/// An error of reqwest's inside others, as a body that is read through `AsyncRead` gives it.
#[tokio::test]
async fn inside_an_io_error() {
    let refused = client().get(format!("http://{}/", nobody())).send().await;
    let inside = std::io::Error::other(std::io::Error::other(refused.expect_err("refused")));
    assert_row("refused", inside, NOT_SENT, Repeated::Always);
    let got = client().get(format!("http://{}/", serve(reply(503, "", ""))));
    let busy = got.send().await.expect("a reply").error_for_status();
    let inside = std::io::Error::other(busy.expect_err("503"));
    assert_row("503", inside, status(503), Repeated::IfIdempotent);
}

#[tokio::test]
async fn a_response_of_reqwest_012_has_its_hint() {
    let server = serve(reply(429, "retry-after: 7\r\n", ""));
    let get = reqwest_012::get(format!("http://{server}/")).await;
    let response = get.expect("a reply");
    assert_eq!(Facts::of(&response), status(429).after(7_000));
    assert_eq!(Repeated::of(&response), Repeated::Always);
}
