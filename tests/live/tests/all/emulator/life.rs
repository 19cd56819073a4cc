//! The emulator itself: its address, its connections, its end, and that two emulators share nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use emulator::{Call, Emulator, Reply, Stats};
use serde_json::json;
use tokio::time::timeout;

use crate::{emulator::client::*, server::AMPLE};

#[test]
fn dropping_it_cuts_every_kind_of_open_connection() {
    let emulator = Emulator::builder().latency(Duration::from_millis(1));
    let emulator = emulator.start().unwrap();
    let closed = addr(&emulator);
    let late = [Reply::stall(), Reply::stall_body(), Reply::delay(FOREVER)];
    emulator.script(Call::GetIamPolicy, late);
    let mut open: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = connect(&emulator);
            stream.write_all(read_request().as_bytes()).unwrap();
            stream
        })
        .collect();
    // One that says nothing, and one that stops in the middle of its request.
    open.push(connect(&emulator));
    let mut half = connect(&emulator);
    let write = write_request(&json!({}));
    half.write_all(&write.as_bytes()[..60]).unwrap();
    open.push(half);
    wait_for(&emulator, |stats| stats.faults == 3 && stats.reads == 1);

    let start = Instant::now();
    drop(emulator);
    assert!(start.elapsed() < AMPLE, "{:?}", start.elapsed());
    for mut stream in open {
        let mut bytes = Vec::new();
        if let Err(error) = stream.read_to_end(&mut bytes) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
    }
    let refuses = |addr: SocketAddr| {
        let refused = TcpStream::connect(addr).err();
        refused.is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    let another = || {
        let emulator = Emulator::start().unwrap();
        addr(&emulator)
    };
    // Another test may get the port that is free again, but not each time.
    assert!(refuses(closed) || (0..4).any(|_| refuses(another())));
}

#[test]
fn one_connection_carries_many_calls() {
    let emulator = Emulator::start().unwrap();
    let mut stream = connect(&emulator);
    let keep = read_request().replace("connection: close\r\n", "");
    let three = format!("{keep}{keep}{}", read_request());
    stream.write_all(three.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 3);
    assert_eq!(emulator.stats().reads, 3);
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_does_not_pause_it() {
    let latency = Duration::from_millis(10);
    let emulator = Emulator::builder().latency(latency).start().unwrap();
    let start = Instant::now();
    let url = format!("{}/v1/{PROJECT}:getIamPolicy", emulator.url());
    let read = client().get(url).send().await.unwrap();
    assert_eq!(read.status(), 200);
    assert!(start.elapsed() >= latency);
}

#[tokio::test]
async fn it_may_be_dropped_inside_a_runtime() {
    let emulator = Emulator::start().unwrap();
    emulator.script(Call::GetIamPolicy, [Reply::stall()]);
    let url = format!("{}/v1/{PROJECT}:getIamPolicy", emulator.url());
    let call = tokio::spawn(client().get(url).send());
    while emulator.stats().faults == 0 {
        tokio::task::yield_now().await;
    }
    drop(emulator);
    let cut = timeout(AMPLE, call).await.expect("it is cut");
    assert!(cut.unwrap().is_err());
}

#[test]
fn emulators_are_on_loopback_and_share_nothing() {
    let (one, other) = (Emulator::start().unwrap(), Emulator::start().unwrap());
    assert_ne!(one.url(), other.url());
    assert_eq!(addr(&one).ip(), IpAddr::V4(Ipv4Addr::LOCALHOST));
    assert_eq!(ask(&one, &write_request(&json!({}))).status, 200);
    assert_eq!(other.stats(), Stats::default());
    assert_eq!(other.policy(PROJECT), json!({"etag": "ACAB"}));
}
