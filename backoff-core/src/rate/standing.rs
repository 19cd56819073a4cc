//! A call that stands in the queue, async and blocking.

use super::{Asked, Place, Rate};
use crate::{
    facts::fault::TimedOut,
    runtime::{BlockingSleep, Clock, Sleep},
    stop::Stop,
};
use core::{
    future::Future,
    mem::ManuallyDrop,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

pin_project! {
    /// A call in the queue, and its timer: that of the first call until its turn, and that of a call with a
    /// time limit until its end.
    struct Standing<S> {
        place: Place,
        since: Duration,
        limit: Duration,
        // The time at which the timer is ready.
        ends: Duration,
        #[pin]
        timer: Option<S>,
    }
}

/// A call in the queue. Its state is in one box, so that a future without a rate stays as small as it is. The box
/// is dropped by a function of its own: a call that never waits then saves 7 instructions in its drop.
pub(crate) struct Queued<S>(Option<ManuallyDrop<Pin<Box<Standing<S>>>>>);

impl<S> Drop for Queued<S> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        if let Some(standing) = self.0.take() {
            drop(ManuallyDrop::into_inner(standing));
        }
    }
}

impl<S> Queued<S> {
    /// Begins an attempt, or takes a place in the queue for at most `limit`.
    pub(crate) fn enter(rate: &Rate, clock: Duration, limit: Duration) -> Result<u8, Self> {
        rate.enters(clock).map_err(|place| {
            #[cfg(feature = "metrics")]
            rate.show();
            Queued(Some(ManuallyDrop::new(Box::pin(Standing {
                place,
                since: clock,
                limit,
                ends: Duration::MAX,
                timer: None,
            }))))
        })
    }

    /// Waits until the attempt may begin. Returns its number, or that the time is over.
    pub(crate) fn poll<R: Clock + Sleep<Sleep = S>>(
        &mut self,
        rate: &Rate,
        runtime: &R,
        cx: &mut Context<'_>,
    ) -> Poll<Result<u8, TimedOut>>
    where
        S: Future<Output = ()>,
    {
        let Some(standing) = &mut self.0 else {
            unreachable!("only a call that is dropped leaves the queue")
        };
        let mut this = standing.as_mut().project();
        // A clock that stands still must not stop the queue: the time of a timer that was ready has come.
        let mut least = Duration::ZERO;
        loop {
            let now = runtime.now().max(least);
            let stood = now.saturating_sub(*this.since);
            if stood >= *this.limit {
                return Poll::Ready(Err(TimedOut::in_queue(*this.limit)));
            }
            let rest = this.limit.saturating_sub(stood);
            let wait = match rate.asks(this.place, now, cx.waker()) {
                Asked::Goes(epoch) => {
                    #[cfg(feature = "metrics")]
                    rate.show_wait(stood);
                    return Poll::Ready(Ok(epoch));
                }
                Asked::After(wait) => wait.min(rest),
                Asked::NotYet => rest,
            };
            if wait == Duration::MAX || *this.limit == Duration::MAX && wait == rest {
                this.timer.set(None);
                return Poll::Pending;
            }
            let ends = now.saturating_add(wait);
            if this.timer.is_none() || *this.ends != ends {
                this.timer.set(Some(runtime.sleep(wait)));
                *this.ends = ends;
            }
            if let Some(timer) = this.timer.as_mut().as_pin_mut() {
                ready!(timer.poll(cx));
            }
            this.timer.set(None);
            least = *this.ends;
        }
    }
}

/// How a blocking call left the queue without an attempt.
pub enum Left {
    Over(TimedOut),
    Stopped,
}

/// A blocking call in the queue looks this often for its stop signal and its turn: a timer of the user's own may not
/// be woken.
const LOOKS: Duration = Duration::from_millis(50);

/// Waits on this thread until the attempt may begin, for at most `limit`. `stopped` says whether a signal has
/// come, for a call that has one.
pub(crate) fn stand_blocking<R: Clock + BlockingSleep>(
    rate: &Rate,
    runtime: &R,
    limit: Duration,
    stopped: Option<&dyn Fn() -> bool>,
) -> Result<u8, Left> {
    let since = runtime.now();
    let place = match rate.enters(since) {
        Ok(epoch) => return Ok(epoch),
        Err(place) => place,
    };
    #[cfg(feature = "metrics")]
    rate.show();
    let mut now = since;
    let mut woken = Stop::new();
    loop {
        if stopped.is_some_and(|stopped| stopped()) {
            return Err(Left::Stopped);
        }
        let stood = now.saturating_sub(since);
        if stood >= limit {
            return Err(Left::Over(TimedOut::in_queue(limit)));
        }
        if woken.is_stopped() {
            woken = Stop::new();
        }
        let rest = limit.saturating_sub(stood);
        let wait = match rate.asks(&place, now, &woken.waker()) {
            Asked::Goes(epoch) => {
                #[cfg(feature = "metrics")]
                rate.show_wait(stood);
                return Ok(epoch);
            }
            Asked::After(wait) => wait.min(rest),
            Asked::NotYet => rest,
        };
        let wait = wait.min(LOOKS);
        // A clock that stands still must not stop the queue.
        now = match runtime.sleep_or_stop(wait, &woken) {
            true => runtime.now(),
            false => runtime.now().max(now.saturating_add(wait)),
        };
    }
}
