//! Plain sockets of the standard library.

use crate::clients::{
    facts::{MAYBE_SENT, NOT_SENT, NOTHING, Repeated, assert_row},
    server::{AMPLE, End, PATIENCE, nobody, serve},
};
use std::{
    io::{Error, ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

/// Asks for four bytes, without blocking the runtime that the server runs on.
async fn ask(server: SocketAddr, patience: Duration) -> Error {
    let ask = move || {
        let mut stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(patience))?;
        stream.write_all(b"\r\n\r\n")?;
        stream.read_exact(&mut [0; 4])
    };
    let asked = tokio::task::spawn_blocking(ask).await.expect("no panic");
    asked.expect_err("the failure")
}

#[tokio::test]
async fn refused() {
    let error = ask(nobody(), AMPLE).await;
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[test]
fn dns() {
    let error = "no-such-host.invalid:80"
        .to_socket_addrs()
        .expect_err("no name");
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn reset() {
    let error = ask(serve("", End::Reset).await, AMPLE).await;
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

/// The request is with the server by then, and may have been applied.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn not_connected_any_more() {
    let server = serve("", End::Reset).await;
    let ask = move || {
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(b"\r\n\r\n")?;
        let reset = stream.read(&mut [0]).expect_err("a reset");
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        stream.shutdown(Shutdown::Write)
    };
    let asked = tokio::task::spawn_blocking(ask).await.expect("no panic");
    let error = asked.expect_err("the failure");
    assert_eq!(error.kind(), ErrorKind::NotConnected);
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn eof() {
    let error = ask(serve("1", End::Close).await, AMPLE).await;
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[tokio::test]
async fn timeout() {
    let error = ask(serve("1", End::Stall).await, PATIENCE).await;
    // Unix calls it the one, Windows the other.
    let kinds = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
    assert!(kinds.contains(&error.kind()), "{error:?}");
    assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
}

#[test]
fn a_file_that_is_missing() {
    let error = std::fs::File::open("/no/such/file").expect_err("no file");
    assert_row(&error, NOTHING, Repeated::Never);
}
