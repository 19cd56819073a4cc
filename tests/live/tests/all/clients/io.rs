//! Plain sockets of the standard library.

use crate::server::{
    AMPLE, End, MAYBE_SENT, NOT_SENT, NOTHING, PATIENCE, RESET,
    Repeated::{Always, IfIdempotent, Never},
    assert_row, nobody, raw, serve,
};
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, TcpStream, ToSocketAddrs as _},
};

/// Rows: what the server does, how long the client waits for four bytes, and the kind of its error.
#[test]
fn what_becomes_of_a_read() {
    let (not_sent, lost) = ((NOT_SENT, Always), (MAYBE_SENT, IfIdempotent));
    let late = raw("1").then(End::Stall);
    for (server, limit, expected, (facts, repeated)) in [
        (nobody(), AMPLE, ErrorKind::ConnectionRefused, not_sent),
        (serve(RESET), AMPLE, ErrorKind::ConnectionReset, lost),
        (serve(raw("1")), AMPLE, ErrorKind::UnexpectedEof, lost),
        (serve(late), PATIENCE, ErrorKind::WouldBlock, lost),
    ] {
        let asked = || {
            let mut stream = TcpStream::connect(server)?;
            stream.set_read_timeout(Some(limit))?;
            stream.write_all(b"\r\n\r\n")?;
            stream.read_exact(&mut [0; 4])
        };
        let error = asked().expect_err("the failure");
        // Unix calls a timeout the one, Windows the other.
        let kind = match error.kind() {
            ErrorKind::TimedOut => ErrorKind::WouldBlock,
            kind => kind,
        };
        assert_eq!(kind, expected);
        assert_row(&format!("{kind:?}"), error, facts, repeated);
    }
    let error = "no-such-host.invalid:80".to_socket_addrs();
    let error = error.expect_err("no name");
    assert_row("dns", error, NOT_SENT, Always);
    let error = std::fs::File::open("/no/such/file").expect_err("no file");
    assert_row("file", error, NOTHING, Never);
}

/// The request is with the server by then, and may have been applied.
#[cfg(target_os = "linux")]
#[test]
fn not_connected_any_more() {
    let mut stream = TcpStream::connect(serve(RESET)).expect("a connection");
    stream.write_all(b"\r\n\r\n").expect("it is open");
    let reset = stream.read(&mut [0]).expect_err("a reset");
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    let error = stream.shutdown(Shutdown::Write).expect_err("the failure");
    assert_eq!(error.kind(), ErrorKind::NotConnected);
    assert_row("shutdown", error, MAYBE_SENT, IfIdempotent);
}
