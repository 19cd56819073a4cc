//! What an update knows of its writes after an attempt has failed.

use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage},
    report::StopReason,
    state::Decision,
};

/// Whether a write of an update may have been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// No write may have been applied.
    Known,
    /// The write that failed just now may have been applied, if its failure is retried.
    JustUnknown,
    /// An earlier write may have been applied.
    Unknown,
}

/// The judge's ruling about a failure of an update, and whether a write may have been applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgedWrite {
    pub(crate) ruling: Ruling,
    pub(crate) outcome: WriteOutcome,
}

/// The information of a call about a failure, beside its error: none (`()`), a
/// [`JudgedWrite`] of an update, or the memory of the call for its attempts
/// ([`CallInfo`](super::call_info::CallInfo)).
pub(crate) trait FailureContext {
    /// The judge's ruling about the failure, if the judge was asked before.
    #[inline]
    fn ruling(&self) -> Option<Ruling> {
        None
    }

    /// Whether a write may have been applied.
    #[inline]
    fn outcome(&self) -> WriteOutcome {
        WriteOutcome::Known
    }

    /// Called with the ruling about the failure, before hooks and logs get the failure.
    #[inline]
    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
        let _ = (stage, ruling, fault);
    }
}

impl FailureContext for () {}

impl FailureContext for JudgedWrite {
    #[inline]
    fn ruling(&self) -> Option<Ruling> {
        Some(self.ruling)
    }

    #[inline]
    fn outcome(&self) -> WriteOutcome {
        self.outcome
    }
}

impl WriteOutcome {
    /// The ruling after a correction: if a second write meets a conflict, the first write of this update may be
    /// the winner.
    #[inline]
    pub(crate) fn corrected(self, stage: Stage, ruling: Ruling) -> Ruling {
        if self == WriteOutcome::Unknown && stage != Stage::Read && ruling.is_conflict() {
            Ruling::MAYBE_APPLIED
        } else {
            ruling
        }
    }

    /// The next step after a correction: while a write may have been applied, a call ends for this reason.
    #[inline]
    pub(super) fn concluded(self, next: Decision) -> Decision {
        let is_refused = matches!(
            next.reason(),
            Some(StopReason::Permanent | StopReason::NothingKnown | StopReason::StoppedByServer)
        );
        match self {
            WriteOutcome::Known => next,
            WriteOutcome::JustUnknown if is_refused => next,
            _ if next.is_wait() => next,
            WriteOutcome::JustUnknown | WriteOutcome::Unknown => {
                Decision::Stop(StopReason::MaybeApplied)
            }
        }
    }
}
