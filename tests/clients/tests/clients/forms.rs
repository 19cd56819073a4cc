//! What befalls every client, whatever it is: a form reads one object, and the rows say what its error must say.

use crate::{
    facts::{
        Facts, MAYBE_SENT, NOT_SENT, NOTHING,
        Repeated::{self, Always, IfIdempotent, Never},
        assert_says,
    },
    server::{
        AMPLE, End, LAST_MODIFIED, PATIENCE, Server, full, half, hanging_up, html_502, nobody,
    },
};
use backoff_core::{Delivery, Fault, FaultKind, TimedOut, known_fault};
use std::time::Duration;

/// A client whose own retries are off.
pub(crate) trait Form {
    type Error: Fault + std::error::Error + From<TimedOut> + Send + Sync + 'static;

    /// Reads an object of this origin: a scheme and a host. The limits are those of the connection and of all
    /// together.
    async fn read(origin: &str, connect: Duration, whole: Duration) -> Result<(), Self::Error>;

    /// Whether reqwest is built with TLS, because object_store is built with it.
    const HAS_TLS: bool = cfg!(feature = "object-store");

    /// Whether the client's own word for the error fits the row.
    fn fits(_error: &Self::Error, _row: &str) -> bool {
        true
    }

    /// The rows that the client cannot have, and why.
    const CANNOT: &[(&str, &str)] = &[];
}

/// The facts of a reply that has only this status.
pub(crate) fn status(status: u16) -> Facts {
    Facts {
        status: Some(status),
        ..NOTHING
    }
}

/// The error when the server does this.
pub(crate) async fn failure<F: Form>(bytes: impl Into<Vec<u8>>, end: End) -> F::Error {
    let server = Server::of(bytes, end);
    let got = F::read(&format!("http://{server}"), AMPLE, end.patience()).await;
    // On a slow machine the time may be over before the server has read the request.
    assert!(server.calls() <= 1, "its own retries are off");
    got.expect_err("the failure")
}

fn assert_named<F: Form>(row: &str, error: &F::Error, facts: Facts, repeated: Repeated) {
    assert!(F::fits(error, row), "{row}: {error:?}");
    let says = (Facts::of(error), Repeated::of(error));
    assert_eq!(says, (facts, repeated), "{row}: {error:?}");
}

/// No whole reply comes.
pub(crate) async fn fails_on_the_way<F: Form>() {
    let (full, _socket, _queue) = full();
    for (row, host, connect) in [
        ("nobody listens", nobody().to_string(), AMPLE),
        // No resolver may know a name below it: RFC 6761, section 6.4.
        ("no such name", "no-such-host.invalid".to_owned(), AMPLE),
        ("nobody accepts", full.to_string(), PATIENCE),
    ] {
        let origin = format!("http://{host}");
        let error = F::read(&origin, connect, AMPLE).await.expect_err(row);
        assert_named::<F>(row, &error, NOT_SENT, Always);
        let hidden = std::io::Error::other(error);
        let found = known_fault(&hidden).and_then(Fault::delivery);
        assert_eq!(found, Some(Delivery::NotSent), "{row}, inside of another");
    }

    // `https` with a client without TLS; with TLS, a handshake that the server cuts.
    for end in [End::Close, End::Reset] {
        let origin = format!("https://{}", hanging_up(end));
        let error = F::read(&origin, AMPLE, AMPLE).await.expect_err("no TLS");
        match F::HAS_TLS {
            true => assert_named::<F>("a handshake is cut", &error, NOT_SENT, Always),
            false => {
                assert_eq!(error.kind(), Some(FaultKind::Permanent), "{error:?}");
                assert_eq!(Repeated::of(&error), Never, "{error:?}");
            }
        }
    }

    let plain = || half(LAST_MODIFIED, b"half");
    // The first half of a body of gzip.
    let gzip = || {
        let half_of_it = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48";
        half(
            &format!("content-encoding: gzip\r\n{LAST_MODIFIED}"),
            half_of_it,
        )
    };
    let chunked = |rest: &str| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n";
        format!("{head}{LAST_MODIFIED}\r\n{rest}").into_bytes()
    };
    let in_the_head = b"HTTP/1.1 200 OK\r\ncontent-le".to_vec();
    for (row, bytes, end) in [
        ("reset", Vec::new(), End::Reset),
        ("closed before the reply", Vec::new(), End::Close),
        ("closed in the head", in_the_head, End::Close),
        ("closed in the body", plain(), End::Close),
        ("reset in the body", plain(), End::Reset),
        ("closed in the gzip", gzip(), End::Close),
        ("reset in the gzip", gzip(), End::Reset),
        ("closed in a chunk", chunked("8\r\n{\"na"), End::Close),
        ("a chunk without a length", chunked("long\r\n"), End::Close),
        ("no HTTP", b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), End::Close),
        ("no reply", Vec::new(), End::Stall),
        ("no second half", plain(), End::Stall),
    ] {
        if F::CANNOT.iter().all(|(it, _)| *it != row) {
            let error = failure::<F>(bytes, end).await;
            assert_named::<F>(row, &error, MAYBE_SENT, IfIdempotent);
        }
    }
    let cut = F::Error::from(TimedOut::new(PATIENCE));
    assert_says(&cut, MAYBE_SENT, IfIdempotent);
    let page = failure::<F>(html_502(), End::Close).await;
    assert_says(&page, status(502), IfIdempotent);
}

/// Replies with a status, the milliseconds of their hint, and who repeats them.
pub(crate) async fn says<F: Form>(
    rows: impl IntoIterator<Item = (u16, String, Option<u64>, Repeated)>,
) {
    for (code, reply, hint, repeated) in rows {
        let facts = Facts {
            retry_after: hint.map(Duration::from_millis),
            ..status(code)
        };
        let error = failure::<F>(reply.clone(), End::Close).await;
        assert_named::<F>(&reply, &error, facts, repeated);
    }
}

/// Four writers at once, four times. Returns how many conflicts they met together.
pub(crate) async fn sixteen_writes(write: impl AsyncFn() -> u32) -> u32 {
    let mut conflicts = 0;
    for _ in 0..4 {
        let (a, b, c, d) = tokio::join!(write(), write(), write(), write());
        conflicts += a + b + c + d;
    }
    conflicts
}
