//! The events that a subscriber of `tracing` gets.

use crate::server::{FAST, RESET, STALL, Server, client, runtime};
use backoff_cloud::http::SendExt as _;
use backoff_core::{Fault, Policy, retry};
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
    let failed: Said<'_> = (debug, &[(0, exhausted)]);
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
    use backoff_core::LogLevel;
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
