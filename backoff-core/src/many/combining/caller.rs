//! A waiting caller: its change, its limits, the steps that it took part in, and its outcome.

use super::error::CombineError;
use crate::{report::Updated, state::Participant};
use core::{any::Any, task::Waker, time::Duration};
use std::sync::Arc;

/// A change: returns whether it changed the value, or its own error.
pub(super) type Change<V, E> = Box<dyn FnMut(&mut V) -> Result<bool, E> + Send>;

/// The payload of a panic.
pub(super) type Panic = Box<dyn Any + Send>;

/// The place of a caller: callers that were polled first have lower numbers.
pub(super) type Place = u64;

/// A waiting caller.
pub(super) struct Caller<V, E> {
    /// `None` while the change is applied.
    pub(super) change: Option<Change<V, E>>,
    /// Whether the change recognises its own effect.
    pub(super) recognises: bool,
    pub(super) waker: Option<Waker>,
    pub(super) limits: Participant,
    /// The caller has a signal, which may have come since its last poll. So the caller is polled before the
    /// next read.
    pub(super) has_signal: bool,
    /// The running or the next write contains the change.
    pub(super) is_taken: bool,
    /// The signal has come: the change takes part in no further write.
    pub(super) is_stopped: bool,
    /// An earlier write may have applied the change.
    pub(super) maybe_applied: bool,
    pub(super) counts: Counts,
}

/// The steps that a caller took part in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) attempts: u32,
    pub(super) writes: u32,
    pub(super) conflicts: u32,
    pub(super) slept: Duration,
    /// Since when it waits for its next attempt, if it does.
    pub(super) rests_since: Option<Duration>,
    /// The log has the end of the group, which is the end of this call.
    pub(super) ends_with_group: bool,
}

impl Counts {
    /// The wait for the next attempt is over.
    pub(super) fn rested(&mut self, now: Duration) {
        if let Some(since) = self.rests_since.take() {
            self.slept = self.slept.saturating_add(now.saturating_sub(since));
        }
    }
}

/// The outcome and the counts that a caller gets at the end.
pub(super) struct Told<V, W, E> {
    pub(super) outcome: Outcome<V, W, E>,
    pub(super) counts: Counts,
    /// The change goes back to its owner, who drops it, whatever its destructor does.
    pub(super) change: Option<Change<V, E>>,
}

/// The outcome for one caller.
pub(super) enum Outcome<V, W, E> {
    /// The callers of a group share one value.
    Done(Updated<Arc<V>, W>),
    Failed(CombineError<E>),
    /// The change panicked.
    Panicked(Panic),
}

/// A change that was taken to be applied.
pub(super) struct PendingChange<V, E> {
    pub(super) place: Place,
    pub(super) change: Change<V, E>,
    /// Whether the caller was there when the read began.
    pub(super) was_there: bool,
}

impl<V, E> Caller<V, E> {
    pub(super) fn new(
        change: Change<V, E>,
        recognises: bool,
        limits: Participant,
        has_signal: bool,
    ) -> Self {
        Caller {
            change: Some(change),
            recognises,
            waker: None,
            limits,
            has_signal,
            is_taken: false,
            is_stopped: false,
            maybe_applied: false,
            counts: Counts::default(),
        }
    }
}
