//! The faults of the emulator, as a client sees them.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use backoff_cloud::emulator::{Call, Emulator, Faults, Reply};
use serde_json::json;

use crate::emulator::client::*;

#[test]
fn a_status_comes_with_its_hints_and_its_name() {
    let emulator = Emulator::start().unwrap();
    let rubbish = "in a while";
    emulator.script(
        Call::SetIamPolicy,
        [
            Reply::status(429).retry_after("7").retry_info("3.5s"),
            Reply::status(503).retry_after(rubbish),
            Reply::status(502).html(),
            Reply::status(403),
            Reply::status(204),
            Reply::pass(),
        ],
    );
    let write = || ask(&emulator, &write_request(&json!({"etag": "ACAB"})));

    let busy = write();
    assert_eq!(busy.error(), (429, "RESOURCE_EXHAUSTED".to_owned()));
    assert_eq!(busy.header("retry-after"), Some("7"));
    let detail = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"});
    assert_eq!(busy.json()["error"]["details"], json!([detail]));

    let down = write();
    assert_eq!(down.error(), (503, "UNAVAILABLE".to_owned()));
    assert_eq!(down.header("retry-after"), Some(rubbish));
    assert!(down.json()["error"].get("details").is_none());

    let proxy = write();
    assert_eq!((proxy.status, proxy.header("retry-after")), (502, None));
    assert_eq!(
        proxy.header("content-type"),
        Some("text/html; charset=UTF-8")
    );
    assert!(proxy.body.starts_with("<!DOCTYPE html>"), "{proxy:?}");

    assert_eq!(write().error(), (403, "PERMISSION_DENIED".to_owned()));
    let empty = write();
    assert_eq!((empty.status, empty.body.as_str()), (204, ""));

    // None of them was applied, or this would conflict.
    assert_eq!(write().status, 200);
    let stats = emulator.stats();
    assert_eq!((stats.calls, stats.writes, stats.lost_replies), (6, 1, 0));
    assert_eq!(stats.faults, 5);
}

#[test]
fn a_reset_is_an_rst_before_any_byte() {
    let emulator = Emulator::start().unwrap();
    emulator.script(
        Call::SetIamPolicy,
        [Reply::reset(), Reply::reset().applied()],
    );
    for written in [0, 1] {
        let (bytes, end) = exchange(&emulator, &write_request(&json!({"etag": "ACAB"})));
        assert_eq!(bytes, b"");
        assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!(
            (emulator.stats().writes, emulator.stats().lost_replies),
            (written, written)
        );
    }
    assert_eq!(emulator.stats().faults, 2);
}

#[test]
fn a_cut_reply_ends_short_of_its_length_in_good_order() {
    let emulator = Emulator::start().unwrap();
    emulator.script(Call::SetIamPolicy, [Reply::cut()]);
    let (bytes, end) = exchange(&emulator, &write_request(&json!({"etag": "ACAB"})));
    end.unwrap();
    let answer = parse(&bytes);
    assert_eq!(answer.status, 200);
    let promised: usize = answer.header("content-length").unwrap().parse().unwrap();
    assert_eq!(answer.body.len(), promised / 2);
    assert!(answer.body.starts_with('{'));
    let stats = emulator.stats();
    assert_eq!((stats.writes, stats.lost_replies, stats.faults), (1, 1, 1));
}

#[test]
fn an_applied_status_hides_a_write() {
    let emulator = Emulator::start().unwrap();
    emulator.script(
        Call::SetIamPolicy,
        [Reply::status(503).applied(), Reply::pass()],
    );
    let policy =
        json!({"etag": "ACAB", "bindings": [{"role": "roles/r", "members": ["allUsers"]}]});
    assert_eq!(ask(&emulator, &write_request(&policy)).error().0, 503);
    assert_eq!(emulator.policy(PROJECT)["bindings"], policy["bindings"]);
    // The caller who sends the same again is told off for its own write.
    assert_eq!(ask(&emulator, &write_request(&policy)).error().0, 409);
    let stats = emulator.stats();
    assert_eq!(
        (stats.writes, stats.lost_replies, stats.conflicts),
        (1, 1, 1)
    );
}

#[test]
fn a_delay_holds_the_reply_back() {
    let emulator = Emulator::start().unwrap();
    let delay = Duration::from_millis(30);
    emulator.script(Call::SetIamPolicy, [Reply::delay(delay)]);
    let start = Instant::now();
    assert_eq!(
        ask(&emulator, &write_request(&json!({"etag": "ACAB"}))).status,
        200
    );
    assert!(start.elapsed() >= delay);
    let stats = emulator.stats();
    assert_eq!((stats.writes, stats.lost_replies, stats.faults), (1, 0, 1));
}

#[test]
fn latency_is_for_every_call() {
    let latency = Duration::from_millis(20);
    let emulator = Emulator::builder().latency(latency).start().unwrap();
    for request in [read_request(), write_request(&json!({}))] {
        let start = Instant::now();
        assert_eq!(ask(&emulator, &request).status, 200);
        assert!(start.elapsed() >= latency);
    }
}

#[test]
fn a_delayed_write_is_not_done_for_a_caller_who_left() {
    let emulator = Emulator::start().unwrap();
    emulator.script(
        Call::SetIamPolicy,
        [Reply::delay(FOREVER), Reply::delay(FOREVER).applied()],
    );
    for (delays, writes) in [(1, 0), (2, 1)] {
        let mut stream = connect(&emulator);
        stream
            .write_all(write_request(&json!({"etag": "ACAB"})).as_bytes())
            .unwrap();
        wait_for(&emulator, |stats| {
            stats.faults == delays && stats.writes == writes
        });
        // The emulator answers the hang-up by closing, which shows that it gave the call up.
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
        assert_eq!(emulator.stats().writes, writes);
    }
}

/// The bytes that come within a while after the emulator has seen the write.
fn stalled(reply: Reply, lost: u64) -> Vec<u8> {
    let emulator = Emulator::start().unwrap();
    emulator.script(Call::SetIamPolicy, [reply]);
    let mut stream = connect(&emulator);
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let write = write_request(&json!({"etag": "ACAB"}));
    stream.write_all(write.as_bytes()).unwrap();
    wait_for(&emulator, |stats| {
        (stats.faults, stats.writes, stats.lost_replies) == (1, lost, lost)
    });
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes).unwrap_err().kind();
    assert!(matches!(end, ErrorKind::WouldBlock | ErrorKind::TimedOut));
    bytes
}

#[test]
fn a_stall_sends_nothing_and_does_not_close() {
    assert_eq!(stalled(Reply::stall(), 0), b"");
    assert_eq!(stalled(Reply::stall().applied(), 1), b"");
}

#[test]
fn a_stalled_body_stops_half_way() {
    let emulator = Emulator::start().unwrap();
    emulator.script(Call::SetIamPolicy, [Reply::stall_body()]);
    let mut stream = connect(&emulator);
    let write = write_request(&json!({"etag": "ACAB"}));
    stream.write_all(write.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let promised = |answer: &Answer| -> usize {
        let length = answer.header("content-length").unwrap();
        length.parse().unwrap()
    };
    // Half of the body comes, however slow the machine is.
    loop {
        let mut more = [0; 1024];
        let read = stream.read(&mut more).unwrap();
        assert!(read > 0, "{bytes:?}");
        bytes.extend_from_slice(&more[..read]);
        let is_head = bytes.windows(4).any(|end| end == b"\r\n\r\n");
        if is_head && parse(&bytes).body.len() == promised(&parse(&bytes)) / 2 {
            break;
        }
    }
    // And no more.
    let short = Duration::from_millis(50);
    stream.set_read_timeout(Some(short)).unwrap();
    let end = stream.read(&mut [0; 1]).unwrap_err().kind();
    assert!(matches!(end, ErrorKind::WouldBlock | ErrorKind::TimedOut));
    let stats = emulator.stats();
    assert_eq!((stats.writes, stats.lost_replies, stats.faults), (1, 1, 1));
}

#[test]
fn a_rate_limit_refuses_with_its_hint() {
    let emulator = Emulator::builder()
        .rate_limit(1, 3)
        .throttle_with(Reply::status(429).retry_after("1").retry_info("1s"))
        .start()
        .unwrap();
    let answers: Vec<_> = (0..20).map(|_| ask(&emulator, &read_request())).collect();
    let refused: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 429)
        .collect();
    assert!(answers[..3].iter().all(|answer| answer.status == 200));
    assert!(!refused.is_empty());
    for answer in &refused {
        assert_eq!(answer.error().1, "RESOURCE_EXHAUSTED");
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert_eq!(answer.json()["error"]["details"][0]["retryDelay"], "1s");
    }
    let stats = emulator.stats();
    assert_eq!(stats.faults, refused.len() as u64);
    assert_eq!((stats.calls, stats.reads), (20, 20 - stats.faults));

    emulator.script(Call::GetIamPolicy, [Reply::pass()]);
    assert_eq!(ask(&emulator, &read_request()).status, 200);
}

#[test]
fn a_seed_gives_the_same_faults_again() {
    let run = |seed| -> Vec<u16> {
        let faults = Faults::none().status(503, 0.3).applied_then(500, 0.2);
        let emulator = Emulator::builder()
            .seed(seed)
            .faults(faults)
            .start()
            .unwrap();
        (0..40)
            .map(|_| ask(&emulator, &read_request()).status)
            .collect()
    };
    let first = run(7);
    assert_eq!(first, run(7));
    assert_ne!(first, run(8));
    for status in [200, 500, 503] {
        assert!(first.contains(&status), "{first:?}");
    }
}

#[test]
fn faults_can_be_switched_on_and_off() {
    let emulator = Emulator::start().unwrap();
    assert_eq!(ask(&emulator, &read_request()).status, 200);
    emulator.set_faults(Faults::none().status(500, 1.0));
    assert_eq!(
        ask(&emulator, &read_request()).error(),
        (500, "INTERNAL".to_owned())
    );
    emulator.set_faults(Faults::none());
    assert_eq!(ask(&emulator, &read_request()).status, 200);
}
