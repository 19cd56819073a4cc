//! A signal ends the waits of a call and, with `cut_on`, also the running attempt.
use crate::common::tokens::{cancelled, in_a_minute};
use backoff_core::{
    BlockingSleep, Budget, Clock, Delivery, Event, Fault, Jitter, Policy, Random, RetryError, Stop,
    StopReason, Stopped, TimedOut, retry, retry_block, testing::VirtualTime,
};
use std::{
    cell::Cell,
    future::{Future, pending, ready},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    Busy,
    Stopped,
    TimedOut,
}
use Failure::Busy;

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        (*self == Busy).then_some(503)
    }

    fn delivery(&self) -> Option<Delivery> {
        (*self == Failure::TimedOut).then_some(Delivery::MaybeSent)
    }
}

impl From<Stopped> for Failure {
    fn from(_: Stopped) -> Self {
        Failure::Stopped
    }
}

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        Failure::TimedOut
    }
}

const HOUR: Duration = Duration::from_secs(3600);
const POLICY: Policy = Policy::constant(HOUR)
    .max_backoff(HOUR)
    .jitter(Jitter::None)
    .max_attempts(9);

/// For blocking calls, whose waits take real time: a test fails after a minute if its stop ends no wait.
const BLOCKING: Policy = POLICY.base(Duration::from_secs(60)).max_attempts(2);

/// What a report says of the end: error, reason, attempts.
fn end<R>(ended: RetryError<Failure, R>) -> (Failure, StopReason, R) {
    (ended.error, ended.reason, ended.report)
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_the_signal_comes_with_the_last_error() {
    let token = in_a_minute();
    let start = tokio::time::Instant::now();
    let mut events = Vec::new();
    let ended = POLICY
        .retry(|| ready(Err::<(), _>(Busy)))
        .stop_on(token.cancelled())
        .notify(|event: &Event<'_, Failure>| events.push(format!("{event:?}")))
        .reported()
        .await;
    let (error, reason, report) = end(ended.unwrap_err());
    assert_eq!(
        (error, reason, report.attempts),
        (Busy, StopReason::Stopped, 1)
    );
    assert_eq!(start.elapsed(), Duration::from_secs(60));
    assert_eq!(events.len(), 2);
    assert!(events[0].starts_with("Waiting"), "{events:?}");
    assert!(events[1].starts_with("GaveUp"), "{events:?}");
    assert!(events[1].contains("attempts: 1"), "{events:?}");
    assert!(events[1].contains("Stopped"), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_running_attempt_is_finished_by_stop_on_and_no_other_begins() {
    let token = in_a_minute();
    let start = tokio::time::Instant::now();
    let slow = |outcome: Result<u32, Failure>| {
        POLICY
            .retry(move || async move {
                tokio::time::sleep(Duration::from_secs(90)).await;
                outcome
            })
            .stop_on(token.cancelled())
    };
    let (succeeded, failed) = tokio::join!(slow(Ok(42)), slow(Err(Busy)));
    assert_eq!((succeeded, failed), (Ok(42), Err(Busy)));
    assert_eq!(start.elapsed(), Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn the_first_attempt_is_always_made_by_stop_on_and_not_by_cut_on() {
    let token = cancelled();
    let calls = Cell::new(0);
    let busy = || {
        calls.set(calls.get() + 1);
        ready(Err::<(), _>(Busy))
    };
    let stopped = POLICY
        .retry(busy)
        .stop_on(token.cancelled())
        .reported()
        .await;
    let (error, reason, report) = end(stopped.unwrap_err());
    assert_eq!(
        (error, reason, report.attempts),
        (Busy, StopReason::Stopped, 1)
    );
    assert_eq!(calls.replace(0), 1);

    let cut = POLICY
        .retry(busy)
        .cut_on(token.cancelled())
        .reported()
        .await;
    let (error, reason, report) = end(cut.unwrap_err());
    let expected = (Failure::Stopped, StopReason::Stopped, 0);
    assert_eq!((error, reason, report.attempts), expected);
    assert_eq!(calls.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn cut_on_cuts_the_attempt_that_is_running_and_keeps_the_last_real_error() {
    let token = in_a_minute();
    let mut calls = 0;
    let ended = Policy::constant(Duration::from_secs(20))
        .jitter(Jitter::None)
        .retry(|| {
            calls += 1;
            let is_first = calls == 1;
            async move {
                if is_first {
                    Err::<(), _>(Busy)
                } else {
                    pending().await
                }
            }
        })
        .cut_on(token.cancelled())
        .reported()
        .await
        .unwrap_err();
    assert_eq!(ended.last, Some(Busy));
    let (error, reason, report) = end(ended);
    let expected = (Failure::Stopped, StopReason::Stopped, 2);
    assert_eq!((error, reason, report.attempts), expected);
    assert_eq!(report.slept, Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn cut_on_hands_back_the_last_error_where_it_ends_a_wait() {
    let token = in_a_minute();
    let busy = || ready(Err::<(), _>(Busy));
    assert_eq!(
        POLICY.retry(busy).cut_on(token.cancelled()).await,
        Err(Busy)
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_ready_together_with_the_signal_counts() {
    let mut calls = 0;
    let (send, signal) = tokio::sync::oneshot::channel::<()>();
    let mut send = Some(send);
    let outcome = POLICY
        .retry(|| {
            calls += 1;
            drop(send.take());
            ready(Ok::<_, Failure>(42))
        })
        .cut_on(signal)
        .await;
    assert_eq!((outcome, calls), (Ok(42), 1));
}

#[tokio::test(start_paused = true)]
async fn a_cut_attempt_that_must_not_be_repeated_may_have_been_applied() {
    const ONCE: Policy = POLICY.idempotent(false);
    let token = in_a_minute();
    let hangs = || pending::<Result<(), Failure>>();
    let plain = ONCE.retry(hangs).cut_on(token.cancelled()).reported();
    let counted = POLICY
        .update(|| ready(Ok(1)), |n| *n += 1, |_| hangs())
        .cut_on(token.cancelled())
        .reported();
    let versioned = POLICY
        .update(|| ready(Ok(1)), |n| *n += 1, |_| hangs())
        .version(|n| *n)
        .cut_on(token.cancelled())
        .reported();
    let recognised = POLICY
        .update(|| ready(Ok(1)), |_| true, |_| hangs())
        .cut_on(token.cancelled())
        .reported();
    let reading = POLICY
        .update(pending::<Result<i32, Failure>>, |n| *n += 1, |_| hangs())
        .cut_on(token.cancelled())
        .reported();
    let (plain, counted, versioned, recognised, reading) =
        tokio::join!(plain, counted, versioned, recognised, reading);
    assert_eq!(plain.unwrap_err().reason, StopReason::MaybeApplied);
    for (update, reason, writes) in [
        (counted, StopReason::MaybeApplied, 1),
        (versioned, StopReason::MaybeApplied, 1),
        (recognised, StopReason::Stopped, 1),
        (reading, StopReason::Stopped, 0),
    ] {
        let (error, why, report) = end(update.unwrap_err());
        assert_eq!(
            (error, why, report.writes),
            (Failure::Stopped, reason, writes)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_ready_together_with_the_signal_begins_no_write() {
    let token = CancellationToken::new();
    let read = || {
        token.cancel();
        // Ready when it is polled again.
        tokio::task::coop::unconstrained(async {
            tokio::task::yield_now().await;
            Ok::<_, Failure>(1)
        })
    };
    let mut writes = 0;
    let ended = POLICY
        .update(
            read,
            |n| *n += 1,
            |_| {
                writes += 1;
                ready(Ok(()))
            },
        )
        .cut_on(token.cancelled())
        .await;
    assert_eq!((ended.unwrap_err(), writes), (Failure::Stopped, 0));
}

#[tokio::test(start_paused = true)]
async fn an_update_that_is_stopped_while_a_write_is_in_doubt_ends_with_that_error() {
    let token = in_a_minute();
    let lost = POLICY
        .update(
            || ready(Ok(1)),
            |n| *n += 1,
            |_| ready(Err::<(), _>(Failure::TimedOut)),
        )
        .version(|n| *n)
        .stop_on(token.cancelled())
        .reported()
        .await;
    let (error, reason, _) = end(lost.unwrap_err());
    assert_eq!(
        (error, reason),
        (Failure::TimedOut, StopReason::MaybeApplied)
    );
}

#[tokio::test(start_paused = true)]
async fn the_last_response_is_handed_back_as_it_came() {
    #[derive(Debug, PartialEq)]
    struct Response(u16);
    impl Fault for Response {
        fn status(&self) -> Option<u16> {
            Some(self.0)
        }
    }
    let token = in_a_minute();
    let mut reasons = Vec::new();
    let busy = || ready(Ok::<_, Failure>(Response(503)));
    let hook = |event: &Event<'_, Failure>| {
        if let Event::GaveUp { reason, .. } = event {
            reasons.push(*reason);
        }
    };
    let call = POLICY.retry(busy).responses().stop_on(token.cancelled());
    assert_eq!(call.notify(hook).await, Ok(Response(503)));
    assert_eq!(reasons, [StopReason::Stopped]);

    let stop = Stop::new();
    stop.stop();
    let call = BLOCKING
        .blocking(|| Ok::<_, Failure>(Response(503)))
        .responses();
    let (response, report) = call.stop_on(&stop).reported().unwrap();
    assert_eq!((response, report.attempts), (Response(503), 1));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_ended_costs_the_budget_nothing() {
    static BUDGET: Budget = Budget::aws();
    let token = in_a_minute();
    let policy = POLICY.budget(&BUDGET);
    let call = policy
        .retry(|| ready(Err::<(), _>(Busy)))
        .stop_on(token.cancelled());
    assert_eq!(call.await, Err(Busy));
    assert_eq!(BUDGET.tokens(), 500.0);
    let of_call = Budget::aws();
    let call = POLICY
        .retry(|| ready(Err::<(), _>(Busy)))
        .stop_on(token.cancelled());
    assert_eq!(call.budget(&of_call).owned().await, Err(Busy));
    assert_eq!(of_call.tokens(), 500.0);
}

/// Awaits a call that waits until it is stopped, and keeps its future: what the budget has afterwards,
/// and once the future is dropped.
async fn kept(budget: &Budget, call: impl Future) -> (f64, f64) {
    let mut call = Box::pin(call);
    let waits = tokio::time::timeout(Duration::from_secs(59), call.as_mut());
    assert!(waits.await.is_err());
    assert_eq!(budget.tokens(), 486.0);
    call.as_mut().await;
    let kept = budget.tokens();
    drop(call);
    (kept, budget.tokens())
}

#[tokio::test(start_paused = true)]
async fn a_stopped_call_has_given_its_tokens_back_when_it_ends() {
    static POLICYS: Budget = Budget::aws();
    const PAID: Policy = POLICY.budget(&POLICYS);
    let (of_call, inner) = (Budget::aws(), Budget::aws());
    let token = &in_a_minute;
    let busy = || ready(Err::<(), _>(Busy));
    let full = (500.0, 500.0);
    let call = PAID.retry(busy).stop_on(token().cancelled_owned());
    assert_eq!(kept(&POLICYS, call).await, full);
    let call = PAID.retry(busy).cut_on(token().cancelled_owned());
    assert_eq!(kept(&POLICYS, call.reported()).await, full);
    let call = PAID.retry(busy).stop_on(token().cancelled_owned());
    assert_eq!(kept(&POLICYS, call.owned()).await, full);
    let call = PAID.retry(busy).budget(&inner).budget(&of_call);
    let call = call.stop_on(token().cancelled_owned()).owned();
    assert_eq!(kept(&of_call, call).await, full);
    let call = POLICY.retry(busy).delays([HOUR]).owned().budget(&of_call);
    let call = call.notify(|_| ()).timeout(2 * HOUR);
    let call = call.stop_on(token().cancelled_owned());
    assert_eq!(kept(&of_call, call).await, full);
    let call = retry_block!(policy = PAID, stop_on = token().cancelled_owned(), async {
        busy().await
    });
    assert_eq!(kept(&POLICYS, call).await, full);
    assert_eq!(inner.tokens(), 500.0);
}

#[tokio::test(start_paused = true)]
async fn a_hook_sees_the_tokens_that_a_stopped_call_has_given_back() {
    let (budget, token) = (Budget::aws(), in_a_minute());
    let mut seen = Vec::new();
    let call = POLICY.retry(|| ready(Err::<(), _>(Busy))).budget(&budget);
    let call = call.stop_on(token.cancelled());
    let ended = call.notify(|_| seen.push(budget.tokens())).await;
    assert_eq!((ended, seen), (Err(Busy), vec![486.0, 500.0]));
}

/// The tokens that a hook sees when a call waits and when it is given up.
#[derive(Default)]
struct Seen(std::cell::RefCell<Vec<f64>>);

impl Seen {
    fn hook<E>(&self, budget: &'static Budget) -> impl FnMut(&Event<'_, E>) {
        |_| self.0.borrow_mut().push(budget.tokens())
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.0.take(), [486.0, 500.0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_of_every_form_sees_the_tokens_that_a_stopped_call_has_given_back() {
    static BUDGET: Budget = Budget::aws();
    const PAID: Policy = POLICY.budget(&BUDGET);
    const PAID_BLOCKING: Policy = BLOCKING.budget(&BUDGET);
    let (seen, stop) = (Seen::default(), Stop::new());
    stop.stop();
    let busy = || Err::<(), _>(Busy);
    let token = in_a_minute();
    let call = PAID.retry(|| ready(busy())).stop_on(token.cancelled());
    assert!(call.notify(seen.hook(&BUDGET)).await.is_err());
    seen.check();
    let call = retry_block!(
        policy = PAID,
        stop_on = token.cancelled(),
        notify = seen.hook(&BUDGET),
        async { busy() }
    );
    assert!(call.await.is_err());
    seen.check();
    let call = PAID_BLOCKING.blocking(busy).stop_on(&stop);
    assert!(call.notify(seen.hook(&BUDGET)).call().is_err());
    seen.check();
    let call = PAID_BLOCKING
        .blocking(|| Ok::<_, Failure>(Busy))
        .responses();
    let call = call.stop_on(&stop).notify(seen.hook(&BUDGET));
    assert_eq!(call.call(), Ok(Busy));
    seen.check();
    let resuming = PAID.resuming().notify(seen.hook(&BUDGET));
    let mut resuming = resuming.stop_on(Box::pin(token.cancelled()));
    assert_eq!(resuming.failed(Busy).await, Err(Busy));
    seen.check();
    let resuming = PAID_BLOCKING.blocking_resuming().notify(seen.hook(&BUDGET));
    assert_eq!(resuming.stop_on(&stop).failed_blocking(Busy), Err(Busy));
    seen.check();
}

/// A wait lasts ten times as long as it was meant to.
#[derive(Default)]
struct Slow(Cell<Duration>);

impl Clock for Slow {
    fn now(&self) -> Duration {
        self.0.get()
    }
}

impl BlockingSleep for Slow {
    fn sleep_blocking(&self, wait: Duration) {
        self.0.set(self.0.get() + 10 * wait);
    }
}

impl Random for Slow {
    fn random(&self) -> u64 {
        0
    }
}

#[test]
fn a_hook_of_every_form_sees_the_tokens_that_a_late_call_has_given_back() {
    static BUDGET: Budget = Budget::aws();
    const PAID: Policy = POLICY
        .budget(&BUDGET)
        .deadline(Duration::from_secs(5 * 3600));
    let seen = Seen::default();
    let busy = || Err::<(), _>(Busy);
    let call = PAID.blocking(busy).runtime(Slow::default());
    assert!(call.notify(seen.hook(&BUDGET)).call().is_err());
    seen.check();
    let resuming = PAID.blocking_resuming().runtime(Slow::default());
    let mut resuming = resuming.notify(seen.hook(&BUDGET));
    assert_eq!(resuming.failed_blocking(Busy), Err(Busy));
    seen.check();
    let ended = retry_block!(
        policy = PAID,
        runtime = Slow::default(),
        notify = seen.hook(&BUDGET),
        { busy() }
    );
    assert!(ended.is_err());
    seen.check();
}

#[tokio::test(start_paused = true)]
async fn of_two_signals_the_later_one_holds() {
    let (never, token) = (CancellationToken::new(), in_a_minute());
    let call = POLICY.retry(|| ready(Err::<(), _>(Busy)));
    let call = call.stop_on(never.cancelled()).stop_on(token.cancelled());
    assert_eq!(call.await, Err(Busy));
}

#[tokio::test(start_paused = true)]
async fn a_last_error_that_is_cut_keeps_the_real_one_over_a_wait() {
    let token = in_a_minute();
    let mut calls = 0;
    let ended = Policy::constant(Duration::from_secs(20))
        .jitter(Jitter::None)
        .retry(|| {
            calls += 1;
            let is_first = calls == 1;
            async move {
                if is_first {
                    Err::<(), _>(Busy)
                } else {
                    pending().await
                }
            }
        })
        .attempt_timeout(Duration::from_secs(30))
        .stop_on(token.cancelled())
        .reported()
        .await
        .unwrap_err();
    // Fails, waits 20 s, is cut after 30 s, and waits when the signal comes.
    assert_eq!((ended.error, ended.last), (Failure::TimedOut, Some(Busy)));
    assert_eq!(
        (ended.reason, ended.report.attempts),
        (StopReason::Stopped, 2)
    );
}

/// A call with a signal can be spawned.
#[tokio::test(start_paused = true)]
async fn a_signal_can_be_owned() {
    let token = in_a_minute();
    let call = POLICY.retry(|| ready(Err::<(), _>(Busy)));
    let task = tokio::spawn(call.stop_on(token.cancelled_owned()));
    assert_eq!(task.await.unwrap(), Err(Busy));
}

#[test]
fn another_thread_ends_the_sleep_of_a_blocking_call() {
    let stop = Stop::new();
    let (began, begun) = std::sync::mpsc::channel();
    let (ends, ended) = std::sync::mpsc::channel();
    let of_call = stop.clone();
    std::thread::spawn(move || {
        let call = POLICY
            .blocking(|| Err::<(), _>(Busy))
            .stop_on(&of_call)
            .notify(|_: &Event<'_, Failure>| began.send(()).unwrap());
        ends.send(call.reported()).unwrap();
    });
    begun.recv().unwrap();
    stop.stop();
    // Without the stop, the call would sleep for an hour.
    let ended = ended.recv_timeout(Duration::from_secs(120)).unwrap();
    let (error, reason, report) = end(ended.unwrap_err());
    assert_eq!(
        (error, reason, report.attempts),
        (Busy, StopReason::Stopped, 1)
    );
}

#[test]
fn a_blocking_call_in_virtual_time_is_stopped_before_or_in_a_wait() {
    let stop = Stop::new();
    let time = VirtualTime::new();
    let mut calls = 0;
    let call = POLICY
        .blocking(|| {
            calls += 1;
            if calls == 3 {
                stop.stop();
            }
            Err::<(), _>(Busy)
        })
        .stop_on(&stop)
        .runtime(time.clone())
        .call();
    assert_eq!((call, calls), (Err(Busy), 3));
    assert_eq!(time.waits(), [HOUR; 2]);

    // The first attempt is made nevertheless.
    let mut calls = 0;
    let mut counted = || {
        calls += 1;
        Err::<(), _>(Busy)
    };
    let call = POLICY
        .blocking(&mut counted)
        .runtime(time.clone())
        .stop_on(&stop);
    assert_eq!((call.call(), calls), (Err(Busy), 1));
    assert_eq!(time.waits().len(), 2);
}

#[test]
fn a_blocking_call_that_is_stopped_costs_the_budget_nothing() {
    let (stop, budget) = (Stop::new(), Budget::aws());
    stop.stop();
    let call = BLOCKING
        .blocking(|| Err::<(), _>(Busy))
        .budget(&budget)
        .stop_on(&stop);
    assert_eq!(call.call(), Err(Busy));
    assert_eq!(budget.tokens(), 500.0);
}

#[test]
fn a_blocking_update_in_doubt_is_stopped_with_that_error() {
    let stop = Stop::new();
    let write = |_| {
        stop.stop();
        Err::<(), _>(Failure::TimedOut)
    };
    let update = BLOCKING
        .blocking_update(|| Ok(1), |n| *n += 1, write)
        .version(|n| *n);
    let (error, reason, report) = end(update.stop_on(&stop).reported().unwrap_err());
    assert_eq!(
        (error, reason, report.attempts),
        (Failure::TimedOut, StopReason::MaybeApplied, 1)
    );
}

#[retry(policy = POLICY, stop_on = token.cancelled(), notify = |event: &Event<'_, Failure>| {
    if let Event::GaveUp { reason, .. } = event {
        ended.set(Some(*reason));
    }
})]
async fn annotated(
    token: &CancellationToken,
    ended: &Cell<Option<StopReason>>,
) -> Result<(), Failure> {
    Err(Busy)
}

#[retry(policy = POLICY, stop_on = token.cancelled_owned())]
async fn spawned(token: CancellationToken) -> Result<(), Failure> {
    Err(Busy)
}

#[tokio::test(start_paused = true)]
async fn the_key_ends_the_wait_of_a_function() {
    let (token, ended) = (in_a_minute(), Cell::new(None));
    let start = tokio::time::Instant::now();
    assert_eq!(annotated(&token, &ended).await, Err(Busy));
    assert_eq!(start.elapsed(), Duration::from_secs(60));
    assert_eq!(ended.get(), Some(StopReason::Stopped));
    // It is cancelled already: the first attempt is made.
    assert_eq!(tokio::spawn(spawned(token)).await.unwrap(), Err(Busy));
    assert_eq!(start.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn the_key_takes_one_signal_for_all_waits_of_a_call() {
    let (made, token) = (Cell::new(0), in_a_minute());
    let signal = || {
        made.set(made.get() + 1);
        token.cancelled()
    };
    let mut calls = 0;
    let policy = Policy::constant(Duration::from_secs(25)).jitter(Jitter::None);
    let outcome = retry_block!(policy = policy, stop_on = signal(), async {
        calls += 1;
        Err::<(), _>(Busy)
    })
    .await;
    assert_eq!((outcome, calls, made.get()), (Err(Busy), 3, 1));
}

#[tokio::test(start_paused = true)]
async fn the_key_stands_beside_timeouts_and_budgets() {
    static BUDGET: Budget = Budget::aws();
    const PAID: Policy = POLICY.budget(&BUDGET);
    let token = in_a_minute();
    let outcome = retry_block!(
        policy = PAID,
        attempt_timeout = "5s",
        stop_on = token.cancelled(),
        async { pending::<Result<(), Failure>>().await }
    )
    .await;
    assert_eq!(outcome, Err(Failure::TimedOut));
    assert_eq!(BUDGET.tokens(), 500.0);
}

/// The key works with each judge and runtime of an annotated function.
#[tokio::test(start_paused = true)]
async fn the_key_goes_with_every_judge_and_runtime() {
    #[retry(base = "1h", max_backoff = "1h", jitter = Jitter::None, stop_on = token.cancelled())]
    async fn bare(token: &CancellationToken) -> Result<(), Failure> {
        Err(Busy)
    }
    #[retry(base = "1h", max_backoff = "1h", jitter = Jitter::None, when = |error| *error == Busy, stop_on = token.cancelled())]
    async fn judged(token: &CancellationToken) -> Result<(), Failure> {
        Err(Busy)
    }
    #[retry(policy = POLICY, notify = |_| heard.set(heard.get() + 1), stop_on = token.cancelled())]
    async fn heard(token: &CancellationToken, heard: &Cell<u32>) -> Result<(), Failure> {
        Err(Busy)
    }
    #[retry(policy = POLICY, runtime = backoff_core::Tokio, stop_on = token.cancelled())]
    async fn timed(token: &CancellationToken) -> Result<(), Failure> {
        Err(Busy)
    }
    let start = tokio::time::Instant::now();
    assert_eq!(bare(&in_a_minute()).await, Err(Busy));
    assert_eq!(judged(&in_a_minute()).await, Err(Busy));
    let events = Cell::new(0);
    assert_eq!(heard(&in_a_minute(), &events).await, Err(Busy));
    assert_eq!(events.get(), 2);
    assert_eq!(timed(&in_a_minute()).await, Err(Busy));
    assert_eq!(start.elapsed(), Duration::from_secs(240));
}
