//! The events that a subscriber of `tracing` gets.

use backoff_core::{Fault, Policy, retry};
use std::{
    fmt,
    future::ready,
    sync::{Arc, Mutex, OnceLock},
};
use tracing::{
    Dispatch, Event, Level, Metadata,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{Subscriber, with_default},
};

#[derive(Debug, Clone)]
struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server is busy")
    }
}

impl Fault for Busy {
    fn status(&self) -> Option<u16> {
        Some(503)
    }
    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
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
        assert_eq!(event.metadata().target(), "backoff");
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0
            .lock()
            .unwrap()
            .push((*event.metadata().level(), line.0));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Kept {
    /// What `work` says.
    fn during(work: impl Future) -> Vec<(Level, String)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
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

#[test]
fn one_warning_when_given_up_and_an_info_event_before_each_wait() {
    #[retry(policy = POLICY, deadline = "60s")]
    async fn busy() -> Result<(), Busy> {
        Err(Busy)
    }
    let events = Kept::during(busy());
    let levels: Vec<_> = events.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::INFO, Level::INFO, Level::WARN]);
    for part in [
        "::busy\"",
        "attempt=2",
        "delay=2.0",
        "source=\"backoff\"",
        "elapsed=1.0",
        "the server is busy",
    ] {
        assert!(events[1].1.contains(part), "{part} in {}", events[1].1);
    }
    for part in [
        "attempts=3",
        "reason=\"attempts\"",
        "elapsed=3.0",
        "the server is busy",
    ] {
        assert!(events[2].1.contains(part), "{part} in {}", events[2].1);
    }
}

#[test]
fn an_exhausted_memorystore_request_is_reported_once() {
    #[retry(policy = backoff_cloud::memorystore::REQUEST)]
    async fn busy() -> Result<(), Busy> {
        Err(Busy)
    }
    let events = Kept::during(busy());
    let warnings: Vec<_> = events
        .iter()
        .filter(|(level, _)| *level == Level::WARN)
        .collect();
    assert_eq!((events.len(), warnings.len()), (10, 1));
    for part in ["attempts=10", "reason=\"attempts\"", "the server is busy"] {
        assert!(warnings[0].1.contains(part), "{part} in {}", warnings[0].1);
    }
}

#[test]
fn whoever_judges_the_errors_text_is_logged() {
    #[retry(max_attempts = 1, when = |_: &Busy| true)]
    async fn judged() -> Result<(), Busy> {
        Err(Busy)
    }
    for events in [
        Kept::during(judged()),
        Kept::during(
            POLICY
                .max_attempts(1)
                .when(|_: &Busy| true)
                .retry(|| ready(Err::<(), _>(Busy))),
        ),
    ] {
        assert!(
            events[0].1.contains("the server is busy"),
            "{}",
            events[0].1
        );
    }
}

#[test]
fn the_function_form_says_the_same() {
    let events = Kept::during(POLICY.retry(|| ready(Err::<(), _>(Busy))));
    assert_eq!(
        events
            .iter()
            .filter(|(level, _)| *level == Level::WARN)
            .count(),
        1
    );
    assert!(
        events[2].1.contains("the_function_form_says_the_same"),
        "{}",
        events[2].1
    );
}

/// Fails so often with this status, and then succeeds.
fn recovers(
    failures: usize,
    status: u16,
) -> impl FnMut() -> std::future::Ready<Result<(), Status>> {
    let mut left = failures;
    move || {
        let failed = left > 0;
        left = left.saturating_sub(1);
        ready(if failed { Err(Status(status)) } else { Ok(()) })
    }
}

#[derive(Debug)]
struct Status(u16);

impl Fault for Status {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
}

#[test]
fn a_success_after_retries_is_told_once() {
    let events = Kept::during(POLICY.retry(recovers(2, 503)));
    let levels: Vec<_> = events.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::INFO; 3]);
    // Without a deadline the time counts from the first failure.
    assert!(!events[0].1.contains("elapsed"), "{}", events[0].1);
    for part in ["succeeded after retries", "attempts=3", "elapsed=3.0"] {
        assert!(events[2].1.contains(part), "{part} in {}", events[2].1);
    }
}

#[test]
fn an_error_that_was_not_retried_is_no_warning() {
    for (status, reason) in [(404, "permanent"), (503, "attempts")] {
        let events = Kept::during(POLICY.max_attempts(1).retry(recovers(1, status)));
        let [(level, line)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(*level, Level::DEBUG, "{line}");
        assert!(line.contains(&format!("reason=\"{reason}\"")), "{line}");
    }
}

#[test]
fn an_error_about_which_nothing_is_known_is_a_warning_at_once() {
    struct Silent;
    impl Fault for Silent {}
    let events = Kept::during(POLICY.retry(|| ready(Err::<(), _>(Silent))));
    let [(level, line)] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(*level, Level::WARN);
    assert!(line.contains("derive or implement `Fault`"), "{line}");
}

#[test]
fn a_policy_says_how_loud_a_wait_is() {
    use backoff_core::LogLevel;
    let levels = |policy: Policy| {
        let events = Kept::during(policy.retry(recovers(1, 503)));
        events.iter().map(|(level, _)| *level).collect::<Vec<_>>()
    };
    for (level, expected) in [
        (LogLevel::Error, Level::ERROR),
        (LogLevel::Warn, Level::WARN),
        (LogLevel::Info, Level::INFO),
        (LogLevel::Debug, Level::DEBUG),
        (LogLevel::Trace, Level::TRACE),
    ] {
        assert_eq!(levels(POLICY.log_waits(level)), [expected, Level::INFO]);
    }
    assert_eq!(levels(POLICY.log_waits(LogLevel::Off)), [Level::INFO]);
}

#[test]
fn a_success_says_nothing() {
    let events = Kept::during(POLICY.retry(|| ready(Ok::<_, Busy>(1))));
    assert!(events.is_empty(), "{events:?}");
}

#[test]
fn a_hook_and_a_log_do_not_exclude_each_other() {
    let mut told = 0;
    let events = Kept::during(POLICY.retry(|| ready(Err::<(), _>(Busy))).notify(
        |_: &backoff_core::Event<'_, _>| {
            told += 1;
        },
    ));
    assert_eq!((told, events.len()), (3, 3));
}

#[test]
fn what_a_server_wrote_stays_on_one_line_and_tells_no_secrets() {
    #[derive(Debug)]
    struct Forged;
    impl fmt::Display for Forged {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let text = "no\r\nINFO all is well http://ann:pw@example.com/?key=1 \u{1b}[2J";
            write!(f, "{text}{}", "x".repeat(9_999))
        }
    }
    impl Fault for Forged {
        fn status(&self) -> Option<u16> {
            Some(503)
        }
        fn message(&self) -> Option<&dyn fmt::Display> {
            Some(self)
        }
    }
    let events = Kept::during(POLICY.retry(|| ready(Err::<(), _>(Forged))));
    assert_eq!(events.len(), 3);
    for (_, line) in events {
        let (_, text) = line.split_once(" error=").expect("an error");
        let expected = "no INFO all is well http://…@example.com/?… \\u{1b}[2Jxxx";
        assert!(text.starts_with(expected), "{text}");
        assert!(
            text.ends_with("xxx…") && text.chars().count() <= 501,
            "{text}"
        );
    }
}
