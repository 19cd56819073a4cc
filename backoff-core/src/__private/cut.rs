//! Attempts that are cut, and attempts that are not begun because no time remains.

use super::{context::Context, ending::Ending, made_errors::Late, outcome::Outcome};
use crate::{
    call::{
        call_state::CallState,
        cut_flag,
        plan::CallPlan as _,
        timer::{Limit, Timer as _},
    },
    facts::fault::TimedOut,
    runtime::{Clock, Sleep, timer_of},
};
use core::{future::Future, pin::Pin, task, task::Poll, time::Duration};
use pin_project_lite::pin_project;

pin_project! {
    /// One attempt, cut after a limit or when the deadline is over.
    pub struct Cut<A, S, F> {
        // Makes the timer from the limit. A closure takes less room than the context.
        make: F,
        // Dropped when it is cut.
        #[pin]
        attempt: Option<A>,
        #[pin]
        timer: Limit<S>,
    }
}

/// One attempt, cut after `limit` or when the deadline is over: by the timer that `make` makes.
#[inline]
pub const fn cut<A, S, F>(limit: Duration, make: F, attempt: A) -> Cut<A, S, F>
where
    A: Future,
    F: Fn(Duration) -> (Duration, Option<S>),
{
    Cut {
        make,
        attempt: Some(attempt),
        timer: Limit::new(limit),
    }
}

impl<A, S, F> Future for Cut<A, S, F>
where
    A: Future,
    S: Future<Output = ()>,
    F: Fn(Duration) -> (Duration, Option<S>),
{
    type Output = Result<A::Output, TimedOut>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(attempt) = this.attempt.as_mut().as_pin_mut() else {
            return Poll::Ready(expired());
        };
        let is_over = this.timer.as_mut().is_over(cx);
        // When the time is over, the attempt may be ready as well.
        if let Poll::Ready(outcome) = attempt.poll(cx) {
            return Poll::Ready(Ok(outcome));
        }
        let Some(late) = this.timer.expired(is_over, &*this.make, cx) else {
            return Poll::Pending;
        };
        cut_flag::cutting(|| this.attempt.set(None));
        Poll::Ready(Err(late))
    }
}

/// The time of an attempt (`limit`, or the rest of the deadline if that is shorter), and its timer.
#[inline]
pub fn timer<C: Clock + Sleep>(
    context: &Context<'_>,
    runtime: &C,
    state: &CallState,
    limit: Duration,
) -> (Duration, Option<C::Sleep>) {
    let remaining = state.remaining(&context.rules(), runtime);
    timer_of(runtime, limit.min(remaining))
}

/// Whether the timer woke so late that no time remains for an attempt that would be cut.
#[inline]
pub fn is_late<C: Clock>(context: &Context<'_>, runtime: &C, state: &CallState) -> bool {
    state.retry.is_late(&context.rules(), || runtime.now())
}

/// The error that is returned then.
#[cold]
pub fn expired<R>() -> Result<R, TimedOut> {
    Err(TimedOut::new(Duration::ZERO))
}

/// The outcome of an attempt that may have been cut or not begun, and how the attempt ended.
#[inline]
pub fn settle<R: Outcome>(
    make: Late<R::Error>,
    done: Result<R, TimedOut>,
    unless_done: Ending,
) -> (R, Ending) {
    match done {
        Ok(outcome) => (outcome, Ending::Returned),
        Err(late) => refused(make, late, unless_done),
    }
}

/// The outcome of an attempt that has been cut or is not begun, and how the attempt ended.
#[cold]
pub fn refused<R: Outcome>(make: Late<R::Error>, late: TimedOut, ending: Ending) -> (R, Ending) {
    let ending = match late.is_by_breaker() {
        true => Ending::Refused,
        false => ending,
    };
    let Some(make) = make else {
        unreachable!("where no error can be made, the attempt begins")
    };
    (R::failed(make(late)), ending)
}
