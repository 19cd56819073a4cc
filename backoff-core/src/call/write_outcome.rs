//! What an update knows of its writes after an attempt has failed.

use crate::{
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
    pub(crate) fn concluded(self, next: Decision) -> Decision {
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
