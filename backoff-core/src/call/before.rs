//! The work before each attempt: no attempt begins after its time, before its turn at the rate, or after a signal.

use super::{
    erased::{Call, Ended, ErasedCall, Outcome, rules_of},
    operation::AnyOperation,
    plan::Plan,
    setting::Setting,
    signal::{Signal, Stopped},
    timer::Timer,
};
use crate::{
    facts::fault::TimedOut,
    policy::NEVER,
    rate::{QueueEnd, Queued},
    report::StopReason,
    runtime::{Clock, Random, Sleep},
};
use core::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

/// Why a call ends between two attempts.
#[derive(Clone, Copy)]
pub enum End {
    /// The timer woke after the deadline.
    Late,
    /// The timer woke after the deadline, and the error says so.
    Expired,
    /// The call waited too long for its turn.
    Queued,
    /// The breaker is open.
    Refused,
    /// A signal has come.
    Stopped,
    /// The loop ends for a reason of its own.
    GivenUp(StopReason),
}

impl End {
    /// The call ends before an attempt, with this error.
    pub(crate) const fn before(late: &TimedOut) -> Self {
        match late.is_by_breaker() {
            true => End::Refused,
            false => End::Queued,
        }
    }
}

impl QueueEnd {
    /// Why the call ends.
    pub(crate) const fn end(&self) -> End {
        match self {
            QueueEnd::Over(late) => End::before(late),
            QueueEnd::Stopped => End::Stopped,
        }
    }
}

pin_project! {
    /// What an async call waits for before an attempt.
    #[project = WaitStateProjection]
    #[allow(missing_docs, reason = "only the loop uses the variants")]
    #[doc(hidden)]
    pub enum WaitState<Z> {
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
    /// Before the first attempt. Reads the clock only if something asks for the time.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn start<T, E>(&mut self, is_timed: bool)
    where
        S: Setting<T, E>,
    {
        let rules = rules_of(&self.guard.plan, &self.settings);
        let timed = is_timed || S::TIMED || rules.deadline != NEVER;
        self.guard.state.start(&self.runtime, timed);
    }

    /// The attempt begins, or the call waits, or it has its outcome. The first attempt begins at once if no signal, rate or
    /// breaker can delay it.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn begin_or_wait<'c, T, E, G>(
        &'c mut self,
        operation: AnyOperation<'c, E>,
        is_timed: bool,
        mut wait: Pin<&mut WaitState<R::Sleep>>,
        signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Option<Poll<Result<T, E>>>
    where
        S: Setting<T, E>,
        R: Sleep,
        G: Signal<T, E>,
    {
        if matches!(*wait, WaitState::New) {
            self.start(is_timed);
            if !G::IS_ONE && !self.guard.plan.shared().needs_admission() {
                self.erased(operation).measure_beginning(false);
                return None;
            }
        }
        let ended = match self.poll_wait(operation, wait.as_mut(), signal, cx) {
            Poll::Pending => return Some(Poll::Pending),
            Poll::Ready(ended) => ended?,
        };
        wait.set(WaitState::Over);
        Some(Poll::Ready(ended))
    }

    /// Polls what the call waits for, and its signal. Then the next attempt begins, or the call has its outcome.
    #[cold]
    #[inline(never)]
    fn poll_wait<'c, T, E, G>(
        &'c mut self,
        operation: AnyOperation<'c, E>,
        mut wait: Pin<&mut WaitState<R::Sleep>>,
        mut signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Poll<Ended<T, E>>
    where
        S: Setting<T, E>,
        R: Sleep,
        G: Signal<T, E>,
    {
        assert!(
            !matches!(*wait, WaitState::Over),
            "a `Retrying` was polled after it had finished"
        );
        let mut call = self.erased(operation);
        let has_come = G::IS_ONE && signal.as_mut().has_come(cx);
        if has_come && let Some(ended) = call.stopped(signal.as_mut()) {
            return Poll::Ready(Some(ended));
        }
        let mut after_wait = false;
        if let WaitStateProjection::Until { sleep } = wait.as_mut().project() {
            ready!(sleep.poll(cx));
            after_wait = true;
            let late = TimedOut::new(Duration::ZERO);
            if <S::Timer<()> as Timer<()>>::CUTS
                && call.is_late()
                && let Some(ended) = call.end_before(late, End::Expired, signal.as_mut())
            {
                return Poll::Ready(Some(ended));
            }
        }
        let mut late = None;
        if !matches!(*wait, WaitState::Queued { .. }) {
            match call.begin_or_queue(after_wait) {
                Ok(None) => {}
                Ok(Some(queued)) => wait.set(WaitState::Queued { queued }),
                Err(refused) => late = Some(refused),
            }
        }
        if let WaitStateProjection::Queued { queued } = wait.project() {
            after_wait = true;
            late = match has_come {
                true => call.begin_after_signal(),
                false => {
                    let plan = (call.plan, call.rules().max_queue_time.is_some());
                    ready!(call.state.poll_turn(plan, queued, call.runtime, cx))
                }
            };
        }
        if let Some(late) = late
            && let Some(ended) = call.end_before(late, End::before(&late), signal.as_mut())
        {
            return Poll::Ready(Some(ended));
        }
        call.report_kept(signal);
        call.measure_beginning(after_wait);
        Poll::Ready(None)
    }
}

impl<T, E, S: Setting<T, E>, R: Clock + Random> ErasedCall<'_, T, E, S, R> {
    /// An attempt begins. `after_wait` says that a wait was before it.
    #[inline]
    pub(super) fn measure_beginning(&mut self, after_wait: bool) {
        if S::MEASURES {
            let elapsed = match after_wait && S::TIMED {
                true => self.state.retry.elapsed(|| self.runtime.now()),
                false => Duration::ZERO,
            };
            let name = self.plan.operation().unwrap_or(self.operation.name);
            let failures = self.state.retry.failures();
            self.settings.begins(name, failures, elapsed);
        }
    }

    /// The attempt begins, or the call gets a place in the queue of its rate; or the breaker refuses the attempt.
    fn begin_or_queue(&mut self, after_wait: bool) -> Result<Option<Queued<R::Sleep>>, TimedOut>
    where
        R: Sleep,
    {
        if self.plan.shared().needs_admission() {
            let rules = rules_of(self.plan, &*self.settings);
            return self.state.begin_or_queue(self.plan, &rules, self.runtime);
        }
        if after_wait {
            self.state.begins(self.runtime);
        }
        Ok(None)
    }

    /// After the signal, the first attempt is made at once, unless the breaker refuses it.
    pub(super) fn begin_after_signal(&mut self) -> Option<TimedOut> {
        let expires = self.rules().max_queue_time.is_some();
        self.state
            .begin_unless_refused(self.plan, expires, None, self.runtime)
            .err()
    }

    /// Whether the timer woke so late that no time remains for the next attempt.
    pub(super) fn is_late(&self) -> bool {
        let rules = self.rules();
        self.state.retry.is_late(&rules, || self.runtime.now())
    }

    /// The call ends before an attempt, if an error can be made: if the breaker refuses a retry, with what ended the last
    /// attempt.
    fn end_before<G: Signal<T, E>>(
        &mut self,
        late: TimedOut,
        end: End,
        mut signal: Pin<&mut G>,
    ) -> Ended<T, E> {
        let error = S::expired(late)?;
        if matches!(end, End::Refused)
            && let Some(last) = self.last(signal.as_mut())
        {
            return Some(self.end_with(last, end));
        }
        self.report_kept(signal);
        Some(Err(self.end_with_error(error, end)))
    }

    /// What ended the last attempt, if the call has kept it.
    fn last<G: Signal<T, E>>(&mut self, signal: Pin<&mut G>) -> Option<Outcome<T, E>> {
        let memory = self.operation.memory.as_mut();
        let kept = memory.and_then(|memory| memory.kept());
        let kept = kept.map(|error| Err(error.into()));
        kept.or_else(|| signal.take())
            .or_else(|| self.settings.kept().map(Err))
    }

    /// A report may show a failure that the call has kept for its signal.
    fn report_kept<G: Signal<T, E>>(&mut self, signal: Pin<&mut G>) {
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
        Some(self.end_with(last, End::Stopped))
    }
}
