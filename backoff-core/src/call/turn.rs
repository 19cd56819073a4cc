//! The work before each attempt: no attempt begins after its time, before its turn at the rate, or after a signal.

use super::{
    call::{Call, Ended, Outcome},
    call_state::CallState,
    operation::{Failed, Operation},
    parts::End,
    plan::{CallPlan, Guard, Plan},
    setting::Setting,
    signal::{Signal, Stopped},
    timer::Timer,
};
use crate::{
    facts::fault::{Fault, FaultKind, TimedOut},
    judge::{Ruled, Ruling, kind_of},
    rate::{Left, Queued, Rate, Reply, wait_blocking},
    runtime::{BlockingSleep, Clock, Random, Sleep, left_out, nanos, shared_now},
    state::Rules,
};
use core::{
    pin::Pin,
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

impl CallState {
    /// An attempt is about to begin, unless its breaker is open. Where no error can be made, the attempt begins all the
    /// same. If the rate delays calls, returns it, how long the call may wait, and whether an error is made then: the
    /// call waits for `max_queue_time`, and not beyond the deadline. Without `max_queue_time`, the attempt begins at the
    /// deadline. Where no call is delayed, the attempt begins now, and no clock is read for the rate.
    #[inline(always)]
    fn asks<'p, C: Clock>(
        &mut self,
        plan: &'p dyn CallPlan,
        rules: &Rules<'_>,
        clock: &C,
    ) -> Result<Option<(&'p Rate, (Duration, bool))>, TimedOut> {
        let (rate, breaker) = (plan.rate(), plan.breaker());
        let expires = rules.max_queue_time.is_some();
        if let Some(breaker) = breaker {
            let admitted = breaker.admit(|| shared_now(clock));
            match admitted {
                None if expires => return Err(TimedOut::by_breaker()),
                None => breaker.is_unheard(),
                Some(_) => {}
            }
            self.retry.set_period(admitted.map_or(0, |it| it.period));
        }
        let epoch = rate.and_then(Rate::begins_if_off);
        let (Some(rate), None) = (rate, epoch) else {
            self.begins_with_epoch(epoch, clock);
            return Ok(None);
        };
        let limit = self.remaining(rules, clock);
        let limit = limit.min(rules.max_queue_time.unwrap_or(Duration::MAX));
        Ok(Some((rate, (limit, expires))))
    }

    /// An attempt is about to begin. Returns the call's place in the queue of its rate, if it has to wait.
    #[cold]
    #[inline(never)]
    pub(crate) fn enters<R: Clock + Sleep>(
        &mut self,
        plan: &dyn CallPlan,
        rules: &Rules<'_>,
        runtime: &R,
    ) -> Result<Option<Queued<R::Sleep>>, TimedOut> {
        let Some((rate, limit)) = self.asks(plan, rules, runtime)? else {
            return Ok(None);
        };
        let entered = Queued::enter(rate, shared_now(runtime), limit, rules.tokens);
        Ok(entered
            .map(|epoch| self.begins_with_epoch(Some(epoch), runtime))
            .err())
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
        Poll::Ready(
            turn.map(|epoch| self.begins_with_epoch(epoch, runtime))
                .err(),
        )
    }

    /// Waits on this thread until an attempt may begin, or until `stopped` says so.
    #[cold]
    #[inline(never)]
    pub(crate) fn enters_blocking<R: Clock + BlockingSleep>(
        &mut self,
        plan: &dyn CallPlan,
        rules: &Rules<'_>,
        stopped: &dyn Fn() -> bool,
        runtime: &R,
    ) -> Result<(), Left> {
        let asked = self.asks(plan, rules, runtime).map_err(Left::Over)?;
        let Some((rate, limit)) = asked else {
            return Ok(());
        };
        let before = left_out();
        let turn = wait_blocking(rate, runtime, limit, rules.tokens, stopped);
        self.retry.skip(left_out() - before);
        turn.map(|epoch| self.begins_with_epoch(epoch, runtime))
    }

    /// The attempt begins. The rate counts the attempt if there is a number.
    pub(crate) fn begins_with_epoch<C: Clock>(&mut self, epoch: Option<u16>, clock: &C) {
        self.begins(clock);
        self.retry.set_epoch(epoch);
    }
}

/// The attempt of a call begins, or the call waits in the queue of its rate; or the call ends with an error.
type Entered<O, R> = Result<Option<Queued<<R as Sleep>::Sleep>>, <O as Operation>::Error>;

impl<P, O, S, R> Call<P, O, S, R>
where
    P: Plan,
    O: Operation,
    S: Setting<O::Value, O::Error>,
    R: Clock + Random,
{
    /// The call asks for an attempt: its outcome if its time is over, or if a signal has come before the first attempt.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn arrives<G>(&mut self, mut signal: Pin<&mut G>, cx: &mut Context<'_>) -> Ended<O>
    where
        G: Signal<O::Value, O::Error>,
    {
        if self.guard.state.retry.failures() == 0 {
            self.starts();
            if G::IS_ONE
                && let Some(cuts) = signal.cuts()
                && signal.as_mut().has_come(cx)
            {
                return Some(Err(self.gives_up(cuts(Stopped), End::Stopped)));
            }
            return None;
        }
        if !<S::Timer<()> as Timer<()>>::CUTS || !self.is_late() {
            return None;
        }
        let error = S::expired(TimedOut::new(Duration::ZERO))?;
        self.recalls(signal);
        Some(Err(self.gives_up(error, End::Expired)))
    }

    /// The attempt begins, or the call gets a place in the queue of its rate; or the breaker ends the call.
    #[cold]
    #[inline(never)]
    pub(super) fn enters<G>(&mut self, signal: Pin<&mut G>) -> Entered<O, R>
    where
        R: Sleep,
        G: Signal<O::Value, O::Error>,
    {
        let Guard { plan, state } = &mut self.guard;
        let mut rules = Self::rules_of(plan, &self.settings);
        rules.tokens = plan.tokens();
        match state.enters(plan, &rules, &self.runtime) {
            Ok(queued) => {
                self.guard.runs();
                Ok(queued)
            }
            Err(refused) => match S::expired(refused) {
                Some(error) => {
                    self.recalls(signal);
                    Err(self.gives_up(error, End::Refused))
                }
                None => Ok(None),
            },
        }
    }

    /// Waits in the queue, until the signal comes.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_queue<G>(
        &mut self,
        queued: &mut Queued<R::Sleep>,
        has_come: bool,
        signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Poll<Ended<O>>
    where
        R: Sleep,
        G: Signal<O::Value, O::Error>,
    {
        if has_come {
            // After the signal, the first attempt is made at once.
            self.guard.state.begins_with_epoch(None, &self.runtime);
            return Poll::Ready(None);
        }
        let late = ready!(self.guard.state.turn(queued, &self.runtime, cx));
        self.guard.runs();
        Poll::Ready(late.and_then(S::expired).map(|error| {
            self.recalls(signal);
            Err(self.gives_up(error, End::Queued))
        }))
    }

    /// A wait follows. The operation, the signal or a report may keep what ended the attempt. If none does, this is
    /// dropped.
    #[inline]
    pub(super) fn keep<G>(&mut self, signal: Pin<&mut G>, last: Outcome<O>)
    where
        G: Signal<O::Value, O::Error>,
    {
        let last = match last {
            Ok(value) => Ok(value),
            Err(failed) => match self.operation.keep(failed.error) {
                Some(error) => Err(Failed { error, ..failed }),
                None => return,
            },
        };
        if G::IS_ONE {
            signal.keep(last);
        } else if let Err(failed) = last {
            let _ = self.settings.keep(failed);
        }
    }

    /// A report may show a failure that the call has kept for its signal.
    #[inline]
    pub(super) fn recalls<G>(&mut self, signal: Pin<&mut G>)
    where
        G: Signal<O::Value, O::Error>,
    {
        if G::IS_ONE
            && let Some(Err(failed)) = signal.take()
        {
            let _ = self.settings.keep(failed);
        }
    }

    /// The signal has come during a wait. Returns the last response or the last error; nothing if there was no attempt
    /// and the signal makes no error.
    #[cold]
    pub(super) fn stopped<G>(&mut self, mut signal: Pin<&mut G>) -> Ended<O>
    where
        G: Signal<O::Value, O::Error>,
    {
        let kept = self.operation.kept();
        let kept = kept.map(|error| Err(Failed::whole(error)));
        let cuts = signal.cuts();
        let first = || cuts.map(|cuts| Err(Failed::whole(cuts(Stopped))));
        let last = kept.or_else(|| signal.as_mut().take()).or_else(first)?;
        Some(self.ends(last, End::Stopped))
    }
}
