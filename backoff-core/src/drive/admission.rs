//! The phase before an attempt of a call with a rate: the attempt begins at once, or the call stands in the
//! queue.

use super::{call_state::CallState, context::Context as CallContext, handler::Handler};
use crate::{
    facts::fault::{FaultKind, TimedOut},
    judge::{Ruled, Ruling},
    observe::{self, Happened, Record},
    rate::{Left, Queued, Rate, RateChange, Reply, stand_blocking},
    runtime::{BlockingSleep, Clock, Sleep},
};
use core::{
    task::{Context, Poll, ready},
    time::Duration,
};

impl Reply {
    /// What a judged failure says about the rate.
    pub(super) fn of(ruling: Ruling) -> Self {
        match ruling.ruled {
            Ruled::Retry(FaultKind::Throttled) => Reply::Refused { hint: ruling.hint },
            _ => Reply::Admitted,
        }
    }
}

/// A blocking attempt that the rate counts. Dropped only if the attempt panics.
pub(crate) struct InFlight<'r>(pub(crate) &'r Rate);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dropped();
    }
}

impl CallState {
    /// An attempt is about to begin. Returns the call's place in the queue of this rate, if it has to wait: for
    /// `max_wait`, or until the end of its attempts, if they are cut. A function of its own, so that calls without
    /// a rate keep the registers.
    #[cold]
    #[inline(never)]
    pub(crate) fn enters<R: Clock + Sleep>(
        &mut self,
        rate: &Rate,
        is_cut: bool,
        max_wait: Option<Duration>,
        context: CallContext<'_>,
        runtime: &R,
    ) -> Option<Queued<R::Sleep>> {
        let entered = match rate.is_free() {
            Some(epoch) => Ok(epoch),
            None => {
                let limit = self.longest_wait(is_cut, max_wait, &context, runtime);
                Queued::enter(rate, runtime.now(), limit)
            }
        };
        match entered {
            Ok(epoch) => {
                self.goes(epoch);
                None
            }
            Err(queued) => Some(queued),
        }
    }

    /// Waits in the queue. Then the attempt begins, or the time of the call is over.
    #[inline]
    pub(crate) fn turn<R: Clock + Sleep>(
        &mut self,
        context: CallContext<'_>,
        queued: &mut Queued<R::Sleep>,
        runtime: &R,
        cx: &mut Context<'_>,
    ) -> Poll<Option<TimedOut>> {
        let Some(rate) = context.rate() else {
            unreachable!("a call waits in the queue of its rate")
        };
        self.turn_at(rate, queued, runtime, cx)
    }

    /// As [`turn`](Self::turn), at this rate.
    #[cold]
    #[inline(never)]
    pub(crate) fn turn_at<R: Clock + Sleep>(
        &mut self,
        rate: &Rate,
        queued: &mut Queued<R::Sleep>,
        runtime: &R,
        cx: &mut Context<'_>,
    ) -> Poll<Option<TimedOut>> {
        Poll::Ready(match ready!(queued.poll(rate, runtime, cx)) {
            Ok(epoch) => {
                self.goes(epoch);
                None
            }
            Err(late) => Some(late),
        })
    }

    /// Waits on this thread until an attempt may begin, for at most `limit`, or until `stopped` says so.
    #[cold]
    #[inline(never)]
    pub(crate) fn enters_blocking<R: Clock + BlockingSleep>(
        &mut self,
        rate: &Rate,
        limit: Duration,
        stopped: Option<&dyn Fn() -> bool>,
        runtime: &R,
    ) -> Result<(), Left> {
        let epoch = match rate.is_free() {
            Some(epoch) => epoch,
            None => stand_blocking(rate, runtime, limit, stopped)?,
        };
        self.goes(epoch);
        Ok(())
    }

    /// How long the call may wait for its turn: until the end of its attempts, if they are cut.
    pub(crate) fn longest_wait<R: Clock>(
        &self,
        is_cut: bool,
        max_wait: Option<Duration>,
        context: &CallContext<'_>,
        runtime: &R,
    ) -> Duration {
        let rest = match is_cut {
            true => self.remaining(context, runtime),
            false => Duration::MAX,
        };
        rest.min(max_wait.unwrap_or(Duration::MAX))
    }

    /// The rate counts the attempt that begins.
    fn goes(&mut self, epoch: u8) {
        self.retry.goes(epoch);
    }

    /// The attempt ends without a reply.
    #[cold]
    pub(super) fn left(&mut self, rate: &Rate) {
        if self.retry.lands().is_some() {
            rate.dropped();
        }
    }

    /// The attempt that the rate counts has ended with this reply.
    #[cold]
    #[inline(never)]
    pub(crate) fn replied<E, H, R>(
        &mut self,
        reply: Reply,
        context: &CallContext<'_>,
        settings: &mut H,
        runtime: &R,
    ) where
        H: Handler<E>,
        R: Clock,
    {
        let (Some(rate), Some(epoch)) = (context.rate(), self.retry.lands()) else {
            return;
        };
        if let Some(change) = rate.replied(reply, epoch, || runtime.now()) {
            self.tell_rate::<E, H>(rate, change, context, settings);
        }
    }

    /// Reports a change of the rate to hooks and logs.
    #[cold]
    #[inline(never)]
    fn tell_rate<E, H: Handler<E>>(
        &self,
        rate: &Rate,
        change: RateChange,
        context: &CallContext<'_>,
        settings: &mut H,
    ) {
        let operation = context.operation();
        observe::log(|| Record {
            operation,
            host: context.host(),
            attempt: self.failures(),
            elapsed: None,
            happened: Happened::Rate(change, rate.label()),
            error_type: core::any::type_name::<E>(),
            fault: None,
        });
        #[cfg(feature = "rate")]
        settings.notify(&crate::observe::Event::RateChanged {
            operation,
            rate: rate.label(),
            change,
        });
        #[cfg(not(feature = "rate"))]
        let _ = settings;
    }
}
