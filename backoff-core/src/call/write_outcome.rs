//! What an update knows of its writes after an attempt has failed.

use crate::{delay::Pace, judge::Verdict, report::StopReason, stage::Stage, state::Decision};

/// Whether a write of an update may have been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum WriteOutcome {
    /// No write may have been applied.
    Known,
    /// The write that failed just now may have been applied, if its failure is retried.
    JustUnknown,
    /// An earlier write may have been applied.
    Unknown,
}

/// What an operation remembers of its failed attempts, for the decision.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub enum Remembered<'m> {
    /// Nothing that matters for the decision.
    Nothing,
    /// The input of the operation is used up, so that no attempt can follow.
    UsedUp,
    /// The writes of an update, and the pace of its waits.
    Writes(WriteOutcome, &'m Pace),
}

impl WriteOutcome {
    /// The verdict after a correction: if a second write meets a conflict, the first write of this update may be
    /// the winner.
    #[inline]
    pub(crate) fn corrected(self, stage: Stage, verdict: Verdict) -> Verdict {
        if self == WriteOutcome::Unknown && stage != Stage::Read && verdict.is_conflict() {
            Verdict::MaybeApplied
        } else {
            verdict
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
