//! The events that a hook gets, in every form of a call.

use backoff_core::{
    Clock, Event, Fault, Jitter, Policy, Random, Sleep, TimedOut, Updated, WaitSource, codes,
};
use std::{
    cell::{Cell, RefCell},
    future::{Ready, ready},
    time::Duration,
};

const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(5);
const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Failure {
    status: u16,
    hint: Option<Duration>,
    is_retry_info: bool,
}

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        Some(self.status)
    }
    fn retry_after(&self) -> Option<Duration> {
        self.hint
    }
    fn is_retry_info(&self) -> bool {
        self.is_retry_info
    }
}

const BUSY: Failure = Failure {
    status: 503,
    hint: None,
    is_retry_info: false,
};

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        BUSY
    }
}

/// Time is what the waits sum up to; each reading of the clock is counted.
#[derive(Default)]
struct Simulated {
    now: Cell<Duration>,
    readings: Cell<u32>,
}

impl Clock for &Simulated {
    fn now(&self) -> Duration {
        self.readings.set(self.readings.get() + 1);
        self.now.get()
    }
}

impl Sleep for &Simulated {
    type Sleep = Ready<()>;
    fn sleep(&self, wait: Duration) -> Ready<()> {
        self.now.set(self.now.get() + wait);
        ready(())
    }
}

impl Random for &Simulated {
    fn random(&self) -> u64 {
        u64::MAX
    }
}

/// One event, without the failure.
#[derive(Debug, PartialEq)]
enum Told {
    Waiting(u32, Duration, WaitSource, Option<Duration>),
    GaveUp(u32, &'static str, Option<Duration>),
    Succeeded(u32, Option<Duration>),
}

fn told<E>(event: &Event<'_, E>) -> Told {
    match event {
        Event::Waiting {
            attempt,
            wait,
            elapsed,
            ..
        } => Told::Waiting(*attempt, wait.delay, wait.source, *elapsed),
        Event::GaveUp {
            attempts,
            reason,
            elapsed,
            ..
        } => Told::GaveUp(*attempts, reason.name(), *elapsed),
        Event::Succeeded {
            attempts, elapsed, ..
        } => Told::Succeeded(*attempts, *elapsed),
        _ => unreachable!("there are three events"),
    }
}

/// Fails twice, then succeeds.
fn recovers() -> impl FnMut() -> Result<u32, Failure> {
    let mut calls = 0;
    move || {
        calls += 1;
        if calls < 3 { Err(BUSY) } else { Ok(calls) }
    }
}

/// What such a call tells where nothing else asks for the time: it counts from the first failure.
fn expected() -> Vec<Told> {
    vec![
        Told::Waiting(1, SECOND, WaitSource::Backoff, AT_FIRST),
        Told::Waiting(2, 2 * SECOND, WaitSource::Backoff, Some(SECOND)),
        Told::Succeeded(3, Some(3 * SECOND)),
    ]
}

/// The time at the first failure: with metrics each call is measured.
const AT_FIRST: Option<Duration> = if cfg!(feature = "metrics") {
    Some(Duration::ZERO)
} else {
    None
};

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
    }
}

#[test]
fn an_async_call_tells_its_waits_and_its_success() {
    let (time, log) = (Simulated::default(), RefCell::new(Vec::new()));
    let mut get = recovers();
    let call = POLICY
        .retry(move || ready(get()))
        .runtime(&time)
        .notify(|event| log.borrow_mut().push(told(event)));
    assert_eq!(block_on(call), Ok(3));
    assert_eq!(*log.borrow(), expected());
}

#[test]
fn an_update_tells_the_same() {
    let (time, log) = (Simulated::default(), RefCell::new(Vec::new()));
    let mut write = recovers();
    let policy = POLICY.also_on(codes![409]);
    let call = policy
        .update(
            || ready(Ok(1)),
            |_| true,
            move |_| {
                ready(write().map_err(|_| Failure {
                    status: 409,
                    ..BUSY
                }))
            },
        )
        .runtime(&time)
        .notify(|event| log.borrow_mut().push(told(event)));
    assert_eq!(block_on(call), Ok(Updated::Written(3)));
    assert_eq!(*log.borrow(), expected());
}

#[test]
fn with_a_deadline_the_time_counts_from_the_start() {
    let (time, log) = (Simulated::default(), RefCell::new(Vec::new()));
    let policy = POLICY.deadline(60 * SECOND);
    let mut get = recovers();
    let call = policy
        .retry(|| {
            time.now.set(time.now.get() + SECOND);
            ready(get())
        })
        .runtime(&time)
        .notify(|event| log.borrow_mut().push(told(event)));
    assert_eq!(block_on(call), Ok(3));
    let expected = [
        Told::Waiting(1, SECOND, WaitSource::Backoff, Some(SECOND)),
        Told::Waiting(2, 2 * SECOND, WaitSource::Backoff, Some(3 * SECOND)),
        Told::Succeeded(3, Some(6 * SECOND)),
    ];
    assert_eq!(*log.borrow(), expected);
}

#[test]
fn what_succeeds_at_once_tells_nothing_and_reads_no_clock() {
    let (time, mut calls) = (Simulated::default(), 0);
    let call = POLICY
        .retry(|| ready(Ok::<_, Failure>(1)))
        .runtime(&time)
        .notify(|_: &Event<'_, Failure>| calls += 1);
    assert_eq!(block_on(call), Ok(1));
    assert_eq!(calls, 0);
    assert_eq!(time.readings.get() > 0, cfg!(feature = "metrics"));
}

#[test]
fn a_call_that_is_given_up_says_how_long_it_took() {
    let (time, log) = (Simulated::default(), RefCell::new(Vec::new()));
    let policy = POLICY.max_attempts(2);
    let call = policy
        .retry(|| ready(Err::<(), _>(BUSY)))
        .runtime(&time)
        .notify(|event| log.borrow_mut().push(told(event)));
    assert_eq!(block_on(call), Err(BUSY));
    let expected = [
        Told::Waiting(1, SECOND, WaitSource::Backoff, AT_FIRST),
        Told::GaveUp(2, "attempts", Some(SECOND)),
    ];
    assert_eq!(*log.borrow(), expected);
}

#[test]
fn a_hint_has_the_name_of_whoever_gave_it() {
    let long = Some(30 * SECOND);
    for (failure, source) in [
        (Failure { hint: long, ..BUSY }, WaitSource::RetryAfter),
        (
            Failure {
                hint: long,
                is_retry_info: true,
                ..BUSY
            },
            WaitSource::RetryInfo,
        ),
        // A hint that is shorter than the backoff is not what is waited for.
        (
            Failure {
                hint: Some(Duration::from_millis(1)),
                is_retry_info: true,
                ..BUSY
            },
            WaitSource::Backoff,
        ),
    ] {
        let (time, sources) = (Simulated::default(), RefCell::new(Vec::new()));
        let policy = POLICY.max_attempts(2);
        let call = policy
            .retry(|| ready(Err::<(), _>(failure)))
            .runtime(&time)
            .notify(|event| {
                if let Event::Waiting { wait, .. } = event {
                    sources.borrow_mut().push(wait.source);
                }
            });
        let _ = block_on(call);
        assert_eq!(*sources.borrow(), [source]);
    }
}

#[test]
fn an_event_names_the_operation() {
    let (time, names) = (Simulated::default(), RefCell::new(Vec::new()));
    let mut get = recovers();
    let call = POLICY
        .retry(move || ready(get()))
        .runtime(&time)
        .notify(|event| names.borrow_mut().push(event.operation()));
    assert_eq!(block_on(call), Ok(3));
    let names = names.into_inner();
    assert_eq!(names.len(), 3);
    assert!(
        names
            .iter()
            .all(|name| name.contains("an_event_names_the_operation")),
        "{names:?}"
    );
}

impl backoff_core::BlockingSleep for &Simulated {
    fn sleep_blocking(&self, wait: Duration) {
        self.now.set(self.now.get() + wait);
    }
}

#[test]
fn a_blocking_call_tells_the_same() {
    let (time, log) = (Simulated::default(), RefCell::new(Vec::new()));
    let outcome = POLICY
        .blocking(recovers())
        .runtime(&time)
        .notify(|event| log.borrow_mut().push(told(event)))
        .call();
    assert_eq!(outcome, Ok(3));
    assert_eq!(*log.borrow(), expected());
}

#[cfg(all(feature = "macros", feature = "tokio"))]
mod annotated {
    use super::*;
    use backoff_core::{retry, retry_block};

    #[tokio::test(start_paused = true)]
    async fn an_annotated_function_tells_the_same() {
        let log = RefCell::default();
        #[retry(policy = POLICY, name = "billing.get", notify = |event| {
            assert_eq!(event.operation(), "billing.get");
            log.borrow_mut().push(told(event));
        })]
        async fn get(
            log: &RefCell<Vec<Told>>,
            operation: &RefCell<impl FnMut() -> Result<u32, Failure>>,
        ) -> Result<u32, Failure> {
            (operation.borrow_mut())()
        }
        let operation = RefCell::new(recovers());
        assert_eq!(get(&log, &operation).await, Ok(3));
        assert_eq!(*log.borrow(), expected());
    }

    #[tokio::test(start_paused = true)]
    async fn a_block_tells_the_same() {
        let log = RefCell::new(Vec::new());
        let mut get = recovers();
        let outcome: Result<u32, Failure> = retry_block!(
            policy = POLICY,
            notify = |event| log.borrow_mut().push(told(event)),
            async { get() }
        )
        .await;
        assert_eq!(outcome, Ok(3));
        assert_eq!(*log.borrow(), expected());
    }

    #[test]
    fn an_annotated_function_that_blocks_tells_the_same() {
        #[retry(policy = POLICY, sleep = |_| (), when = |_| true, notify = |event| {
            log.borrow_mut().push(event.to_string());
        })]
        fn get(
            log: &RefCell<Vec<String>>,
            operation: &RefCell<impl FnMut() -> Result<u32, &'static str>>,
        ) -> Result<u32, &'static str> {
            (operation.borrow_mut())()
        }
        let log = RefCell::default();
        let mut calls = 0;
        let operation = RefCell::new(|| {
            calls += 1;
            if calls < 2 { Err("busy") } else { Ok(calls) }
        });
        assert_eq!(get(&log, &operation), Ok(2));
        assert_eq!(
            *log.borrow(),
            [
                "attempt 1 failed, next in 1.0s: busy",
                "succeeded after 2 attempts"
            ]
        );
    }
}
