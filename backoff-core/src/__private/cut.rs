//! Attempts that are cut, and attempts that are not begun because no time remains.

use crate::drive::context::{Called, Context};
use crate::{
    drive::{call_state::CallState, cut_flag, limit::Timer, operation::Run},
    facts::fault::TimedOut,
    judge::Stage,
    policy::Policy,
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
    /// One attempt, cut after `limit` or when the deadline is over.
    pub struct Cut<'a, A, C: Sleep> {
        policy: &'a Policy,
        overrides: Option<Overrides<'a>>,
        runtime: &'a C,
        state: &'a CallState,
        // Dropped when it is cut.
        #[pin]
        attempt: Option<A>,
        #[pin]
        timer: Timer<C::Sleep>,
    }
}

/// One attempt, cut after `limit` or when the deadline is over.
#[inline]
pub fn cut<'a, A, C>(
    context: &Context<'a>,
    runtime: &'a C,
    state: &'a CallState,
    limit: Duration,
    attempt: A,
) -> Cut<'a, A, C>
where
    A: Future,
    C: Sleep,
{
    Cut {
        policy: context.policy,
        overrides: context.overrides,
        runtime,
        state,
        attempt: Some(attempt),
        timer: Timer::new(limit),
    }
}

impl<A, C> Future for Cut<'_, A, C>
where
    A: Future,
    C: Clock + Sleep,
{
    type Output = Result<A::Output, TimedOut>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let run = Run {
            context: &Context {
                policy: this.policy,
                overrides: *this.overrides,
                called: Called::Name(""),
            },
            state: this.state,
            runtime: *this.runtime,
        };
        let Some(attempt) = this.attempt.as_mut().as_pin_mut() else {
            return Poll::Ready(expired());
        };
        let (timer, stage) = (this.timer, Stage::Whole);
        let (runtime, remaining) = (run.runtime, || run.remaining());
        let poll = |attempt: Pin<&mut A>, cx: &mut task::Context<'_>| attempt.poll(cx);
        let polled = timer.poll_attempt(attempt, runtime, remaining, cx, stage, poll);
        let outcome = ready!(polled);
        if outcome.is_err() {
            cut_flag::cutting(|| this.attempt.set(None));
        }
        Poll::Ready(outcome)
    }
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
