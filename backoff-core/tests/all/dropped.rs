//! A call that is dropped does nothing more, in every form. If no attempt follows a wait, the budget gets the
//! wait's tokens back.
use crate::common::{
    error::TestError,
    forms::{BUSY, HANGS, PLAIN, SECOND, call, check, fails, gives, row},
    time::Time,
};
use backoff_core::{Budget, Event, Policy, retry};
use std::{future::ready, panic::catch_unwind, pin::Pin, time::Duration};

const HALF: Duration = Duration::from_millis(500);

#[test]
fn a_dropped_call_drops_its_attempt_and_makes_no_other() {
    let slow = fails(BUSY).taking(10 * SECOND);
    let limited = call(PLAIN).attempt_timeout(60 * SECOND);
    for (name, call) in [("a call", call(PLAIN)), ("one with a limit", limited)] {
        check(&[
            row(
                name,
                call.dropped_at(5 * SECOND),
                &[HANGS],
                "0; dropped at 5",
            ),
            row(
                name,
                call.dropped_at(10 * SECOND + HALF),
                &[slow],
                "0; dropped at 10.5",
            ),
            row(
                name,
                call.dropped_at(15 * SECOND),
                &[slow],
                "0 11; dropped at 15",
            ),
        ]);
    }
}

#[test]
fn a_call_that_is_dropped_in_a_wait_gets_its_tokens_back() {
    let dropped = call(PLAIN).dropped_at(HALF);
    let limited = dropped.budget(Budget::aws);
    let busy = [fails(BUSY)];
    check(&[
        row("a failure", limited, &busy, "0; dropped at 0.5 [486 500]"),
        row(
            "a server that was called too often",
            limited,
            &[fails(TestError::status(429))],
            "0; dropped at 0.5 [495 500]",
        ),
        row(
            "a response",
            limited.responses(),
            &[gives(503)],
            "0; dropped at 0.5 [486 500]",
        ),
        row(
            "a limit",
            limited.timeout(60 * SECOND),
            &busy,
            "0; dropped at 0.5 [486 500]",
        ),
        row(
            "a share of the successes",
            dropped.budget(|| Budget::ratio(0.2, 10)),
            &busy,
            "0; dropped at 0.5 [9 10]",
        ),
        // There the failure costs, and not the retry.
        row(
            "the budget of gRPC",
            dropped.budget(|| Budget::grpc(10, 0.1)),
            &busy,
            "0; dropped at 0.5 [9 9]",
        ),
        row(
            "the tokens of retries that were begun are used",
            call(PLAIN).budget(Budget::aws).dropped_at(10 * SECOND),
            &[fails(BUSY), fails(BUSY), HANGS],
            "0 1 3; dropped at 10 [486 472 472]",
        ),
    ]);
}

#[test]
fn a_retry_that_a_late_timer_leaves_no_time_for_costs_nothing() {
    let late = call(PLAIN).late(60 * SECOND).budget(Budget::aws);
    check(&[
        row(
            "a timeout",
            late.timeout(5 * SECOND),
            &[fails(BUSY)],
            "0; at 61 deadline: error cut after 0ns, last 503 [486 500 500]",
        ),
        row(
            "a limit of each attempt",
            late.deadline(5 * SECOND).attempt_timeout(SECOND),
            &[fails(BUSY)],
            "0; at 61 deadline: error cut after 0ns, last 503 [486 500 500]",
        ),
        // Without a limit, an async call makes the attempt.
        row(
            "a deadline",
            late.deadline(5 * SECOND),
            &[fails(BUSY)],
            "0 61; at 61 deadline: error 503 [486 486 486]",
        )
        .but(
            |form| form.is_blocking(),
            "0; at 61 deadline: error 503 [486 500 500]",
        ),
        row(
            "a deadline, of a response",
            late.deadline(5 * SECOND).responses(),
            &[gives(503)],
            "0 61; at 61 deadline: 503 [486 486 486]",
        )
        .but(
            |form| form.is_blocking(),
            "0; at 61 deadline: 503 [486 500 500]",
        ),
    ]);
}

#[test]
fn a_hook_that_panics_costs_no_token() {
    let limited = call(PLAIN).budget(Budget::aws);
    check(&[
        row(
            "when a wait begins",
            limited.panicking_at(1),
            &[fails(BUSY)],
            "0; dropped at 0 [486 500]",
        ),
        // The wait has taken tokens, and the hook panics at the end that the signal makes of it.
        row(
            "when a wait is ended",
            limited.stop_on(HALF).panicking_at(2),
            &[fails(BUSY)],
            "0; dropped at 0.5 stopped [486 500 500]",
        ),
        row(
            "when the time is over",
            limited
                .timeout(5 * SECOND)
                .late(60 * SECOND)
                .panicking_at(2),
            &[fails(BUSY)],
            "0; dropped at 61 deadline [486 500 500]",
        ),
    ]);
}

static BUDGET: Budget = Budget::aws();
const WITH_BUDGET: Policy = PLAIN.budget(&BUDGET);
static UNTOUCHED: Budget = Budget::aws();

type Outcome = Result<(), TestError>;
type Call<'c> = Pin<Box<dyn Future<Output = Outcome> + 'c>>;

#[retry(policy = WITH_BUDGET, runtime = time.clone())]
async fn constant(time: &Time) -> Outcome {
    Err(BUSY)
}

#[retry(policy = *policy, runtime = time.clone())]
async fn lent(policy: &Policy, time: &Time) -> Outcome {
    Err(BUSY)
}

#[retry(policy = WITH_BUDGET, timeout = "5s", runtime = time.clone())]
async fn limited(time: &Time) -> Outcome {
    Err(BUSY)
}

#[retry(policy = WITH_BUDGET, runtime = time.clone(), notify = |_: &Event<'_, TestError>| panic!("the hook"))]
fn panicking(time: &Time) -> Outcome {
    Err(BUSY)
}

/// Where the policy is made and in which order the call is built changes nothing.
#[test]
fn every_way_to_name_a_policy_or_a_budget_gives_the_tokens_back() {
    let of_call = Budget::aws();
    let other = PLAIN.budget(&UNTOUCHED);
    let busy = || ready(Err::<(), _>(BUSY));
    let time = &Time::default();
    let runtime = || time.clone();
    let delays = other.retry(busy).budget(&of_call).delays([SECOND]);
    let calls: [(&Budget, Call<'_>); 6] = [
        (&BUDGET, Box::pin(constant(time))),
        (&BUDGET, Box::pin(lent(&WITH_BUDGET, time))),
        (&BUDGET, Box::pin(limited(time))),
        (&of_call, Box::pin(delays.runtime(runtime()))),
        (
            &of_call,
            Box::pin(
                other
                    .retry(busy)
                    .runtime(runtime())
                    .budget(&of_call)
                    .owned(),
            ),
        ),
        (
            &of_call,
            Box::pin(
                other
                    .retry(busy)
                    .runtime(runtime())
                    .owned()
                    .budget(&of_call),
            ),
        ),
    ];
    for ((budget, call), number) in calls.into_iter().zip(0..) {
        let mut call = Some(call);
        let polled = time.run_until(time.elapsed(), call.as_mut().unwrap());
        assert_eq!((polled, budget.tokens()), (None, 486.0), "call {number}");
        drop(call.take());
        assert_eq!(
            (budget.tokens(), UNTOUCHED.tokens()),
            (500.0, 500.0),
            "call {number}"
        );
    }
    let late = Time::late(60 * SECOND);
    assert_eq!(
        late.run(limited(&late)),
        Err(TestError::cut(Duration::ZERO))
    );
    assert_eq!(BUDGET.tokens(), 500.0);
    assert!(catch_unwind(|| panicking(&Time::default())).is_err());
    assert_eq!(BUDGET.tokens(), 500.0);
}
