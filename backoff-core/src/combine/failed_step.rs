//! A read or a write that failed, after it was judged.

use super::caller::Caller;
use crate::{
    call::settings::judges::Judge,
    facts::fault::Fault,
    judge::{Ruling, Stage, is_perhaps_written, refuses_value},
    policy::Policy,
};

/// A failed step, after it was judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedStep {
    /// The changes of the group were taken, so the failure concerns only the group. A read that failed concerns all
    /// callers who waited for it.
    pub(super) is_taken: bool,
    pub(super) stage: Stage,
    /// The step may have been applied.
    pub(super) maybe_applied: bool,
    /// The ruling for changes that recognise their own effect.
    pub(super) ruling: Ruling,
}

impl FailedStep {
    /// Judges the error of a step that failed at this stage.
    pub(super) fn new<E: Fault>(
        policy: &Policy,
        judge: &dyn Judge<E>,
        stage: Stage,
        error: &E,
        is_taken: bool,
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
        FailedStep {
            is_taken,
            stage,
            maybe_applied,
            ruling: match maybe_applied && !policy.idempotent {
                true => ruling.not_repeated(),
                false => ruling,
            },
        }
    }

    /// Whether a write was refused for its value, so that a part of its changes may be accepted.
    pub(super) fn refuses_value<E: Fault>(&self, error: &E) -> bool {
        self.stage == Stage::Write && self.ruling.is_permanent() && refuses_value(error)
    }

    /// The ruling for this caller. A change that does not recognise its own effect is not applied twice.
    pub(super) fn ruling_for<V, W, E>(&self, caller: &Caller<V, W, E>) -> Ruling {
        match self.maybe_applied && !caller.recognises {
            true => self.ruling.not_repeated(),
            false => self.ruling,
        }
    }
}
