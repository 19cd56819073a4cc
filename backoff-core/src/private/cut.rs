//! Attempts that are cut, and those that are not begun because no time remains.

use crate::{Attempt, Clock, Retry, Sleep, TimedOut, drive};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use pin_project_lite::pin_project;

/// One attempt, cut after `limit` or when the deadline is over.
#[inline]
pub fn timed<C, A>(
    next: Attempt,
    runtime: &C,
    limit: Duration,
    attempt: A,
) -> drive::Timed<Whole<A>, C::Sleep>
where
    C: Clock + Sleep,
    A: Future,
{
    drive::Timed::new(Whole { attempt }, next.bounded(limit), runtime)
}

pin_project! {
    /// An attempt whose outcome, whatever it is, says that it was not cut.
    #[derive(Debug)]
    pub struct Whole<A> {
        #[pin]
        attempt: A,
    }
}

impl<A: Future> Future for Whole<A> {
    type Output = Result<A::Output, TimedOut>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().attempt.poll(cx).map(Ok)
    }
}

/// Whether the timer woke so late that no time remains for an attempt that would be cut. The first
/// one is always begun.
#[inline]
pub fn is_over(next: Attempt) -> bool {
    next.number() > 1 && next.remaining().is_zero()
}

/// What is given back then.
#[cold]
pub fn expired<R>() -> Result<R, TimedOut> {
    Err(TimedOut::new(Duration::ZERO))
}

/// The outcome of an attempt that may have been cut.
#[inline]
pub fn settle<T, E: FromTimedOut>(done: Result<Result<T, E>, TimedOut>) -> Result<T, E> {
    done.unwrap_or_else(|late| Err(E::from_timed_out(late)))
}

/// The error of a function whose attempts are cut.
#[diagnostic::on_unimplemented(
    message = "`attempt_timeout` makes an error of each attempt that it cuts: implement `From<TimedOut>` for `{Self}`",
    label = "`{Self}` cannot be made from `TimedOut`",
    note = "`impl From<TimedOut> for {Self} {{ fn from(late: TimedOut) -> Self {{ .. }} }}`, or a variant with `#[from] TimedOut`",
    note = "an error of another crate needs a wrapper of your own"
)]
pub trait FromTimedOut {
    /// Makes it.
    fn from_timed_out(late: TimedOut) -> Self;
}

impl<E: From<TimedOut>> FromTimedOut for E {
    #[inline]
    fn from_timed_out(late: TimedOut) -> Self {
        late.into()
    }
}

/// The count of attempts, as a step finds it.
pub trait Counted {
    /// The count.
    fn count(&mut self) -> &mut Retry;

    /// Whether the outcome is that of an attempt that was not begun, which is not counted.
    #[inline]
    fn is_late(&self) -> bool {
        false
    }

    /// Whether the outcome stands for a value that is not yet what is awaited.
    #[inline]
    fn is_pending(&self) -> bool {
        false
    }

    /// Whether the user is asked what to do about the outcome.
    #[inline]
    fn is_judged(&self) -> bool {
        !self.is_late() && !self.is_pending()
    }
}

impl Counted for &mut Retry {
    #[inline]
    fn count(&mut self) -> &mut Retry {
        self
    }
}

/// The count of a function whose attempts are cut, and whether this one was not begun.
#[derive(Debug)]
pub struct Bounded<'r>(pub &'r mut Retry, pub bool);

impl Counted for Bounded<'_> {
    #[inline]
    fn count(&mut self) -> &mut Retry {
        self.0
    }

    #[inline]
    fn is_late(&self) -> bool {
        self.1
    }
}
