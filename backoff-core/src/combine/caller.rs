//! A resource and its callers. A caller has two halves: the [`Receiver`] that its future shares with the task of the
//! resource, and the [`Caller`] that the task has.

use super::error::CombineError;
use crate::{
    report::Updated,
    sync::{Mutex, MutexGuard, lock},
};
use core::{
    any::Any,
    mem,
    task::{Poll, Waker},
};
use std::sync::Arc;

/// A change: returns whether it changed the value, or its own error.
pub(super) type Change<V, E> = Box<dyn FnMut(&mut V) -> Result<bool, E> + Send>;

/// The outcome for one caller, or the panic of its change. The callers of a group share one value.
pub(super) type Outcome<V, W, E> =
    Result<Result<Updated<Arc<V>, W>, CombineError<E>>, Box<dyn Any + Send>>;

/// A resource that somebody waits for.
pub(super) struct Resource<V, W, E>(Mutex<Queue<V, W, E>>);

pub(super) struct Queue<V, W, E> {
    /// Who waits for the next read, in the order of the first polls.
    pub(super) waiting: Vec<Caller<V, W, E>>,
    /// The number of callers who have no outcome and have not left.
    pub(super) present: usize,
    pub(super) has_task: bool,
    /// Woken when nobody is present any more.
    pub(super) task: Option<Waker>,
}

impl<V, W, E> Resource<V, W, E> {
    /// No code of a caller runs under this lock.
    pub(super) fn queue(&self) -> MutexGuard<'_, Queue<V, W, E>> {
        lock(&self.0)
    }
}

impl<V, W, E> Default for Resource<V, W, E> {
    fn default() -> Self {
        Resource(Mutex::new(Queue {
            waiting: Vec::new(),
            present: 0,
            has_task: false,
            task: None,
        }))
    }
}

/// What the future of a caller shares with the task.
pub(super) struct Receiver<V, W, E> {
    pub(super) resource: Arc<Resource<V, W, E>>,
    state: Mutex<State<V, W, E>>,
}

pub(super) struct State<V, W, E> {
    outcome: Option<Outcome<V, W, E>>,
    waker: Option<Waker>,
    /// The caller has no outcome and has not left.
    is_open: bool,
    /// The caller takes part in no further write.
    is_leaving: bool,
    /// The running or the next write contains the change.
    is_taken: bool,
    /// An earlier write may have applied the change.
    maybe_applied: bool,
}

impl<V, W, E> Receiver<V, W, E> {
    /// No code of a caller runs under this lock.
    fn with<T>(&self, look: impl FnOnce(&mut State<V, W, E>) -> T) -> T {
        look(&mut lock(&self.state))
    }

    pub(super) fn is_open(&self) -> bool {
        self.with(|state| state.is_open)
    }

    /// The outcome. If there is none yet, `waker` is woken with it.
    pub(super) fn poll(&self, waker: Waker) -> Poll<Outcome<V, W, E>> {
        let mut waker = Some(waker);
        let outcome = self.with(|state| {
            if state.outcome.is_none() {
                mem::swap(&mut state.waker, &mut waker);
            }
            state.outcome.take()
        });
        outcome.map_or(Poll::Pending, Poll::Ready)
    }

    /// Ends the waiting, unless the caller has an outcome or has left.
    fn end(&self, outcome: impl FnOnce(&State<V, W, E>) -> Option<Outcome<V, W, E>>) {
        let mut outcome = Some(outcome);
        let woken = self.with(|state| {
            let outcome = outcome.take_if(|_| state.is_open)?;
            state.outcome = outcome(state);
            state.is_open = false;
            Some(state.waker.take())
        });
        let Some(waker) = woken else { return };
        let task = {
            let mut queue = self.resource.queue();
            queue.present -= 1;
            let is_last = queue.present == 0;
            queue.task.take_if(|_| is_last)
        };
        waker.into_iter().chain(task).for_each(Waker::wake);
    }

    /// The caller waits no longer. Returns whether a write may have applied its change, or may still apply it.
    pub(super) fn withdraw(&self) -> bool {
        self.end(|_| None);
        self.with(|state| state.is_taken || state.maybe_applied)
    }

    /// The caller takes part in no further write, and gets its outcome at once if no write contains its change.
    pub(super) fn leave(&self) {
        let is_taken = self.with(|state| {
            state.is_leaving = true;
            state.is_taken
        });
        if !is_taken {
            self.end(left);
        }
    }
}

fn left<V, W, E>(state: &State<V, W, E>) -> Option<Outcome<V, W, E>> {
    let may_be_applied = state.maybe_applied;
    Some(Ok(Err(CombineError::Left { may_be_applied })))
}

/// What a change did to the value of its group.
#[derive(Clone, Copy, PartialEq)]
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
    /// Whether the caller was there when the read began.
    pub(super) was_there: bool,
    /// Whether the caller came after the first attempt of its group.
    pub(super) is_late: bool,
    pub(super) effect: Effect,
    receiver: Arc<Receiver<V, W, E>>,
}

impl<V, W, E> Caller<V, W, E> {
    pub(super) fn new(
        resource: Arc<Resource<V, W, E>>,
        change: Change<V, E>,
        recognises: bool,
    ) -> (Arc<Receiver<V, W, E>>, Self) {
        let state = Mutex::new(State {
            outcome: None,
            waker: None,
            is_open: true,
            is_leaving: false,
            is_taken: false,
            maybe_applied: false,
        });
        let receiver = Arc::new(Receiver { resource, state });
        let caller = Caller {
            change,
            recognises,
            was_there: false,
            is_late: false,
            effect: Effect::Waits,
            receiver: Arc::clone(&receiver),
        };
        (receiver, caller)
    }

    pub(super) fn is_open(&self) -> bool {
        self.receiver.is_open()
    }

    /// Whether the change is applied now. From here on, a write may contain it.
    pub(super) fn take(&self) -> bool {
        self.receiver.with(|state| {
            state.is_taken = state.is_open && !state.is_leaving;
            state.is_taken
        })
    }

    /// No write contains the change any more. Returns whether the caller still waits.
    pub(super) fn give_back(&self, maybe_applied: bool) -> bool {
        let is_leaving = self.receiver.with(|state| {
            state.is_taken = false;
            state.maybe_applied |= maybe_applied;
            state.is_leaving
        });
        if is_leaving {
            self.receiver.end(left);
        }
        self.is_open()
    }

    /// The outcome gets whether a write that has ended may have applied the change.
    pub(super) fn end(&self, outcome: impl FnOnce(bool) -> Outcome<V, W, E>) {
        self.receiver
            .end(|state| Some(outcome(state.maybe_applied)));
    }

    /// The waker of the caller, which begins the next task.
    pub(super) fn take_waker(&self) -> Option<Waker> {
        self.receiver.with(|state| state.waker.take())
    }
}

impl<V, W, E> Drop for Caller<V, W, E> {
    fn drop(&mut self) {
        self.receiver.end(|state| {
            if state.is_leaving && !state.is_taken {
                return left(state);
            }
            let may_be_applied = state.is_taken || state.maybe_applied;
            Some(Ok(Err(CombineError::Interrupted { may_be_applied })))
        });
    }
}
