//! The time limits of a call: of each attempt, and of the whole call.

use super::operation::Run;
use crate::{
    facts::fault::TimedOut,
    judge::Stage,
    runtime::{Clock, Sleep, nanos},
    state::Overrides,
};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use pin_project_lite::pin_project;

/// Whether attempts are cut: not (`()`), or by a timer ([`Limited`]).
pub trait Limit {
    /// Whether attempts are cut at the deadline.
    const CUTS: bool;
    /// The timer of an attempt.
    type Timer<S>;

    /// The same with limits of attempts.
    type Limited: Limit;

    /// These limits too; the shorter ones hold.
    fn and(self, limits: Limited) -> Self::Limited;

    /// The longest wait for a turn; `None` if no error can be made when this time is over.
    #[inline]
    fn max_wait(&self) -> Option<Duration> {
        None
    }

    /// The timer of the attempt that begins.
    fn timer<S>(&self) -> Self::Timer<S>;

    /// The rules of the call, with the limits.
    fn overrides(&self, before: Option<Overrides<'static>>) -> Option<Overrides<'static>>;

    /// Whether the time of the attempt is over.
    fn is_over<S: Future<Output = ()>>(
        timer: Pin<&mut Self::Timer<S>>,
        cx: &mut Context<'_>,
    ) -> bool;

    /// The attempt is pending, and [`is_over`](Self::is_over) said this. Returns the limit, if its time is
    /// over.
    fn expired<R: Clock + Sleep>(
        timer: Pin<&mut Self::Timer<R::Sleep>>,
        is_over: bool,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Option<TimedOut>;
}

/// A limit for operations whose error is an `E`.
#[diagnostic::on_unimplemented(
    message = "a call with a time limit needs `From<TimedOut>` for `{E}`",
    label = "no error can be made when the time is over"
)]
pub trait Expires<E>: Limit {
    /// The error of an attempt that was cut or has no time, if attempts are cut.
    fn error(late: TimedOut) -> Option<E>;
}

impl Limit for () {
    const CUTS: bool = false;
    type Timer<S> = ();
    type Limited = Limited;

    fn and(self, limits: Limited) -> Limited {
        limits
    }

    #[inline]
    fn timer<S>(&self) {}

    #[inline]
    fn overrides(&self, before: Option<Overrides<'static>>) -> Option<Overrides<'static>> {
        before
    }

    #[inline]
    fn is_over<S: Future<Output = ()>>(_timer: Pin<&mut ()>, _cx: &mut Context<'_>) -> bool {
        false
    }

    #[inline]
    fn expired<R: Clock + Sleep>(
        _timer: Pin<&mut ()>,
        _is_over: bool,
        _run: &Run<'_, R>,
        _cx: &mut Context<'_>,
    ) -> Option<TimedOut> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<E> Expires<E> for () {
    #[inline]
    fn error(_late: TimedOut) -> Option<E> {
        None
    }
}

/// The limits of a call whose attempts are cut. Made by
/// [`Retrying::attempt_timeout`](super::future::Retrying::attempt_timeout) and
/// [`Retrying::timeout`](super::future::Retrying::timeout).
#[derive(Clone, Copy, Debug)]
pub struct Limited {
    /// The limit of one attempt.
    attempt: Duration,
    /// The limit of the whole call.
    whole: Option<Duration>,
}

impl Limited {
    /// Each attempt is cut after `limit`.
    pub(super) const fn attempts(limit: Duration) -> Self {
        Limited {
            attempt: limit,
            whole: None,
        }
    }

    /// The call is over after `limit`.
    pub(super) const fn whole(limit: Duration) -> Self {
        Limited {
            attempt: Duration::MAX,
            whole: Some(limit),
        }
    }
}

impl Limit for Limited {
    const CUTS: bool = true;
    type Timer<S> = Timer<S>;
    type Limited = Limited;

    #[inline]
    fn max_wait(&self) -> Option<Duration> {
        Some(Duration::MAX)
    }

    fn and(self, limits: Limited) -> Limited {
        let whole = match (self.whole, limits.whole) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Limited {
            attempt: self.attempt.min(limits.attempt),
            whole,
        }
    }

    #[inline]
    fn timer<S>(&self) -> Timer<S> {
        Timer::new(self.attempt)
    }

    #[inline]
    fn overrides(&self, before: Option<Overrides<'static>>) -> Option<Overrides<'static>> {
        Some(Overrides::cut(self.whole, before))
    }

    #[inline]
    fn is_over<S: Future<Output = ()>>(timer: Pin<&mut Timer<S>>, cx: &mut Context<'_>) -> bool {
        timer.is_over(cx)
    }

    #[inline]
    fn expired<R: Clock + Sleep>(
        timer: Pin<&mut Timer<R::Sleep>>,
        is_over: bool,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Option<TimedOut> {
        timer.expired(is_over, |limit| run.timer(limit), cx)
    }
}

#[diagnostic::do_not_recommend]
impl<E: From<TimedOut>> Expires<E> for Limited {
    fn error(late: TimedOut) -> Option<E> {
        Some(late.into())
    }
}

/// The limits `L`, and the longest wait for a turn at the rate of the call. Made by
/// [`Retrying::max_wait`](super::future::Retrying::max_wait).
#[derive(Clone, Copy, Debug)]
pub struct MaxWait<L> {
    pub(super) limit: L,
    pub(super) wait: Duration,
}

impl<L: Limit> Limit for MaxWait<L> {
    const CUTS: bool = L::CUTS;
    type Timer<S> = L::Timer<S>;
    type Limited = MaxWait<L::Limited>;

    fn and(self, limits: Limited) -> Self::Limited {
        MaxWait {
            limit: self.limit.and(limits),
            wait: self.wait,
        }
    }

    #[inline]
    fn max_wait(&self) -> Option<Duration> {
        Some(
            self.wait
                .min(self.limit.max_wait().unwrap_or(Duration::MAX)),
        )
    }

    #[inline]
    fn timer<S>(&self) -> Self::Timer<S> {
        self.limit.timer()
    }

    #[inline]
    fn overrides(&self, before: Option<Overrides<'static>>) -> Option<Overrides<'static>> {
        self.limit.overrides(before)
    }

    #[inline]
    fn is_over<S: Future<Output = ()>>(
        timer: Pin<&mut Self::Timer<S>>,
        cx: &mut Context<'_>,
    ) -> bool {
        L::is_over(timer, cx)
    }

    #[inline]
    fn expired<R: Clock + Sleep>(
        timer: Pin<&mut Self::Timer<R::Sleep>>,
        is_over: bool,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Option<TimedOut> {
        L::expired(timer, is_over, run, cx)
    }
}

#[diagnostic::do_not_recommend]
impl<E: From<TimedOut>, L: Limit> Expires<E> for MaxWait<L> {
    fn error(late: TimedOut) -> Option<E> {
        Some(late.into())
    }
}

pin_project! {
    /// The timer that cuts one attempt. It is made when the attempt is first found pending, so that an
    /// attempt that is ready at once costs none.
    #[derive(Debug)]
    pub struct Timer<S> {
        #[pin]
        sleep: Option<S>,
        // In nanoseconds, because a `Duration` takes twice the room.
        limit: u64,
    }
}

impl<S> Timer<S> {
    /// The timer of an attempt with the time `limit`, or with the rest of the deadline if that is less.
    #[inline]
    pub(crate) const fn new(limit: Duration) -> Self {
        Timer {
            sleep: None,
            limit: nanos(limit),
        }
    }

    /// The attempt is pending. Makes the timer, unless there is one. Returns the limit, if the time is over.
    #[inline]
    fn expired(
        self: Pin<&mut Self>,
        is_over: bool,
        make: impl FnOnce(Duration) -> (Duration, Option<S>),
        cx: &mut Context<'_>,
    ) -> Option<TimedOut>
    where
        S: Future<Output = ()>,
    {
        let mut this = self.project();
        let is_over = match this.sleep.as_mut().as_pin_mut() {
            Some(_) => is_over,
            None => {
                let (limit, sleep) = make(Duration::from_nanos(*this.limit));
                *this.limit = nanos(limit);
                this.sleep.set(sleep);
                let sleep = this.sleep.as_mut().as_pin_mut();
                sleep.is_none_or(|sleep| sleep.poll(cx).is_ready())
            }
        };
        is_over.then(|| TimedOut::new(Duration::from_nanos(*this.limit)))
    }

    /// Drives the attempt until it is ready or its time is over.
    ///
    /// When the time is over, the attempt is polled once more, because it may be ready as well. This is not
    /// done during a read, because then a write would begin after its time.
    #[inline]
    pub(crate) fn poll_attempt<A, T>(
        mut self: Pin<&mut Self>,
        attempt: Pin<&mut A>,
        make: impl FnOnce(Duration) -> (Duration, Option<S>),
        cx: &mut Context<'_>,
        stage: Stage,
        poll: impl FnOnce(Pin<&mut A>, &mut Context<'_>) -> Poll<T>,
    ) -> Poll<Result<T, TimedOut>>
    where
        S: Future<Output = ()>,
    {
        let is_over = self.as_mut().is_over(cx);
        if (!is_over || stage != Stage::Read)
            && let Poll::Ready(outcome) = poll(attempt, cx)
        {
            return Poll::Ready(Ok(outcome));
        }
        match self.expired(is_over, make, cx) {
            Some(late) => Poll::Ready(Err(late)),
            None => Poll::Pending,
        }
    }

    /// Whether the timer was made and its time is over. An attempt that is always busy uses up tokio's
    /// budget for one poll of a task, and then no timer is ever ready. So the timer is polled before the
    /// attempt.
    #[inline]
    pub(crate) fn is_over(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool
    where
        S: Future<Output = ()>,
    {
        let sleep = self.project().sleep.as_pin_mut();
        sleep.is_some_and(|sleep| sleep.poll(cx).is_ready())
    }
}
