//! The phase before an attempt of a call with a rate: the attempt begins at once, or the call stands in the
//! queue.

use super::{call_state::CallState, context::Context as CallContext, handler::Handler};
use crate::{
    facts::fault::{Fault, FaultKind, TimedOut},
    judge::{Ruled, Ruling, kind_of},
    observe::{self, Happened, Record},
    rate::{Left, Queued, Rate, RateChange, Reply, stand_blocking},
    runtime::{BlockingSleep, Clock, Sleep, nanos},
};
use core::{
    task::{Context, Poll, ready},
    time::Duration,
};

impl Reply {
    /// The reply for the rate after a judged failure; `None` if the server did not reply.
    pub(super) fn of(ruling: Ruling, fault: Option<&dyn Fault>) -> Option<Self> {
        match ruling.ruled {
            Ruled::Retry(FaultKind::Throttled) => Some(Reply::Refused { hint: ruling.hint }),
            _ => fault.map_or(Some(Reply::Admitted), Self::to),
        }
    }

    /// The reply for the rate after a failure, whether the policy retries it or not.
    fn to(fault: &dyn Fault) -> Option<Self> {
        let hint = || nanos(fault.retry_after().unwrap_or_default());
        match kind_of(fault) {
            FaultKind::Throttled => Some(Reply::Refused { hint: hint() }),
            _ => fault.delivery().is_none().then_some(Reply::Admitted),
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
        let entered = match rate.begins_if_off() {
            Some(epoch) => Ok(epoch),
            None => {
                let limit = self.longest_wait(is_cut, max_wait, &context, runtime);
                Queued::enter(rate, runtime.now(), limit)
            }
        };
        match entered {
            Ok(epoch) => {
                self.goes(epoch, runtime);
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
                self.goes(epoch, runtime);
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
        let epoch = match rate.begins_if_off() {
            Some(epoch) => epoch,
            None => stand_blocking(rate, runtime, limit, stopped)?,
        };
        self.goes(epoch, runtime);
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

    /// The attempt begins, and the rate counts it.
    fn goes<C: Clock>(&mut self, epoch: u8, clock: &C) {
        self.begins(clock);
        self.retry.goes(epoch);
    }

    /// The attempt ends without a reply.
    #[cold]
    pub(super) fn left(&mut self, rate: &Rate) {
        if self.retry.lands().is_some() {
            rate.dropped();
        }
    }

    /// The attempt that the rate counts has ended with a value, which may be a failure that is not retried.
    #[cold]
    pub(crate) fn replied_with<E, H, R>(
        &mut self,
        value: Option<&dyn Fault>,
        context: &CallContext<'_>,
        settings: &mut H,
        runtime: &R,
    ) where
        H: Handler<E>,
        R: Clock,
    {
        match value.map_or(Some(Reply::Admitted), Reply::to) {
            Some(reply) => self.replied(reply, context, settings, runtime),
            None => context.rate().into_iter().for_each(|rate| self.left(rate)),
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
