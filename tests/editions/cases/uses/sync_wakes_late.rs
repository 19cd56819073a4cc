//! A sync timer that wakes after the deadline: whoever listens is told, as with the function form.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use backoff_core::{BlockingSleep, Clock, Event, Fault, Policy, Random, StopReason, retry};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use ui::Flaky;

/// An error with a text, which logs show.
#[derive(Debug, PartialEq, Fault, thiserror::Error)]
#[error("status 503")]
#[fault(status = 503)]
struct Busy;

const NAME: &str = "billing.charge";

/// A clock that only its timer moves, so that the machine's speed does not matter. The timer wakes late.
struct Late(Mutex<Duration>);

static LATE: Late = Late(Mutex::new(Duration::ZERO));

impl Clock for Late {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap()
    }
}

impl Random for Late {
    fn random(&self) -> u64 {
        u64::MAX
    }
}

impl BlockingSleep for Late {
    fn sleep_blocking(&self, wait: Duration) {
        *self.0.lock().unwrap() += wait + Duration::from_millis(100);
    }
}

type Heard = RefCell<Vec<String>>;

fn hear(heard: &Heard, event: &Event<'_, Busy>) {
    heard.borrow_mut().push(match event {
        Event::Waiting {
            attempt, failure, ..
        } => format!("{attempt} waits: {failure}"),
        Event::GaveUp {
            attempts,
            failure,
            reason,
            ..
        } => {
            assert_eq!(*reason, StopReason::Deadline);
            format!("{attempts} gave up: {failure}")
        }
        _ => unreachable!(),
    });
}

#[retry(base = "1ms", deadline = "50ms", runtime = &LATE, name = NAME, notify = |event| hear(heard, event))]
fn every(flaky: &Flaky, heard: &Heard) -> Result<u32, Busy> {
    flaky.call().map_err(|_| Busy)
}

#[retry(base = "1ms", deadline = "50ms", runtime = &LATE, name = NAME, on = [503], notify = |event| hear(heard, event))]
fn codes(flaky: &Flaky, heard: &Heard) -> Result<u32, Busy> {
    flaky.call().map_err(|_| Busy)
}

#[retry(base = "1ms", deadline = "50ms", runtime = &LATE, name = NAME, on = [429, Busy { .. }], notify = |event| hear(heard, event))]
fn patterns(flaky: &Flaky, heard: &Heard) -> Result<u32, Busy> {
    flaky.call().map_err(|_| Busy)
}

#[retry(base = "1ms", deadline = "50ms", runtime = &LATE, name = NAME, on = [503], faults(Busy))]
fn found(flaky: &Flaky) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
    Ok(flaky.call().map_err(|_| Busy)?)
}

/// What `tracing` is told: the name and the error of each event.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if ["operation", "error"].contains(&field.name()) {
            self.0 += &format!("{}={value:?} ", field.name());
        }
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn works() {
    let log = Log::default();
    let _subscribed = super::subscribed(log.clone());
    let heard = Heard::default();
    for function in [every, codes, patterns] {
        let flaky = Flaky::failing(9);
        assert_eq!(function(&flaky, &heard), Err(Busy));
        assert_eq!(flaky.calls(), 1);
        let told = heard.take();
        assert_eq!(told, ["1 waits: status 503", "1 gave up: status 503"]);
    }
    assert!(found(&Flaky::failing(9)).is_err());
    let logged = std::mem::take(&mut *log.0.lock().unwrap());
    assert_eq!(logged.len(), 8, "{logged:?}");
    for line in &logged {
        assert!(
            line.contains(NAME) && line.contains("status 503"),
            "{logged:?}"
        );
    }

    // The function form says the same.
    let (flaky, heard) = (Flaky::failing(9), Heard::default());
    let ms = Duration::from_millis;
    let policy = Policy::exponential().base(ms(1)).deadline(ms(50));
    let done = policy
        .when(|_: &Busy| true)
        .blocking(|| flaky.call().map_err(|_| Busy))
        .notify(|event| hear(&heard, event))
        .runtime(&LATE)
        .call();
    assert_eq!(done, Err(Busy));
    assert_eq!(
        heard.take(),
        ["1 waits: status 503", "1 gave up: status 503"]
    );
}
