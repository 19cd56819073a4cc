//! The phase before an attempt of a call with a rate: the attempt begins at once, or the call stands in the
//! queue.

use super::{call_state::CallState, context::Context as CallContext, handler::Handler};
use crate::{
    facts::fault::{Fault, FaultKind, TimedOut},
    judge::{Ruled, Ruling, kind_of},
    observe::{self, Happened, Record},
    rate::{Left, Queued, Rate, Reply, wait_blocking},
    runtime::{BlockingSleep, Clock, Sleep, left_out, nanos, shared_now},
};
use core::{
    task::{Context, Poll, ready},
    time::Duration,
};

impl Reply {
    /// The reply for the rate after a judged failure; `None` if the server did not reply.
    pub(super) fn of(ruling: Ruling, fault: Option<&dyn Fault>) -> Option<Self> {
        match ruling.ruled {
            Ruled::Retry(FaultKind::Throttled) => Some(Reply::Refused {
                hint: ruling.asked(),
            }),
            _ => Self::to(fault),
        }
    }

    /// The reply for the rate after an attempt whose outcome has this fault, whether the policy retries it or not.
    pub(crate) fn to(fault: Option<&dyn Fault>) -> Option<Self> {
        let Some(fault) = fault else {
            return Some(Reply::Admitted);
        };
        let hint = || nanos(fault.retry_after().unwrap_or_default());
        match kind_of(fault) {
            FaultKind::Throttled => Some(Reply::Refused { hint: hint() }),
            _ => fault.delivery().is_none().then_some(Reply::Admitted),
        }
    }
}

/// The longest pause of a server that counts for a rate.
const LONGEST_PAUSE: u64 = 300_000_000_000;

impl CallState {
    /// An attempt is about to begin. Returns the call's place in the queue of this rate, if it has to wait: for
    /// `max_wait`, and not beyond the deadline. Without `max_wait`, the attempt begins at the deadline. A function of its own,
    /// so that calls without a rate keep the registers.
    #[cold]
    #[inline(never)]
    pub(crate) fn enters<R: Clock + Sleep>(
        &mut self,
        rate: &Rate,
        max_wait: Option<Duration>,
        context: CallContext<'_>,
        runtime: &R,
    ) -> Option<Queued<R::Sleep>> {
        if self.goes_if_off(rate, runtime) {
            return None;
        }
        let limit = self.remaining(&context, runtime);
        let limit = limit.min(max_wait.unwrap_or(Duration::MAX));
        let entered = Queued::enter(rate, shared_now(runtime), limit, max_wait.is_some());
        entered.map(|epoch| self.goes(Some(epoch), runtime)).err()
    }

    /// Waits in the queue. Then the attempt begins, or the time of the call is over.
    #[cold]
    #[inline(never)]
    pub(crate) fn turn<R: Clock + Sleep>(
        &mut self,
        queued: &mut Queued<R::Sleep>,
        runtime: &R,
        cx: &mut Context<'_>,
    ) -> Poll<Option<TimedOut>> {
        let before = left_out();
        let turn = queued.poll(runtime, cx);
        self.retry.skip(left_out() - before);
        let turn = ready!(turn);
        Poll::Ready(turn.map(|epoch| self.goes(epoch, runtime)).err())
    }

    /// Waits on this thread until an attempt may begin, or until `stopped` says so.
    #[cold]
    #[inline(never)]
    pub(crate) fn enters_blocking<R: Clock + BlockingSleep>(
        &mut self,
        rate: &Rate,
        max_wait: Option<Duration>,
        stopped: &dyn Fn() -> bool,
        context: &CallContext<'_>,
        runtime: &R,
    ) -> Result<(), Left> {
        if self.goes_if_off(rate, runtime) {
            return Ok(());
        }
        let limit = self.remaining(context, runtime);
        let limit = limit.min(max_wait.unwrap_or(Duration::MAX));
        let before = left_out();
        let turn = wait_blocking(rate, runtime, limit, max_wait.is_some(), stopped);
        self.retry.skip(left_out() - before);
        turn.map(|epoch| self.goes(epoch, runtime))
    }

    /// Where no call is delayed, the attempt begins, and no clock is read for the rate.
    fn goes_if_off<C: Clock>(&mut self, rate: &Rate, clock: &C) -> bool {
        let epoch = rate.begins_if_off();
        if epoch.is_some() {
            self.goes(epoch, clock);
        }
        epoch.is_some()
    }

    /// The attempt begins. The rate counts the attempt if there is a number of the last refusal.
    pub(crate) fn goes<C: Clock>(&mut self, epoch: Option<u8>, clock: &C) {
        self.begins(clock);
        self.retry.goes(epoch);
    }

    /// The attempt that the rate counts has ended with this reply; with none if the server did not reply.
    #[cold]
    #[inline(never)]
    pub(crate) fn replied<E, H, R>(
        &mut self,
        reply: Option<Reply>,
        context: &CallContext<'_>,
        settings: &mut H,
        runtime: &R,
    ) where
        H: Handler<E>,
        R: Clock,
    {
        let (Some(rate), Some(epoch), Some(reply)) = (context.rate(), self.retry.lands(), reply)
        else {
            return;
        };
        // A pause for which this call would not wait holds up nobody else.
        let policy = context.policy;
        let longest = policy.longest_hint(policy.deadline).min(LONGEST_PAUSE);
        let reply = match reply {
            Reply::Refused { hint } if hint > longest => Reply::Refused { hint: 0 },
            reply => reply,
        };
        let Some(change) = rate.replied(reply, epoch, || shared_now(runtime)) else {
            return;
        };
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
