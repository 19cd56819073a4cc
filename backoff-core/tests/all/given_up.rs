//! A last response that is handed back is given up: reports, hooks and metrics say so, in every form.
use crate::common::Scripted;
use backoff_core::{Event, Fault, Jitter, Policy, Report, Stop, StopReason, TimedOut};
use std::{
    future::{Future, ready},
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(3);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Response(u16);

impl Fault for Response {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
}

type Outcome = Result<Response, TimedOut>;

const BUSY: Outcome = Ok(Response(503));

/// Virtual time never waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("virtual time never waits"),
    }
}

/// Attempts and seconds that were waited.
fn shown(report: Report) -> (u32, u64) {
    (report.attempts, report.slept.as_secs())
}

/// What a hook is told: the number of the attempt, and why the call was given up.
fn told(event: &Event<'_, TimedOut>) -> (u32, Option<StopReason>) {
    match event {
        Event::Waiting { attempt, .. } => (*attempt, None),
        Event::GaveUp {
            attempts,
            reason,
            failure,
            ..
        } => {
            let status = failure.fault().and_then(Fault::status);
            assert_eq!(status, Some(503), "the event has the response");
            (*attempts, Some(*reason))
        }
        _ => unreachable!("it never succeeds"),
    }
}

#[test]
fn a_report_counts_the_attempts_that_were_made() {
    let call = POLICY.retry(|| ready(BUSY)).responses();
    let (value, report) = now(call.runtime(Scripted::default()).reported()).unwrap();
    assert_eq!((value, shown(report)), (Response(503), (3, 3)));
    let call = POLICY.blocking(|| BUSY).responses();
    let (_, report) = call.runtime(Scripted::default()).reported().unwrap();
    assert_eq!(shown(report), (3, 3));

    // One that succeeds after retries counts the last attempt.
    let mut left = 2;
    let recovers = || {
        left -= 1;
        ready(if left == 0 { Ok(Response(200)) } else { BUSY })
    };
    let call = POLICY.retry(recovers).responses();
    let (_, report) = now(call.runtime(Scripted::default()).reported()).unwrap();
    assert_eq!(shown(report), (2, 1));
}

#[test]
fn a_report_of_a_stopped_call_counts_the_attempts_that_were_made() {
    let call = POLICY.retry(|| ready(BUSY)).responses();
    let call = call.stop_on(ready(())).runtime(Scripted::default());
    let (value, report) = now(call.reported()).unwrap();
    assert_eq!((value, shown(report)), (Response(503), (1, 1)));

    let stop = Stop::new();
    stop.stop();
    let call = POLICY.blocking(|| BUSY).responses().stop_on(&stop);
    let (value, report) = call.reported().unwrap();
    assert_eq!((value, shown(report)), (Response(503), (1, 1)));
}

#[test]
fn a_timer_that_wakes_late_gives_a_blocking_response_up() {
    let policy = POLICY.deadline(30 * SECOND);
    let mut events = Vec::new();
    let call = policy.blocking(|| BUSY).responses();
    let call = call.runtime(Scripted::late(60 * SECOND));
    let call = call.notify(|event| events.push(told(event)));
    let (value, report) = call.reported().unwrap();
    assert_eq!((value, shown(report)), (Response(503), (1, 1)));
    assert_eq!(events, [(1, None), (1, Some(StopReason::Deadline))]);
}

#[cfg(feature = "macros")]
#[test]
fn a_timer_that_wakes_late_gives_the_response_of_a_function_up() {
    use backoff_core::retry;
    use std::cell::RefCell;

    type Events = RefCell<Vec<(u32, Option<StopReason>)>>;
    const HURRIED: Policy = POLICY.deadline(Duration::from_secs(30));
    #[retry(policy = HURRIED, responses, runtime = time.clone(), notify = |event| {
        events.borrow_mut().push(told(event));
    })]
    fn get(time: &Scripted, events: &Events) -> Outcome {
        BUSY
    }
    let events = Events::default();
    assert_eq!(get(&Scripted::late(60 * SECOND), &events), BUSY);
    let expected = [(1, None), (1, Some(StopReason::Deadline))];
    assert_eq!(*events.borrow(), expected);
}

/// What an outer loop needs, such as a queue: whether to call again, and not before when.
mod another_time {
    use super::{POLICY, SECOND, Scripted, now};
    use backoff_core::{Fault, StopReason, TimedOut, Verdict};
    use std::{
        future::{pending, ready},
        time::Duration,
    };

    #[derive(Clone, Copy, Debug)]
    struct Http(u16, Option<Duration>);

    impl Fault for Http {
        fn status(&self) -> Option<u16> {
            Some(self.0)
        }
        fn retry_after(&self) -> Option<Duration> {
            self.1
        }
    }

    impl From<TimedOut> for Http {
        fn from(_: TimedOut) -> Self {
            Http(504, Some(9 * SECOND))
        }
    }

    const HOUR: Option<Duration> = Some(Duration::from_secs(3_600));

    /// Fails with the errors in turn, and with the last one again and again: a blocking call and a future.
    fn gave_up(errors: &[Http]) -> [(StopReason, Option<Duration>); 2] {
        let failing = || {
            let mut errors = errors.iter().chain(errors.last().into_iter().cycle());
            move || Err::<(), _>(*errors.next().unwrap())
        };
        let runtime = Scripted::default();
        let blocking = POLICY.blocking(failing()).runtime(runtime.clone());
        let mut fail = failing();
        let function = POLICY.retry(|| ready(fail())).runtime(runtime);
        let both = [blocking.reported(), now(function.reported())];
        both.map(|outcome| {
            let gave_up = outcome.unwrap_err();
            (gave_up.reason, gave_up.last_retry_after())
        })
    }

    #[test]
    fn the_hint_of_the_last_failure_is_kept() {
        let hinted = Some(2 * SECOND);
        let both = |reason, hint| [(reason, hint); 2];
        for (errors, reason, hint) in [
            (&[Http(429, HOUR)][..], StopReason::RetryAfter, HOUR),
            (&[Http(503, hinted)], StopReason::Attempts, hinted),
            (
                &[Http(503, hinted), Http(503, None)],
                StopReason::Attempts,
                None,
            ),
            // A refusal can say when to ask again.
            (
                &[Http(503, None), Http(403, HOUR)],
                StopReason::Permanent,
                HOUR,
            ),
            (&[Http(403, None)], StopReason::Permanent, None),
        ] {
            assert_eq!(gave_up(errors), both(reason, hint), "{errors:?}");
        }
    }

    #[test]
    fn a_function_that_judges_says_the_hint_of_an_error_without_one() {
        let policy = POLICY.when_any(|_: &&str| Verdict::from(true).after(HOUR));
        let call = policy.retry(|| ready(Err::<(), _>("busy")));
        let gave_up = now(call.runtime(Scripted::default()).reported()).unwrap_err();
        assert_eq!(gave_up.last_retry_after(), HOUR);
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_was_cut_has_no_hint() {
        let hangs = || pending::<Result<(), Http>>();
        let call = POLICY.retry(hangs).attempt_timeout(SECOND).reported();
        let gave_up = call.await.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::Attempts);
        assert_eq!(gave_up.last_retry_after(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_update_keeps_the_hint_of_a_write() {
        let hinted = Some(SECOND);
        let update = POLICY.update(
            || ready(Ok::<_, Http>(1)),
            |number| *number += 1,
            |_| ready(Err::<(), _>(Http(429, hinted))),
        );
        let gave_up = update.reported().await.unwrap_err();
        assert_eq!(gave_up.last_retry_after(), hinted);
    }
}
