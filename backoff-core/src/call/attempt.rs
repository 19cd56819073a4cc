//! An attempt of an async call: begins, is polled, and is cut by its timer or by a signal.

use super::{
    before::WaitState,
    cut_flag,
    erased::{Call, Outcome},
    hedging::{Hedging, RunningAttempt},
    operation::{CallOf as _, Failed, Operation},
    plan::{AttemptScope, Plan},
    setting::{Setting, Surrounds},
    signal::{Signal, Stopped},
    timer::Timer,
};
use crate::{
    runtime::{Clock, Random, Sleep, timer_of},
    stage::{EndedBy, Stage},
};
use core::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use pin_project_lite::pin_project;

/// What a call that is awaited stores of an attempt at the operation `O`.
pub(super) type PhaseOf<O, S, R, H> = Phase<
    RunningAttempt<O, S>,
    <S as Surrounds>::Timer<<R as Sleep>::Sleep>,
    <R as Sleep>::Sleep,
    <H as Hedging>::Second<
        RunningAttempt<O, S>,
        <R as Sleep>::Sleep,
        <O as Operation>::Value,
        <O as Operation>::Error,
    >,
>;

pin_project! {
    /// What an async call stores of its attempt.
    #[project = PhaseProjection]
    #[allow(missing_docs, reason = "only the loop uses the variants")]
    #[doc(hidden)]
    pub enum Phase<A, T, S, D> {
        Waiting { #[pin] wait: WaitState<S> },
        // The timer is a field beside the attempt. In one struct with the attempt it cost 130 instructions.
        Running { #[pin] attempt: A, #[pin] timer: Option<T>, #[pin] second: Option<D> },
    }
}

impl<A, T, S, D> Phase<A, T, S, D> {
    /// An attempt that has begun.
    #[inline]
    const fn running(attempt: A) -> Self {
        Phase::Running {
            attempt,
            timer: None,
            second: None,
        }
    }
}

impl<A, T, S, D> Default for Phase<A, T, S, D> {
    #[inline]
    fn default() -> Self {
        Phase::Waiting {
            wait: WaitState::New,
        }
    }
}

impl<P: Plan, S: Surrounds, R: Clock + Random> Call<P, S, R> {
    /// While the value is alive, this thread runs the attempt, in its span.
    #[inline]
    pub(super) fn enter(&self) -> (AttemptScope, S::Scope<'_>) {
        (self.guard.runs(), self.settings.enter())
    }

    /// Begins an attempt.
    #[inline]
    pub(super) fn begin<O>(&self, operation: &mut O) -> RunningAttempt<O, S>
    where
        O: Operation,
        S: Setting<O::Value, O::Error>,
    {
        let _entered = self.enter();
        self.settings.around(operation.begin(self))
    }

    /// Polls an attempt.
    #[inline]
    pub(super) fn poll<O>(
        &self,
        operation: &mut O,
        attempt: Pin<&mut RunningAttempt<O, S>>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<O::Value, O::Error>>
    where
        O: Operation,
        S: Setting<O::Value, O::Error>,
    {
        let _entered = self.enter();
        operation.poll(self.settings.inner(attempt), self, cx)
    }

    /// Polls an attempt that only ends by itself, and begins the attempt after a wait.
    #[inline]
    pub(super) fn poll_plain<O, G, H: Hedging>(
        &mut self,
        operation: &mut O,
        mut phase: Pin<&mut PhaseOf<O, S, R, H>>,
        _hedge: &H,
        _signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<O::Value, O::Error>>
    where
        O: Operation,
        S: Setting<O::Value, O::Error>,
        R: Sleep,
        G: Signal<O::Value, O::Error>,
    {
        // Written out, because each function would be compiled for each call.
        let _entered = self.enter();
        if let PhaseProjection::Waiting { .. } = phase.as_mut().project() {
            let attempt = self.settings.around(operation.begin(self));
            phase.set(Phase::running(attempt));
        }
        let PhaseProjection::Running { attempt, .. } = phase.project() else {
            unreachable!("the attempt has begun")
        };
        operation.poll(self.settings.inner(attempt), self, cx)
    }

    /// As `poll_plain`, or until the time of the attempt is over, or a signal cuts it.
    pub(super) fn poll_guarded<O, G, H: Hedging>(
        &mut self,
        operation: &mut O,
        mut phase: Pin<&mut PhaseOf<O, S, R, H>>,
        hedge: &H,
        mut signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<O::Value, O::Error>>
    where
        O: Operation,
        S: Setting<O::Value, O::Error>,
        R: Sleep,
        G: Signal<O::Value, O::Error>,
    {
        if let PhaseProjection::Waiting { .. } = phase.as_mut().project() {
            phase.set(Phase::running(self.begin(operation)));
        }
        let PhaseProjection::Running {
            mut attempt,
            mut timer,
            second,
        } = phase.as_mut().project()
        else {
            unreachable!("the attempt has begun")
        };
        let stage = |call: &Self, attempt: Pin<&mut RunningAttempt<O, S>>| {
            O::stage(call.settings.inner::<O::Running>(attempt).as_ref())
        };
        let cuts = match signal.cuts() {
            Some(cuts) if G::IS_ONE && signal.as_mut().has_come(cx) => Some(cuts),
            _ => None,
        };
        let made = timer.as_mut().as_pin_mut();
        let is_over = made.is_some_and(|timer| timer.is_over(cx));
        // A read whose time is over, or that is ready together with the signal, must begin no write.
        let is_refused =
            (is_over || cuts.is_some()) && stage(self, attempt.as_mut()) == Stage::Read;
        if !is_refused {
            // Without a hedge, the race is not compiled.
            let polled = if H::IS_ONE
                && let Some(second) = hedge.of(second)
            {
                self.race(operation, attempt.as_mut(), second, signal, cx)
            } else {
                self.poll(operation, attempt.as_mut(), cx)
            };
            if polled.is_ready() {
                return polled;
            }
        }
        if timer.is_none() {
            timer.set(Timer::new());
        }
        // The limit, or the rest of the deadline if that is shorter.
        let limited = |_| {
            let run = self.run();
            let limit = Duration::from_nanos(run.rules.attempt_timeout);
            let remaining = run.state.remaining(&run.rules, run.clock);
            timer_of(&self.runtime, limit.min(remaining))
        };
        let (error, ended_by) = if let Some(cuts) = cuts {
            (cuts(Stopped), EndedBy::Signal)
        } else if let Some(timer) = timer.as_pin_mut()
            && let Some(late) = timer.expired(is_over, limited, cx)
        {
            let error = S::expired(late).expect("a setting that cuts attempts makes an error");
            (error, EndedBy::Clock)
        } else {
            return Poll::Pending;
        };
        let stage = stage(self, attempt);
        cut(phase, ended_by);
        Poll::Ready(Err(Failed {
            error,
            stage,
            ended_by,
        }))
    }
}

/// Drops the attempt that has ended, and a second request. Returns what the call waits for next: nothing yet.
#[inline]
pub(super) fn over<'p, A, T, S, D>(
    phase: &'p mut Pin<&mut Phase<A, T, S, D>>,
) -> Pin<&'p mut WaitState<S>> {
    phase.set(Phase::Waiting {
        wait: WaitState::Over,
    });
    match phase.as_mut().project() {
        PhaseProjection::Waiting { wait } => wait,
        PhaseProjection::Running { .. } => unreachable!("the phase was set just now"),
    }
}

/// Drops an attempt that was cut, before anything is decided. The destructors of the attempt may ask whether its time
/// is over.
#[cold]
#[inline(never)]
fn cut<A, T, S, D>(mut phase: Pin<&mut Phase<A, T, S, D>>, ended_by: EndedBy) {
    let mut over = || {
        phase.set(Phase::Waiting {
            wait: WaitState::Over,
        })
    };
    match ended_by {
        EndedBy::Clock => cut_flag::cutting(over),
        EndedBy::Operation | EndedBy::Signal => over(),
    }
}
