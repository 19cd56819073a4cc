//! A call that waits in the queue, async and blocking.

use super::{
    Rate, Shared, State, Tokens,
    control::{LATENESS, UNQUEUED},
    line::Ticket,
    quotas::Share,
};
use crate::{
    delay::draw::uniform,
    facts::fault::TimedOut,
    runtime::{BlockingSleep, Clock, Sleep, nanos, shared_now},
};
use core::{
    future::Future,
    ops::ControlFlow::{self, Break, Continue},
    pin::Pin,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};
use pin_project_lite::pin_project;
use std::sync::Arc;

/// A call in the queue, which it leaves when this is dropped.
struct Waiter {
    shared: Arc<Shared>,
    ticket: Ticket,
    since: Duration,
    /// How long the call waits.
    limit: Duration,
    /// Whether an error can be made when the time is over. Otherwise the attempt begins then.
    expires: bool,
    /// What the attempt uses.
    share: Share,
    /// The earliest time of the clock: a clock that stands still must not stop the queue.
    least: Duration,
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let _left = (self.shared).change(None, |state| state.line.leave(self.ticket));
        #[cfg(feature = "metrics")]
        self.shared.show();
    }
}

impl Waiter {
    /// Begins an attempt if nobody waits and the turn has come; otherwise the call joins the queue, for at most
    /// this time. Returns the number of the attempt.
    fn enter(
        rate: &Rate,
        clock: Duration,
        (limit, expires): (Duration, bool),
        share: Share,
    ) -> Result<u16, Self> {
        let shared = rate.shared();
        let joined = shared.change(Some(clock), |state| {
            state.begins_at_once(share).ok_or_else(|| {
                let State { control, line, .. } = state;
                control.joins(line.len(), limit, share);
                line.join(share)
            })
        });
        let ticket = match joined {
            Ok(epoch) => return Ok(epoch),
            Err(ticket) => ticket,
        };
        #[cfg(feature = "metrics")]
        shared.show();
        // Calls that have the same deadline and can make no error begin within a second before it, not all at once.
        let early = match expires {
            true => 0,
            false => uniform(
                nanos(limit / 2).min(nanos(EARLY)),
                ticket.wrapping_mul(GOLDEN),
            ),
        };
        Err(Waiter {
            shared: Arc::clone(shared),
            ticket,
            since: clock,
            limit: limit.saturating_sub(Duration::from_nanos(early)),
            expires,
            share,
            least: clock,
        })
    }

    /// Asks whether the attempt may begin. The first in the queue goes at its turn; a slot that nobody has taken for a
    /// while is taken by the next call that asks. The answer is the number of the attempt; nothing for an attempt
    /// that begins out of turn; or that the time is over. Otherwise returns how long the call waits.
    fn ask(
        &self,
        now: Duration,
        waker: &Waker,
    ) -> ControlFlow<Result<Option<u16>, TimedOut>, Duration> {
        let stood = now.saturating_sub(self.since);
        let rest = self.limit.saturating_sub(stood);
        if rest.is_zero() {
            if self.expires {
                return Break(Err(TimedOut::in_queue(self.limit, self.shared.name.get())));
            }
            let warns = |state: &mut State| state.control.warns(UNQUEUED);
            self.shared.change(None, warns);
            return Break(Ok(None));
        }
        let waker = waker.clone();
        let (asked, _dropped) = self
            .shared
            .change(Some(now), |State { control, line, .. }| {
                let (before, share, now) = (line.before(self.ticket), self.share, control.now);
                let turn = control.turn(share).max(control.turn(line.share()));
                let is_missed = !control.is_on() || turn.saturating_add(LATENESS) <= now;
                if turn <= now && (before == 0 || is_missed) {
                    let passed = (before > 0 && control.is_on()).then(|| line.passes());
                    let number = control.takes_slot(true, share);
                    let left = line.leave(self.ticket);
                    return (Break(Ok(Some(number))), [passed.flatten(), left]);
                }
                let at = control.asks_at(before, share);
                let wait = Duration::from_nanos(at.saturating_sub(now)).min(rest);
                (
                    Continue(wait),
                    [line.listens(self.ticket, (waker, at), share), None],
                )
            });
        #[cfg(feature = "metrics")]
        if asked.is_break() {
            self.shared.show_wait(stood);
        }
        asked
    }
}

/// How long before its deadline a call may begin whose waiting can end with no error, and at most half of its time.
const EARLY: Duration = Duration::from_secs(1);
/// Spreads consecutive numbers evenly: 2⁶⁴ divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

pin_project! {
    /// A waiting call and its timer: until its turn as the rate is now, or until the end of its time.
    struct Waiting<S> {
        waiter: Waiter,
        // The time at which the timer is ready.
        ends: Duration,
        #[pin]
        timer: Option<S>,
    }
}

/// A call in the queue. Its state is in a box, so that a future without a rate stays as small as it is.
pub(crate) struct Queued<S>(Pin<Box<Waiting<S>>>);

impl<S> Queued<S> {
    /// Begins an attempt, or takes a place in the queue for at most `limit`. If the time is over and `expires` is
    /// false, the attempt begins then.
    pub(crate) fn enter(
        rate: &Rate,
        clock: Duration,
        (limit, expires): (Duration, bool),
        tokens: Tokens,
    ) -> Result<u16, Self> {
        Waiter::enter(rate, clock, (limit, expires), Share::of(tokens)).map_err(|waiter| {
            Queued(Box::pin(Waiting {
                waiter,
                ends: clock,
                timer: None,
            }))
        })
    }

    /// Waits until the attempt may begin. Returns its number, nothing for an attempt that begins out of turn, or
    /// that the time is over.
    pub(crate) fn poll<R: Clock + Sleep<Sleep = S>>(
        &mut self,
        runtime: &R,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<u16>, TimedOut>>
    where
        S: Future<Output = ()>,
    {
        let mut this = self.0.as_mut().project();
        loop {
            let now = shared_now(runtime).max(this.waiter.least);
            let wait = match this.waiter.ask(now, cx.waker()) {
                Break(ended) => return Poll::Ready(ended),
                Continue(wait) => wait,
            };
            #[cfg(feature = "testing")]
            if crate::runtime::leaves_out(wait) {
                continue;
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
            this.waiter.least = ends;
        }
    }
}

/// How a blocking call left the queue without an attempt.
pub(crate) enum QueueEnd {
    Over(TimedOut),
    Stopped,
}

/// A blocking call in the queue looks this often for its stop signal and its turn.
const LOOKS: Duration = Duration::from_millis(50);

/// As [`Queued::poll`], on this thread. `stopped` says whether a signal has come.
pub(crate) fn wait_blocking<R: Clock + BlockingSleep>(
    rate: &Rate,
    runtime: &R,
    limit: (Duration, bool),
    tokens: Tokens,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<u16>, QueueEnd> {
    let mut now = shared_now(runtime);
    let waiter = match Waiter::enter(rate, now, limit, Share::of(tokens)) {
        Ok(epoch) => return Ok(Some(epoch)),
        Err(waiter) => waiter,
    };
    loop {
        if stopped() {
            return Err(QueueEnd::Stopped);
        }
        let wait = match waiter.ask(now, Waker::noop()) {
            Break(ended) => return ended.map_err(QueueEnd::Over),
            Continue(wait) => wait.min(LOOKS),
        };
        #[cfg(feature = "testing")]
        if crate::runtime::leaves_out(wait) {
            now = shared_now(runtime);
            continue;
        }
        runtime.sleep_blocking(wait);
        now = shared_now(runtime).max(now.saturating_add(wait));
    }
}
