//! The events that a subscriber of `tracing` gets.

use crate::server::{FAST, RESET, Server, client, runtime};
use backoff_cloud::http::SendExt as _;
use backoff_core::{
    Delivery, Event, Fault, FaultKind, GrpcCode, Jitter, LogLevel, NotOpened, NotYet, Policy, Rate,
    TimedOut,
};
use std::{
    fmt,
    future::{Ready, ready},
    io,
    pin::Pin,
    sync::{Mutex, OnceLock},
    time::Duration,
};
use tokio::{runtime::Runtime, time::sleep};
use tracing::{Dispatch, Level, subscriber::with_default};
use tracing_subscriber::fmt::MakeWriter as _;

/// An error that says this, and nothing else.
#[derive(Clone, Debug, Default)]
struct Failed {
    status: Option<u16>,
    grpc: Option<GrpcCode>,
    kind: Option<FaultKind>,
    delivery: Option<Delivery>,
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
    fn delivery(&self) -> Option<Delivery> {
        self.delivery
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

/// A row: the policy, how often an attempt fails, its error, how long the attempt takes, and what is said.
#[test]
fn a_line_says_what_failed_and_nothing_ends_silently() {
    let seconds = Duration::from_secs;
    let (none, busy) = (seconds(0), || said(503));
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
    let lost = || Failed {
        delivery: Some(Delivery::MaybeSent),
        ..Failed::default()
    };
    let stops = Failed {
        must_stop: true,
        ..busy()
    };
    let after = |wait| Failed {
        retry_after: Some(wait),
        ..said(429)
    };
    let unknown = Failed::default();
    let (once, twice) = (POLICY.max_attempts(1), POLICY.max_attempts(2));
    let careful = POLICY.idempotent(false);
    let minute = POLICY.deadline(seconds(60));
    let doubt = "not repeated, because the attempt may have been applied";
    let doubtful = &*format!("WARN; {doubt}");
    let asks = "WARN; the hint asks for a longer wait than the policy allows; code=429";
    let asks_61 = &*format!("{asks}; retry_after=61.0");
    let late = "the attempt ended after the deadline: a deadline does not cut an attempt, the \
                `timeout` of an async call does";
    let doubtful_late = &*format!("WARN; {doubt}; {late}; late=1.0");
    // The second attempt ends 3 s after the deadline: two of 31 s each, and a second between them.
    let late_3 = &*format!("WARN; {late}; late=3.0; reason=\"deadline\"");
    let late_1 = &*format!("WARN; {late}; late=1.0; attempts=1");
    // Without a deadline the time counts from the first failure.
    let info_2 = "INFO; attempt=2; delay=2.0; elapsed=1.0";
    let recovered = "INFO; succeeded after retries; attempts=3; elapsed=3.0";
    let info = "INFO; code=503; attempt=1; delay=1.0; source=\"backoff\"; the server is busy";
    let warn = "WARN; code=503; attempts=2; reason=\"attempts\"; elapsed=1.0; the server is busy";
    let [info_40001, warn_40001] = ["INFO; code=40001", "WARN; code=40001"];
    let gone = "DEBUG; code=404; reason=\"permanent\"";
    let stopped = "WARN; the server asks not to be called again";
    // Nothing is known about an error without a status.
    let derive = "WARN; derive or implement `Fault`";
    let rows: [(_, _, _, _, &[&str]); 15] = [
        (POLICY, 0, busy(), none, &[]),
        (POLICY, 2, busy(), none, &["INFO", info_2, recovered]),
        (POLICY, 1, unknown, none, &[derive]),
        (twice, 2, busy(), none, &[info, warn]),
        (once, 1, said(404), none, &[gone]),
        (once, 1, both, none, &["WARN; code=UNAVAILABLE"]),
        (twice, 2, serialization, none, &[info_40001, warn_40001]),
        (careful, 1, lost(), none, &[doubtful]),
        (careful, 1, said(502), none, &[doubtful]),
        (minute, 1, after(seconds(61)), none, &[asks_61]),
        (POLICY, 1, after(Duration::MAX), none, &[asks]),
        (POLICY, 1, stops, none, &[stopped]),
        (
            careful.deadline(seconds(60)),
            1,
            lost(),
            seconds(61),
            &[doubtful_late],
        ),
        (minute, 9, busy(), seconds(31), &["INFO", late_3]),
        (minute, 9, busy(), seconds(61), &[late_1]),
    ];
    for (policy, failures, error, takes, expected) in rows {
        let row = format!("{policy:?} {error:?}");
        let mut fails = fails(failures, error);
        let attempt = || {
            let outcome = fails();
            async move {
                sleep(takes).await;
                outcome.await
            }
        };
        let events = told(policy.retry(attempt));
        assert_told(&row, &events, expected);
    }
    // An attempt that is cut at the deadline does not run on after the deadline, but for the moment in which
    // the timer wakes.
    for takes in [seconds(60), seconds(61)] {
        let attempt = async || {
            sleep(takes).await;
            Err::<(), _>(TimedOut::new(takes))
        };
        let cut = told(minute.retry(attempt).timeout(seconds(60)));
        assert!(!cut[0].contains("late="), "{cut:?}");
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

#[test]
fn a_pause_of_the_client_is_no_hint_of_a_server() {
    let mut fails = fails(1, said(503));
    let opens = move || {
        let opened = fails().into_inner();
        ready(opened.map_err(|error| {
            let mut refused = NotOpened::new(error);
            refused.pause = Some(Duration::from_secs(7));
            refused
        }))
    };
    let events = told(POLICY.retry(opens));
    let pause = "INFO; source=\"pause\"; delay=7.0";
    assert_told("a pause", &events, &[pause, "INFO"]);
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

#[test]
fn a_rate_says_when_it_closes_opens_and_switches_off() {
    static RATE: Rate = Rate::new().name("mail");
    let policy = POLICY.rate(&RATE);
    let events = told(async {
        policy.retry(fails(1, said(429))).await.unwrap();
        sleep(Duration::from_secs(120)).await;
        policy.retry(fails(0, said(429))).await.unwrap();
    });
    let expected = [
        "DEBUG; calls wait for the rate of the service; rate=\"mail\"",
        "INFO; source=\"backoff\"",
        "DEBUG; calls go at ;  a second",
        "INFO; succeeded after retries",
        "DEBUG; calls no longer wait",
    ];
    assert_told("a rate", &events, &expected);
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

/// The operation of a request is its method, and its host is a field of each event.
#[test]
fn a_request_is_named_by_its_method_and_each_event_has_its_host() {
    type Pending = Pin<Box<dyn Future<Output = ()>>>;
    fn finished<T>(call: impl IntoFuture<Output = T, IntoFuture: 'static>) -> Pending {
        let call = call.into_future();
        Box::pin(async move { drop(call.await) })
    }
    let (runtime, client) = (runtime(false), client());
    let request = |method: &str, url| client.request(method.parse().expect("a method"), url);
    // The first attempt fails. The second one succeeds, if the policy makes one.
    let with_server = |call: &dyn Fn(String) -> Pending| {
        let server = Server::start([RESET]);
        told_in(&runtime, call(server.url("a?key=1")))
    };
    let sent = |policy: Policy, method: &str| {
        with_server(&|url| finished(policy.send(request(method, url)).idempotent(true).reply()))
    };
    let own_name =
        with_server(&|url| finished(FAST.send(client.get(url)).reply().operation("invoices.get")));
    let built = with_server(&|url| {
        let put = client.put(url);
        let put = move || put.try_clone().expect("no body");
        finished(FAST.send_with(put).reply())
    });
    for (operation, events, told) in [
        ("GET", 2, sent(FAST, "GET")),
        // No standard method.
        ("_OTHER", 2, sent(FAST, "PURGE")),
        ("POST", 1, sent(FAST.max_attempts(1), "POST")),
        ("PUT", 2, built),
        ("invoices.get", 2, own_name),
    ] {
        assert_eq!(told.len(), events, "{operation}: {told:?}");
        for line in told {
            let named = format!(" operation=\"{operation}\" host=\"127.0.0.1\" ");
            assert!(line.contains(&named), "{line}");
        }
    }
}
