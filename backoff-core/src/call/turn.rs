//! The work before each attempt: no attempt begins after its time, before its turn at the rate, or after a signal.

use super::{
    call::{Call, Ended, Outcome},
    call_state::CallState,
    operation::{Failed, Remembers},
    parts::{End, Parts, rules_of},
    plan::{CallPlan, Plan},
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
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

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

pin_project! {
    /// What an async call waits for before an attempt.
    #[project = WaitProjection]
    #[allow(missing_docs, reason = "only the loop uses the variants")]
    pub enum Wait<Z> {
        // The call has not begun.
        New,
        // For nothing: an attempt has ended, or the call has.
        Over,
        Until { #[pin] sleep: Z },
        // For its turn, in the queue of its rate.
        Queued { queued: Queued<Z> },
    }
}

impl<P: Plan, S, R: Clock + Random> Call<P, S, R> {
    /// The call asks for an attempt. The attempt begins, or the call has its outcome. The first attempt of a call that asks
    /// nothing before begins at once.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn arrives<T, E, G>(
        &mut self,
        mut memory: Remembers<'_, E>,
        is_timed: bool,
        mut wait: Pin<&mut Wait<R::Sleep>>,
        signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Option<Poll<Result<T, E>>>
    where
        S: Setting<T, E>,
        R: Sleep,
        G: Signal<T, E>,
    {
        if matches!(*wait, Wait::New) {
            self.starts(is_timed);
            if !G::IS_ONE && !self.guard.plan.has_gate() {
                self.begins(memory.get(), false);
                return None;
            }
        }
        let ended = match self.waits(memory, wait.as_mut(), signal, cx) {
            Poll::Pending => return Some(Poll::Pending),
            Poll::Ready(ended) => ended?,
        };
        wait.set(Wait::Over);
        Some(Poll::Ready(ended))
    }

    /// Polls what the call waits for, and its signal. Then the next attempt begins, or the call has its outcome.
    #[cold]
    #[inline(never)]
    fn waits<T, E, G>(
        &mut self,
        mut memory: Remembers<'_, E>,
        mut wait: Pin<&mut Wait<R::Sleep>>,
        mut signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Poll<Ended<T, E>>
    where
        S: Setting<T, E>,
        R: Sleep,
        G: Signal<T, E>,
    {
        assert!(
            !matches!(*wait, Wait::Over),
            "a `Retrying` was polled after it had finished"
        );
        let mut parts = self.parts(&mut memory);
        let has_come = G::IS_ONE && signal.as_mut().has_come(cx);
        if has_come && let Some(ended) = parts.stopped(signal.as_mut()) {
            return Poll::Ready(Some(ended));
        }
        if let WaitProjection::Until { sleep } = wait.as_mut().project() {
            ready!(sleep.poll(cx));
            let late = TimedOut::new(Duration::ZERO);
            if <S::Timer<()> as Timer<()>>::CUTS
                && parts.is_late()
                && let Some(ended) = parts.ends_before(late, End::Expired, signal.as_mut())
            {
                return Poll::Ready(Some(ended));
            }
        }
        let mut after_wait = parts.state.retry.failures() > 0;
        let mut late = None;
        if !matches!(*wait, Wait::Queued { .. }) {
            match parts.enters() {
                Ok(None) => {}
                Ok(Some(queued)) => wait.set(Wait::Queued { queued }),
                Err(refused) => late = Some(refused),
            }
        }
        if let WaitProjection::Queued { queued } = wait.project() {
            after_wait = true;
            late = match has_come {
                true => parts.begins_after_signal(),
                false => {
                    let plan = (parts.plan, parts.rules().max_queue_time.is_some());
                    ready!(parts.state.turn(plan, queued, parts.runtime, cx))
                }
            };
        }
        if let Some(late) = late
            && let Some(ended) = parts.ends_before(late, End::before(&late), signal.as_mut())
        {
            return Poll::Ready(Some(ended));
        }
        parts.recalls(signal);
        self.begins(memory.get(), after_wait);
        Poll::Ready(None)
    }

    /// After an attempt that has not succeeded: the wait that follows, or the outcome of the call.
    #[cold]
    #[inline(never)]
    pub(super) fn sleeps<T, E, G>(
        &mut self,
        mut memory: Remembers<'_, E>,
        last: Outcome<T, E>,
        mut wait: Pin<&mut Wait<R::Sleep>>,
        signal: Pin<&mut G>,
    ) -> Poll<Result<T, E>>
    where
        S: Setting<T, E>,
        R: Sleep,
        G: Signal<T, E>,
    {
        let mut parts = self.parts(&mut memory);
        let (time, last) = match parts.decides(last) {
            Ok(next) => next,
            Err(ended) => return Poll::Ready(ended),
        };
        parts.keep(signal, last);
        let sleep = self.runtime.sleep(time);
        wait.set(Wait::Until { sleep });
        Poll::Pending
    }
}

impl<T, E, S: Setting<T, E>, R: Clock + Random> Parts<'_, T, E, S, R> {
    /// The attempt begins, or the call gets a place in the queue of its rate; or the breaker refuses the attempt.
    fn enters(&mut self) -> Result<Option<Queued<R::Sleep>>, TimedOut>
    where
        R: Sleep,
    {
        if self.plan.has_gate() {
            let mut rules = rules_of(self.plan, &*self.settings);
            rules.tokens = self.plan.tokens();
            return self.state.enters(self.plan, &rules, self.runtime);
        }
        if self.state.retry.failures() > 0 {
            self.state.begins(self.runtime);
        }
        Ok(None)
    }

    /// After the signal, the first attempt is made at once, unless the breaker refuses it.
    pub(super) fn begins_after_signal(&mut self) -> Option<TimedOut> {
        let expires = self.rules().max_queue_time.is_some();
        self.state
            .begins_unless_refused(self.plan, expires, None, self.runtime)
            .err()
    }

    /// The call ends before an attempt, if an error can be made: if the breaker refuses a retry, with what ended the last
    /// attempt.
    fn ends_before<G: Signal<T, E>>(
        &mut self,
        late: TimedOut,
        end: End,
        mut signal: Pin<&mut G>,
    ) -> Ended<T, E> {
        let error = S::expired(late)?;
        if matches!(end, End::Refused)
            && let Some(last) = self.last(signal.as_mut())
        {
            return Some(self.ends_with(last, end));
        }
        self.recalls(signal);
        Some(Err(self.gives_up(error, end)))
    }

    /// What ended the last attempt, if the call has kept it.
    fn last<G: Signal<T, E>>(&mut self, signal: Pin<&mut G>) -> Option<Outcome<T, E>> {
        let kept = self.memory.kept();
        let kept = kept.map(|error| Err(error.into()));
        kept.or_else(|| signal.take())
            .or_else(|| self.settings.kept().map(Err))
    }

    /// A wait follows. The operation, the signal or a report may keep what ended the attempt. If none does, this is
    /// dropped.
    pub(super) fn keep<G: Signal<T, E>>(&mut self, signal: Pin<&mut G>, last: Outcome<T, E>) {
        let last = match last {
            Ok(value) => Ok(value),
            Err(failed) => match self.memory.keep(failed.error) {
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
    fn recalls<G: Signal<T, E>>(&mut self, signal: Pin<&mut G>) {
        if G::IS_ONE
            && let Some(Err(failed)) = signal.take()
        {
            let _ = self.settings.keep(failed);
        }
    }

    /// The signal has come during a wait. Returns the last response or the last error; nothing if there was no attempt
    /// and the signal makes no error.
    #[cold]
    fn stopped<G: Signal<T, E>>(&mut self, signal: Pin<&mut G>) -> Ended<T, E> {
        let cuts = signal.cuts();
        let first = || cuts.map(|cuts| Err(cuts(Stopped).into()));
        let last = self.last(signal).or_else(first)?;
        Some(self.ends_with(last, End::Stopped))
    }
}
