//! The steps of a loop that a macro writes: begin, judge, wait.

use super::{context::Context, outcome::Outcome};
use crate::drive::write_outcome::WriteOutcome;
use crate::{
    drive::{
        course::{Course, rarely},
        deposit::{Deposit, Payer},
        handler::{Handle, Lent, Under},
        recall::{Recall, Recalling},
    },
    facts::fault::Fault,
    judge::Stage,
    observe::Failure,
    runtime::{BlockingSleep, Clock, Random, Sleep},
    state::{Attempt, Next},
};
use core::time::Duration;

/// The state before the first attempt. `timed` says that the function asks for the elapsed time.
#[inline]
pub fn start<C: Clock>(context: &Context<'_>, runtime: &C, course: &mut Course, timed: bool) {
    course.start(context.policy, context.overrides.as_ref(), runtime, timed);
}

/// The attempt after the wait begins.
#[inline]
pub fn begins<P: Payer>(deposit: &mut Deposit<P>) {
    deposit.begins();
}

/// The attempt that is about to begin.
#[inline]
pub fn attempt<C: Clock>(
    context: &Context<'_>,
    runtime: &C,
    course: &Course,
    recall: &Recall,
) -> Attempt {
    course.attempt(context.policy, context.overrides.as_ref(), runtime, recall)
}

/// What the call remembers for its attempts.
#[inline]
pub fn recall<R: Random>(runtime: &R) -> Recall {
    Recall::new(runtime)
}

/// The same judge; whether an attempt may have been applied is remembered.
#[inline]
pub fn recalling<H>(recall: &mut Recall, inner: H) -> Recalling<'_, H> {
    Recalling::new(inner, recall)
}

/// After an attempt: returns the wait before the next one, or nothing if this outcome is the last.
#[inline]
pub fn step<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    course: &mut Course,
    stage: Stage,
    outcome: &R,
    value: Option<&dyn Fault>,
    judge: &mut H,
) -> Option<Duration>
where
    R: Outcome,
    H: Handle<R::Error>,
    C: Clock + Random,
{
    let Context { policy, name, .. } = *context;
    let overrides = context.overrides.as_ref();
    let mut handler = Under {
        inner: Lent { inner: judge },
        runtime,
    };
    if let Some(error) = outcome.error() {
        rarely();
        let next = course.failed(policy, &mut handler, name, error, stage, overrides, ());
        return next.is_wait().then(|| next.wait());
    }
    let next = value.and_then(|value| {
        course.answered::<R::Error, _>(policy, &mut handler, name, value, overrides)
    });
    if next.is_none() {
        course.succeeded(policy, &mut handler, name, context.overrides);
    }
    next.filter(|next| next.is_wait()).map(Next::wait)
}

/// The wait of an async function.
#[inline]
#[track_caller]
pub fn sleep<C: Sleep>(runtime: &C, wait: Duration) -> C::Sleep {
    runtime.sleep(wait)
}

/// The wait of a sync function. Returns whether the timer woke after the deadline; then hooks and logs
/// get this.
#[inline]
pub fn pause<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    course: &mut Course,
    wait: Duration,
    last: &R,
    value: Option<&dyn Fault>,
    judge: &mut H,
) -> bool
where
    R: Outcome,
    H: Handle<R::Error>,
    C: Clock + BlockingSleep,
{
    runtime.sleep_blocking(wait);
    let is_late = course.is_late(context.policy, context.overrides.as_ref(), runtime);
    if is_late {
        rarely();
        let error = last.error();
        let fault = error.map_or(value, |error| judge.fault(error));
        let failure = Failure::new(error, fault);
        let mut handler = Under {
            inner: Lent { inner: judge },
            runtime,
        };
        course.late(
            context.policy,
            &mut handler,
            context.name,
            failure,
            WriteOutcome::Known,
        );
    }
    is_late
}
