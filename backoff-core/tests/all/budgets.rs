//! A budget for one call pays instead of the policy's budget, in every form of a call.
use crate::common::Scripted;
use backoff_core::{Budget, Fault, FaultKind, Jitter, Policy, RetryError, StopReason};
use std::{
    cell::Cell,
    future::{Future, ready},
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

const SECOND: Duration = Duration::from_secs(1);

/// The policy's own, which no call of these tests may touch.
static OF_POLICY: Budget = Budget::costs(100, 10, 5).starting_with(50);
const POLICY: Policy = Policy::exponential()
    .jitter(Jitter::None)
    .max_attempts(8)
    .budget(&OF_POLICY);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Status(u16);
const BUSY: Status = Status(503);
const TOO_FAST: Status = Status(429);

impl Fault for Status {
    fn status(&self) -> Option<u16> {
        (self.0 != 0).then_some(self.0)
    }
    fn kind(&self) -> Option<FaultKind> {
        (self.0 == 0).then_some(FaultKind::Conflict)
    }
}

/// Nothing of these tests ever waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

/// The forms of a call.
#[derive(Clone, Copy, Debug)]
enum Form {
    Async,
    Owned,
    Blocking,
    Update,
    BlockingUpdate,
}
const FORMS: [Form; 5] = [
    Form::Async,
    Form::Owned,
    Form::Blocking,
    Form::Update,
    Form::BlockingUpdate,
];

/// Calls something that fails so and then succeeds: how often it was called, and how it was given up.
fn call(
    form: Form,
    policy: Policy,
    budget: &Budget,
    failures: &[Status],
) -> (usize, Result<(), (Status, StopReason)>) {
    fn end<R>(gave_up: RetryError<Status, R>) -> (Status, StopReason) {
        (gave_up.error, gave_up.reason)
    }
    let calls = Cell::new(0);
    let next = || {
        let call = calls.replace(calls.get() + 1);
        failures.get(call).map_or(Ok(()), |failure| Err(*failure))
    };
    let runtime = Scripted::default();
    let outcome = match form {
        Form::Async => {
            let retry = policy.retry(|| ready(next())).budget(budget);
            let outcome = now(retry.runtime(runtime).reported());
            outcome.map(drop).map_err(end)
        }
        Form::Owned => {
            let retry = policy.retry(|| ready(next())).runtime(runtime).owned();
            let outcome = now(retry.budget(budget).reported());
            outcome.map(drop).map_err(end)
        }
        Form::Blocking => {
            let blocking = policy.blocking(next).runtime(runtime).budget(budget);
            blocking.reported().map(drop).map_err(end)
        }
        Form::Update => {
            let update = policy.update(|| ready(Ok(1)), |_| true, |_| ready(next()));
            let outcome = now(update.budget(budget).runtime(runtime).reported());
            outcome.map(drop).map_err(end)
        }
        Form::BlockingUpdate => {
            let update = policy.blocking_update(|| Ok(1), |_| true, |_| next());
            let update = update.budget(budget).runtime(runtime);
            update.reported().map(drop).map_err(end)
        }
    };
    assert_eq!(OF_POLICY.tokens(), 50.0, "{form:?}");
    (calls.get(), outcome)
}

#[test]
fn it_pays_for_retries_until_it_is_spent() {
    for form in FORMS {
        let budget = Budget::costs(100, 10, 5).starting_with(25);
        let (calls, outcome) = call(form, POLICY, &budget, &[BUSY; 8]);
        assert_eq!(outcome, Err((BUSY, StopReason::Budget)), "{form:?}");
        assert_eq!((calls, budget.tokens()), (3, 5.0), "{form:?}");
    }
}

#[test]
fn it_pays_by_the_kind_of_the_failure() {
    for form in FORMS {
        let budget = Budget::costs(100, 10, 5).starting_with(16);
        let failures = [BUSY, TOO_FAST, TOO_FAST];
        let (calls, outcome) = call(form, POLICY, &budget, &failures);
        assert_eq!(outcome, Err((TOO_FAST, StopReason::Budget)), "{form:?}");
        assert_eq!((calls, budget.tokens()), (3, 1.0), "{form:?}");
    }
}

#[test]
fn a_success_gives_back_to_it() {
    for form in FORMS {
        let budget = Budget::costs(100, 10, 5).starting_with(50);
        // What its last retry cost.
        for (failures, tokens) in [
            (&[BUSY, BUSY][..], 40.0),
            (&[BUSY, TOO_FAST], 30.0),
            (&[], 31.0),
        ] {
            let (calls, outcome) = call(form, POLICY, &budget, failures);
            assert_eq!((calls, outcome), (failures.len() + 1, Ok(())), "{form:?}");
            assert_eq!(budget.tokens(), tokens, "{form:?} {failures:?}");
        }
        let share = Budget::ratio(0.5, 10).starting_with(4);
        let (_, outcome) = call(form, POLICY, &share, &[BUSY]);
        assert_eq!((outcome, share.tokens()), (Ok(()), 3.5), "{form:?}");
    }
}

/// gRPC's costs a token a failure, retried or not.
#[test]
fn a_failure_that_is_the_last_one_costs_what_the_budget_says() {
    for form in FORMS {
        let budget = Budget::grpc(10, 0.5);
        let policy = POLICY.max_attempts(2);
        let (calls, outcome) = call(form, policy, &budget, &[BUSY; 2]);
        assert_eq!(outcome, Err((BUSY, StopReason::Attempts)), "{form:?}");
        assert_eq!((calls, budget.tokens()), (2, 8.0), "{form:?}");
        let (calls, outcome) = call(form, policy, &budget, &[Status(404)]);
        assert_eq!(outcome, Err((Status(404), StopReason::Permanent)));
        assert_eq!((calls, budget.tokens()), (1, 8.0), "{form:?}");
    }
}

#[test]
fn conflicts_cost_it_nothing() {
    const CONFLICT: Status = Status(0);
    for form in FORMS {
        let budget = Budget::costs(100, 10, 5).starting_with(0);
        let policy = POLICY.retry_conflicts(true);
        let (calls, outcome) = call(form, policy, &budget, &[CONFLICT; 3]);
        assert_eq!((calls, outcome), (4, Ok(())), "{form:?}");
        assert_eq!(budget.tokens(), 1.0, "{form:?}");
    }
}

/// The policy's own is not asked, even if it is the one that has something left, or nothing.
#[test]
fn it_takes_the_place_of_the_policys() {
    static DRY: Budget = Budget::costs(100, 10, 5).starting_with(0);
    for form in FORMS {
        let budget = Budget::costs(100, 10, 5).starting_with(20);
        let dry = POLICY.budget(&DRY);
        let (calls, outcome) = call(form, dry, &budget, &[BUSY; 2]);
        assert_eq!((calls, outcome), (3, Ok(())), "{form:?}");
        assert_eq!((budget.tokens(), DRY.tokens()), (10.0, 0.0), "{form:?}");

        let empty = Budget::costs(100, 10, 5).starting_with(0);
        let (calls, outcome) = call(form, POLICY, &empty, &[BUSY]);
        assert_eq!((calls, outcome), (1, Err((BUSY, StopReason::Budget))));
    }
}

#[test]
fn the_one_named_last_pays() {
    let [first, last] = [50, 20].map(|tokens| Budget::costs(100, 10, 5).starting_with(tokens));
    let busy = || ready(Err::<(), _>(BUSY));
    let retry = POLICY.retry(busy).budget(&first).budget(&last);
    let gave_up = now(retry.runtime(Scripted::default()).reported()).unwrap_err();
    assert_eq!(
        (gave_up.reason, gave_up.report.attempts),
        (StopReason::Budget, 3)
    );
    assert_eq!((first.tokens(), last.tokens()), (50.0, 0.0));
    assert_eq!(OF_POLICY.tokens(), 50.0);
}

/// What else is said of the call holds as well.
#[test]
fn it_goes_with_waits_of_its_own_and_with_attempts_that_are_cut() {
    use backoff_core::TimedOut;

    let budget = Budget::costs(100, 10, 5).starting_with(25);
    let runtime = Scripted::default();
    let gave_up = now(POLICY
        .retry(std::future::pending::<Result<(), TimedOut>>)
        .attempt_timeout(3 * SECOND)
        .budget(&budget)
        .runtime(runtime.clone())
        .reported())
    .unwrap_err();
    assert_eq!(
        (gave_up.reason, gave_up.report.attempts),
        (StopReason::Budget, 3)
    );
    let waits = [3, 1, 3, 2, 3].map(|seconds| seconds * SECOND);
    assert_eq!(runtime.waits.take(), waits);
    assert_eq!(budget.tokens(), 5.0);

    let budget = Budget::costs(100, 10, 5).starting_with(25);
    let gave_up = now(POLICY
        .retry(|| ready(Err::<(), _>(BUSY)))
        .budget(&budget)
        .delays([5 * SECOND; 8])
        .runtime(runtime.clone())
        .reported())
    .unwrap_err();
    assert_eq!(
        (gave_up.reason, gave_up.report.attempts),
        (StopReason::Budget, 3)
    );
    assert_eq!(runtime.waits.take(), [5 * SECOND; 2]);
    assert_eq!((budget.tokens(), OF_POLICY.tokens()), (5.0, 50.0));
}
