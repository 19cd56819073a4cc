//! A read or a write that failed, after it was judged.

use super::caller::Caller;
use crate::{
    call::{operation::JudgedFailure, settings::judges::Judge},
    facts::fault::Fault,
    judge::{Verdict, is_perhaps_written, refuses_value},
    policy::Policy,
    stage::{EndedBy, Stage},
};

/// A failed step, after it was judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedStep {
    /// The changes of the group were taken, so the failure concerns only the group. A read that failed concerns all
    /// callers who waited for it.
    pub(super) is_taken: bool,
    pub(super) stage: Stage,
    pub(super) ended_by: EndedBy,
    /// The step may have been applied.
    pub(super) maybe_applied: bool,
    /// The verdict for changes that recognise their own effect.
    pub(super) verdict: Verdict,
}

impl FailedStep {
    /// Judges the error of a step that failed at this stage, or was cut there.
    pub(super) fn new<E: Fault>(
        policy: &Policy,
        judge: &dyn Judge<E>,
        (stage, ended_by): (Stage, EndedBy),
        error: &E,
        is_taken: bool,
    ) -> Self {
        let is_cut = ended_by != EndedBy::Operation;
        // A write that surely did nothing may be repeated, like a read.
        let harmless = match stage {
            Stage::Write => Stage::Read,
            stage => stage,
        };
        let maybe_applied = stage == Stage::Write && (is_cut || is_perhaps_written(error));
        let verdict = match harmless.is_judged() && !is_cut {
            true => judge.judge(policy, harmless, error),
            false => policy.rule_unjudged(harmless),
        };
        FailedStep {
            is_taken,
            stage,
            ended_by,
            maybe_applied,
            verdict: match maybe_applied && !policy.idempotent {
                true => verdict.not_repeated(),
                false => verdict,
            },
        }
    }

    /// The failure of the step, with this verdict.
    pub(super) fn judged<'e, E: Fault>(
        &self,
        error: &'e E,
        verdict: Verdict,
    ) -> JudgedFailure<'e, E> {
        JudgedFailure {
            error: Some(error),
            fault: Some(error),
            stage: self.stage,
            ended_by: self.ended_by,
            verdict,
        }
    }

    /// Whether a write was refused for its value, so that a part of its changes may be accepted.
    pub(super) fn refuses_value<E: Fault>(&self, error: &E) -> bool {
        self.stage == Stage::Write
            && self.ended_by == EndedBy::Operation
            && self.verdict.is_permanent()
            && refuses_value(error)
    }

    /// The verdict for this caller. A change that does not recognise its own effect is not applied twice.
    pub(super) fn verdict_for<V, W, E>(&self, caller: &Caller<V, W, E>) -> Verdict {
        match self.maybe_applied && !caller.recognises {
            true => self.verdict.not_repeated(),
            false => self.verdict,
        }
    }
}
