//! An attempt that gets a second request if its first one is slow. See [`Hedge`].

use super::{
    after::in_tests,
    erased::{Call, ErasedCall, Outcome},
    operation::{CallOf, Failed, Operation, Run},
    plan::Plan,
    setting::{Setting, Surrounds},
    signal::Signal,
};
use crate::{
    event,
    facts::fault::FaultKind,
    hedge::Hedge,
    runtime::{Clock, Random, Sleep, shared_now},
    stage::Stage,
    state::{Decision, WaitSource},
};
use core::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use pin_project_lite::pin_project;

/// The type of a running attempt, with its span if it has one.
pub(super) type RunningAttempt<O, S> = <S as Surrounds>::Wrapped<<O as Operation>::Running>;

/// Whether attempts get second requests: never ([`Unhedged`]), or as a `&Hedge` says.
#[doc(hidden)]
pub trait Hedging {
    /// Whether an attempt may have a second request.
    const IS_ONE: bool = true;
    /// What an attempt stores of its second request.
    type Second<A, S, T, E>;

    /// The hedge, and the second request.
    fn of<'s, A, S, T, E>(
        &'s self,
        second: Pin<&'s mut Option<Self::Second<A, S, T, E>>>,
    ) -> Option<Hedged<'s, A, S, T, E>>;
}

/// A hedge, and the second request of an attempt.
pub(super) type Hedged<'s, A, S, T, E> = (&'s Hedge, Pin<&'s mut Second<A, S, T, E>>);

/// No attempt gets a second request.
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct Unhedged;

impl Hedging for Unhedged {
    const IS_ONE: bool = false;
    type Second<A, S, T, E> = Infallible;

    #[inline(always)]
    fn of<'s, A, S, T, E>(
        &'s self,
        _: Pin<&'s mut Option<Infallible>>,
    ) -> Option<Hedged<'s, A, S, T, E>> {
        None
    }
}

impl Hedging for &Hedge {
    type Second<A, S, T, E> = Second<A, S, T, E>;

    fn of<'s, A, S, T, E>(
        &'s self,
        mut second: Pin<&'s mut Option<Second<A, S, T, E>>>,
    ) -> Option<Hedged<'s, A, S, T, E>> {
        if second.is_none() {
            second.set(Some(Second {
                sleep: None,
                request: None,
                began: None,
                failed: None,
            }));
        }
        second.as_pin_mut().map(|second| (*self, second))
    }
}

pin_project! {
    /// The second request of an attempt.
    #[derive(Debug)]
    #[doc(hidden)]
    pub struct Second<A, S, T, E> {
        // Until the request begins.
        #[pin]
        sleep: Option<S>,
        #[pin]
        request: Option<A>,
        // When the first request was first pending; zero if answers are not measured.
        began: Option<Duration>,
        // The failure of the request that ended first, and how long it asks the call to wait.
        failed: Option<(Result<T, Failed<E>>, u64)>,
    }
}

/// A call whose attempt begins its second request.
struct BeginsSecond<'c, C>(&'c C);

impl<T, E, C: CallOf<T, E>> CallOf<T, E> for BeginsSecond<'_, C> {
    fn run(&self) -> Run<'_> {
        Run {
            is_hedge: true,
            ..self.0.run()
        }
    }
}

impl<P: Plan, S, R: Clock + Random> Call<P, S, R> {
    /// Polls the two requests of an attempt.
    pub(super) fn race<O, G>(
        &mut self,
        operation: &mut O,
        mut first: Pin<&mut RunningAttempt<O, S>>,
        (hedge, second): Hedged<'_, RunningAttempt<O, S>, R::Sleep, O::Value, O::Error>,
        mut signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<O::Value, O::Error>>
    where
        O: Operation,
        S: Setting<O::Value, O::Error>,
        R: Sleep,
        G: Signal<O::Value, O::Error>,
    {
        let mut second = second.project();
        for is_first in [true, false] {
            if !is_first && second.began.is_none() {
                if self.guard.state.retry.failures() == 0 {
                    hedge.called();
                }
                *second.began = Some(hedge.measured(|| self.runtime.now()));
                let is_read = self.guard.plan.policy().idempotent && operation.may_run_twice();
                let delay = hedge.delay().filter(|_| is_read);
                (second.sleep).set(delay.map(|delay| self.runtime.sleep(delay)));
            }
            let sleep = second.sleep.as_mut().as_pin_mut();
            if !is_first && sleep.is_some_and(|sleep| sleep.poll(cx).is_ready()) {
                second.sleep.set(None);
                let is_over = G::IS_ONE && signal.as_mut().has_come(cx);
                if !is_over && self.erased(operation.erased()).may_begin_second(hedge) {
                    let _entered = self.enter();
                    let request = operation.begin(&BeginsSecond(&*self));
                    second.request.set(Some(self.settings.around(request)));
                }
            }
            let polled = match second.request.as_mut().as_pin_mut() {
                Some(request) if !is_first => self.poll(operation, request, cx),
                // The first one has failed.
                Some(_) if second.failed.is_some() => continue,
                _ if is_first => self.poll(operation, first.as_mut(), cx),
                _ => continue,
            };
            let Poll::Ready(outcome) = polled else {
                continue;
            };
            let hint = self.erased(operation.erased()).retry_hint(&outcome);
            match (hint, second.failed.take()) {
                (Some(hint), None) if second.request.is_some() => {
                    *second.failed = Some((outcome, hint));
                    if !is_first {
                        second.request.set(None);
                    }
                }
                (Some(hint), Some((other, longer))) if longer > hint => {
                    return Poll::Ready(other);
                }
                _ => {
                    if hint.is_none() && outcome.is_ok() {
                        let since = |began| self.runtime.now().saturating_sub(began);
                        hedge.answered(&|| second.began.map(since).unwrap_or_default());
                        if !is_first {
                            self.erased(operation.erased()).emit_second(true);
                        }
                    }
                    return Poll::Ready(outcome);
                }
            }
        }
        Poll::Pending
    }
}

impl<T, E, S: Setting<T, E>, R: Clock + Random> ErasedCall<'_, T, E, S, R> {
    /// Whether the second request begins now, if no signal has come. All reasons against it that may change during an
    /// attempt are here.
    fn may_begin_second(&self, hedge: &Hedge) -> bool {
        let (shared, state) = (self.plan.shared(), &*self.state);
        let now = || shared_now(self.runtime);
        let begins = !state.remaining(&self.rules(), self.runtime).is_zero()
            // `testing::off` switches second requests off, too.
            && in_tests(Decision::after(0, WaitSource::Backoff), &mut { state.retry }).is_wait()
            && shared.breaker.is_none_or(|it| !it.is_open())
            && shared.rate.is_none_or(|it| it.has_room(shared.tokens, now))
            && hedge.take()
            && shared.budget.is_none_or(|it| it.take(FaultKind::Transient));
        #[cfg(feature = "metrics")]
        event::metrics::level(shared.budget);
        if begins {
            let _ = shared.rate.map(|it| it.begins_second(shared.tokens, now));
            let _entered = self.settings.enter();
            self.emit_second(false);
        }
        begins
    }

    /// How long a failure asks the call to wait, in nanoseconds; nothing if the outcome is none that the call retries.
    fn retry_hint(&self, outcome: &Outcome<T, E>) -> Option<u64> {
        let policy = self.plan.policy();
        let verdict = match outcome {
            Ok(value) => policy.rule(Stage::Whole, S::answer(value)?),
            Err(failed) => self.settings.judge(policy, failed.stage, &failed.error)?,
        };
        verdict.retried().map(|_| verdict.hint())
    }

    /// The second request begins, or wins.
    fn emit_second(&self, wins: bool) {
        let plan = self.plan;
        let name = plan.operation().unwrap_or(self.operation.name);
        event::hedged(name, plan.policy(), wins);
    }
}
