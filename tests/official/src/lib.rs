//! What the tests with Google's own clients share. They want the feature `google`.
#![cfg(feature = "google")]

use google_cloud_auth::credentials::{Credentials, anonymous};
use std::{
    io::{BufRead, BufReader, Read},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
};

/// Installs a TLS provider, which every client asks for beside Google's crates, even on `http://`.
pub fn install_tls() {
    // Fails where a test before has done it.
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// Credentials for a loopback server. Installs a TLS provider first.
pub fn credentials() -> Credentials {
    install_tls();
    anonymous::Builder::new().build()
}

/// A server that hands every connection to `serve`, each on a thread of its own, as long as the
/// test runs. Gives its authority: `127.0.0.1:PORT`.
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

/// Reads one whole request, so that closing the connection afterwards is no reset. Gives its first
/// line and its body.
pub fn read_request(stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut first = String::new();
    // A client that hangs up is no failure of the server's; so it is below.
    drop(reader.read_line(&mut first));
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    drop(reader.read_exact(&mut body));
    (first, String::from_utf8_lossy(&body).into_owned())
}

/// A reply of HTTP/1.1, whole.
pub fn reply(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}
