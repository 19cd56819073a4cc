//! A last response that is handed back is given up: reports, hooks and metrics say so, in every form.
#![cfg(feature = "tokio")]

mod common;

use backoff_core::{Event, Fault, Jitter, Policy, Report, Stop, StopReason, TimedOut};
use common::Scripted;
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
