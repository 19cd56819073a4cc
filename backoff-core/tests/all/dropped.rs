//! A call that is dropped does nothing more, in every form. If no attempt follows a wait, the budget gets the
//! wait's tokens back.
use crate::common::{
    error::TestError,
    forms::{BUSY, PLAIN, SECOND, call, check},
    time::Time,
};
use backoff_core::{Budget, Event, Policy, retry};
use std::{future::ready, panic::catch_unwind, pin::Pin, time::Duration};

#[test]
fn a_dropped_call_drops_its_attempt_and_makes_no_other_and_gets_its_tokens_back() {
    let table = "
        in an attempt     | dropped_at 5    | hangs               | 0; dropped at 5
        in a wait         | dropped_at 10.5 | error 503 taking 10 | 0; dropped at 10.5
        in a retry        | dropped_at 15   | error 503 taking 10 | 0 11; dropped at 15
        limited           | attempt_timeout 60, dropped_at 5    | hangs               | 0; dropped at 5
        limited, a wait   | attempt_timeout 60, dropped_at 10.5 | error 503 taking 10 | 0; dropped at 10.5
        limited, a retry  | attempt_timeout 60, dropped_at 15   | error 503 taking 10 | 0 11; dropped at 15
        a failure         | dropped_at 0.5, budget aws            | error 503 | 0; dropped at 0.5 [486 500]
        called too often  | dropped_at 0.5, budget aws            | error 429 | 0; dropped at 0.5 [495 500]
        a response        | dropped_at 0.5, budget aws, responses | 503       | 0; dropped at 0.5 [486 500]
        a limit           | dropped_at 0.5, budget aws, timeout 60 | error 503 | 0; dropped at 0.5 [486 500]
        a share of the successes | dropped_at 0.5, budget ratio 0.2 10 | error 503 | 0; dropped at 0.5 [9 10]
        gRPC's: the failure costs, not the retry | dropped_at 0.5, budget grpc 10 0.1 | error 503 | 0; dropped at 0.5 [9 9]
        retries that were begun  | dropped_at 10, budget aws | error 503, error 503, hangs | 0 1 3; dropped at 10 [486 472 472]
    ";
    check(call(PLAIN), table);
}

// Without a limit, an async call makes the attempt. When a hook panics, the wait has taken tokens.
#[test]
fn a_retry_without_time_and_a_hook_that_panics_cost_no_token() {
    let table = "
        a late timer  | late 60, timeout 5 | error 503 | 0; at 61 deadline: error cut after 0ns, last 503 [486 500 500]
        late, a limit of each attempt | late 60, deadline 5, attempt_timeout 1 | error 503 | 0; at 61 deadline: error cut after 0ns, last 503 [486 500 500]
        late, a deadline  | late 60, deadline 5 | error 503 | 0 61; at 61 deadline: error 503 [486 486 486]
        but blocking | 0; at 61 deadline: error 503 [486 500 500]
        late, a response  | late 60, deadline 5, responses | 503 | 0 61; at 61 deadline: 503 [486 486 486]
        but blocking | 0; at 61 deadline: 503 [486 500 500]
        a panic when a wait begins    | panicking_at 1 | error 503 | 0; dropped at 0 [486 500]
        a panic when a wait is ended  | stop_on 0.5, panicking_at 2 | error 503 | 0; dropped at 0.5 stopped [486 500 500]
        a panic when the time is over | timeout 5, late 60, panicking_at 2 | error 503 | 0; dropped at 61 deadline [486 500 500]
    ";
    check(call(PLAIN).budget("aws"), table);
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
