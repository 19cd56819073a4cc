//! A caller that waits: its change, what it allows, which steps it took part in, and what it is told.

use super::error::CombineError;
use crate::{
    report::{StopReason, Updated},
    state::{Wait, WaitSource},
};
use core::{any::Any, task::Waker, time::Duration};

/// A change: whether it changed the value, or its own error.
pub(super) type Change<V, E> = Box<dyn FnMut(&mut V) -> Result<bool, E> + Send>;

/// What a panic carries.
pub(super) type Panic = Box<dyn Any + Send>;

/// The place of a caller: lower numbers were polled first.
pub(super) type Place = u64;

/// Whoever waits.
pub(super) struct Caller<V, E> {
    /// `None` while it is applied.
    pub(super) change: Option<Change<V, E>>,
    /// Whether the change recognises its own effect.
    pub(super) recognises: bool,
    pub(super) waker: Option<Waker>,
    pub(super) limits: Limits,
    /// Failed attempts that it took part in.
    pub(super) failures: u32,
    /// Those of them that are conflicts which were waited after at the pace of the resource.
    pub(super) paced: u32,
    /// The change is part of what is written, or will be.
    pub(super) is_taken: bool,
    /// Its signal has come: its change takes part in no further write.
    pub(super) is_stopped: bool,
    /// An earlier write may have applied the change.
    pub(super) is_doubtful: bool,
    pub(super) counts: Counts,
}

/// What a caller allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) attempts: u32,
    /// How many conflicts that were waited after at the pace do not count.
    pub(super) more_at_pace: u32,
    /// On the runtime's clock.
    pub(super) until: Option<Duration>,
    /// A signal may have come that the caller has not asked, so it is polled before the next read.
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

/// What a caller is told at the end.
pub(super) struct Told<V, W, E> {
    pub(super) outcome: Outcome<V, W, E>,
    pub(super) counts: Counts,
    /// So that it is dropped by its owner, whatever its destructor does.
    pub(super) change: Option<Change<V, E>>,
}

/// How it ended for one caller.
pub(super) enum Outcome<V, W, E> {
    Done(Updated<V, W>),
    Failed(CombineError<E>),
    /// The change panicked.
    Panicked(Panic),
}

/// A change that was taken to be applied.
pub(super) struct Hand<V, E> {
    pub(super) place: Place,
    pub(super) change: Change<V, E>,
    /// Whether the caller was there when the read began.
    pub(super) was_there: bool,
}

/// Those whom a failed step binds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// Those who were there when a read began: with lower places than this.
    Before(Place),
    /// Those whose changes were written.
    Taken,
}

/// Those whom a failed step binds, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    pub(super) all: usize,
    /// Those whose changes may be applied again.
    pub(super) repeatable: usize,
    /// Those of them who have attempts left.
    pub(super) able: usize,
    /// The last deadline of those; `None` where one of them has none.
    pub(super) until: Option<Duration>,
}

/// What a failed step was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failing {
    pub(super) bound: Bound,
    /// It may have been applied.
    pub(super) is_doubtful: bool,
    /// Changes that do not recognise themselves must not be applied again.
    pub(super) ends_blind: bool,
    pub(super) is_conflict: bool,
    /// It is waited after at the pace of the resource.
    pub(super) is_paced: bool,
}

/// What follows after a failed step for those who go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Going {
    pub(super) wait: Wait,
    /// When the next attempt begins, where somebody has a deadline.
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
        // Whoever was faster than a second write may have been the first one.
        let is_overtaken = failing.is_conflict && self.is_taken && self.is_doubtful;
        self.recognises || !failing.ends_blind && !is_overtaken
    }

    /// Why no attempt follows for this caller after a shared failure, if none does.
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
