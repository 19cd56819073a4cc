//! The two loops, in virtual time.
use crate::common::Scripted;
use backoff_core::{
    Delivery, Event, Fault, Jitter, Policy, RetryError, StopReason, TimedOut, Verdict, WaitSource,
    codes,
};
use std::{
    cell::{Cell, RefCell},
    future::{Future, ready},
    rc::Rc,
    time::Duration,
};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const PLAIN: Policy = Policy::exponential().jitter(Jitter::None);

/// An error as a client might have it.
#[derive(Debug, Clone, PartialEq)]
enum ApiError {
    Status(u16, Option<Duration>),
    Delivery(Delivery),
}

impl Fault for ApiError {
    fn status(&self) -> Option<u16> {
        match self {
            ApiError::Status(status, _) => Some(*status),
            ApiError::Delivery(_) => None,
        }
    }
    fn retry_after(&self) -> Option<Duration> {
        match self {
            ApiError::Status(_, hint) => *hint,
            ApiError::Delivery(_) => None,
        }
    }
    fn delivery(&self) -> Option<Delivery> {
        match self {
            ApiError::Status(..) => None,
            ApiError::Delivery(transport) => Some(*transport),
        }
    }
}

impl From<TimedOut> for ApiError {
    fn from(_: TimedOut) -> Self {
        ApiError::Delivery(Delivery::MaybeSent)
    }
}

const BUSY: ApiError = ApiError::Status(503, None);

/// Runs an operation that always fails after `takes`; gives when each attempt began, when all was
/// over, and how.
async fn fail(policy: Policy, takes: Duration) -> (Vec<u64>, u64, RetryError<ApiError>) {
    let start = Instant::now();
    let mut begun = Vec::new();
    let error = policy
        .retry(|| {
            begun.push(start.elapsed().as_secs());
            async move {
                tokio::time::sleep(takes).await;
                Err::<(), _>(BUSY)
            }
        })
        .reported()
        .await
        .unwrap_err();
    (begun, start.elapsed().as_secs(), error)
}

#[tokio::test(start_paused = true)]
async fn a_deadline_with_attempts_that_take_no_time() {
    let (begun, over, error) = fail(PLAIN.deadline(20 * SECOND), Duration::ZERO).await;
    assert_eq!(begun, [0, 1, 3, 7, 15]);
    assert_eq!((over, error.reason), (15, StopReason::Deadline));
    assert_eq!(error.report.attempts, 5);
    assert_eq!(
        (error.report.elapsed, error.report.slept),
        (15 * SECOND, 15 * SECOND)
    );
}

#[tokio::test(start_paused = true)]
async fn a_deadline_with_attempts_of_four_seconds() {
    let (begun, over, error) = fail(PLAIN.deadline(20 * SECOND), 4 * SECOND).await;
    // 4 + 1 + 4 + 2 + 4 = 15; a wait of 4 s would end at 19, and is the last that fits.
    assert_eq!(begun, [0, 5, 11, 19]);
    assert_eq!((over, error.reason), (23, StopReason::Deadline));
    assert_eq!(
        (error.report.elapsed, error.report.slept),
        (23 * SECOND, 7 * SECOND)
    );
}

#[tokio::test(start_paused = true)]
async fn a_deadline_with_attempts_of_an_hour() {
    let (begun, over, error) = fail(PLAIN.deadline(20 * SECOND), 3_600 * SECOND).await;
    assert_eq!(begun, [0]);
    assert_eq!((over, error.reason), (3_600, StopReason::Deadline));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_timeout_cuts_attempts_of_an_hour_and_the_last_one_at_the_deadline() {
    let start = Instant::now();
    let mut begun = Vec::new();
    let policy = PLAIN.deadline(20 * SECOND);
    let outcome: Result<(), ApiError> = policy
        .retry(|| {
            begun.push(start.elapsed().as_secs());
            std::future::pending()
        })
        .attempt_timeout(6 * SECOND)
        .await;
    assert_eq!(outcome, Err(ApiError::Delivery(Delivery::MaybeSent)));
    // 6 + 1, 6 + 2, then 5 remain of 20.
    assert_eq!(begun, [0, 7, 15]);
    assert_eq!(start.elapsed(), 20 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_timeout_leaves_a_fast_attempt_alone() {
    let outcome: Result<u32, ApiError> = PLAIN.retry(|| ready(Ok(1))).attempt_timeout(SECOND).await;
    assert_eq!(outcome, Ok(1));
}

/// An attempt that never yields by itself uses up what tokio lets a task do at a time, and with it
/// the timer's turn. The time is real, because paused time stands still while a task is busy.
#[tokio::test]
async fn an_attempt_timeout_cuts_an_attempt_that_is_always_busy() {
    let began = std::time::Instant::now();
    let busy = || async {
        while began.elapsed() < 120 * SECOND {
            tokio::task::consume_budget().await;
        }
        Ok(())
    };
    let policy = PLAIN.max_attempts(1);
    let form: Result<(), ApiError> = policy
        .retry(busy)
        .attempt_timeout(Duration::from_millis(50))
        .await;
    assert_eq!(form, Err(ApiError::Delivery(Delivery::MaybeSent)));

    #[cfg(feature = "macros")]
    {
        #[backoff_core::retry(policy = PLAIN, max_attempts = 1, attempt_timeout = "50ms")]
        async fn annotated<F: Future<Output = Result<(), ApiError>>>(
            busy: impl Fn() -> F,
        ) -> Result<(), ApiError> {
            busy().await
        }
        assert!(annotated(busy).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_leaves_no_time_for_an_attempt_that_is_cut_is_not_begun() {
    let mut calls = 0;
    // 1 + 2 + 4 end at the deadline: without a timeout a fourth attempt may begin there.
    let policy = PLAIN.deadline(7 * SECOND);
    let error = policy
        .retry(|| {
            calls += 1;
            ready(Err::<(), _>(BUSY))
        })
        .attempt_timeout(SECOND)
        .reported()
        .await
        .unwrap_err();
    assert_eq!(
        (error.reason, error.report.attempts, error.report.slept),
        (StopReason::Deadline, 3, 3 * SECOND)
    );
    assert_eq!((error.into_error(), calls), (BUSY, 3));
}

#[tokio::test(start_paused = true)]
async fn the_first_attempt_is_always_begun() {
    let policy = PLAIN.deadline(Duration::ZERO);
    let ready_at_once: Result<u32, ApiError> =
        policy.retry(|| ready(Ok(1))).attempt_timeout(SECOND).await;
    assert_eq!(ready_at_once, Ok(1));
    let never: Result<(), ApiError> = policy
        .retry(std::future::pending)
        .attempt_timeout(SECOND)
        .await;
    assert_eq!(never, Err(ApiError::Delivery(Delivery::MaybeSent)));
}

/// Where the timer wakes after the deadline, no attempt is made, none is counted, and it is told.
#[tokio::test]
async fn an_attempt_for_which_no_time_remains_is_neither_made_nor_counted() {
    let (mut calls, mut log) = (0, Vec::new());
    let error = PLAIN
        .deadline(10 * SECOND)
        .retry(|| {
            calls += 1;
            ready(Err::<(), _>(BUSY))
        })
        .attempt_timeout(SECOND)
        .notify(|event: &Event<'_, ApiError>| log.push(matches!(event, Event::GaveUp { .. })))
        .runtime(Scripted::late(3_600 * SECOND))
        .reported()
        .await
        .unwrap_err();
    assert_eq!(
        (error.reason, error.report.attempts, calls),
        (StopReason::Deadline, 1, 1)
    );
    assert_eq!(log, [false, true]);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_knows_its_number_and_what_remains() {
    let mut seen = Vec::new();
    let policy = PLAIN.deadline(10 * SECOND);
    let _: Result<(), _> = policy
        .retry_with(|attempt| {
            seen.push((
                attempt.number(),
                attempt.elapsed().as_secs(),
                attempt.remaining().as_secs(),
            ));
            ready(Err(BUSY))
        })
        .await;
    assert_eq!(seen, [(1, 0, 10), (2, 1, 9), (3, 3, 7), (4, 7, 3)]);
}

#[tokio::test(start_paused = true)]
async fn the_servers_hint_is_waited_for() {
    let start = Instant::now();
    let mut sources = Vec::new();
    let hinted = ApiError::Status(429, Some(5 * SECOND));
    let _: Result<(), _> = PLAIN
        .max_attempts(2)
        .retry(|| ready(Err(hinted.clone())))
        .notify(|event: &Event<'_, ApiError>| {
            if let Event::Waiting { wait, .. } = event {
                sources.push(wait.source);
            }
        })
        .await;
    assert_eq!(start.elapsed(), 5 * SECOND);
    assert_eq!(sources, [WaitSource::RetryAfter]);
}

#[tokio::test(start_paused = true)]
async fn a_hint_past_the_deadline_ends_it_at_once_with_the_last_error() {
    let start = Instant::now();
    let hinted = ApiError::Status(429, Some(301 * SECOND));
    let error = PLAIN
        .deadline(300 * SECOND)
        .retry(|| ready(Err::<(), _>(hinted.clone())))
        .reported()
        .await
        .unwrap_err();
    assert_eq!(
        (error.reason, error.report.attempts),
        (StopReason::RetryAfter, 1)
    );
    assert_eq!(error.into_error(), hinted);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_is_handed_back_at_once() {
    let mut calls = 0;
    let error = PLAIN
        .retry(|| {
            calls += 1;
            ready(Err::<(), _>(ApiError::Status(404, None)))
        })
        .reported()
        .await
        .unwrap_err();
    assert_eq!((error.reason, calls), (StopReason::Permanent, 1));
}

#[tokio::test(start_paused = true)]
async fn a_success_is_reported_too() {
    let mut calls = 0;
    let (value, report) = PLAIN
        .retry(|| {
            calls += 1;
            ready(if calls == 3 { Ok("there") } else { Err(BUSY) })
        })
        .reported()
        .await
        .unwrap();
    assert_eq!(
        (value, report.attempts, report.slept),
        ("there", 3, 3 * SECOND)
    );
}

#[tokio::test(start_paused = true)]
async fn a_retry_around_a_reported_retry_does_not_multiply_the_attempts() {
    let calls = Cell::new(0);
    let outcome = PLAIN
        .retry(|| {
            PLAIN
                .max_attempts(3)
                .retry(|| {
                    calls.set(calls.get() + 1);
                    ready(Err::<(), _>(BUSY))
                })
                .owned()
                .reported()
        })
        .await;
    assert!(outcome.is_err());
    assert_eq!(calls.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_callers_function_judges_errors_of_any_type() {
    let calls = Cell::new(0);
    let call = || {
        calls.set(calls.get() + 1);
        ready(Err::<(), _>(if calls.get() < 3 { "busy" } else { "gone" }))
    };
    let outcome = PLAIN
        .when_any(|error: &&str| *error == "busy")
        .retry(call)
        .await;
    assert_eq!((outcome, calls.get()), (Err("gone"), 3));
}

#[tokio::test(start_paused = true)]
async fn the_callers_function_may_pass_a_hint_on() {
    let start = Instant::now();
    let _ = PLAIN
        .max_attempts(2)
        .when_any(|wait: &u64| Verdict::from(true).after(Some(Duration::from_secs(*wait))))
        .retry(|| ready(Err::<(), _>(9)))
        .await;
    assert_eq!(start.elapsed(), 9 * SECOND);
}

#[cfg(feature = "macros")]
#[tokio::test(start_paused = true)]
async fn the_attribute_obeys_hints_whoever_judges() {
    use backoff_core::retry;

    #[retry(jitter = none, max_attempts = 2)]
    async fn every() -> Result<(), ApiError> {
        Err(ApiError::Status(503, Some(30 * SECOND)))
    }
    #[retry(jitter = none, max_attempts = 2, when = |error: &ApiError| *error != BUSY)]
    async fn chosen() -> Result<(), ApiError> {
        Err(ApiError::Status(404, Some(40 * SECOND)))
    }
    #[retry(jitter = none, max_attempts = 2)]
    async fn any_type() -> Result<(), &'static str> {
        Err("of no `Fault`")
    }
    #[retry(jitter = none, max_attempts = 2)]
    async fn generic<E>(error: fn() -> E) -> Result<(), E> {
        Err(error())
    }
    for (waited, seconds) in [
        (waited(every()).await, 30),
        (waited(chosen()).await, 40),
        (waited(any_type()).await, 1),
        (waited(generic(|| BUSY)).await, 1),
    ] {
        assert_eq!(waited.as_secs(), seconds);
    }
}

#[cfg(feature = "macros")]
async fn waited(work: impl Future) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_dropped_future_calls_neither_the_operation_nor_the_hook_again() {
    let (calls, events) = (Cell::new(0), Cell::new(0));
    let endless = PLAIN
        .retry(|| {
            calls.set(calls.get() + 1);
            ready(Err::<(), _>(BUSY))
        })
        .notify(|_: &Event<'_, ApiError>| events.set(events.get() + 1));
    assert!(tokio::time::timeout(SECOND / 2, endless).await.is_err());
    tokio::time::sleep(100 * SECOND).await;
    assert_eq!((calls.get(), events.get()), (1, 1));
}

/// In the order in which they were given, whatever else is said between them.
#[test]
fn two_hooks_hear_of_everything() {
    let events = RefCell::new(Vec::new());
    let hook = |name: &'static str| {
        let events = &events;
        move |event: &Event<'_, ApiError>| events.borrow_mut().push((name, format!("{event:?}")))
    };
    let busy = || Err::<(), _>(BUSY);
    let policy = PLAIN.max_attempts(3);
    for is_async in [true, false] {
        if is_async {
            let retry = policy.retry(|| ready(busy())).notify(hook("first"));
            let retry = retry.runtime(Scripted::default()).notify(hook("second"));
            let waker = std::task::Waker::noop();
            let polled = std::pin::pin!(retry).poll(&mut std::task::Context::from_waker(waker));
            assert!(polled.is_ready());
        } else {
            let blocking = policy.blocking(busy).notify(hook("first"));
            let blocking = blocking.runtime(Scripted::default());
            assert!(blocking.notify(hook("second")).call().is_err());
        }
        let events = events.take();
        let names: Vec<_> = events.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["first", "second"].repeat(3));
        for (pair, beginning) in events.chunks(2).zip(["Waiting", "Waiting", "GaveUp"]) {
            assert_eq!(pair[0].1, pair[1].1);
            assert!(pair[0].1.starts_with(beginning), "{}", pair[0].1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_operation_is_called_after_the_wait_and_not_before() {
    let start = Instant::now();
    let mut begun = Vec::new();
    let _: Result<(), _> = PLAIN
        .max_attempts(2)
        .retry(|| {
            begun.push(start.elapsed());
            ready(Err(BUSY))
        })
        .await;
    assert_eq!(begun, [Duration::ZERO, SECOND]);
}

#[tokio::test]
async fn both_loops_keep_the_same_schedule_under_an_injected_clock_and_random_source() {
    let policy = Policy::exponential()
        .jitter(Jitter::Additive(SECOND))
        .max_backoff(6 * SECOND)
        .max_attempts(6);
    for (random, expected) in [
        (0, [1.0, 2.0, 4.0, 6.0, 6.0]),
        (1 << 63, [1.5, 2.5, 4.5, 6.0, 6.0]),
    ] {
        let runtime = Scripted::drawing(random);
        let _: Result<(), _> = policy
            .retry(|| ready(Err(BUSY)))
            .runtime(runtime.clone())
            .await;
        let asynchronous = runtime.waits.take();

        let outcome = policy
            .blocking(|| Err::<(), _>(BUSY))
            .runtime(runtime.clone())
            .reported();
        let report = outcome.unwrap_err().report;
        assert_eq!(asynchronous, runtime.waits.take());
        assert_eq!(asynchronous, expected.map(Duration::from_secs_f64));
        assert_eq!(report.attempts, 6);
        assert_eq!(report.slept, asynchronous.iter().sum::<Duration>());
    }
}

#[tokio::test]
async fn a_success_reads_no_clock_and_draws_no_number() {
    let runtime = Scripted::default();
    let retry = PLAIN.retry(|| ready(Ok(1))).runtime(runtime.clone());
    let success: Result<u32, ApiError> = retry.await;
    assert_eq!(success, Ok(1));
    let blocking = PLAIN.blocking(|| Ok(2)).runtime(runtime.clone());
    let success: Result<u32, ApiError> = blocking.call();
    assert_eq!(success, Ok(2));
    // With metrics a call reads the clock twice.
    let readings = if cfg!(feature = "metrics") { 4 } else { 0 };
    assert_eq!(runtime.asked.get(), readings);
}

#[test]
fn the_blocking_loop_counts_attempts_and_tells_of_them() {
    let runtime = Scripted::default();
    let mut log = Vec::new();
    let policy = PLAIN.deadline(10 * SECOND).on(codes![503]);
    let outcome = policy
        .blocking_with(|attempt| {
            if attempt.number() < 3 {
                Err(BUSY)
            } else {
                Ok(attempt.elapsed())
            }
        })
        .notify(|event: &Event<'_, ApiError>| {
            if let Event::Waiting { attempt, wait, .. } = event {
                log.push((*attempt, wait.delay));
            }
        })
        .runtime(runtime)
        .call();
    assert_eq!(outcome, Ok(3 * SECOND));
    assert_eq!(log, [(1, SECOND), (2, 2 * SECOND)]);
}

#[test]
fn a_blocking_attempt_does_not_begin_after_the_deadline_even_if_the_timer_wakes_late() {
    let (mut calls, mut log) = (0, Vec::new());
    let policy = PLAIN.deadline(10 * SECOND);
    let error = policy
        .blocking(|| {
            calls += 1;
            Err::<(), _>(BUSY)
        })
        .notify(|event: &Event<'_, ApiError>| log.push(matches!(event, Event::GaveUp { .. })))
        .runtime(Scripted::late(3_600 * SECOND))
        .reported()
        .unwrap_err();
    assert_eq!(
        (error.reason, error.report.attempts),
        (StopReason::Deadline, 1)
    );
    assert_eq!((error.into_error(), calls), (BUSY, 1));
    assert_eq!(log, [false, true]);
}

#[test]
fn a_blocking_retry_on_the_real_clock() {
    let policy = PLAIN.scaled(0.001);
    let mut calls = 0;
    let began = std::time::Instant::now();
    let outcome = policy.retry_blocking(|| {
        calls += 1;
        if calls < 3 { Err(BUSY) } else { Ok(calls) }
    });
    assert_eq!(outcome, Ok(3));
    assert!(began.elapsed() >= Duration::from_millis(3));
}

fn is_send<T: Send>(future: T) -> T {
    future
}

/// A type that must not cross threads, as an error may hold one.
#[derive(Debug)]
struct Local(#[allow(dead_code, reason = "only its type matters")] Rc<()>);

impl Fault for Local {}

#[tokio::test]
async fn a_future_is_send_where_the_operations_is() {
    let policy = PLAIN;
    let task = tokio::spawn(is_send(
        policy
            .retry(|| async { Ok::<_, ApiError>(1) })
            .owned()
            .reported(),
    ));
    assert!(task.await.unwrap().is_ok());
    // The error never lives across an await, so it need not be `Send`.
    let make = || async { Err::<(), _>(Local(Rc::new(()))) };
    fn of<F: Future>(future: F) -> F {
        future
    }
    assert!(of(is_send(policy.retry(make))).await.is_err());
}

#[tokio::test]
async fn a_borrowing_async_closure_will_do() {
    let name = String::from("a");
    let greet = async |greeting: &str| Ok::<_, ApiError>(format!("{greeting} {name}"));
    assert_eq!(PLAIN.retry(|| greet("hello")).await.unwrap(), "hello a");
}
