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
    /// An attempt is about to begin, unless its breaker is open. If the rate delays calls, returns it, how long the call may
    /// wait, and whether an error is made then: the call waits for `max_queue_time`, and not beyond the deadline. Without
    /// `max_queue_time`, the attempt begins at the deadline. Where no call is delayed, the attempt begins now, and no clock
    /// is read for the rate.
    #[inline(always)]
    fn asks<'p, C: Clock>(
        &mut self,
        plan: &'p dyn CallPlan,
        rules: &Rules<'_>,
        clock: &C,
    ) -> Result<Option<(&'p Rate, (Duration, bool))>, TimedOut> {
        let (rate, expires) = (plan.rate(), rules.max_queue_time.is_some());
        let Some(rate) = rate.filter(|rate| !rate.is_off()) else {
            let epoch = rate.map(Rate::begins);
            self.begins_unless_refused(plan, expires, epoch, clock)?;
            return Ok(None);
        };
        if let Some(breaker) = plan.breaker()
            && expires
            && breaker.refuses(|| shared_now(clock))
        {
            return Err(breaker.refusal());
        }
        let limit = self.remaining(rules, clock);
        let limit = limit.min(rules.max_queue_time.unwrap_or(Duration::MAX));
        Ok(Some((rate, (limit, expires))))
    }

    /// The attempt asks its breaker, and begins. Where no error can be made, the attempt begins all the same. The rate
    /// counts the attempt if there is a number.
    pub(crate) fn begins_unless_refused<C: Clock>(
        &mut self,
        plan: &dyn CallPlan,
        expires: bool,
        epoch: Option<u16>,
        clock: &C,
    ) -> Result<(), TimedOut> {
        // If the call ends here, the number is given back.
        self.retry.set_epoch(epoch);
        if let Some(breaker) = plan.breaker() {
            let admitted = breaker.admit(|| shared_now(clock));
            match admitted {
                None if expires => return Err(breaker.refusal()),
                None => breaker.is_unheard(),
                Some(_) => {}
            }
            self.retry.set_period(admitted.map_or(0, |it| it.period));
        }
        self.begins(clock);
        Ok(())
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
        match Queued::enter(rate, shared_now(runtime), limit, rules.tokens) {
            Ok(epoch) => {
                self.begins_unless_refused(plan, limit.1, Some(epoch), runtime)?;
                Ok(None)
            }
            Err(queued) => Ok(Some(queued)),
        }
    }

    /// Waits in the queue. Then the attempt begins, or the call is refused, or its time is over. `expires` says that an
    /// error can be made.
    #[cold]
    #[inline(never)]
    pub(crate) fn turn<R: Clock + Sleep>(
        &mut self,
        (plan, expires): (&dyn CallPlan, bool),
        queued: &mut Queued<R::Sleep>,
        runtime: &R,
        cx: &mut Context<'_>,
    ) -> Poll<Option<TimedOut>> {
        let before = left_out();
        let turn = queued.poll(runtime, cx);
        self.retry.skip(left_out() - before);
        let begins = |epoch| self.begins_unless_refused(plan, expires, epoch, runtime);
        Poll::Ready(ready!(turn).and_then(begins).err())
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
        self.begins_unless_refused(plan, limit.1, turn?, runtime)
            .map_err(Left::Over)
    }
}

/// The attempt of a call begins, or the call waits in the queue of its rate; or the call ends with an error.
type Entered<O, R> = Result<
    Option<Queued<<R as Sleep>::Sleep>>,
    Result<<O as Operation>::Value, <O as Operation>::Error>,
>;

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
        let entered = state.enters(plan, &rules, &self.runtime);
        entered.or_else(|late| self.ends_before(late, signal).map_or(Ok(None), Err))
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
        let Guard { plan, state } = &mut self.guard;
        let rules = Self::rules_of(plan, &self.settings);
        let (plan, expires) = (plan as &dyn CallPlan, rules.max_queue_time.is_some());
        let late = match has_come {
            // After the signal, the first attempt is made at once.
            true => state
                .begins_unless_refused(plan, expires, None, &self.runtime)
                .err(),
            false => ready!(state.turn((plan, expires), queued, &self.runtime, cx)),
        };
        Poll::Ready(late.and_then(|late| self.ends_before(late, signal)))
    }

    /// The call ends before an attempt, if an error can be made: if the breaker refuses a retry, with what ended the last
    /// attempt.
    fn ends_before<G>(&mut self, late: TimedOut, mut signal: Pin<&mut G>) -> Ended<O>
    where
        G: Signal<O::Value, O::Error>,
    {
        let error = S::expired(late)?;
        let end = End::before(&late);
        if matches!(end, End::Refused)
            && let Some(last) = self.last(signal.as_mut())
        {
            return Some(self.ends(last, end));
        }
        self.recalls(signal);
        Some(Err(self.gives_up(error, end)))
    }

    /// What ended the last attempt, if the call has kept it.
    fn last<G>(&mut self, signal: Pin<&mut G>) -> Option<Outcome<O>>
    where
        G: Signal<O::Value, O::Error>,
    {
        let kept = self.operation.kept();
        let kept = kept.map(|error| Err(Failed::whole(error)));
        kept.or_else(|| signal.take())
            .or_else(|| self.settings.kept().map(Err))
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
        } else {
            // An earlier failure is no longer the last one.
            let _ = self.settings.kept();
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
    pub(super) fn stopped<G>(&mut self, signal: Pin<&mut G>) -> Ended<O>
    where
        G: Signal<O::Value, O::Error>,
    {
        let cuts = signal.cuts();
        let first = || cuts.map(|cuts| Err(Failed::whole(cuts(Stopped))));
        let last = self.last(signal).or_else(first)?;
        Some(self.ends(last, End::Stopped))
    }
}
