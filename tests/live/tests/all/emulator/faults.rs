//! The faults of the emulator, as a client sees them.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use emulator::{Call, Emulator, Faults, Reply};
use serde_json::json;

use crate::emulator::client::*;

/// A write of a policy that nobody has written yet.
fn write_first() -> String {
    write_request(&json!({"etag": "ACAB"}))
}

/// Answers the first writes so.
fn scripted(replies: impl IntoIterator<Item = Reply>) -> Emulator {
    let emulator = Emulator::start().unwrap();
    emulator.script(Call::SetIamPolicy, replies);
    emulator
}

#[test]
fn a_status_comes_with_its_hints_and_its_name() {
    let rubbish = "in a while";
    let emulator = scripted([
        Reply::status(429).retry_after("7").retry_info("3.5s"),
        Reply::status(503).retry_after(rubbish),
        Reply::status(502).html(),
        Reply::status(403),
        Reply::status(204),
        Reply::pass(),
    ]);
    let write = || ask(&emulator, &write_first());

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
    let html = proxy.header("content-type");
    assert_eq!(html, Some("text/html; charset=UTF-8"));
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

/// What comes of a reply and how it ends, in good order where there is no error. All of what comes is seen,
/// however slow the machine is.
#[test]
fn a_reply_that_does_not_come_as_a_whole() {
    let (reset, stalls) = (ErrorKind::ConnectionReset, ErrorKind::WouldBlock);
    for (reply, is_half, end, applied) in [
        (Reply::reset(), false, Some(reset), 0),
        (Reply::reset().applied(), false, Some(reset), 1),
        (Reply::cut(), true, None, 1),
        (Reply::stall(), false, Some(stalls), 0),
        (Reply::stall().applied(), false, Some(stalls), 1),
        (Reply::stall_body(), true, Some(stalls), 1),
    ] {
        let row = format!("{reply:?}");
        let emulator = scripted([reply]);
        let mut stream = connect(&emulator);
        stream.write_all(write_first().as_bytes()).unwrap();
        wait_for(&emulator, |stats| {
            (stats.faults, stats.writes, stats.lost_replies) == (1, applied, applied)
        });
        let mut bytes = Vec::new();
        while is_half && !is_half_a_body(&bytes) {
            let mut more = [0; 1024];
            let read = stream.read(&mut more).unwrap();
            assert!(read > 0, "{row}: {bytes:?}");
            bytes.extend_from_slice(&more[..read]);
        }
        if end == Some(stalls) {
            let short = Duration::from_millis(50);
            stream.set_read_timeout(Some(short)).unwrap();
        }
        let ended = stream.read(&mut [0; 1]);
        assert!(!matches!(ended, Ok(1..)), "{row}: more came");
        // Unix calls a timeout the one, Windows the other.
        let kind = ended.err().map(|error| match error.kind() {
            ErrorKind::TimedOut => stalls,
            kind => kind,
        });
        assert_eq!(kind, end, "{row}");
    }
}

fn is_half_a_body(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|end| end == b"\r\n\r\n") && {
        let answer = parse(bytes);
        let promised: usize = answer.header("content-length").unwrap().parse().unwrap();
        assert!(answer.status == 200 && answer.body.len() <= promised / 2);
        answer.body.len() == promised / 2
    }
}

#[test]
fn an_applied_status_hides_a_write() {
    let emulator = scripted([Reply::status(503).applied(), Reply::pass()]);
    let policy =
        json!({"etag": "ACAB", "bindings": [{"role": "roles/r", "members": ["allUsers"]}]});
    assert_eq!(ask(&emulator, &write_request(&policy)).error().0, 503);
    assert_eq!(emulator.policy(PROJECT)["bindings"], policy["bindings"]);
    // The caller who sends the same again is told off for its own write.
    assert_eq!(ask(&emulator, &write_request(&policy)).error().0, 409);
    let stats = emulator.stats();
    let counted = (stats.writes, stats.lost_replies, stats.conflicts);
    assert_eq!(counted, (1, 1, 1));
}

#[test]
fn a_delay_and_a_latency_hold_the_reply_back() {
    let time = Duration::from_millis(30);
    let delayed = scripted([Reply::delay(time)]);
    let slow = Emulator::builder().latency(time).start().unwrap();
    for (emulator, request, faults) in [
        (&delayed, write_first(), 1),
        (&slow, read_request(), 0),
        (&slow, write_first(), 0),
    ] {
        let start = Instant::now();
        assert_eq!(ask(emulator, &request).status, 200);
        assert!(start.elapsed() >= time);
        let stats = emulator.stats();
        assert_eq!((stats.lost_replies, stats.faults), (0, faults));
    }
    assert_eq!((delayed.stats().writes, slow.stats().writes), (1, 1));
}

#[test]
fn a_delayed_write_is_not_done_for_a_caller_who_left() {
    let delay = Reply::delay(FOREVER);
    let emulator = scripted([delay.clone(), delay.applied()]);
    for (delays, writes) in [(1, 0), (2, 1)] {
        let mut stream = connect(&emulator);
        stream.write_all(write_first().as_bytes()).unwrap();
        wait_for(&emulator, |stats| {
            stats.faults == delays && stats.writes == writes
        });
        // The emulator answers the hang-up by closing, which shows that it gave the call up.
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
        assert_eq!(emulator.stats().writes, writes);
    }
}

#[test]
fn a_rate_limit_refuses_with_its_hint() {
    let emulator = Emulator::builder()
        .rate_limit(1, 3)
        .throttle_with(Reply::status(429).retry_after("1"))
        .start()
        .unwrap();
    let answers: Vec<_> = (0..20).map(|_| ask(&emulator, &read_request())).collect();
    let refused = answers.iter().filter(|answer| answer.status == 429);
    let refused: Vec<_> = refused.collect();
    assert!(answers[..3].iter().all(|answer| answer.status == 200));
    assert!(!refused.is_empty());
    for answer in &refused {
        assert_eq!(answer.error().1, "RESOURCE_EXHAUSTED");
        assert_eq!(answer.header("retry-after"), Some("1"));
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
        let emulator = Emulator::builder().seed(seed).faults(faults);
        let emulator = emulator.start().unwrap();
        let status = |_| ask(&emulator, &read_request()).status;
        (0..40).map(status).collect()
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
    let failed = ask(&emulator, &read_request()).error();
    assert_eq!(failed, (500, "INTERNAL".to_owned()));
    emulator.set_faults(Faults::none());
    assert_eq!(ask(&emulator, &read_request()).status, 200);
}
