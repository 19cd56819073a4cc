//! Attempts that are cut, and attempts that are not begun because no time remains.

use crate::{
    drive::{call_state::CallState, context::Context, cut_flag, limit::Timer, operation::Run},
    facts::fault::TimedOut,
    judge::Stage,
    runtime::{Clock, Sleep},
    state::Overrides,
};
use core::{
    future::Future,
    pin::Pin,
    task,
    task::{Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

pin_project! {
    /// One attempt, cut after a limit or when the deadline is over.
    pub struct Cut<'a, A, C: Sleep, F> {
        runtime: &'a C,
        // The rest of the deadline. A closure, because it takes less room than the context.
        remaining: F,
        // Dropped when it is cut.
        #[pin]
        attempt: Option<A>,
        #[pin]
        timer: Timer<C::Sleep>,
    }
}

/// One attempt, cut after `limit` or when the deadline is over.
#[inline]
pub const fn cut<A, C, F>(
    runtime: &C,
    limit: Duration,
    remaining: F,
    attempt: A,
) -> Cut<'_, A, C, F>
where
    A: Future,
    C: Sleep,
    F: Fn() -> Duration,
{
    Cut {
        runtime,
        remaining,
        attempt: Some(attempt),
        timer: Timer::new(limit),
    }
}

impl<A, C, F> Future for Cut<'_, A, C, F>
where
    A: Future,
    C: Sleep,
    F: Fn() -> Duration,
{
    type Output = Result<A::Output, TimedOut>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(attempt) = this.attempt.as_mut().as_pin_mut() else {
            return Poll::Ready(expired());
        };
        let poll = |attempt: Pin<&mut A>, cx: &mut task::Context<'_>| attempt.poll(cx);
        let (timer, stage) = (this.timer, Stage::Whole);
        let polled = timer.poll_attempt(attempt, *this.runtime, this.remaining, cx, stage, poll);
        let outcome = ready!(polled);
        if outcome.is_err() {
            cut_flag::cutting(|| this.attempt.set(None));
        }
        Poll::Ready(outcome)
    }
}

/// The rest of the deadline.
#[inline]
pub fn remaining<C: Clock>(context: &Context<'_>, runtime: &C, state: &CallState) -> Duration {
    Run {
        context,
        state,
        runtime,
    }
    .remaining()
}

/// Whether the timer woke so late that no time remains for an attempt that would be cut.
#[inline]
pub fn is_late<C: Clock>(context: &Context<'_>, runtime: &C, state: &CallState) -> bool {
    state.is_late(context, runtime)
}

/// The error that is returned then.
#[cold]
pub fn expired<R>() -> Result<R, TimedOut> {
    Err(TimedOut::new(Duration::ZERO))
}

/// The outcome of an attempt that may have been cut or not begun, and its stage.
#[inline]
pub fn settle<T, E: FromTimedOut>(
    done: Result<Result<T, E>, TimedOut>,
    is_late: bool,
) -> (Result<T, E>, Stage) {
    match done {
        Ok(outcome) => (outcome, Stage::Whole),
        Err(late) => (
            Err(E::from_timed_out(late)),
            if is_late { Stage::Late } else { Stage::Cut },
        ),
    }
}

/// The meaning of the keys `attempt_timeout` and `timeout` for a call.
#[inline]
#[must_use]
pub const fn cut_at(timeout: Option<Duration>) -> Option<Overrides<'static>> {
    Some(Overrides::cut(timeout, None))
}

/// The error of a function whose attempts are cut.
#[diagnostic::on_unimplemented(
    message = "`timeout` and `attempt_timeout` make an error of each attempt that they cut: implement `From<TimedOut>` for `{Self}`",
    label = "`{Self}` cannot be made from `TimedOut`",
    note = "`impl From<TimedOut> for {Self} {{ fn from(late: TimedOut) -> Self {{ .. }} }}`, or a variant with `#[from] TimedOut`",
    note = "for an error of another crate, write an error of your own around it, or use `deadline` with `attempt = n` and hand `n.remaining()` to the client as its timeout"
)]
pub trait FromTimedOut {
    /// Makes the error.
    fn from_timed_out(late: TimedOut) -> Self;
}

impl<E: From<TimedOut>> FromTimedOut for E {
    #[inline]
    fn from_timed_out(late: TimedOut) -> Self {
        late.into()
    }
}
