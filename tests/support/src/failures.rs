//! The table of failures: what a server does, and what the errors of all clients say of it. A client is a column; the
//! packages of the clients check it.

use crate::{
    AMPLE, Act, CANCEL, CLOSE, End, Facts, Frames, GOAWAY_AFTER, GOAWAY_BEFORE, HALF_A_REPLY,
    MAYBE_SENT, NOT_SENT, PATIENCE, REFUSED_STREAM, RESET,
    Repeated::{self, Always, IfIdempotent, Never},
    STALL, Server, assert_row, full, half, head, listen, nobody, raw, reply, serve_frames, status,
};
use backoff_core::Fault;
use std::{error::Error, time::Duration};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// What a client reads, and its limits of time.
#[derive(Clone, Debug)]
pub struct Target {
    /// A scheme and a host.
    pub origin: String,
    /// Whether the server speaks HTTP/2.
    pub is_h2: bool,
    /// For opening the connection.
    pub connect: Duration,
    /// For all together.
    pub whole: Duration,
}

impl Target {
    /// A server that answers as fast as the machine lets it.
    pub fn at(host: impl std::fmt::Display) -> Self {
        Target {
            origin: format!("http://{host}"),
            is_h2: false,
            connect: AMPLE,
            whole: AMPLE,
        }
    }
}

/// A client whose own retries are off.
#[allow(async_fn_in_trait, reason = "tests await it where it is")]
pub trait Column {
    /// Its error.
    type Error: Fault + Error + Send + Sync + 'static;

    /// Reads an object.
    async fn read(target: Target) -> Result<(), Self::Error>;

    /// The versions of HTTP that it speaks: whether 1.1, and whether 2.
    const SPEAKS: (bool, bool) = (true, false);

    /// Whether it is built with TLS.
    const HAS_TLS: bool = false;

    /// Whether a status is an error, and whether that error has the hint of the header `retry-after`.
    const REPLIES: (bool, bool) = (true, false);

    /// The rows that the client cannot have, separated by `|`.
    const CANNOT: &str = "";

    /// Whether the client's own word for the error fits the row.
    fn fits(_error: &Self::Error, _row: &str) -> bool {
        true
    }
}

/// A header without which a client of objects takes no reply for an object.
pub const LAST_MODIFIED: &str = "etag: \"1\"\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n";

/// The error when the server does this.
pub async fn failure<C: Column>(act: Act) -> C::Error {
    let whole = act.patience();
    let server = Server::always(act);
    let target = Target::at(server.address);
    let got = C::read(Target { whole, ..target }).await;
    // On a slow machine the time may be over before the server has read the request.
    assert!(server.requests() <= 1, "its own retries are off");
    got.expect_err("the failure")
}

/// The failures on the way and the replies that clients have in common, for each client that can have them.
pub async fn fails_on_the_way<C: Column>() {
    let check = |row: &str, error: C::Error, facts, repeated| {
        assert!(C::fits(&error, row), "{row}: {error:?}");
        assert_row(row, error, facts, repeated);
    };
    let can = |row: &str| C::CANNOT.split('|').all(|it| it != row);
    for (row, host, connect) in [
        ("nobody listens", nobody().to_string(), AMPLE),
        // No resolver may know a name below it: RFC 6761, section 6.4.
        ("no such name", "no-such-host.invalid".to_owned(), AMPLE),
        ("nobody accepts", full().to_string(), PATIENCE),
    ] {
        if can(row) {
            let target = Target::at(host);
            let got = C::read(Target { connect, ..target }).await;
            check(row, got.expect_err(row), NOT_SENT, Always);
        }
    }
    if can("https") {
        // With TLS, the server cuts the handshake; without, nothing can be sent.
        let hasty = listen(async |mut stream: tokio::net::TcpStream| {
            stream.read_exact(&mut [0; 64]).await?;
            stream.set_zero_linger()
        });
        let closing = listen(async |mut stream: tokio::net::TcpStream| {
            stream.read_exact(&mut [0; 64]).await?;
            stream.shutdown().await
        });
        for address in [hasty, closing] {
            let mut target = Target::at(address);
            target.origin = format!("https://{address}");
            let error = C::read(target).await.expect_err("no TLS");
            match C::HAS_TLS {
                true => check("https", error, NOT_SENT, Always),
                false => assert_eq!(Repeated::of(&error), Never, "{error:?}"),
            }
        }
    }
    let plain = || half(LAST_MODIFIED, "half");
    let gzip = || {
        let headers = format!("content-encoding: gzip\r\n{LAST_MODIFIED}");
        half(&headers, b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48")
    };
    let chunked = |rest: &str| head("200 OK\r\ntransfer-encoding: chunked", rest);
    let h1 = [
        ("reset", RESET),
        ("closed before the reply", CLOSE),
        ("closed in the head", raw("HTTP/1.1 200 OK\r\ncontent-le")),
        ("closed in the body", plain()),
        ("reset in the body", plain().then(End::Reset)),
        ("closed in the gzip", gzip()),
        ("reset in the gzip", gzip().then(End::Reset)),
        ("closed in a chunk", chunked("8\r\n{\"na")),
        ("a chunk without a length", chunked("long\r\n")),
        ("no HTTP", raw("SSH-2.0-OpenSSH_9.2\r\n")),
        ("no reply", STALL),
        ("no second half", plain().then(End::Stall)),
    ];
    let stays = |frames| Frames::Then(frames, End::Stall);
    let closes = |frames| Frames::Then(frames, End::Close);
    let (not_sent, lost) = ((NOT_SENT, Always), (MAYBE_SENT, IfIdempotent));
    let h2 = [
        ("stream refused", stays(REFUSED_STREAM), not_sent),
        ("goes away before it", stays(GOAWAY_BEFORE), not_sent),
        ("goes away at once", Frames::AtOnce(GOAWAY_BEFORE), not_sent),
        ("stream reset", stays(CANCEL), lost),
        ("goes away after it", closes(GOAWAY_AFTER), lost),
        ("closed in HTTP/2", closes(b""), lost),
        ("half of a stream", stays(HALF_A_REPLY), lost),
        ("no reply in HTTP/2", stays(b""), lost),
    ];
    let (has_h1, has_h2) = C::SPEAKS;
    for (row, act) in h1.into_iter().filter(|(row, _)| has_h1 && can(row)) {
        check(row, failure::<C>(act).await, MAYBE_SENT, IfIdempotent);
    }
    for (row, frames, (facts, repeated)) in h2.into_iter().filter(|it| has_h2 && can(it.0)) {
        let mut target = Target::at(serve_frames(frames));
        target.is_h2 = true;
        if frames == stays(b"") {
            target.whole = PATIENCE;
        }
        let error = C::read(target).await.expect_err(row);
        check(row, error, facts, repeated);
    }
    let (has_status, has_hint) = C::REPLIES;
    for (codes, repeated) in [
        (&[500, 502, 503][..], IfIdempotent),
        (&[429], Always),
        (&[400, 401, 403, 404], Never),
    ] {
        let replies = codes.iter().filter(|_| has_status).map(|code| {
            let act = reply(*code, "retry-after: 7\r\n", "<p>No</p>");
            (*code, act, has_hint.then_some(7_000), repeated)
        });
        says::<C>(replies).await;
    }
}

/// Replies, the milliseconds of their hints, and who repeats them. The status of a reply is what its error says.
pub async fn says<C: Column>(rows: impl IntoIterator<Item = (u16, Act, Option<u64>, Repeated)>) {
    for (code, act, hint, repeated) in rows {
        let row = format!("{act:?}");
        let facts = Facts {
            retry_after: hint.map(Duration::from_millis),
            ..status(code)
        };
        assert_row(&row, failure::<C>(act).await, facts, repeated);
    }
}
