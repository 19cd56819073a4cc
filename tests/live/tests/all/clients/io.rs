//! Plain sockets of the standard library.

use crate::{
    clients::facts::{MAYBE_SENT, NOT_SENT, NOTHING, Repeated, assert_row},
    server::{AMPLE, End, PATIENCE, RESET, nobody, raw, serve},
};
use std::{
    io::{Error, ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

/// Asks for four bytes.
fn ask(server: SocketAddr, patience: Duration) -> Error {
    let asked = || {
        let mut stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(patience))?;
        stream.write_all(b"\r\n\r\n")?;
        stream.read_exact(&mut [0; 4])
    };
    asked().expect_err("the failure")
}

#[test]
fn what_becomes_of_a_read() {
    let error = ask(nobody(), AMPLE);
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_row("refused", error, NOT_SENT, Repeated::Always);
    // Unix calls a timeout the one, Windows the other.
    let late = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
    for (row, act, limit, kinds) in [
        ("reset", RESET, AMPLE, [ErrorKind::ConnectionReset; 2]),
        ("eof", raw("1"), AMPLE, [ErrorKind::UnexpectedEof; 2]),
        ("timeout", raw("1").then(End::Stall), PATIENCE, late),
    ] {
        let error = ask(serve(act), limit);
        assert!(kinds.contains(&error.kind()), "{row}: {error:?}");
        assert_row(row, error, MAYBE_SENT, Repeated::IfIdempotent);
    }
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
    assert_row("shutdown", error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[test]
fn a_name_or_a_file_that_is_missing() {
    let error = "no-such-host.invalid:80".to_socket_addrs();
    let error = error.expect_err("no name");
    assert_row("dns", error, NOT_SENT, Repeated::Always);
    let error = std::fs::File::open("/no/such/file").expect_err("no file");
    assert_row("file", error, NOTHING, Repeated::Never);
}
