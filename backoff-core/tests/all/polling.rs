//! Calls that repeat until the value is the awaited one, in virtual time.
use crate::common::Scripted;
use backoff_core::{Budget, Delivery, Event, Fault, Jitter, NotYet, Policy, StopReason, TimedOut};
use std::{collections::VecDeque, future::ready, time::Duration};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const POLL: Policy = Policy::exponential().jitter(Jitter::None);

#[derive(Debug, Clone, PartialEq)]
enum Failure {
    NotYet,
    TimedOut,
    Status(u16),
}

// Says nothing of what it was made from: polling must not depend on it.
impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        match self {
            Failure::Status(status) => Some(*status),
            _ => None,
        }
    }
    fn delivery(&self) -> Option<Delivery> {
        (*self == Failure::TimedOut).then_some(Delivery::MaybeSent)
    }
}

impl From<NotYet> for Failure {
    fn from(_: NotYet) -> Self {
        Failure::NotYet
    }
}

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        Failure::TimedOut
    }
}

/// A long-running operation that tells how far it is, or fails.
fn operation(steps: &[Result<u8, u16>]) -> impl FnMut() -> Result<u8, Failure> + use<> {
    let mut steps: VecDeque<_> = steps.to_vec().into();
    move || steps.pop_front().unwrap_or(Ok(0)).map_err(Failure::Status)
}

#[tokio::test(start_paused = true)]
async fn it_is_asked_again_until_it_is_done() {
    let mut step = operation(&[Ok(10), Err(503), Ok(60), Ok(100)]);
    let start = Instant::now();
    let (done, report) = POLL
        .retry(|| ready(step()))
        .until(|percent| *percent == 100)
        .reported()
        .await
        .unwrap();
    assert_eq!((done, report.attempts), (100, 4));
    assert_eq!((report.slept, start.elapsed()), (7 * SECOND, 7 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn the_first_value_may_be_the_one() {
    let start = Instant::now();
    let done = POLL.retry(|| ready(Ok::<_, Failure>(1))).until(|_| true);
    assert_eq!((done.await, start.elapsed()), (Ok(1), Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn attempts_and_deadline_end_it_with_an_error_of_its_own() {
    let ended = |policy: Policy| {
        let mut step = operation(&[]);
        policy
            .retry(move || ready(step()))
            .until(|percent| *percent == 100)
            .owned()
            .reported()
    };
    let gave_up = ended(POLL.max_attempts(3)).await.unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::NotYet, StopReason::Attempts)
    );
    assert_eq!(gave_up.report.slept, 3 * SECOND);
    let gave_up = ended(POLL.deadline(20 * SECOND)).await.unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::NotYet, StopReason::Deadline)
    );
    assert_eq!(
        (gave_up.report.attempts, gave_up.report.slept),
        (5, 15 * SECOND)
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_that_no_repetition_cures_ends_it() {
    let mut step = operation(&[Ok(10), Err(404)]);
    let gave_up = POLL
        .retry(|| ready(step()))
        .until(|_| false)
        .reported()
        .await
        .unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::Status(404), StopReason::Permanent)
    );
}

#[tokio::test(start_paused = true)]
async fn asking_again_costs_no_budget_and_errors_do() {
    static BUDGET: Budget = Budget::ratio(0.5, 2);
    let policy = POLL.budget(&BUDGET).max_attempts(20);
    let mut step = operation(&[Ok(1); 10]);
    let _ = policy.retry(|| ready(step())).until(|_| false).await;
    assert_eq!(BUDGET.tokens(), 2.0);
    let mut step = operation(&[Err(503); 10]);
    let gave_up = policy
        .retry(|| ready(step()))
        .until(|_| false)
        .reported()
        .await
        .unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Budget);
}

#[tokio::test(start_paused = true)]
async fn it_goes_with_an_attempt_timeout_and_a_hook() {
    let operation = || {
        let mut replies = VecDeque::from([None, Some(10), Some(100)]);
        move || {
            let reply = replies.pop_front().flatten();
            async move {
                match reply {
                    Some(percent) => Ok::<_, Failure>(percent),
                    None => std::future::pending().await,
                }
            }
        }
    };
    let done = POLL
        .retry(operation())
        .until(|percent| *percent == 100)
        .attempt_timeout(10 * SECOND)
        .reported()
        .await
        .unwrap();
    assert_eq!((done.0, done.1.attempts), (100, 3));
    let mut log = Vec::new();
    let done = POLL
        .retry(operation())
        .attempt_timeout(10 * SECOND)
        .until(|percent| *percent == 100)
        .notify(|event: &Event<'_, Failure>| {
            if let (Event::Waiting { .. }, Some(error)) = (event, event.error()) {
                log.push(error.clone());
            }
        })
        .await;
    assert_eq!(
        (done, log),
        (Ok(100), vec![Failure::TimedOut, Failure::NotYet])
    );
}

#[tokio::test(start_paused = true)]
async fn no_attempt_is_begun_when_the_timer_wakes_after_the_deadline() {
    let mut calls = 0;
    let gave_up = POLL
        .deadline(5 * SECOND)
        .retry(|| {
            calls += 1;
            ready(Ok::<_, Failure>(1))
        })
        .attempt_timeout(SECOND)
        .until(|_| false)
        .runtime(Scripted::late(60 * SECOND))
        .reported()
        .await
        .unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason, calls),
        (Failure::TimedOut, StopReason::Deadline, 1)
    );
}

#[test]
fn a_blocking_operation_is_asked_again_too() {
    let time = Scripted::default();
    let done = POLL
        .blocking(operation(&[Ok(1), Err(500), Ok(2)]))
        .until(|percent| *percent == 2)
        .runtime(time.clone())
        .call();
    assert_eq!((done, time.now.get()), (Ok(2), 3 * SECOND));
    let gave_up = POLL
        .max_attempts(2)
        .blocking(operation(&[]))
        .until(|_| false)
        .runtime(time)
        .reported()
        .unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::NotYet, StopReason::Attempts)
    );
}
