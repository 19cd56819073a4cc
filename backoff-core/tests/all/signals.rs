//! A signal ends the waits of a call and, with `cut_on`, also the running attempt.
use crate::common::{
    error::TestError,
    forms::{BUSY, SECOND, call, check},
    time::Time,
};
use backoff_core::{Event, Jitter, Policy, Stop, StopReason, retry};
use std::{
    future::{pending, ready},
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

type Outcome = Result<(), TestError>;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
/// Waits for an hour.
const LONG: Policy = Policy::constant(HOUR)
    .max_backoff(HOUR)
    .jitter(Jitter::None)
    .max_attempts(9);
const SHORT: Policy = LONG.base(Duration::from_secs(25));

/// A token that is cancelled after a minute.
fn in_a_minute() -> CancellationToken {
    let token = CancellationToken::new();
    let later = token.clone();
    tokio::spawn(async move {
        sleep(MINUTE).await;
        later.cancel();
    });
    token
}

#[test]
fn a_wait_ends_when_the_signal_comes() {
    let table = "
        stop_on | stop_on 60 | error 503 | 0; at 60 stopped: error 503
        cut_on  | cut_on 60  | error 503 | 0; at 60 stopped: error 503
        stop_on, beside a limit | timeout 7200, stop_on 60 | error 503 | 0; at 60 stopped: error 503
        cut_on, beside a limit  | timeout 7200, cut_on 60  | error 503 | 0; at 60 stopped: error 503
        stop_on, beside a judge | when, stop_on 60 | error 503 | 0; at 60 stopped: error 503
        cut_on, beside a judge  | when, cut_on 60  | error 503 | 0; at 60 stopped: error 503
        the last response as it came | responses, stop_on 60 | 503 | 0; at 60 stopped: 503
    ";
    check(call(LONG), table);
    let third = "
        the third wait         | stop_on 60 | error 503 | 0 25 50; at 60 stopped: error 503
        the third wait, cut_on | cut_on 60  | error 503 | 0 25 50; at 60 stopped: error 503
    ";
    check(call(SHORT), third);
}

#[test]
fn a_running_attempt_is_finished_by_stop_on_and_no_other_begins() {
    let table = "
        a success | stop_on 60 | 200 taking 90 | 0; at 90: 200
        a failure | stop_on 60 | error 503 taking 90 | 0; at 90 stopped: error 503
        the first attempt is always made | stop_on 0 | error 503 | 0; at 0 stopped: error 503
        and can succeed    | stop_on 0 | 200 | 0; at 0: 200
        the first response | responses, stop_on 0 | 503 | 0; at 0 stopped: 503
    ";
    check(call(LONG), table);
}

// Beside limits: cut by its limit after 20 s, it waits 25 s, and the signal cuts the next attempt or ends its wait.
#[test]
fn cut_on_cuts_the_attempt_that_is_running() {
    let table = "
        the first attempt | cut_on 60 | hangs | 0; at 60 stopped: error stopped
        beside a judge    | when, cut_on 60 | hangs | 0; at 60 stopped: error stopped
        of several values | until, cut_on 60 | hangs | 0; at 60 stopped: error stopped
        a longer limit of each attempt | attempt_timeout 180, cut_on 60 | hangs | 0; at 60 stopped: error stopped
        the last real error is kept | cut_on 60 | error 503, hangs | 0 25; at 60 stopped: error stopped, last 503
        no attempt is made after the signal | cut_on 0 | error 503 | never; at 0 stopped: error stopped
        what must not be repeated may be applied | careful, cut_on 60 | hangs | 0; at 60 maybe_applied: error stopped
        a limit of each attempt | attempt_timeout 20, cut_on 60 | hangs | 0 45; at 60 stopped: error stopped
        a limit of the call comes first | timeout 30, cut_on 60 | hangs | 0; at 30 deadline: error cut after 30s
        the real error outlasts a wait | attempt_timeout 20, stop_on 60 | error 503, hangs | 0 25; at 60 stopped: error cut after 20s, last 503
    ";
    check(call(SHORT), table);
}

/// But the read of an update is not polled again, so that no write follows it.
#[test]
fn what_is_ready_together_with_the_signal_counts() {
    let table = "
        a value  | cut_on 60 | 200 taking 60 | 0; at 60: 200
        but update, in its read | 0; at 60 stopped: error stopped
        an error | cut_on 60 | error 503 taking 60 | 0; at 60 stopped: error 503
        but update, in its read | 0; at 60 stopped: error stopped
        a value of an attempt with a limit | attempt_timeout 3600, cut_on 60 | 200 taking 60 | 0; at 60: 200
        but update, in its read | 0; at 60 stopped: error stopped
    ";
    check(call(LONG), table);
}

/// A hook sees the tokens that a call has given back when it ends.
#[test]
fn a_wait_that_is_ended_costs_the_budget_nothing() {
    let waits = "
        a wait | stop_on 60 | error 503 | 0; at 60 stopped: error 503 [486 500 500]
        after a response | responses, stop_on 60 | 503 | 0; at 60 stopped: 503 [486 500 500]
        after a cut | attempt_timeout 5, stop_on 60 | hangs | 0; at 60 stopped: error cut after 5s [486 500 500]
    ";
    check(call(LONG).budget("aws"), waits);
    let retries = "
        a retry that is cut costs | cut_on 60 | error 503, hangs | 0 25; at 60 stopped: error stopped, last 503 [486 486 486]
        the third wait does not | cut_on 60 | error 503 | 0 25 50; at 60 stopped: error 503 [486 472 458 472 472]
    ";
    check(call(SHORT).budget("aws"), retries);
}

#[tokio::test(start_paused = true)]
async fn a_signal_can_be_owned_and_of_any_type() {
    #[retry(policy = LONG, stop_on = token.cancelled_owned())]
    async fn stopped(token: CancellationToken) -> Outcome {
        Err(BUSY)
    }
    #[retry(policy = LONG, cut_on = signal)]
    async fn hidden(signal: impl Future<Output = u32>) -> Outcome {
        pending().await
    }
    #[retry(policy = LONG, stop_on = &mut *signal)]
    async fn lent(signal: &mut (dyn Future<Output = ()> + Unpin)) -> Outcome {
        Err(BUSY)
    }
    let (token, start) = (in_a_minute(), Instant::now());
    let call = LONG.retry(|| ready(Err::<(), _>(BUSY)));
    let call = tokio::spawn(call.stop_on(token.clone().cancelled_owned()));
    let stopped = tokio::spawn(stopped(token.clone()));
    let mut pinned = Box::pin(token.cancelled());
    let seven = async {
        sleep(MINUTE).await;
        7
    };
    let (hidden, lent) = tokio::join!(hidden(seven), lent(&mut pinned));
    let ended = [call.await.unwrap(), stopped.await.unwrap(), lent, hidden];
    let (busy, stopped) = (Err(BUSY), Err(TestError::STOPPED));
    assert_eq!(ended, [busy, busy, busy, stopped]);
    assert_eq!(start.elapsed(), MINUTE);
}

#[test]
fn of_two_signals_the_later_one_holds() {
    let time = Time::default();
    let call = LONG.retry(|| ready(Err::<(), _>(BUSY)));
    let call = call.stop_on(pending::<()>()).stop_on(time.at(MINUTE));
    assert_eq!(time.run(call.runtime(time.clone())), Err(BUSY));
    assert_eq!(time.elapsed(), MINUTE);
}

#[test]
fn another_thread_ends_the_sleep_of_a_blocking_call() {
    let stop = Stop::new();
    let (began, begun) = std::sync::mpsc::channel();
    let (ends, ended) = std::sync::mpsc::channel();
    let of_call = stop.clone();
    std::thread::spawn(move || {
        let call = LONG.blocking(|| Err::<(), _>(BUSY)).stop_on(&of_call);
        let hook = |_: &Event<'_, TestError>| began.send(()).unwrap();
        ends.send(call.notify(hook).reported().call()).unwrap();
    });
    begun.recv().unwrap();
    stop.stop();
    // Without the stop, the call would sleep for an hour.
    let ended = ended.recv_timeout(120 * SECOND).unwrap().unwrap_err();
    assert_eq!((ended.error, ended.reason), (BUSY, StopReason::Stopped));
    assert_eq!(ended.report.attempts, 1);
}

/// A runtime that cannot end its sleep is asked before and after it.
#[cfg(feature = "testing")]
#[test]
fn a_blocking_call_in_virtual_time_is_stopped_before_or_in_a_wait() {
    use backoff_core::testing::VirtualTime;
    use std::cell::Cell;

    let (stop, time, calls) = (Stop::new(), VirtualTime::new(), Cell::new(0));
    let busy = || {
        calls.set(calls.get() + 1);
        if calls.get() == 3 {
            stop.stop();
        }
        Err::<(), _>(BUSY)
    };
    // When it is called again, the first attempt is made nevertheless.
    for made in [3, 4] {
        let call = LONG.blocking(busy).stop_on(&stop).runtime(time.clone());
        assert_eq!((call.call(), calls.get()), (Err(BUSY), made));
        assert_eq!(time.waits(), [HOUR; 2]);
    }
}
