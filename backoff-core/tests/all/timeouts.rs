//! Calls and attempts that are cut, in virtual time.
use crate::common::Scripted;
use backoff_core::{
    Attempt, Event, Fault, Jitter, Policy, RetryError, StopReason, TimedOut, Updated,
};
use std::{
    cell::{Cell, RefCell},
    future::{Future, pending, poll_fn, ready},
    io,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const PLAIN: Policy = Policy::exponential().jitter(Jitter::None);

#[derive(Debug, Clone, PartialEq)]
enum Failure {
    Busy,
    Cut(TimedOut),
}
use Failure::{Busy, Cut};

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        (*self == Busy).then_some(503)
    }
    fn inner(&self) -> Option<&dyn Fault> {
        match self {
            Busy => None,
            Cut(late) => Some(late),
        }
    }
}

impl From<TimedOut> for Failure {
    fn from(late: TimedOut) -> Self {
        Cut(late)
    }
}

/// Cut after so many seconds.
fn cut(seconds: u32) -> Failure {
    Cut(TimedOut::new(seconds * SECOND))
}

fn hangs<T>() -> impl Future<Output = Result<T, Failure>> {
    pending()
}

/// Polls once.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// The result of a call under a runtime that never waits.
fn now<F: Future>(future: F) -> F::Output {
    match poll_once(future) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

mod errors_of_others {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn of_the_standard_library() {
        let start = Instant::now();
        let mut begun = Vec::new();
        let gave_up = PLAIN
            .retry(|| {
                let at = start.elapsed();
                begun.push(at);
                async move {
                    if at.is_zero() {
                        return Err(io::Error::from(io::ErrorKind::ConnectionReset));
                    }
                    pending::<io::Result<()>>().await
                }
            })
            .timeout(10 * SECOND)
            .reported()
            .await
            .unwrap_err();
        assert_eq!(start.elapsed(), 10 * SECOND);
        assert_eq!(begun, [Duration::ZERO, SECOND]);
        assert_eq!(gave_up.reason, StopReason::Deadline);
        let last = gave_up.last.map(|error| error.kind());
        assert_eq!(last, Some(io::ErrorKind::ConnectionReset));
        assert_eq!(gave_up.error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(gave_up.error.to_string(), "the attempt was cut after 9s");
    }

    #[cfg(feature = "tonic-014")]
    #[tokio::test(start_paused = true)]
    async fn of_tonic() {
        use tonic_014::{Code, Status};

        let start = Instant::now();
        let mut begun = Vec::new();
        let gave_up = PLAIN
            .retry(|| {
                let at = start.elapsed();
                begun.push(at);
                async move {
                    if at.is_zero() {
                        return Err(Status::unavailable("busy"));
                    }
                    pending::<Result<(), Status>>().await
                }
            })
            .timeout(10 * SECOND)
            .reported()
            .await
            .unwrap_err();
        assert_eq!(start.elapsed(), 10 * SECOND);
        assert_eq!(begun, [Duration::ZERO, SECOND]);
        assert_eq!(gave_up.reason, StopReason::Deadline);
        let last = gave_up.last.map(|status| status.code());
        assert_eq!(last, Some(Code::Unavailable));
        let status = gave_up.error;
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(status.message(), "the attempt was cut after 9s");
    }

    /// The policy's codes do not name `DEADLINE_EXCEEDED`, and need not.
    #[cfg(feature = "tonic-014")]
    #[tokio::test(start_paused = true)]
    async fn of_tonic_attempt_by_attempt() {
        use tonic_014::Status;

        let report = |policy: Policy| {
            let hangs = || pending::<Result<(), Status>>();
            let policy = policy.on(backoff_core::Codes::UNAVAILABLE).max_attempts(3);
            policy
                .retry(hangs)
                .attempt_timeout(SECOND)
                .owned()
                .reported()
        };
        let gave_up = report(PLAIN).await.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::Attempts);
        assert_eq!(gave_up.report.attempts, 3);
        let gave_up = report(PLAIN.idempotent(false)).await.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::MaybeApplied);
        assert_eq!(gave_up.report.attempts, 1);
    }
}

mod a_whole_call {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hanging_attempt_is_cut_at_the_end() {
        let start = Instant::now();
        let gave_up = PLAIN
            .retry(hangs::<()>)
            .timeout(30 * SECOND)
            .reported()
            .await
            .unwrap_err();
        assert_eq!((gave_up.error, gave_up.last), (cut(30), None));
        assert_eq!(gave_up.reason, StopReason::Deadline);
        assert_eq!(gave_up.report.attempts, 1);
        assert_eq!(gave_up.report.slept, Duration::ZERO);
        assert_eq!(gave_up.report.elapsed, 30 * SECOND);
        assert_eq!(start.elapsed(), 30 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_attempt_that_must_not_be_made_twice() {
        let gave_up = PLAIN
            .idempotent(false)
            .retry(hangs::<()>)
            .timeout(30 * SECOND)
            .reported()
            .await
            .unwrap_err();
        assert_eq!(gave_up.reason, StopReason::MaybeApplied);
        assert_eq!((gave_up.error, gave_up.report.attempts), (cut(30), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_shorter_one_of_it_and_the_policys_deadline_holds() {
        for (deadline, limit) in [(7, 30), (30, 7), (7, 7)] {
            let start = Instant::now();
            let policy = PLAIN.deadline(deadline * SECOND);
            let error = policy.retry(hangs::<()>).timeout(limit * SECOND).await;
            assert_eq!(error, Err(cut(7)), "{deadline} {limit}");
            assert_eq!(start.elapsed(), 7 * SECOND, "{deadline} {limit}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_shorter_one_of_two_limits_holds() {
        for (first, second) in [(7, 30), (30, 7)] {
            let start = Instant::now();
            let call = PLAIN.retry(hangs::<()>).timeout(first * SECOND);
            assert_eq!(call.timeout(second * SECOND).await, Err(cut(7)));
            assert_eq!(start.elapsed(), 7 * SECOND);
        }
    }

    async fn with_a_limit_of_each_attempt(whole_first: bool) {
        let start = Instant::now();
        let begun = RefCell::new(Vec::new());
        let call = PLAIN.retry(|| {
            begun.borrow_mut().push(start.elapsed().as_secs());
            hangs::<()>()
        });
        let (whole, each) = (20 * SECOND, 6 * SECOND);
        let gave_up = if whole_first {
            call.timeout(whole).attempt_timeout(each).reported().await
        } else {
            call.attempt_timeout(each).timeout(whole).reported().await
        }
        .unwrap_err();
        // 6 + 1, 6 + 2, then 5 remain of 20.
        assert_eq!(*begun.borrow(), [0, 7, 15]);
        assert_eq!(start.elapsed(), 20 * SECOND);
        assert_eq!((gave_up.error, gave_up.last), (cut(5), None));
        assert_eq!(gave_up.reason, StopReason::Deadline);
    }

    #[tokio::test(start_paused = true)]
    async fn it_goes_with_a_limit_of_each_attempt() {
        with_a_limit_of_each_attempt(false).await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_goes_with_a_limit_of_each_attempt_that_is_said_after_it() {
        with_a_limit_of_each_attempt(true).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_shorter_one_of_two_limits_of_each_attempt_holds() {
        let policy = PLAIN.max_attempts(1);
        for (first, second) in [(3, 6), (6, 3)] {
            let call = policy.retry(hangs::<()>).attempt_timeout(first * SECOND);
            let error = call.attempt_timeout(second * SECOND).await;
            assert_eq!(error, Err(cut(3)), "{first} {second}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_attempts_are_made_as_fit() {
        let start = Instant::now();
        let busy = || ready(Err::<(), _>(Busy));
        // 1 + 2 + … + 32 = 63, then 64 a wait: the next one would end at 127, the one after at 191.
        let gave_up = PLAIN
            .retry(busy)
            .timeout(190 * SECOND)
            .reported()
            .await
            .unwrap_err();
        assert_eq!(
            (gave_up.error, gave_up.reason),
            (Busy, StopReason::Deadline)
        );
        assert_eq!(gave_up.report.attempts, 8);
        assert_eq!(start.elapsed(), 127 * SECOND);
        // Where the attempts are limited, they are.
        let limited = PLAIN.max_attempts(3);
        let gave_up = limited.retry(busy).timeout(190 * SECOND).reported().await;
        let gave_up = gave_up.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::Attempts);
        assert_eq!(gave_up.report.attempts, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_would_end_at_the_limit_is_not_begun() {
        let start = Instant::now();
        // 1 + 2 + 4 end at the limit, where nothing of it is left for an attempt.
        let gave_up = PLAIN
            .retry(|| ready(Err::<(), _>(Busy)))
            .timeout(7 * SECOND)
            .reported()
            .await
            .unwrap_err();
        assert_eq!((gave_up.error, gave_up.report.attempts), (Busy, 3));
        assert_eq!(start.elapsed(), 3 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_real_error_is_kept_beside_the_cut() {
        let mut calls = 0;
        let gave_up = PLAIN
            .retry(|| {
                calls += 1;
                let call = calls;
                async move {
                    match call {
                        1 => Err(Busy),
                        _ => hangs::<()>().await,
                    }
                }
            })
            .attempt_timeout(3 * SECOND)
            .timeout(10 * SECOND)
            .reported()
            .await
            .unwrap_err();
        // Fails at 0, cut from 1 to 4, cut from 6 to 9; a wait of 4 s does not fit.
        assert_eq!((gave_up.error, gave_up.last), (cut(3), Some(Busy)));
        assert_eq!(gave_up.reason, StopReason::Deadline);
        assert_eq!((gave_up.report.attempts, calls), (3, 3));
        assert_eq!(gave_up.report.elapsed, 9 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_that_is_handed_back_itself_is_no_last_one() {
        let mut calls = 0;
        let gave_up = PLAIN
            .max_attempts(2)
            .retry(|| {
                calls += 1;
                ready(Err::<(), _>(Busy))
            })
            .timeout(60 * SECOND)
            .reported()
            .await
            .unwrap_err();
        assert_eq!(gave_up.error, Busy);
        assert_eq!(calls, 2);
        assert_eq!(gave_up.last, None);
    }

    /// An update whose write hangs: cut at the end, and judged by whether it may be made twice.
    #[tokio::test(start_paused = true)]
    async fn an_update_whose_write_hangs() {
        for (policy, reason) in [
            (PLAIN, StopReason::Deadline),
            (PLAIN.idempotent(false), StopReason::MaybeApplied),
        ] {
            let start = Instant::now();
            let gave_up = policy
                .update(
                    || ready(Ok(1)),
                    |n| {
                        *n += 1;
                        true
                    },
                    |_| hangs::<()>(),
                )
                .timeout(10 * SECOND)
                .reported()
                .await
                .unwrap_err();
            assert_eq!((gave_up.error, gave_up.reason), (cut(10), reason));
            let report = gave_up.report;
            assert_eq!((report.attempts, report.reads, report.writes), (1, 1, 1));
            assert_eq!(start.elapsed(), 10 * SECOND);
        }
    }

    /// With attempts that are cut as well, the write is begun again, or not.
    #[tokio::test(start_paused = true)]
    async fn an_update_whose_first_write_hangs() {
        let update = |policy: Policy| {
            let mut writes = 0;
            policy
                .update(
                    || ready(Ok(1)),
                    |n| {
                        *n += 1;
                        true
                    },
                    move |n| {
                        writes += 1;
                        let is_first = writes == 1;
                        async move {
                            if is_first {
                                return hangs().await;
                            }
                            Ok(n)
                        }
                    },
                )
                .attempt_timeout(3 * SECOND)
                .timeout(10 * SECOND)
                .owned()
                .reported()
        };
        let (updated, report) = update(PLAIN).await.unwrap();
        assert_eq!(updated, Updated::Written(2));
        assert_eq!((report.reads, report.writes), (2, 2));
        assert_eq!(report.elapsed, 4 * SECOND);
        let gave_up = update(PLAIN.idempotent(false)).await.unwrap_err();
        assert_eq!(gave_up.error, cut(3));
        assert_eq!(gave_up.reason, StopReason::MaybeApplied);
        assert_eq!((gave_up.report.reads, gave_up.report.writes), (1, 1));
    }

    #[test]
    fn a_timer_that_wakes_late_begins_no_attempt() {
        let runtime = Scripted::late(60 * SECOND);
        let (mut calls, mut log) = (0, Vec::new());
        let gave_up = now(PLAIN
            .retry(|| {
                calls += 1;
                ready(Err::<(), _>(Busy))
            })
            .timeout(10 * SECOND)
            .notify(|event: &Event<'_, Failure>| log.push(event_text(event)))
            .runtime(runtime.clone())
            .reported())
        .unwrap_err();
        assert_eq!((gave_up.error, gave_up.last), (cut(0), Some(Busy)));
        assert_eq!(gave_up.reason, StopReason::Deadline);
        assert_eq!((gave_up.report.attempts, calls), (1, 1));
        assert_eq!(log, ["1 waits 1s: Busy", "1 gave up: deadline"]);
        assert_eq!(runtime.waits.take(), [SECOND]);
        assert_eq!(runtime.now.get(), 61 * SECOND);
    }

    /// Awake just at the limit is too late as well: nothing of it is left for an attempt.
    #[test]
    fn a_timer_that_wakes_at_the_limit_begins_no_attempt() {
        for (late, attempts) in [(9 * SECOND - Duration::from_nanos(1), 2), (9 * SECOND, 1)] {
            let mut calls = 0;
            let outcome: Result<(), _> = now(PLAIN
                .retry(|| {
                    calls += 1;
                    ready(Err(Busy))
                })
                .timeout(10 * SECOND)
                .runtime(Scripted::late(late)));
            assert_eq!(calls, attempts);
            let expected = if attempts == 1 { cut(0) } else { Busy };
            assert_eq!(outcome, Err(expected));
        }
    }

    #[test]
    fn a_limit_of_zero_begins_the_attempt_and_cuts_it_if_it_is_not_done_at_once() {
        let runtime = Scripted::default();
        let done: Result<u32, Failure> = now(PLAIN
            .retry(|| ready(Ok(1)))
            .timeout(Duration::ZERO)
            .runtime(runtime.clone()));
        assert_eq!(done, Ok(1));
        assert!(runtime.waits.take().is_empty());

        let calls = Cell::new(0);
        let gave_up: RetryError<Failure> = now(PLAIN
            .retry(|| {
                calls.set(calls.get() + 1);
                hangs::<()>()
            })
            .timeout(Duration::ZERO)
            .runtime(runtime.clone())
            .reported())
        .unwrap_err();
        let nanosecond = Duration::from_nanos(1);
        assert_eq!(gave_up.error, Cut(TimedOut::new(nanosecond)));
        assert_eq!((gave_up.reason, calls.get()), (StopReason::Deadline, 1));
        // As the documentation says, it counts as a nanosecond.
        assert_eq!(runtime.waits.take(), [nanosecond]);

        // An error that comes at once is handed back as it is.
        let gave_up = now(PLAIN
            .retry(|| ready(Err::<(), _>(Busy)))
            .timeout(Duration::ZERO)
            .runtime(runtime.clone())
            .reported())
        .unwrap_err();
        assert_eq!(
            (gave_up.error, gave_up.reason),
            (Busy, StopReason::Deadline)
        );
        assert!(runtime.waits.take().is_empty());
    }

    #[test]
    fn a_limit_of_zero_for_each_attempt_lets_it_begin_too() {
        let runtime = Scripted::default();
        let mut calls = 0;
        let policy = PLAIN.max_attempts(3);
        let done = now(policy
            .retry(|| {
                calls += 1;
                let call = calls;
                async move { if call < 3 { hangs().await } else { Ok(call) } }
            })
            .attempt_timeout(Duration::ZERO)
            .runtime(runtime.clone()));
        assert_eq!(done, Ok(3));
        assert_eq!(runtime.waits.take(), [SECOND, 2 * SECOND]);
    }

    #[test]
    fn it_counts_from_the_first_poll() {
        let runtime = Scripted::default();
        let call = PLAIN
            .retry(hangs::<()>)
            .timeout(10 * SECOND)
            .runtime(runtime.clone());
        runtime.pass(60 * SECOND);
        assert_eq!(now(call), Err(cut(10)));
        assert_eq!(runtime.now.get(), 70 * SECOND);
    }

    #[test]
    fn an_attempt_knows_what_remains_of_it() {
        let runtime = Scripted::default();
        let mut seen = Vec::new();
        let outcome = now(PLAIN
            .retry_with(|attempt: Attempt| {
                seen.push((attempt.number(), attempt.remaining().as_secs()));
                ready(Err::<(), _>(Busy))
            })
            .timeout(10 * SECOND)
            .runtime(runtime.clone()));
        assert_eq!(outcome, Err(Busy));
        assert_eq!(seen, [(1, 10), (2, 9), (3, 7), (4, 3)]);
    }

    fn event_text(event: &Event<'_, Failure>) -> String {
        match event {
            Event::Waiting {
                attempt,
                failure,
                wait,
                ..
            } => format!(
                "{attempt} waits {:?}: {:?}",
                wait.delay,
                failure.error().expect("an error")
            ),
            Event::GaveUp {
                attempts, reason, ..
            } => format!("{attempts} gave up: {}", reason.name()),
            _ => unreachable!(),
        }
    }
}

/// The limit of an attempt counts from when the attempt is first found pending; the deadline from
/// when the call began.
#[test]
fn the_limit_of_an_attempt_counts_from_when_it_is_first_found_pending() {
    let (limit, busy) = (10 * SECOND, 4 * SECOND);
    for (deadline, timer) in [(60 * SECOND, limit), (12 * SECOND, 8 * SECOND)] {
        let runtime = Scripted::default();
        let policy = PLAIN.deadline(deadline).max_attempts(1);
        let outcome: Result<(), Failure> = now(policy
            .retry(|| {
                // Busy for 4 s before it waits for the first time.
                runtime.pass(busy);
                hangs()
            })
            .attempt_timeout(limit)
            .runtime(runtime.clone()));
        assert_eq!(outcome, Err(Cut(TimedOut::new(timer))));
        assert_eq!(runtime.waits.take(), [timer]);
        assert_eq!(runtime.now.get(), busy + timer);
    }
}

/// An attempt that is never found pending has no timer, however long it took.
#[test]
fn an_attempt_that_is_ready_at_once_is_never_cut() {
    let runtime = Scripted::default();
    let done: Result<u32, Failure> = now(PLAIN
        .retry(|| {
            runtime.pass(60 * SECOND);
            ready(Ok(1))
        })
        .attempt_timeout(SECOND)
        .timeout(10 * SECOND)
        .runtime(runtime.clone()));
    assert_eq!(done, Ok(1));
    assert!(runtime.waits.take().is_empty());
}

/// Time that passes within the poll that first finds it pending is not counted either.
#[test]
fn what_the_first_poll_takes_is_not_counted() {
    let runtime = Scripted::default();
    let policy = PLAIN.max_attempts(1);
    let outcome: Result<(), Failure> = now(policy
        .retry(|| {
            poll_fn(|_| {
                runtime.pass(4 * SECOND);
                Poll::Pending
            })
        })
        .attempt_timeout(10 * SECOND)
        .runtime(runtime.clone()));
    assert_eq!(outcome, Err(cut(10)));
    assert_eq!(runtime.now.get(), 14 * SECOND);
}
