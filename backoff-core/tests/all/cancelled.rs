//! A dropped call does nothing more, in every form. If no attempt follows a wait, the budget gets the wait's
//! tokens back.
use crate::common::Scripted;
use backoff_core::{
    Budget, Event, Fault, Jitter, Policy, Stop, StopReason, TimedOut, retry, retry_block,
};
use std::{
    cell::RefCell,
    future::{Future, pending, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

#[derive(Debug, Clone, Copy, PartialEq)]
struct Status(u16);
const BUSY: Status = Status(503);
const TOO_FAST: Status = Status(429);

impl Fault for Status {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
}

impl From<TimedOut> for Status {
    fn from(_: TimedOut) -> Self {
        Status(504)
    }
}

const PLAIN: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(8);

/// A runtime whose first wait never ends.
fn stuck() -> Scripted {
    Scripted {
        stuck: true,
        ..Scripted::default()
    }
}

type Call<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

fn boxed<'a, T>(call: impl Future<Output = T> + 'a) -> Call<'a> {
    Box::pin(async {
        call.await;
    })
}

fn poll(call: &mut Call<'_>) -> Poll<()> {
    call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls the call until it waits, notes the tokens, and drops the call: the tokens while it waited
/// and after.
fn waits_and_is_dropped(budget: &Budget, mut call: Call<'_>) -> (f64, f64) {
    assert_eq!(poll(&mut call), Poll::Pending);
    let paid = budget.tokens();
    drop(call);
    (paid, budget.tokens())
}

fn fails(error: Status) -> impl Future<Output = Result<(), Status>> {
    ready(Err(error))
}

static ATTRIBUTE: Budget = Budget::aws();
const OF_ATTRIBUTE: Policy = PLAIN.budget(&ATTRIBUTE);

#[retry(policy = OF_ATTRIBUTE, runtime = stuck())]
async fn annotated(error: Status) -> Result<(), Status> {
    Err(error)
}

#[retry(policy = policy, runtime = stuck())]
async fn with_a_policy(policy: Policy, error: Status) -> Result<(), Status> {
    Err(error)
}

#[retry(policy = *policy, runtime = stuck())]
async fn with_a_reference(policy: &Policy, error: Status) -> Result<(), Status> {
    Err(error)
}

static BLOCKING: Budget = Budget::aws();
const OF_BLOCKING: Policy = PLAIN.budget(&BLOCKING);

#[retry(policy = OF_BLOCKING, notify = |_: &Event<'_, Status>| panic!("the hook"))]
fn annotated_blocking(error: Status) -> Result<(), Status> {
    Err(error)
}

#[test]
fn a_call_that_is_dropped_in_a_wait_gives_back_what_the_wait_has_paid() {
    static POLICYS: Budget = Budget::aws();
    const POLICY: Policy = PLAIN.budget(&POLICYS);
    static UNTOUCHED: Budget = Budget::aws();
    const OTHER: Policy = PLAIN.budget(&UNTOUCHED);
    for (error, left) in [(BUSY, 486.0), (TOO_FAST, 495.0)] {
        let of_call = Budget::aws();
        let inner = Budget::aws();
        let update = POLICY.update(move || ready(Ok(1)), |_| true, move |_| fails(error));
        let calls: Vec<(&str, &Budget, Call<'_>)> = vec![
            (
                "async",
                &POLICYS,
                boxed(POLICY.retry(move || fails(error)).runtime(stuck())),
            ),
            (
                "reported",
                &POLICYS,
                boxed(
                    POLICY
                        .retry(move || fails(error))
                        .runtime(stuck())
                        .reported(),
                ),
            ),
            (
                "cut",
                &POLICYS,
                boxed(
                    POLICY
                        .retry(move || fails(error))
                        .runtime(stuck())
                        .timeout(Duration::from_secs(60)),
                ),
            ),
            (
                "owned",
                &POLICYS,
                boxed(POLICY.retry(move || fails(error)).runtime(stuck()).owned()),
            ),
            ("update", &POLICYS, boxed(update.runtime(stuck()))),
            (
                "a budget of the call",
                &of_call,
                boxed(
                    OTHER
                        .retry(move || fails(error))
                        .budget(&of_call)
                        .runtime(stuck()),
                ),
            ),
            (
                "a budget of the call, with delays of its own",
                &of_call,
                boxed(
                    OTHER
                        .retry(move || fails(error))
                        .budget(&of_call)
                        .delays([Duration::from_secs(1)])
                        .runtime(stuck()),
                ),
            ),
            (
                "the later one of two budgets",
                &of_call,
                boxed(
                    OTHER
                        .retry(move || fails(error))
                        .budget(&inner)
                        .budget(&of_call)
                        .runtime(stuck()),
                ),
            ),
            (
                "a budget, and then owned",
                &of_call,
                boxed(
                    OTHER
                        .retry(move || fails(error))
                        .runtime(stuck())
                        .budget(&of_call)
                        .owned(),
                ),
            ),
            (
                "owned, and then a budget",
                &of_call,
                boxed(
                    OTHER
                        .retry(move || fails(error))
                        .runtime(stuck())
                        .owned()
                        .budget(&of_call),
                ),
            ),
            ("attribute", &ATTRIBUTE, boxed(annotated(error))),
            (
                "attribute, policy by value",
                &POLICYS,
                boxed(with_a_policy(POLICY, error)),
            ),
            (
                "attribute, policy by reference",
                &POLICYS,
                boxed(with_a_reference(&POLICY, error)),
            ),
        ];
        for (form, budget, call) in calls {
            let tokens = waits_and_is_dropped(budget, call);
            assert_eq!(tokens, (left, 500.0), "{form}");
            assert_eq!(
                (UNTOUCHED.tokens(), inner.tokens()),
                (500.0, 500.0),
                "{form}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_dropped_leave_the_budget_to_the_others() {
    static BUDGET: Budget = Budget::aws();
    const POLICY: Policy = PLAIN.budget(&BUDGET);
    let patience = Duration::from_millis(500);
    for _ in 0..35 {
        let call = POLICY.retry(|| fails(BUSY));
        assert!(tokio::time::timeout(patience, call).await.is_err());
        let mut client = ();
        let call = POLICY.retry_mut(async || {
            let () = &mut client;
            fails(BUSY).await
        });
        assert!(tokio::time::timeout(patience, call).await.is_err());
    }
    assert_eq!(BUDGET.tokens(), 500.0);
}

#[test]
fn a_retry_that_was_begun_is_paid() {
    static BUDGET: Budget = Budget::aws();
    const POLICY: Policy = PLAIN.budget(&BUDGET);
    let mut calls = 0;
    let mut call = boxed(
        POLICY
            .retry(move || {
                calls += 1;
                async move {
                    if calls < 3 {
                        Err::<(), _>(BUSY)
                    } else {
                        pending().await
                    }
                }
            })
            .runtime(Scripted::default()),
    );
    assert_eq!(poll(&mut call), Poll::Pending);
    assert_eq!(BUDGET.tokens(), 500.0 - 2.0 * 14.0);
    drop(call);
    assert_eq!(BUDGET.tokens(), 500.0 - 2.0 * 14.0);
}

#[test]
fn a_retry_that_a_late_timer_leaves_no_time_for_costs_nothing() {
    static BUDGET: Budget = Budget::aws();
    const POLICY: Policy = PLAIN.budget(&BUDGET).deadline(Duration::from_secs(10));
    let late = || Scripted::late(Duration::from_secs(60));
    let call = POLICY
        .blocking(|| Err::<(), _>(BUSY))
        .runtime(late())
        .reported();
    assert_eq!(call.unwrap_err().reason, StopReason::Deadline);
    assert_eq!(BUDGET.tokens(), 500.0);
    let mut call = Box::pin(
        POLICY
            .retry(|| fails(BUSY))
            .timeout(Duration::from_secs(5))
            .runtime(late()),
    );
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(Err(Status(504))));
    // Also while the future is kept.
    assert_eq!(BUDGET.tokens(), 500.0);
    drop(call);
    assert_eq!(BUDGET.tokens(), 500.0);

    #[retry(policy = POLICY, timeout = "5s", runtime = runtime)]
    async fn annotated(runtime: Scripted) -> Result<(), Status> {
        Err(BUSY)
    }
    assert_eq!(poll(&mut boxed(annotated(late()))), Poll::Ready(()));
    assert_eq!(BUDGET.tokens(), 500.0);
    let runtime = late();
    let block = retry_block!(policy = POLICY, timeout = "5s", runtime = runtime, async {
        Err::<(), _>(BUSY)
    });
    assert_eq!(poll(&mut boxed(block)), Poll::Ready(()));
    assert_eq!(BUDGET.tokens(), 500.0);
}

#[test]
fn a_hook_that_panics_costs_no_token() {
    static BUDGET: Budget = Budget::aws();
    const POLICY: Policy = PLAIN.budget(&BUDGET);
    let panics = |_: &Event<'_, Status>| panic!("the hook");
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut call = boxed(POLICY.retry(|| fails(BUSY)).notify(panics));
        let _ = poll(&mut call);
    }));
    assert!(outcome.is_err());
    assert_eq!(BUDGET.tokens(), 500.0);
    let outcome = catch_unwind(|| {
        let blocking = POLICY.blocking(|| Err::<(), _>(BUSY));
        blocking.notify(panics).call()
    });
    assert!(outcome.is_err());
    assert_eq!(BUDGET.tokens(), 500.0);
    assert!(catch_unwind(|| annotated_blocking(BUSY)).is_err());
    assert_eq!(BLOCKING.tokens(), 500.0);
    // The wait has paid, and the hook panics at the end that the signal makes of it.
    let outcome = catch_unwind(|| {
        let stop = Stop::new();
        stop.stop();
        let gives_up = |event: &Event<'_, Status>| {
            assert!(matches!(event, Event::Waiting { .. }), "the hook");
        };
        let resuming = POLICY.blocking_resuming().stop_on(&stop);
        resuming.notify(gives_up).failed_blocking(BUSY)
    });
    assert!(outcome.is_err());
    assert_eq!(BUDGET.tokens(), 500.0);
}

#[test]
fn of_a_share_of_the_successes_a_token_comes_back_and_of_grpcs_nothing() {
    let of = |budget: &Budget| {
        let call = boxed(PLAIN.retry(|| fails(BUSY)).budget(budget).runtime(stuck()));
        waits_and_is_dropped(budget, call)
    };
    assert_eq!(of(&Budget::ratio(0.2, 10)), (9.0, 10.0));
    // There the failure costs, and not the retry.
    assert_eq!(of(&Budget::grpc(10, 0.1)), (9.0, 9.0));
}

/// What happened, in its order.
#[derive(Default)]
struct Log(RefCell<Vec<&'static str>>);

impl Log {
    fn note(&self, what: &'static str) {
        self.0.borrow_mut().push(what);
    }

    fn taken(&self) -> Vec<&'static str> {
        self.0.take()
    }

    /// Lasts for ten seconds, and notes its end or that it was dropped.
    async fn step<T>(
        &self,
        [begun, ended, dropped]: [&'static str; 3],
        outcome: Result<T, Status>,
    ) -> Result<T, Status> {
        struct Guard<'a>(&'a Log, &'static str);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                self.0.note(self.1);
            }
        }
        self.note(begun);
        let guard = Guard(self, dropped);
        tokio::time::sleep(Duration::from_secs(10)).await;
        std::mem::forget(guard);
        self.note(ended);
        outcome
    }

    fn attempt(&self) -> impl Future<Output = Result<(), Status>> {
        self.step(["attempt", "failed", "dropped"], Err(BUSY))
    }

    fn read(&self) -> impl Future<Output = Result<u32, Status>> {
        self.step(["read", "was read", "read dropped"], Ok(1))
    }

    fn write(&self) -> impl Future<Output = Result<(), Status>> {
        self.step(["write", "write failed", "write dropped"], Err(BUSY))
    }

    fn hook(&self) -> impl FnMut(&Event<'_, Status>) {
        |event| {
            self.note(match event {
                Event::GaveUp { .. } => "gave up",
                _ => "waiting",
            });
        }
    }
}

/// An attempt takes 10 s, and then the call waits for as long.
const SLOW: Policy = PLAIN.base(Duration::from_secs(10));

#[retry(policy = SLOW, notify = log.hook())]
async fn logged(log: &Log) -> Result<(), Status> {
    log.attempt().await
}

/// Drops the call after so many seconds, and lets an hour pass: what happened before and after that.
async fn dropped_after(
    seconds: u64,
    log: &Log,
    call: impl Future,
) -> (Vec<&'static str>, Vec<&'static str>) {
    let cut = tokio::time::timeout(Duration::from_secs(seconds), call).await;
    assert!(cut.is_err());
    let before = log.taken();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    (before, log.taken())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_in_an_attempt_drops_the_attempt_and_does_nothing_more() {
    let log = Log::default();
    let expected = (vec!["attempt", "dropped"], vec![]);
    let method = PLAIN.retry(|| log.attempt()).notify(log.hook());
    assert_eq!(dropped_after(5, &log, method).await, expected);
    let told = PLAIN.retry_with(|_| log.attempt()).notify(log.hook());
    assert_eq!(dropped_after(5, &log, told).await, expected);
    let mutable = PLAIN.retry_mut(async || log.attempt().await);
    assert_eq!(dropped_after(5, &log, mutable).await, expected);
    assert_eq!(dropped_after(5, &log, logged(&log)).await, expected);
    let block = retry_block!(policy = PLAIN, notify = log.hook(), async {
        log.attempt().await
    });
    assert_eq!(dropped_after(5, &log, block).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_in_a_wait_makes_no_other_attempt() {
    let log = Log::default();
    let expected = (vec!["attempt", "failed", "waiting"], vec![]);
    let method = SLOW.retry(|| log.attempt()).notify(log.hook());
    assert_eq!(dropped_after(15, &log, method).await, expected);
    let told = SLOW.retry_with(|_| log.attempt()).notify(log.hook());
    assert_eq!(dropped_after(15, &log, told).await, expected);
    assert_eq!(dropped_after(15, &log, logged(&log)).await, expected);
    let block = retry_block!(policy = SLOW, notify = log.hook(), async {
        log.attempt().await
    });
    assert_eq!(dropped_after(15, &log, block).await, expected);
    let mutable = SLOW.retry_mut(async || log.attempt().await);
    let without_hook = (vec!["attempt", "failed"], vec![]);
    assert_eq!(dropped_after(15, &log, mutable).await, without_hook);
}

#[tokio::test(start_paused = true)]
async fn an_update_that_is_dropped_in_its_read_writes_nothing() {
    let log = Log::default();
    let update = PLAIN.update(|| log.read(), |_| true, |_| log.write());
    let happened = dropped_after(5, &log, update.notify(log.hook())).await;
    assert_eq!(happened, (vec!["read", "read dropped"], vec![]));
}

#[tokio::test(start_paused = true)]
async fn an_update_that_is_dropped_in_its_write_reads_no_more() {
    let log = Log::default();
    let update = PLAIN.update(|| log.read(), |_| true, |_| log.write());
    let happened = dropped_after(15, &log, update.notify(log.hook())).await;
    let expected = vec!["read", "was read", "write", "write dropped"];
    assert_eq!(happened, (expected, vec![]));
}

#[tokio::test(start_paused = true)]
async fn an_update_that_is_dropped_in_its_wait_reads_no_more() {
    let log = Log::default();
    let update = SLOW.update(|| log.read(), |_| true, |_| log.write());
    let happened = dropped_after(25, &log, update.notify(log.hook())).await;
    let expected = vec!["read", "was read", "write", "write failed", "waiting"];
    assert_eq!(happened, (expected, vec![]));
}
