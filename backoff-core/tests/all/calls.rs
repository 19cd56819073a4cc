//! What single forms of a call can do. What all forms share stands in `limits`, `signals`, `responses` and
//! `dropped`.
use crate::common::{
    error::TestError,
    forms::{BUSY, PLAIN, SECOND},
    time::Time,
};
use backoff_core::{Event, Fault, Policy, RetryError, StopReason, TimedOut, Tokio, retry};
use rand::{SeedableRng as _, rngs::SmallRng};
use std::{
    cell::{Cell, RefCell},
    fmt::Debug,
    future::{pending, ready},
    io,
    rc::Rc,
    time::Duration,
};

type Outcome<T> = Result<T, TestError>;

fn hangs() -> impl Future<Output = Outcome<()>> {
    pending()
}

/// Fails, and is then cut at the limit of the call.
fn cut_after_a_failure<E: Fault + From<TimedOut> + Debug>(error: E) -> RetryError<E> {
    let (time, mut first) = (Time::default(), Some(error));
    let call = PLAIN.retry(|| {
        let error = first.take();
        async move {
            match error {
                Some(error) => Err::<(), _>(error),
                None => pending().await,
            }
        }
    });
    let call = call.timeout(10 * SECOND).runtime(time.clone()).reported();
    let gave_up = time.run(call).unwrap_err();
    assert_eq!((time.elapsed(), gave_up.report.attempts), (10 * SECOND, 2));
    assert_eq!(gave_up.reason, StopReason::Deadline);
    gave_up
}

#[test]
fn the_standard_librarys_error_is_made_of_a_cut_attempt() {
    let gave_up = cut_after_a_failure(io::Error::from(io::ErrorKind::ConnectionReset));
    let last = gave_up.last.map(|error| error.kind());
    assert_eq!(last, Some(io::ErrorKind::ConnectionReset));
    assert_eq!(gave_up.error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(gave_up.error.to_string(), "the attempt was cut after 9s");
}

/// An attempt that never yields by itself uses up what tokio lets a task do at a time, and with it
/// the timer's turn. The time is real, because paused time stands still while a task is busy.
#[tokio::test]
async fn an_attempt_timeout_cuts_an_attempt_that_is_always_busy() {
    #[retry(policy = PLAIN, max_attempts = 1, attempt_timeout = "50ms")]
    async fn annotated<F: Future<Output = Outcome<()>>>(busy: impl Fn() -> F) -> Outcome<()> {
        busy().await
    }
    let began = std::time::Instant::now();
    let busy = || async {
        while began.elapsed() < 120 * SECOND {
            tokio::task::consume_budget().await;
        }
        Ok(())
    };
    let limit = Duration::from_millis(50);
    let policy = PLAIN.max_attempts(1);
    let form = policy.retry(busy).attempt_timeout(limit).await;
    assert_eq!(form, Err(TestError::cut(limit)));
    assert!(annotated(busy).await.is_err());
}

#[test]
fn a_timeout_counts_from_the_first_poll() {
    let time = Time::default();
    let call = PLAIN
        .retry(hangs)
        .timeout(10 * SECOND)
        .runtime(time.clone());
    time.pass(60 * SECOND);
    assert_eq!(time.run(call), Err(TestError::cut(10 * SECOND)));
    assert_eq!(time.elapsed(), 70 * SECOND);
}

#[test]
fn a_retry_around_a_reported_retry_does_not_multiply_the_attempts() {
    let (calls, time) = (Cell::new(0), Time::default());
    let busy = || {
        calls.set(calls.get() + 1);
        ready(Err::<(), _>(BUSY))
    };
    let inner = || {
        let call = PLAIN.max_attempts(3).retry(busy).owned();
        call.runtime(time.clone()).reported()
    };
    assert!(time.run(PLAIN.retry(inner).runtime(time.clone())).is_err());
    assert_eq!(calls.get(), 3);
}

/// In the order in which they were given, whatever else is said between them.
#[test]
fn two_hooks_hear_of_everything() {
    let events = RefCell::new(Vec::new());
    let hook = |name: &'static str| {
        let events = &events;
        move |event: &Event<'_, TestError>| events.borrow_mut().push(format!("{name} {event}"))
    };
    let (busy, time) = (|| Err::<(), _>(BUSY), Time::default());
    let policy = PLAIN.max_attempts(2);
    let retry = policy.retry(|| ready(busy())).notify(hook("first"));
    let retry = retry.runtime(time.clone()).notify(hook("second"));
    assert!(time.run(retry).is_err());
    let blocking = policy.blocking(busy).notify(hook("first"));
    let blocking = blocking.runtime(time.clone());
    assert!(blocking.notify(hook("second")).call().is_err());
    let hooks = ["first", "second"];
    let said = [
        "attempt 1 of 2 failed, next in 1s: ",
        "gave up after 2 attempts",
    ];
    let expected = said.map(|said| hooks.map(|hook| format!("{hook} {said}")));
    let expected = expected.as_flattened().iter().cycle();
    assert_eq!(events.borrow().len(), 8);
    for (event, beginning) in events.take().iter().zip(expected) {
        assert!(event.starts_with(beginning), "{event}");
    }
}

#[tokio::test]
async fn a_success_reads_no_clock_and_draws_no_number() {
    let runtime = Time::default();
    let retry = PLAIN.retry(|| ready(Outcome::Ok(1)));
    assert_eq!(retry.runtime(runtime.clone()).await, Ok(1));
    let blocking = PLAIN.blocking(|| Outcome::Ok(2));
    assert_eq!(blocking.runtime(runtime.clone()).call(), Ok(2));
    #[cfg(feature = "breaker")]
    {
        let down = backoff_core::Breaker::new();
        let retry = PLAIN.retry(|| ready(Outcome::Ok(1))).breaker(&down);
        assert_eq!(retry.runtime(runtime.clone()).await, Ok(1));
    }
    // With the feature `metrics` and no recorder, too.
    assert_eq!(runtime.asked(), 0);
}

/// What the page of `deadline` says. Tokio's timer rounds each wait up to a millisecond.
#[tokio::test(start_paused = true)]
async fn short_waits_make_many_calls_within_a_deadline() {
    let policy = Policy::exponential()
        .max_backoff(Duration::from_millis(10))
        .deadline(300 * SECOND);
    let calls = Cell::new(0);
    let runtime = (Tokio, RefCell::new(SmallRng::seed_from_u64(7)));
    let fail = async || {
        calls.set(calls.get() + 1);
        Err::<(), _>(BUSY)
    };
    policy.retry(fail).runtime(runtime).await.unwrap_err();
    let made = f64::from(calls.get());
    assert!((made / 54_545.0 - 1.0).abs() < 0.03, "{made}");
    assert!((made / 60_000.0 - 1.0).abs() < 0.15, "{made}");
}

/// A type that must not cross threads, as an error may hold one.
#[derive(Debug)]
struct Local(#[allow(dead_code, reason = "only its type matters")] Rc<()>);

impl Fault for Local {}

#[tokio::test]
async fn a_future_is_send_where_the_operations_is() {
    fn is_send<F: Future + Send>(future: F) -> F {
        future
    }
    let call = PLAIN.retry(|| async { Outcome::Ok(1) });
    let task = tokio::spawn(is_send(call.owned().reported()));
    assert!(task.await.unwrap().is_ok());
    // The error never lives across an await, so it need not be `Send`.
    let make = || async { Err::<(), _>(Local(Rc::new(()))) };
    assert!(is_send(PLAIN.retry(make)).await.is_err());
    // Also an update of a value that cannot be shown, and a loop of one's own.
    struct NotDebug(u8);
    let read = || async { Outcome::Ok(NotDebug(1)) };
    let update = PLAIN.update(read, |value| value.0 += 1, |_| async { Ok(()) });
    assert!(is_send(update.into_future()).await.is_ok());
    drop(is_send(async { PLAIN.resuming().failed(BUSY).await }));
}
