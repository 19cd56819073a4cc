//! A waiting caller: its change, its limits, the steps that it took part in, and its outcome.

use super::error::CombineError;
use crate::{
    drive::{
        handler::{ByCodes, Handle as _},
        write_outcome::WriteOutcome,
    },
    facts::fault::Fault,
    judge::{Ruling, Stage, is_perhaps_written, refuses_value},
    policy::Policy,
    report::Updated,
    state::Participant,
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
    pub(super) limits: Participant,
    /// The caller has a signal, which may have come since its last poll. So the caller is polled before the
    /// next read.
    pub(super) has_signal: bool,
    /// The running or the next write contains the change.
    pub(super) is_taken: bool,
    /// The signal has come: the change takes part in no further write.
    pub(super) is_stopped: bool,
    /// An earlier write may have applied the change.
    pub(super) is_doubtful: bool,
    pub(super) counts: Counts,
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

/// What the callers whom a failed step concerns may do together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    /// The ruling for the callers whose changes may be applied again, if there are any.
    pub(super) ruling: Ruling,
    /// How long the most patient of these callers may go on; `None` if their attempts are used up.
    pub(super) patience: Option<Duration>,
}

/// A failed step, after it was judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failing {
    pub(super) bound: Bound,
    pub(super) stage: Stage,
    /// The step may have been applied.
    pub(super) is_doubtful: bool,
    /// The ruling for changes that recognise their own effect.
    pub(super) ruling: Ruling,
    /// The ruling for the other changes.
    pub(super) blind: Ruling,
}

impl Failing {
    /// Judges the error of a step that failed at this stage.
    pub(super) fn new<E: Fault>(
        policy: &Policy,
        stage: Stage,
        error: &E,
        bound: Bound,
        has_versions: bool,
    ) -> Self {
        // A write that surely did nothing may be repeated, like a read.
        let (harmless, is_doubtful) = match stage {
            Stage::Write => (Stage::Read, is_perhaps_written(error)),
            Stage::Cut => (Stage::CutRead, true),
            stage => (stage, false),
        };
        let ruling = ByCodes.rule(policy, harmless, error);
        let unless = |may_repeat: bool| match is_doubtful && !may_repeat {
            true => ruling.not_repeated(),
            false => ruling,
        };
        Failing {
            bound,
            stage,
            is_doubtful,
            ruling: unless(policy.idempotent),
            // Where values have a version, the version decides.
            blind: unless(policy.idempotent && has_versions),
        }
    }

    /// Whether a write was refused for its value, so that a part of its changes may be accepted.
    pub(super) fn refuses_value<E: Fault>(&self, error: &E) -> bool {
        self.stage == Stage::Write && self.ruling.is_permanent() && refuses_value(error)
    }
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

    /// The ruling about a failed step for this caller.
    pub(super) fn ruling(&self, failing: Failing) -> Ruling {
        let outcome = match self.is_doubtful {
            true => WriteOutcome::Unknown,
            false => WriteOutcome::Known,
        };
        match self.recognises {
            true => failing.ruling,
            false => outcome.corrected(failing.stage, failing.blind),
        }
    }
}
