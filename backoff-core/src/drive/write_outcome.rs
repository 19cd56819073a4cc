//! What an update knows about its writes when an attempt has failed.

use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage},
    report::StopReason,
    state::Next,
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

/// The judge's ruling about a failure of an update, and what is known about the update's writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgedWrite {
    pub(crate) ruling: Ruling,
    pub(crate) outcome: WriteOutcome,
}

/// What a call knows about a failure beside its error, known by type: nothing (`()`), a
/// [`JudgedWrite`] of an update, or what the call remembers for its attempts
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

    /// The ruling about the failure, before it is told.
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
    /// The ruling as it is applied. The writer that won against a second write may be the first write of this
    /// update.
    #[inline]
    pub(crate) fn corrected(self, stage: Stage, ruling: Ruling) -> Ruling {
        if self == WriteOutcome::Unknown && stage != Stage::Read && ruling.is_conflict() {
            Ruling::MAYBE_APPLIED
        } else {
            ruling
        }
    }

    /// The next step as it is applied. While a write may have been applied, this is the reason for the end.
    #[inline]
    pub(super) fn concluded(self, next: Next) -> Next {
        let is_refused = matches!(
            next.reason(),
            Some(StopReason::Permanent | StopReason::NothingKnown | StopReason::StoppedByServer)
        );
        match self {
            WriteOutcome::Known => next,
            WriteOutcome::JustUnknown if is_refused => next,
            _ if next.is_wait() => next,
            WriteOutcome::JustUnknown | WriteOutcome::Unknown => {
                Next::stop(StopReason::MaybeApplied)
            }
        }
    }
}
