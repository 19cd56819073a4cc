//! A waiting caller: its change, its limits, the steps that it took part in, and its outcome.

use super::error::CombineError;
use crate::{
    report::{StopReason, Updated},
    state::{Wait, WaitSource},
};
use core::{any::Any, task::Waker, time::Duration};

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
    pub(super) limits: Limits,
    /// The failed attempts that the caller took part in.
    pub(super) failures: u32,
    /// How many of these failures are conflicts with a wait at the pace of the resource.
    pub(super) paced: u32,
    /// The running or the next write contains the change.
    pub(super) is_taken: bool,
    /// The signal has come: the change takes part in no further write.
    pub(super) is_stopped: bool,
    /// An earlier write may have applied the change.
    pub(super) is_doubtful: bool,
    pub(super) counts: Counts,
}

/// The limits of a caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) attempts: u32,
    /// How many conflicts with a wait at the pace do not count as attempts.
    pub(super) more_at_pace: u32,
    /// The deadline, on the runtime's clock.
    pub(super) until: Option<Duration>,
    /// The caller has a signal, which may have come since its last poll. So the caller is polled before the
    /// next read.
    pub(super) has_signal: bool,
}

/// The steps that a caller took part in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) attempts: u32,
    pub(super) writes: u32,
    pub(super) conflicts: u32,
    pub(super) slept: Duration,
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
    Done(Updated<V, W>),
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

/// The callers whom a failed step concerns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// The callers who were waiting when a read began: with lower places than this.
    Before(Place),
    /// The callers whose changes were written.
    Taken,
}

/// The numbers of callers whom a failed step concerns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    pub(super) all: usize,
    /// The callers whose changes may be applied again.
    pub(super) repeatable: usize,
    /// The repeatable callers who have attempts left.
    pub(super) able: usize,
    /// The last deadline of the able callers; `None` if one of them has no deadline.
    pub(super) until: Option<Duration>,
}

/// The kind of a failed step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failing {
    pub(super) bound: Bound,
    /// The step may have been applied.
    pub(super) is_doubtful: bool,
    /// Changes that do not recognise their own effect must not be applied again.
    pub(super) ends_blind: bool,
    pub(super) is_conflict: bool,
    /// The wait after this step follows the pace of the resource.
    pub(super) is_paced: bool,
}

/// The next step after a failure, for the callers who continue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Going {
    pub(super) wait: Wait,
    /// When the next attempt begins, if any caller has a deadline.
    pub(super) begins: Option<Duration>,
}

impl<V, E> Caller<V, E> {
    pub(super) fn new(change: Change<V, E>, recognises: bool, limits: Limits) -> Self {
        Caller {
            change: Some(change),
            recognises,
            waker: None,
            limits,
            failures: 0,
            paced: 0,
            is_taken: false,
            is_stopped: false,
            is_doubtful: false,
            counts: Counts::default(),
        }
    }

    pub(super) const fn is_bound(&self, place: Place, bound: Bound) -> bool {
        match bound {
            Bound::Before(mark) => place < mark,
            Bound::Taken => self.is_taken,
        }
    }

    pub(super) fn has_attempts(&self) -> bool {
        let more = self.paced.min(self.limits.more_at_pace);
        self.failures < self.limits.attempts.saturating_add(more)
    }

    pub(super) const fn is_repeatable(&self, failing: Failing) -> bool {
        // The writer that won against a second write may be the first write.
        let is_overtaken = failing.is_conflict && self.is_taken && self.is_doubtful;
        self.recognises || !failing.ends_blind && !is_overtaken
    }

    /// The reason why no attempt follows for this caller after a shared failure, if none follows.
    pub(super) fn stops(
        &self,
        failing: Failing,
        next: Result<Going, StopReason>,
    ) -> Option<StopReason> {
        if !self.is_repeatable(failing) {
            return Some(StopReason::MaybeApplied);
        }
        match next {
            Err(reason) => Some(reason),
            Ok(_) if !self.has_attempts() => Some(StopReason::Attempts),
            Ok(going) => {
                let is_late = |until| going.begins.is_some_and(|begins| begins > until);
                let is_late = self.limits.until.is_some_and(is_late);
                is_late.then_some(match going.wait.source {
                    WaitSource::Backoff => StopReason::Deadline,
                    WaitSource::RetryAfter | WaitSource::RetryInfo => StopReason::RetryAfter,
                })
            }
        }
    }
}
