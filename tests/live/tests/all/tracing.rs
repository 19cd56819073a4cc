//! The events that a subscriber of `tracing` gets.

use crate::server::{FAST, RESET, STALL, Server, client, runtime};
use backoff_cloud::http::SendExt as _;
use backoff_core::{
    Delivery, Fault, FaultKind, GrpcCode, LogLevel, NotOpened, NotYet, Policy, Rate, TimedOut,
    retry,
};
use reqwest::{Body, Method};
use std::{
    fmt,
    future::{Ready, ready},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};
use tokio::runtime::Runtime;
use tracing::{
    Dispatch, Event, Level, Metadata,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{Subscriber, with_default},
};

/// A status, if there is one, and what the server says.
#[derive(Debug)]
struct Failed(Option<u16>, String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

impl Fault for Failed {
    fn status(&self) -> Option<u16> {
        self.0
    }
    fn message(&self) -> Option<&dyn fmt::Display> {
        self.0.map(|_| self as _)
    }
}

fn busy() -> Failed {
    Failed(Some(503), "the server is busy".to_owned())
}

/// Keeps each event as its level and its fields, in text.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(Level, String)>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!(" {field}={value:?}");
    }
}

impl Subscriber for Kept {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        // The clients of other crates have events, too.
        if event.metadata().target() != "backoff" {
            return;
        }
        let mut line = Line(String::new());
        event.record(&mut line);
        let level = *event.metadata().level();
        self.0.lock().unwrap().push((level, line.0));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Kept {
    /// What `work` says.
    fn during(work: impl Future) -> Vec<(Level, String)> {
        Self::within(&runtime(true), work)
    }

    /// What `work` says in this runtime.
    fn within(runtime: &Runtime, work: impl Future) -> Vec<(Level, String)> {
        // When an event is first met, and there is one subscriber alone, tracing asks the subscriber of that
        // thread. A thread of another test has none, and the event would be off for all. So there are others.
        static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
        OTHERS.get_or_init(|| [(); 2].map(|()| Dispatch::new(Kept::default())));
        let kept = Kept::default();
        with_default(kept.clone(), || {
            runtime.block_on(work);
        });
        // Another test that registers a callsite may hold the subscriber for a moment.
        std::mem::take(&mut *kept.0.lock().unwrap())
    }
}

const POLICY: Policy = Policy::exponential()
    .jitter(backoff_core::Jitter::None)
    .max_attempts(3);

/// Fails so often with this error, and then succeeds.
fn fails(times: usize, status: Option<u16>) -> impl FnMut() -> Ready<Result<(), Failed>> {
    let mut left = times;
    move || {
        let failed = left > 0;
        left = left.saturating_sub(1);
        let error = Failed(status, busy().1);
        ready(if failed { Err(error) } else { Ok(()) })
    }
}

const FOR_EVER: usize = usize::MAX;

/// The levels of the events, and what these events contain, by their number.
type Said<'a> = (&'a [Level], &'a [(usize, &'a [&'a str])]);

#[track_caller]
fn assert_said(row: &str, events: &[(Level, String)], (levels, parts): Said<'_>) {
    let told: Vec<_> = events.iter().map(|(level, _)| *level).collect();
    assert_eq!(told, levels, "{row}: {events:?}");
    for (index, parts) in parts {
        for part in *parts {
            let line = &events[*index].1;
            assert!(line.contains(part), "{row}: {part} in {line}");
        }
    }
}

const SECOND: &[&str] = &[
    "attempt=2",
    "delay=2.0",
    "source=\"backoff\"",
    "elapsed=1.0",
    "the server is busy",
];
const LAST: &[&str] = &[
    "attempts=3",
    "reason=\"attempts\"",
    "elapsed=3.0",
    "the server is busy",
];

/// An info event before each wait, and one warning when it is given up.
#[test]
fn each_form_says_the_same() {
    #[retry(policy = POLICY, deadline = "60s")]
    async fn annotated() -> Result<(), Failed> {
        Err(busy())
    }
    let levels = &[Level::INFO, Level::INFO, Level::WARN];
    let function = POLICY.deadline(Duration::from_secs(60));
    let function = Kept::during(function.retry(|| ready(Err::<(), _>(busy()))));
    let annotated = Kept::during(annotated());
    for (form, name, events) in [
        ("function", "each_form_says_the_same", function),
        ("attribute", "::annotated\"", annotated),
    ] {
        assert_said(form, &events, (levels, &[(1, SECOND), (2, LAST)]));
        assert!(events[1].1.contains(name), "{}", events[1].1);
        assert!(events[2].1.contains(name), "{}", events[2].1);
    }
}

#[test]
fn what_a_call_says() {
    let waits = &[Level::INFO; 3];
    let once = POLICY.max_attempts(1);
    let recovered: &[&str] = &["succeeded after retries", "attempts=3", "elapsed=3.0"];
    // Nothing is known about an error without a status.
    let unknown: &[&str] = &["derive or implement `Fault`"];
    let permanent: &[&str] = &["reason=\"permanent\""];
    let exhausted: &[&str] = &["reason=\"attempts\""];
    let [debug, warn] = [&[Level::DEBUG][..], &[Level::WARN]];
    let gone: Said<'_> = (debug, &[(0, permanent)]);
    let failed: Said<'_> = (warn, &[(0, exhausted)]);
    let warned: Said<'_> = (warn, &[(0, unknown)]);
    let (busy, missing) = (Some(503), Some(404));
    let rows: [(_, Policy, usize, Option<u16>, Said<'_>); 5] = [
        ("success", POLICY, 0, busy, (&[], &[])),
        ("recovers", POLICY, 2, busy, (waits, &[(2, recovered)])),
        ("permanent", once, 1, missing, gone),
        ("once", once, 1, busy, failed),
        ("unknown", POLICY, 1, None, warned),
    ];
    for (row, policy, failures, status, said) in rows {
        let events = Kept::during(policy.retry(fails(failures, status)));
        assert_said(row, &events, said);
        // Without a deadline the time counts from the first failure.
        let first = events.first().map_or("", |(_, line)| line);
        assert!(row != "recovers" || !first.contains("elapsed"), "{first}");
    }
}

/// An error that says this, and nothing else.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    status: Option<u16>,
    grpc: Option<GrpcCode>,
    kind: Option<FaultKind>,
    delivery: Option<Delivery>,
    retry_after: Option<Duration>,
    sqlstate: Option<&'static str>,
    must_stop: bool,
}

impl Fault for Facts {
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
}

/// A row: the policy, the error of each attempt, how long an attempt takes, and what is said.
#[test]
fn a_line_says_what_failed_and_nothing_ends_silently() {
    let seconds = Duration::from_secs;
    let status = |status| Facts {
        status: Some(status),
        ..Facts::default()
    };
    let both = Facts {
        grpc: Some(GrpcCode::Unavailable),
        sqlstate: Some("40001"),
        ..status(503)
    };
    let serialization = Facts {
        kind: Some(FaultKind::Transient),
        sqlstate: Some("40001"),
        ..Facts::default()
    };
    let lost = Facts {
        delivery: Some(Delivery::MaybeSent),
        ..Facts::default()
    };
    let stops = Facts {
        must_stop: true,
        ..status(503)
    };
    let after = |wait| Facts {
        retry_after: Some(wait),
        ..status(429)
    };
    let (once, twice) = (POLICY.max_attempts(1), POLICY.max_attempts(2));
    let careful = POLICY.idempotent(false);
    let minute = POLICY.deadline(seconds(60));
    let (info, warn, debug) = (Level::INFO, Level::WARN, Level::DEBUG);
    let doubt = "not repeated, because the attempt may have been applied";
    let asks = "the hint asks for a longer wait than the policy allows";
    let late = "the attempt ended after the deadline: a deadline does not cut an attempt, the `timeout` of an async call does";
    let none = seconds(0);
    let rows: [(Policy, Facts, Duration, Said<'_>); 12] = [
        (
            twice,
            status(503),
            none,
            (&[info, warn], &[(0, &["code=503"]), (1, &["code=503"])]),
        ),
        (once, status(404), none, (&[debug], &[(0, &["code=404"])])),
        (once, both, none, (&[warn], &[(0, &["code=UNAVAILABLE"])])),
        (
            twice,
            serialization,
            none,
            (&[info, warn], &[(0, &["code=40001"]), (1, &["code=40001"])]),
        ),
        (careful, lost, none, (&[warn], &[(0, &[doubt])])),
        (
            careful,
            status(502),
            none,
            (&[warn], &[(0, &[doubt, "code=502"])]),
        ),
        (
            minute,
            after(seconds(61)),
            none,
            (&[warn], &[(0, &[asks, "retry_after=61.0", "code=429"])]),
        ),
        (
            POLICY,
            after(Duration::MAX),
            none,
            (&[warn], &[(0, &[asks, "code=429"])]),
        ),
        (
            POLICY,
            stops,
            none,
            (&[warn], &[(0, &["the server asks not to be called again"])]),
        ),
        (
            careful.deadline(seconds(60)),
            lost,
            seconds(61),
            (&[warn], &[(0, &[doubt, late, "late=1.0"])]),
        ),
        // The second attempt ends 3 s after the deadline: two of 31 s each, and a second between them.
        (
            minute,
            status(503),
            seconds(31),
            (
                &[info, warn],
                &[(1, &[late, "late=3.0", "reason=\"deadline\""])],
            ),
        ),
        (
            minute,
            status(503),
            seconds(61),
            (&[warn], &[(0, &[late, "late=1.0", "attempts=1"])]),
        ),
    ];
    for (policy, error, takes, said) in rows {
        let row = format!("{policy:?} {error:?}");
        let attempt = async || {
            tokio::time::sleep(takes).await;
            Err::<(), _>(error)
        };
        assert_said(&row, &Kept::during(policy.retry(attempt)), said);
    }
    // An attempt that is cut at the deadline does not run on after the deadline, but for the moment in which
    // the timer wakes.
    for takes in [seconds(60), seconds(61)] {
        let attempt = async || {
            tokio::time::sleep(takes).await;
            Err::<(), _>(TimedOut::new(takes))
        };
        let cut = Kept::during(minute.retry(attempt).timeout(seconds(60)));
        assert!(!cut[0].1.contains("late="), "{cut:?}");
    }
}

/// Rows: the value of `retry-after`, and what the line of the wait shows of it.
#[test]
fn a_hint_that_cannot_be_read_stands_in_the_line_of_the_wait() {
    let long = [b'x'; 100];
    let forty = format!("unread_hint={} ", "x".repeat(40));
    for (value, shown) in [
        (&b"2"[..], None),
        (b"soon", Some("unread_hint=soon ")),
        (b"", Some("unread_hint= ")),
        (b"caf\xc3\xa9\t5", Some(r"unread_hint=caf\xc3\xa9\t5 ")),
        (b"\xff 1[2J", Some(r"unread_hint=\xff 1[2J ")),
        (&long, Some(&*forty)),
    ] {
        let busy = || {
            let value = http_1::HeaderValue::from_bytes(value).unwrap();
            let reply = http_1::Response::builder().status(429);
            let reply = reply
                .header("x-token", "SECRET")
                .header("retry-after", value);
            reply.body(()).unwrap()
        };
        let twice = POLICY.max_attempts(2);
        let call = twice.retry(|| ready(Ok::<_, Failed>(busy()))).responses();
        let events = Kept::during(call);
        let line = &events[0].1;
        match shown {
            Some(shown) => {
                assert!(line.contains("unread_header=\"retry-after\""), "{line}");
                assert!(line.contains(shown), "{shown}: {line}");
            }
            None => assert!(!line.contains("unread"), "{line}"),
        }
        assert!(!line.contains("SECRET"), "{line}");
    }
}

/// A response that counts as a failure has a code, and a pause of the client is no hint of a server.
#[test]
fn a_value_has_a_code_and_a_pause_is_a_pause() {
    let busy = || http_1::Response::builder().status(503).body(()).unwrap();
    let twice = POLICY.max_attempts(2);
    let call = twice.retry(|| ready(Ok::<_, Failed>(busy()))).responses();
    let levels = &[Level::INFO, Level::WARN];
    let parts: Said<'_> = (levels, &[(0, &["code=503"]), (1, &["code=503"])]);
    assert_said("a response", &Kept::during(call), parts);
    let mut fails = fails(1, Some(503));
    let opens = move || {
        let opened = fails().into_inner();
        ready(opened.map_err(|error| {
            let mut refused = NotOpened::new(error);
            refused.pause = Some(Duration::from_secs(7));
            refused
        }))
    };
    let events = Kept::during(twice.retry(opens));
    let said: Said<'_> = (
        &[Level::INFO; 2],
        &[(0, &["source=\"pause\"", "delay=7.0"])],
    );
    assert_said("a pause", &events, said);
}

#[test]
fn a_poll_that_is_not_there_yet_is_no_failure() {
    let polls = |policy: Policy| {
        let mut calls = 0;
        let counts = move || {
            calls += 1;
            ready(Ok::<_, NotYet>(calls))
        };
        Kept::during(policy.retry(counts).until(|calls| *calls == 3))
    };
    let (debug, info) = (Level::DEBUG, Level::INFO);
    let not_yet: &[&str] = &["not yet, asking again", "attempt=1", "delay=1.0"];
    for (level, levels) in [
        (LogLevel::Info, &[debug, debug, info][..]),
        (LogLevel::Error, &[debug, debug, info]),
        (LogLevel::Trace, &[Level::TRACE, Level::TRACE, info]),
        (LogLevel::Off, &[info]),
    ] {
        let events = polls(POLICY.log_waits(level));
        let parts: &[_] = match level {
            LogLevel::Off => &[],
            _ => &[(0, not_yet)],
        };
        assert_said("a poll", &events, (levels, parts));
        assert!(!events[0].1.contains("error="), "{events:?}");
    }
}

#[test]
fn an_exhausted_memorystore_request_is_reported_once() {
    #[retry(policy = backoff_cloud::memorystore::REQUEST)]
    async fn annotated() -> Result<(), Failed> {
        Err(busy())
    }
    let events = Kept::during(annotated());
    let mut warnings = events.clone();
    warnings.retain(|(level, _)| *level == Level::WARN);
    let parts = &["attempts=10", "reason=\"attempts\"", "the server is busy"];
    assert_said("warnings", &warnings, (&[Level::WARN], &[(0, parts)]));
    assert_eq!(events.len(), 10);
}

#[test]
fn whoever_judges_the_errors_text_is_logged() {
    #[retry(max_attempts = 1, when = |_: &Failed| true)]
    async fn judged() -> Result<(), Failed> {
        Err(busy())
    }
    let once = POLICY.max_attempts(1);
    let function = once.when(|_: &Failed| true);
    for events in [
        Kept::during(judged()),
        Kept::during(function.retry(fails(FOR_EVER, Some(503)))),
    ] {
        assert!(events[0].1.contains("the server is busy"), "{events:?}");
    }
}

#[test]
fn a_policy_says_how_loud_a_wait_is() {
    for (level, expected) in [
        (LogLevel::Error, &[Level::ERROR, Level::INFO][..]),
        (LogLevel::Warn, &[Level::WARN, Level::INFO]),
        (LogLevel::Info, &[Level::INFO, Level::INFO]),
        (LogLevel::Debug, &[Level::DEBUG, Level::INFO]),
        (LogLevel::Trace, &[Level::TRACE, Level::INFO]),
        (LogLevel::Off, &[Level::INFO]),
    ] {
        let policy = POLICY.log_waits(level);
        let events = Kept::during(policy.retry(fails(1, Some(503))));
        assert_said("a wait", &events, (expected, &[]));
    }
}

#[test]
fn a_rate_says_when_it_closes_opens_and_switches_off() {
    static RATE: Rate = Rate::new().name("mail");
    let policy = POLICY.rate(&RATE);
    let events = Kept::during(async {
        policy.retry(fails(1, Some(429))).await.unwrap();
        tokio::time::sleep(Duration::from_secs(120)).await;
        policy.retry(fails(0, None)).await.unwrap();
    });
    let levels = [
        Level::DEBUG,
        Level::INFO,
        Level::DEBUG,
        Level::INFO,
        Level::DEBUG,
    ];
    let closed: &[_] = &["calls wait for the rate of the service", "rate=\"mail\""];
    let said: &[(_, &[_])] = &[
        (0, closed),
        (1, &["source=\"backoff\""]),
        (2, &["calls go at ", " a second"]),
        (3, &["succeeded after retries"]),
        (4, &["calls no longer wait"]),
    ];
    assert_said("a rate", &events, (&levels, said));
}

#[test]
fn a_hook_and_a_log_do_not_exclude_each_other() {
    let mut told = 0;
    let call = POLICY.retry(fails(FOR_EVER, Some(503)));
    let call = call.notify(|_: &backoff_core::Event<'_, _>| told += 1);
    let events = Kept::during(call);
    assert_eq!((told, events.len()), (3, 3));
}

#[test]
fn what_a_server_wrote_stays_on_one_line_and_tells_no_secrets() {
    let text = "no\r\nINFO all is well http://ann:pw@example.com/?key=1 \u{1b}[2J";
    let forged = || Failed(Some(503), format!("{text}{}", "x".repeat(9_999)));
    let events = Kept::during(POLICY.retry(|| ready(Err::<(), _>(forged()))));
    assert_eq!(events.len(), 3);
    for (_, line) in events {
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
    let (runtime, client) = (runtime(false), client());
    // The first attempt fails. The second one succeeds, if the policy makes one.
    let with_server = |act, call: &dyn Fn(String) -> Pending| {
        let server = Server::start([act]);
        Kept::within(&runtime, call(server.url("a?key=1")))
    };
    let request = |method: Method, url: String| client.request(method, url);
    let sent = |policy: Policy, method: Method| {
        with_server(RESET, &|url| {
            let sent = policy.send(request(method.clone(), url)).idempotent(true);
            finished(sent.reply())
        })
    };
    let purge = Method::from_bytes(b"PURGE").expect("a method");
    let once = FAST.max_attempts(1);
    let rows = [
        ("copies", "GET", 2, sent(FAST, Method::GET)),
        ("another method", "PATCH", 2, sent(FAST, Method::PATCH)),
        ("no standard method", "_OTHER", 2, sent(FAST, purge)),
        ("one attempt", "POST", 1, sent(once, Method::POST)),
        (
            "built anew",
            "PUT",
            2,
            with_server(RESET, &|url| {
                let client = client.clone();
                let put = move || client.put(&url).body(Body::wrap(String::from("x")));
                finished(FAST.send_with(put).reply())
            }),
        ),
        (
            "its own name",
            "invoices.get",
            2,
            with_server(RESET, &|url| {
                finished(FAST.send(client.get(url)).reply().operation("invoices.get"))
            }),
        ),
        (
            "an attempt that is cut",
            "DELETE",
            2,
            with_server(STALL, &|url| {
                let sent = FAST.send(client.delete(url)).reply();
                finished(sent.attempt_timeout(Duration::from_millis(300)))
            }),
        ),
    ];
    for (row, operation, events, told) in rows {
        assert_eq!(told.len(), events, "{row}: {told:?}");
        for (_, line) in told {
            let named = format!(" operation=\"{operation}\" host=\"127.0.0.1\" ");
            assert!(line.contains(&named), "{row}: {line}");
        }
    }
    let none = with_server(RESET, &|url| {
        let server = client.get(url);
        finished(FAST.retry(move || {
            let sent = server.try_clone().expect("a copy").send();
            async move { backoff_cloud::http::success(sent.await?).await }
        }))
    });
    assert!(!none[0].1.contains("host="), "{none:?}");
}

/// A call whose outcome does not matter.
type Pending = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn finished<T>(call: impl Future<Output = T> + Send + 'static) -> Pending {
    Box::pin(async move { drop(call.await) })
}
