//! Two clients: a hand-written client that sees every byte, and a client of a library.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use emulator::{Emulator, Stats};
use serde_json::{Value, json};

use crate::server::AMPLE;
pub(crate) use crate::server::client;

pub(crate) const PROJECT: &str = "projects/p";
pub(crate) const FOREVER: Duration = Duration::MAX;

/// One HTTP reply, read by hand.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status, and Google's name for it in a body that agrees with it.
    pub(crate) fn error(&self) -> (u16, String) {
        let content = self.header("content-type");
        assert_eq!(content, Some("application/json; charset=UTF-8"));
        let error = self.json()["error"].take();
        assert_eq!(error["code"], self.status);
        assert_ne!(error["message"].as_str().unwrap_or_default(), "");
        (self.status, error["status"].as_str().unwrap().to_owned())
    }
}

pub(crate) fn addr(emulator: &Emulator) -> SocketAddr {
    let addr = emulator.url().strip_prefix("http://").unwrap();
    addr.parse().unwrap()
}

pub(crate) fn connect(emulator: &Emulator) -> TcpStream {
    let stream = TcpStream::connect(addr(emulator)).unwrap();
    stream.set_read_timeout(Some(AMPLE)).unwrap();
    stream
}

pub(crate) fn request(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

pub(crate) fn read_request() -> String {
    request("GET", &format!("/v1/{PROJECT}:getIamPolicy"), "")
}

pub(crate) fn write_request(policy: &Value) -> String {
    let body = json!({ "policy": policy }).to_string();
    request("POST", &format!("/v1/{PROJECT}:setIamPolicy"), &body)
}

/// Every byte of the reply, if it ends in order.
pub(crate) fn exchange(emulator: &Emulator, request: &str) -> io::Result<Vec<u8>> {
    let mut stream = connect(emulator);
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map(|_| bytes)
}

pub(crate) fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no head: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

pub(crate) fn ask(emulator: &Emulator, request: &str) -> Answer {
    parse(&exchange(emulator, request).unwrap())
}

/// Waits until the emulator's own thread got as far as the test needs.
pub(crate) fn wait_for(emulator: &Emulator, seen: impl Fn(&Stats) -> bool) {
    let start = Instant::now();
    while !seen(&emulator.stats()) {
        assert!(start.elapsed() < AMPLE, "{:?}", emulator.stats());
        std::thread::yield_now();
    }
}
