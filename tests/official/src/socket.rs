//! What the servers on sockets of several packages share.

use std::{
    io::{BufRead, BufReader, Read},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
};
use tokio::net::TcpSocket;

/// A server that calls `serve` with every connection, each on a new thread, as long as the test runs.
/// Returns its authority: `127.0.0.1:PORT`.
pub fn listen(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address.to_string()
}

/// The authority of an address where nobody listens. Its socket is bound until the process ends, because a
/// port that is free again may be given to another test.
pub fn nobody() -> String {
    let socket = TcpSocket::new_v4().expect("a socket");
    let loopback = (Ipv4Addr::LOCALHOST, 0).into();
    socket.bind(loopback).expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    std::mem::forget(socket);
    address.to_string()
}

/// A request, as it came.
#[derive(Debug, Default)]
pub struct Request {
    /// The first line.
    pub first: String,
    /// The lines of the headers, in lower case.
    pub head: String,
    /// What follows the headers.
    pub body: String,
}

/// Reads one whole request, so that closing the connection later does not reset it.
pub fn read_request(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut request = Request::default();
    let mut length = 0;
    // A client that hangs up is no failure of the server's; so it is below.
    drop(reader.read_line(&mut request.first));
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        line.make_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        request.head += &line;
    }
    let mut body = vec![0; length];
    drop(reader.read_exact(&mut body));
    request.body = String::from_utf8_lossy(&body).into_owned();
    request
}

/// A whole reply of HTTP/1.1.
pub fn reply(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}
