//! A caller, in two halves: the [`Receiver`] that its future shares with the task of the resource, and the
//! [`Caller`] that the task has.

use super::error::CombineError;
use crate::{policy::Policy, report::Updated, state::Participant, sync::Mutex};
use core::{
    any::Any,
    mem,
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::sync::{Arc, PoisonError};

/// A change: returns whether it changed the value, or its own error.
pub(super) type Change<V, E> = Box<dyn FnMut(&mut V) -> Result<bool, E> + Send>;

/// The outcome for one caller.
pub(super) enum Outcome<V, W, E> {
    /// The callers of a group share one value.
    Done(Updated<Arc<V>, W>),
    Failed {
        error: CombineError<E>,
        /// The log has the end of the group, which is the end of this call.
        is_logged: bool,
    },
    /// The change panicked.
    Panicked(Box<dyn Any + Send>),
}

impl<V, W, E> Outcome<V, W, E> {
    /// The caller fails alone.
    pub(super) const fn failed(error: CombineError<E>) -> Self {
        let is_logged = false;
        Outcome::Failed { error, is_logged }
    }
}

/// The waker of the task of a resource.
#[derive(Clone, Default)]
pub(super) struct TaskWaker(Arc<Mutex<Option<Waker>>>);

impl TaskWaker {
    /// Returns the waker before.
    pub(super) fn replace(&self, waker: Option<Waker>) -> Option<Waker> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        mem::replace(&mut *kept, waker)
    }
}

/// Held by each caller who waits. The last one wakes the task, which has nothing to do without callers.
pub(super) struct Waiting(pub(super) TaskWaker);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.replace(None).into_iter().for_each(Waker::wake);
    }
}

/// The receiver of a caller, and the mark that it waits.
pub(super) type Entered<V, W, E> = (Arc<Receiver<V, W, E>>, Arc<Waiting>);

/// What the future of a caller shares with the task. No code of a caller runs under the lock.
pub(super) struct Receiver<V, W, E> {
    state: Mutex<State<V, W, E>>,
}

struct State<V, W, E> {
    outcome: Option<Outcome<V, W, E>>,
    waker: Option<Waker>,
    /// The future has gone.
    has_left: bool,
    /// The signal has come: the change takes part in no further write.
    is_stopped: bool,
    /// The running or the next write contains the change.
    is_taken: bool,
    /// An earlier write may have applied the change.
    maybe_applied: bool,
    attempts: u32,
}

impl<V, W, E> State<V, W, E> {
    const fn is_open(&self) -> bool {
        self.outcome.is_none() && !self.has_left
    }
}

impl<V, W, E> Receiver<V, W, E> {
    fn with<T>(&self, look: impl FnOnce(&mut State<V, W, E>) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The attempts that the caller took part in.
    pub(super) fn attempts(&self) -> u32 {
        self.with(|state| state.attempts)
    }

    /// The outcome, if there is one. `is_stopped`: the signal has come. Then the caller gets its outcome at once,
    /// unless a write contains the change.
    pub(super) fn poll(&self, is_stopped: bool, cx: &Context<'_>) -> Poll<Outcome<V, W, E>> {
        let waker = Some(cx.waker().clone());
        let (outcome, _before) = self.with(|state| {
            state.is_stopped |= is_stopped;
            let may_be_applied = state.maybe_applied;
            let stopped = || Outcome::failed(CombineError::Stopped { may_be_applied });
            let stops = state.is_stopped && !state.is_taken;
            let outcome = state.outcome.take().or_else(|| stops.then(stopped));
            state.has_left = outcome.is_some();
            (outcome, mem::replace(&mut state.waker, waker))
        });
        outcome.map_or(Poll::Pending, Poll::Ready)
    }

    /// The caller leaves. Returns its outcome, which is `error` if there is none yet. Its argument says whether a
    /// write may have applied the change, or may still apply it.
    pub(super) fn leave(&self, error: fn(bool) -> CombineError<E>) -> Outcome<V, W, E> {
        let (outcome, may_be_applied, _waker) = self.with(|state| {
            state.has_left = true;
            let may_be_applied = state.is_taken || state.maybe_applied;
            (state.outcome.take(), may_be_applied, state.waker.take())
        });
        outcome.unwrap_or_else(|| Outcome::failed(error(may_be_applied)))
    }
}

/// What a change did to the value of its group.
pub(super) enum Effect {
    /// The change was not applied, or it saw a change that was undone: it waits for the next read.
    Waits,
    Changed,
    /// It changed nothing in a value that others had changed: it may get the value that is written.
    Unchanged,
}

/// The half of a caller that the task has. If it is dropped without an outcome, the caller is interrupted.
pub(super) struct Caller<V, W, E> {
    pub(super) change: Change<V, E>,
    /// Whether the change recognises its own effect.
    pub(super) recognises: bool,
    pub(super) limits: Participant,
    /// Whether the caller was there when the read began.
    pub(super) was_there: bool,
    pub(super) effect: Effect,
    receiver: Arc<Receiver<V, W, E>>,
}

impl<V, W, E> Caller<V, W, E> {
    pub(super) fn new(
        change: Change<V, E>,
        recognises: bool,
        limits: Participant,
    ) -> (Arc<Receiver<V, W, E>>, Self) {
        let state = Mutex::new(State {
            outcome: None,
            waker: None,
            has_left: false,
            is_stopped: false,
            is_taken: false,
            maybe_applied: false,
            attempts: 0,
        });
        let receiver = Arc::new(Receiver { state });
        let caller = Caller {
            change,
            recognises,
            limits,
            was_there: false,
            effect: Effect::Waits,
            receiver: Arc::clone(&receiver),
        };
        (receiver, caller)
    }

    /// Whether the caller has no outcome and has not left.
    pub(super) fn is_waiting(&self) -> bool {
        self.receiver.with(|state| state.is_open())
    }

    pub(super) fn maybe_applied(&self) -> bool {
        self.receiver.with(|state| state.maybe_applied)
    }

    /// Gives the caller its outcome. The error of a change also says whether an earlier write may have applied the
    /// change.
    pub(super) fn answer(&self, mut outcome: Outcome<V, W, E>) {
        let (waker, _unused) = self.receiver.with(|state| {
            if !state.is_open() {
                return (None, Some(outcome));
            }
            if let Outcome::Failed { error, .. } = &mut outcome
                && let CombineError::Own { may_be_applied, .. } = error
            {
                *may_be_applied |= state.maybe_applied;
            }
            state.outcome = Some(outcome);
            (state.waker.take(), None)
        });
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether the change is applied now. A caller whose deadline is over at `now` gets this outcome.
    pub(super) fn take(&self, policy: &Policy, now: Option<Duration>) -> bool {
        let remaining = now.map(|now| self.limits.remaining(policy, || now));
        if remaining == Some(Duration::ZERO) {
            let may_be_applied = self.maybe_applied();
            self.answer(Outcome::failed(CombineError::OutOfTime { may_be_applied }));
        }
        self.receiver.with(|state| {
            state.is_taken = state.is_open();
            state.attempts = state.attempts.saturating_add(1);
            state.is_taken
        })
    }

    /// No write contains the change any more. A caller whose signal has come gets this outcome.
    pub(super) fn give_back(&mut self) {
        self.effect = Effect::Waits;
        let (is_stopped, may_be_applied) = self.receiver.with(|state| {
            state.is_taken = false;
            (state.is_stopped, state.maybe_applied)
        });
        if is_stopped {
            self.answer(Outcome::failed(CombineError::Stopped { may_be_applied }));
        }
    }

    /// An attempt that concerns the caller has failed.
    pub(super) fn fail(&self, maybe_applied: bool) {
        self.receiver.with(|state| {
            state.maybe_applied |= maybe_applied;
            // The attempt of a taken change is already counted.
            state.attempts = state.attempts.saturating_add(u32::from(!state.is_taken));
        });
    }

    /// The waker of the caller, if it waits.
    pub(super) fn waker(&self) -> Option<Waker> {
        self.receiver.with(|state| state.waker.take())
    }
}

impl<V, W, E> Drop for Caller<V, W, E> {
    fn drop(&mut self) {
        let may_be_applied = self
            .receiver
            .with(|state| state.maybe_applied || state.is_taken);
        self.answer(Outcome::failed(CombineError::Interrupted {
            may_be_applied,
        }));
    }
}
