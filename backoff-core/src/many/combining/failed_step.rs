//! A read or a write that failed: the ruling, and the callers whom the failure concerns.

use super::caller::{Caller, Place};
use crate::{
    call::{settings::judges::Judge, write_outcome::WriteOutcome},
    facts::fault::Fault,
    judge::{Ruling, Stage, is_perhaps_written, refuses_value},
    policy::Policy,
};
use core::time::Duration;

/// The callers whom a failed step concerns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Concerned {
    /// The callers who were waiting when a read began: with lower places than this.
    Before(Place),
    /// The callers whose changes were written.
    Taken,
}

/// The ruling and the time for the callers whom a failed step concerns, together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    /// The ruling for the callers whose changes may be applied again, if there are any.
    pub(super) ruling: Ruling,
    /// How long the most patient of these callers may go on; `None` if their attempts are used up.
    pub(super) patience: Option<Duration>,
}

/// A failed step, after it was judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedStep {
    pub(super) concerned: Concerned,
    pub(super) stage: Stage,
    /// The step may have been applied.
    pub(super) maybe_applied: bool,
    /// The ruling for changes that recognise their own effect.
    pub(super) ruling: Ruling,
    /// The ruling for the other changes.
    pub(super) blind: Ruling,
}

impl FailedStep {
    /// Judges the error of a step that failed at this stage.
    pub(super) fn new<E: Fault>(
        policy: &Policy,
        judge: &dyn Judge<E>,
        stage: Stage,
        error: &E,
        concerned: Concerned,
        has_versions: bool,
    ) -> Self {
        // A write that surely did nothing may be repeated, like a read.
        let (harmless, maybe_applied) = match stage {
            Stage::Write => (Stage::Read, is_perhaps_written(error)),
            Stage::Cut => (Stage::CutRead, true),
            stage => (stage, false),
        };
        let ruling = match harmless.is_judged() {
            true => judge.judge(policy, harmless, error),
            false => harmless.ruling(policy),
        };
        let unless = |may_repeat: bool| match maybe_applied && !may_repeat {
            true => ruling.not_repeated(),
            false => ruling,
        };
        FailedStep {
            concerned,
            stage,
            maybe_applied,
            ruling: unless(policy.idempotent),
            // Where values have a version, the version decides.
            blind: unless(policy.idempotent && has_versions),
        }
    }

    /// Whether a write was refused for its value, so that a part of its changes may be accepted.
    pub(super) fn refuses_value<E: Fault>(&self, error: &E) -> bool {
        self.stage == Stage::Write && self.ruling.is_permanent() && refuses_value(error)
    }

    /// Whether the failure concerns the caller with this place.
    pub(super) const fn concerns<V, E>(&self, place: Place, caller: &Caller<V, E>) -> bool {
        match self.concerned {
            Concerned::Before(mark) => place < mark,
            Concerned::Taken => caller.is_taken,
        }
    }

    /// The ruling for this caller.
    pub(super) fn ruling_for<V, E>(&self, caller: &Caller<V, E>) -> Ruling {
        let outcome = match caller.maybe_applied {
            true => WriteOutcome::Unknown,
            false => WriteOutcome::Known,
        };
        match caller.recognises {
            true => self.ruling,
            false => outcome.corrected(self.stage, self.blind),
        }
    }
}
