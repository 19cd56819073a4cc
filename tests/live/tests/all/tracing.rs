//! The log of requests, as a subscriber of `tracing` gets it. What is told of every call is in
//! `backoff-core/tests/all/stories.rs`.

use crate::server::{FAST, RESET, Server, client, reply, runtime};
use backoff_cloud::http::SendExt as _;
use backoff_core::{Fault, FaultKind, Jitter, LogLevel, NotYet, Policy, Rate};
use reqwest_middleware_05::ClientBuilder;
use std::{
    fmt,
    future::ready,
    io,
    pin::Pin,
    sync::{Mutex, OnceLock},
    time::Duration,
};
use tokio::runtime::Runtime;
use tower::{Service as _, ServiceBuilder};
use tracing::{Dispatch, Level, subscriber::with_default};
use tracing_subscriber::fmt::MakeWriter as _;

const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(3);

/// A 503 with a text.
struct Busy(String);

impl Fault for Busy {
    fn status(&self) -> Option<u16> {
        Some(503)
    }
    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(&self.0)
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
            ready(Ok::<_, Busy>(reply.body(()).unwrap()))
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
        let policy = POLICY.log_waits(level).max_attempts(2);
        let failed = told(policy.retry(|| ready(Err::<(), _>(Busy("busy".to_owned())))));
        let polled = told(policy.retry(|| ready(Ok::<_, NotYet>(1))).until(|_| false));
        for (lines, expected) in [(failed, wait), (polled, poll)] {
            // The wait, and the end.
            let events = 2 - usize::from(expected.is_empty());
            assert_eq!(lines.len(), events, "{lines:?}");
            assert!(lines[0].starts_with(expected), "{level:?}: {lines:?}");
        }
    }
}

/// The SQLSTATE of a database that says nothing else.
#[test]
fn without_a_status_a_line_has_the_code_of_the_service() {
    struct Serialization;
    impl Fault for Serialization {
        fn kind(&self) -> Option<FaultKind> {
            Some(FaultKind::Transient)
        }
        fn service_code(&self) -> Option<&str> {
            Some("40001")
        }
    }
    let events = told(POLICY.retry(|| ready(Err::<(), _>(Serialization))));
    assert_eq!(events.len(), 3);
    assert!(
        events.iter().all(|line| line.contains(" code=40001")),
        "{events:?}"
    );
}

#[test]
fn what_a_server_wrote_stays_on_one_line_and_tells_no_secrets() {
    let text = "no\r\nINFO all is well http://ann:pw@example.com/?key=1 \u{1b}[2J";
    let text = format!("{text}{}", "x".repeat(9_999));
    let events = told(POLICY.retry(|| ready(Err::<(), _>(Busy(text.clone())))));
    assert_eq!(events.len(), 3);
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
    // The second request waits for its turn, and is not sent. The rate has no operation and no host.
    let rate: &'static Rate = Box::leak(Box::default());
    let queued = {
        let server = Server::start([reply(429, "", "")]);
        let send = || {
            FAST.max_attempts(1)
                .send(client.get(server.url("a")))
                .reply()
        };
        let mut told = told_in(&runtime, async {
            let _ = send().rate(rate).await;
            let _ = send()
                .rate(rate)
                .max_queue_time(Duration::from_millis(1))
                .await;
        });
        told.retain(|line| line.contains("WARN") && line.contains("operation="));
        assert!(told[1].contains("before the first attempt"), "{told:?}");
        told
    };
    // The layer knows the host of a request that it can copy.
    let layered = with_server(&|url| {
        let mut service = ServiceBuilder::new()
            .layer(FAST.layer())
            .service(client.clone());
        let request = client.get(url).build().expect("a request");
        finished(service.call(request))
    });
    let by_middleware = with_server(&|url| {
        let client = ClientBuilder::new(client.clone()).with(FAST.layer());
        finished(client.build().delete(url).send())
    });
    for (operation, events, told) in [
        ("GET", 2, queued),
        ("DELETE", 2, by_middleware),
        ("tower", 2, layered),
        ("GET", 2, sent(FAST, "GET")),
        // No standard method.
        ("_OTHER", 2, sent(FAST, "PURGE")),
        ("POST", 1, sent(FAST.max_attempts(1), "POST")),
        ("PUT", 2, built),
        ("invoices.get", 2, own_name),
    ] {
        assert_eq!(told.len(), events, "{operation}: {told:?}");
        for line in told {
            let named = format!(" operation=\"{operation}\" host=\"127.0.0.1:");
            assert!(line.contains(&named), "{line}");
        }
    }
}
