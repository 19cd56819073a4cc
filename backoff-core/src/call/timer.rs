//! The timer that cuts an attempt. An attempt has no timer or one, however many limits were set.
//!
//! An attempt that can have no timer stores an `Option<Infallible>`, which has no size. Its `None` is no call of a
//! `Default`, which would be compiled for each call.

use crate::{facts::fault::TimedOut, runtime::nanos};
use core::{convert::Infallible, future::Future, pin::Pin, task::Context, time::Duration};
use pin_project_lite::pin_project;

/// What can cut an attempt: nothing ([`Infallible`]), or a [`Limit`].
#[doc(hidden)]
pub trait Timer<S>: Sized {
    /// Whether attempts are cut.
    const CUTS: bool;
    /// This timer, or the other one: two settings with a limit share one timer.
    type Or<B: Timer<S>>: Timer<S>;

    /// The timer of an attempt that begins.
    fn new() -> Option<Self>;

    /// Whether the timer was made and its time is over.
    fn is_over(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool
    where
        S: Future<Output = ()>;

    /// The attempt is pending. `is_over` is the answer of [`is_over`](Self::is_over). Makes the timer from its limit,
    /// unless it is already made. Returns the limit, if its time is over.
    fn expired(
        self: Pin<&mut Self>,
        is_over: bool,
        make: impl FnOnce(Duration) -> (Duration, Option<S>),
        cx: &mut Context<'_>,
    ) -> Option<TimedOut>
    where
        S: Future<Output = ()>;
}

impl<S> Timer<S> for Infallible {
    const CUTS: bool = false;
    type Or<B: Timer<S>> = B;

    fn new() -> Option<Self> {
        None
    }

    fn is_over(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> bool {
        match *self {}
    }

    fn expired(
        self: Pin<&mut Self>,
        _is_over: bool,
        _make: impl FnOnce(Duration) -> (Duration, Option<S>),
        _cx: &mut Context<'_>,
    ) -> Option<TimedOut> {
        match *self {}
    }
}

pin_project! {
    /// The timer of one attempt. The timer is made when the attempt is first pending, so that an attempt that is
    /// ready at once costs none.
    #[derive(Debug)]
    #[doc(hidden)]
    pub struct Limit<S> {
        #[pin]
        sleep: Option<S>,
        // In nanoseconds, because a `Duration` takes twice the room.
        limit: u64,
    }
}

impl<S> Limit<S> {
    /// A limit of this time.
    #[inline]
    pub(crate) const fn new(limit: Duration) -> Self {
        Limit {
            sleep: None,
            limit: nanos(limit),
        }
    }
}

impl<S> Timer<S> for Limit<S> {
    const CUTS: bool = true;
    type Or<B: Timer<S>> = Limit<S>;

    // The rules give the limit when the timer is first polled.
    #[inline]
    fn new() -> Option<Self> {
        Some(Limit::new(Duration::MAX))
    }

    // An attempt that is always busy uses up tokio's budget for one poll of a task, and then no timer is ever
    // ready. So the timer is polled before the attempt.
    #[inline]
    fn is_over(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool
    where
        S: Future<Output = ()>,
    {
        let sleep = self.project().sleep.as_pin_mut();
        sleep.is_some_and(|sleep| sleep.poll(cx).is_ready())
    }

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
        let is_over = match this.sleep.as_ref().get_ref() {
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
}
