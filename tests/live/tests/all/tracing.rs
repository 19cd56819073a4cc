//! The lines that a subscriber of `tracing` gets: what is in them beside the stories of `backoff-core/tests/all`.

use crate::server::{FAST, RESET, Server, client, runtime};
use backoff_cloud::http::SendExt as _;
use backoff_core::{Event, Fault, FaultKind, GrpcCode, Jitter, LogLevel, NotYet, Policy};
use std::{
    fmt,
    future::{Ready, ready},
    io,
    sync::{Mutex, OnceLock},
    time::Duration,
};
use tokio::runtime::Runtime;
use tracing::{Dispatch, Level, subscriber::with_default};
use tracing_subscriber::fmt::MakeWriter as _;

/// An error that says this, and nothing else.
#[derive(Clone, Debug, Default)]
struct Failed {
    status: Option<u16>,
    grpc: Option<GrpcCode>,
    kind: Option<FaultKind>,
    retry_after: Option<Duration>,
    sqlstate: Option<&'static str>,
    must_stop: bool,
    text: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Fault for Failed {
    fn status(&self) -> Option<u16> {
        self.status
    }
    fn grpc_code(&self) -> Option<GrpcCode> {
        self.grpc
    }
    fn kind(&self) -> Option<FaultKind> {
        self.kind
    }
    fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
    fn service_code(&self) -> Option<&str> {
        self.sqlstate
    }
    fn must_stop(&self) -> bool {
        self.must_stop
    }
    fn message(&self) -> Option<&dyn fmt::Display> {
        self.status.map(|_| self as _)
    }
}

/// This status, and a text.
fn said(status: u16) -> Failed {
    Failed {
        status: Some(status),
        text: "the server is busy".to_owned(),
        ..Failed::default()
    }
}

/// What `work` says in virtual time.
fn told(work: impl IntoFuture) -> Vec<String> {
    told_in(&runtime(true), work.into_future())
}

/// What `work` says in this runtime: a line for each event.
fn told_in(runtime: &Runtime, work: impl Future) -> Vec<String> {
    let builder = || {
        tracing_subscriber::fmt()
            .without_time()
            .with_max_level(Level::TRACE)
    };
    // When an event is first met, and there is one subscriber alone, tracing asks the subscriber of that
    // thread. A thread of another test has none, and the event would be off for all. So there are others.
    static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
    OTHERS.get_or_init(|| [(); 2].map(|()| builder().with_writer(io::sink).into()));
    let kept: &'static Mutex<Vec<u8>> = Box::leak(Box::default());
    let subscriber = builder().with_writer(|| kept.make_writer()).finish();
    with_default(subscriber, || {
        runtime.block_on(work);
    });
    let text = String::from_utf8(kept.lock().unwrap().clone()).unwrap();
    // The clients of other crates have events, too.
    let lines = text.lines().filter(|line| line.contains(" backoff: "));
    lines.map(|line| line.trim_start().to_owned()).collect()
}

const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(3);

/// Fails so often with this error, and then succeeds.
fn fails(times: usize, error: Failed) -> impl FnMut() -> Ready<Result<(), Failed>> {
    let mut left = times;
    move || {
        let outcome = if left > 0 { Err(error.clone()) } else { Ok(()) };
        left = left.saturating_sub(1);
        ready(outcome)
    }
}

/// Each expected event: its level, and what it contains, with semicolons between.
#[track_caller]
fn assert_told(row: &str, events: &[String], expected: &[&str]) {
    assert_eq!(events.len(), expected.len(), "{row}: {events:#?}");
    for (line, expected) in events.iter().zip(expected) {
        let mut parts = expected.split("; ");
        let level = parts.next().unwrap_or_default();
        assert!(line.starts_with(level), "{row}: {level} in {line}");
        for part in parts {
            assert!(line.contains(part), "{row}: {part} in {line}");
        }
    }
}

/// Rows: the policy, the error, and the line after the first attempt.
#[test]
fn a_line_says_what_failed() {
    let busy = || said(503);
    let both = Failed {
        grpc: Some(GrpcCode::Unavailable),
        sqlstate: Some("40001"),
        ..busy()
    };
    let serialization = Failed {
        kind: Some(FaultKind::Transient),
        sqlstate: Some("40001"),
        ..Failed::default()
    };
    let stops = Failed {
        must_stop: true,
        ..busy()
    };
    let after = |seconds| Failed {
        retry_after: Some(Duration::from_secs(seconds)),
        ..said(429)
    };
    let once = POLICY.max_attempts(1);
    let minute = POLICY.deadline(Duration::from_secs(60));
    let info = "INFO; code=503; attempt=1; delay=1.0; source=\"backoff\"; the server is busy";
    let asks = "WARN; the hint asks for a longer wait than the policy allows; code=429";
    let asks_61 = &*format!("{asks}; retry_after=61.0");
    for (policy, error, expected) in [
        (POLICY, busy(), info),
        (once, both, "WARN; code=UNAVAILABLE; attempts=1"),
        (once, serialization, "WARN; code=40001"),
        // Nothing is known about an error without a status.
        (
            POLICY,
            Failed::default(),
            "WARN; derive or implement `Fault`",
        ),
        (minute, after(61), asks_61),
        (POLICY, after(u64::MAX), asks),
        (
            POLICY,
            stops,
            "WARN; the server asks not to be called again",
        ),
    ] {
        let row = format!("{policy:?} {error:?}");
        let events = told(policy.retry(fails(9, error)));
        assert_told(&row, &events[..1], &[expected]);
    }
}

/// Rows: the value of `retry-after`, and what the line of the wait shows of it.
#[test]
fn a_hint_that_cannot_be_read_stands_in_the_line_of_the_wait() {
    let long = [b'x'; 100];
    let forty = format!("unread_hint={}… ", "x".repeat(40));
    for (value, shown) in [
        (&b"2"[..], ""),
        (b"soon", "unread_hint=soon "),
        (b"", "unread_hint= "),
        (b"caf\xc3\xa9\t5", r"unread_hint=caf\xc3\xa9\t5 "),
        (b"\xff 1[2J", r"unread_hint=\xff 1[2J "),
        (&long, &*forty),
        (b"https://h/?t=SECRET", "unread_hint=https://h/?… "),
    ] {
        let busy = || {
            let value = http_1::HeaderValue::from_bytes(value).unwrap();
            let reply = http_1::Response::builder().status(429);
            let reply = reply
                .header("x-token", "SECRET")
                .header("retry-after", value);
            ready(Ok::<_, Failed>(reply.body(()).unwrap()))
        };
        let events = told(POLICY.max_attempts(2).retry(busy).responses());
        let line = &events[0];
        assert!(line.contains("code=429"), "{line}");
        let has_header = line.contains("unread_header=\"retry-after\"");
        assert_eq!(has_header, !shown.is_empty(), "{line}");
        assert_eq!(line.contains("unread"), has_header, "{line}");
        assert!(line.contains(shown), "{shown}: {line}");
        assert!(!line.contains("SECRET"), "{line}");
    }
}

/// Rows: how loud a wait is, after a failure and before the next poll.
#[test]
fn a_policy_says_how_loud_a_wait_is() {
    for (level, wait, poll) in [
        (LogLevel::Error, "ERROR", "DEBUG"),
        (LogLevel::Warn, "WARN", "DEBUG"),
        (LogLevel::Info, "INFO", "DEBUG"),
        (LogLevel::Debug, "DEBUG", "DEBUG"),
        (LogLevel::Trace, "TRACE", "TRACE"),
        (LogLevel::Off, "", ""),
    ] {
        let policy = POLICY.log_waits(level);
        let both = [wait, "INFO"];
        let skipped = usize::from(wait.is_empty());
        let events = told(policy.retry(fails(1, said(503))));
        assert_told("a wait", &events, &both[skipped..]);
        // A poll that is not there yet is no failure.
        let mut calls = 0;
        let counts = move || {
            calls += 1;
            ready(Ok::<_, NotYet>(calls))
        };
        let events = told(policy.retry(counts).until(|calls| *calls == 3));
        let first = format!("{poll}; not yet, asking again; attempt=1; delay=1.0");
        let all = [&*first, poll, "INFO"];
        assert_told("a poll", &events, &all[2 * skipped..]);
        assert!(!events[0].contains("error="), "{events:?}");
    }
}

/// A hook does not exclude the log.
#[test]
fn what_a_server_wrote_stays_on_one_line_and_tells_no_secrets() {
    let text = "no\r\nINFO all is well http://ann:pw@example.com/?key=1 \u{1b}[2J";
    let mut forged = said(503);
    forged.text = format!("{text}{}", "x".repeat(9_999));
    let mut heard = 0;
    let judged = POLICY.when(|_: &Failed| true);
    let call = judged.retry(fails(usize::MAX, forged));
    let events = told(call.notify(|_: &Event<'_, _>| heard += 1));
    assert_eq!((heard, events.len()), (3, 3));
    for line in events {
        let (_, text) = line.split_once(" error=").expect("an error");
        let expected = "no INFO all is well http://…@example.com/?… \\u{1b}[2Jxxx";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with("xxx…"), "{text}");
        assert!(text.chars().count() <= 501, "{text}");
    }
}

/// Rows: the method, the name that the caller gives, and the operation. The first attempt fails.
#[test]
fn a_request_is_named_by_its_method_and_each_event_has_its_host() {
    let (runtime, client) = (runtime(false), client());
    for (method, name, operation) in [
        ("GET", None, "GET"),
        // No standard method.
        ("PURGE", None, "_OTHER"),
        ("PUT", Some("invoices.put"), "invoices.put"),
    ] {
        let server = Server::start([RESET]);
        let request = client.request(method.parse().expect("a method"), server.url("a?key=1"));
        let sending = FAST.send(request).idempotent(true).reply();
        let told = match name {
            Some(name) => told_in(&runtime, sending.operation(name).into_future()),
            None => told_in(&runtime, sending.into_future()),
        };
        assert_eq!(told.len(), 2, "{operation}: {told:?}");
        for line in told {
            let named = format!(" operation=\"{operation}\" host=\"127.0.0.1\" ");
            assert!(line.contains(&named), "{line}");
        }
    }
}
