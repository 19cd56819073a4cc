//! The error of a change to a resource that many callers change at once.

use crate::{
    facts::fault::{Fault, FaultKind},
    report::StopReason,
    text::Loggable,
};
use core::{error::Error, fmt};
use std::sync::Arc;

/// The reason why [`Combining::update`](super::Combining::update) did not succeed.
///
/// This error is a permanent [`Fault`], like a [`RetryError`](crate::RetryError), so that a retry
/// around the call does not multiply the attempts. Only [`Full`](Self::Full) is throttled, and may be
/// retried. Status, gRPC code and text are those of the error inside. The error inside is also the
/// source, so that a search along the sources finds it.
///
/// ```
/// use backoff_core::{Fault, TimedOut, combine::CombineError};
/// use std::{error::Error, time::Duration};
///
/// let error = TimedOut::new(Duration::from_secs(1));
/// let error = CombineError::Own { error, may_be_applied: false };
/// assert!(!error.may_be_applied());
/// assert!(error.source().is_some_and(|source| source.is::<TimedOut>()));
/// assert_eq!(error.error(), Some(&TimedOut::new(Duration::from_secs(1))));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CombineError<E> {
    /// The change itself returned this error. No other change failed with it.
    Own {
        /// The error.
        error: E,
        /// Whether an earlier write may have applied the change.
        may_be_applied: bool,
    },
    /// The read or the write of this change failed. All callers who took part share the error.
    Shared {
        /// The error.
        error: Arc<E>,
        /// The reason why this change takes part in no further attempt.
        reason: StopReason,
        /// Whether this write or an earlier one may have applied the change.
        may_be_applied: bool,
    },
    /// The deadline is over. The running read or write continues as long as another caller waits for it.
    OutOfTime {
        /// Whether a write may have applied the change, or may still apply it.
        may_be_applied: bool,
    },
    /// A signal has ended the waiting ([`Updating::stop_on`](super::Updating::stop_on)).
    Stopped {
        /// Whether a write may have applied the change.
        may_be_applied: bool,
    },
    /// The maximum number of callers ([`Combining::at_most`](super::Combining::at_most)) already waits for
    /// the resource. The change was not applied.
    Full,
    /// The read or the write panicked, or the runtime of the task that made them has ended. The caller may ask again,
    /// unless the change may have been applied and does not recognise its own effect.
    Interrupted {
        /// Whether a write may have applied the change.
        may_be_applied: bool,
    },
}

impl<E> CombineError<E> {
    /// The error of the change, of the read or of the write, if there is one.
    pub fn error(&self) -> Option<&E> {
        match self {
            CombineError::Own { error, .. } => Some(error),
            CombineError::Shared { error, .. } => Some(error),
            CombineError::OutOfTime { .. }
            | CombineError::Stopped { .. }
            | CombineError::Full
            | CombineError::Interrupted { .. } => None,
        }
    }

    /// Whether the change may have been applied, or may still be applied.
    pub const fn may_be_applied(&self) -> bool {
        match self {
            CombineError::Own { may_be_applied, .. }
            | CombineError::Shared { may_be_applied, .. }
            | CombineError::OutOfTime { may_be_applied }
            | CombineError::Stopped { may_be_applied }
            | CombineError::Interrupted { may_be_applied } => *may_be_applied,
            CombineError::Full => false,
        }
    }

    /// The reason why no further attempt is made.
    pub const fn reason(&self) -> StopReason {
        match self {
            CombineError::Own { .. } => StopReason::Permanent,
            CombineError::Shared { reason, .. } => *reason,
            CombineError::OutOfTime { .. } => StopReason::Deadline,
            CombineError::Stopped { .. } => StopReason::Stopped,
            CombineError::Full => StopReason::Full,
            CombineError::Interrupted {
                may_be_applied: true,
            } => StopReason::MaybeApplied,
            CombineError::Interrupted { .. } => StopReason::Stopped,
        }
    }
}

/// The kind of failure, whether the change may have been applied, and the text of the error inside: on
/// one line, cut after 500 characters, and [without secrets](crate::telemetry#secrets).
impl<E: fmt::Display> fmt::Display for CombineError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CombineError::Own { .. } => f.write_str("the change failed")?,
            CombineError::Shared { reason, .. } => write!(f, "gave up: {reason}")?,
            CombineError::OutOfTime { .. } => f.write_str("the deadline is over")?,
            CombineError::Stopped { .. } => f.write_str("the change was stopped by a signal")?,
            CombineError::Full => f.write_str("too many callers wait for the resource")?,
            CombineError::Interrupted { .. } => {
                f.write_str("the read or the write was interrupted")?
            }
        }
        if self.may_be_applied() {
            f.write_str(" (the change may have been applied)")?;
        }
        match self.error() {
            Some(error) => write!(f, ": {}", Loggable(error)),
            None => Ok(()),
        }
    }
}

impl<E: Error + 'static> Error for CombineError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error().map(|error| error as _)
    }
}

impl<E: Fault> Fault for CombineError<E> {
    fn inner(&self) -> Option<&dyn Fault> {
        self.error().map(|error| error as _)
    }

    fn kind(&self) -> Option<FaultKind> {
        Some(match self {
            CombineError::Full => FaultKind::Throttled,
            _ => FaultKind::Permanent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        facts::fault::{Delivery, TimedOut},
        judge::{Verdict, is_perhaps_applied},
        policy::Policy,
    };
    use core::time::Duration;

    fn shared(may_be_applied: bool) -> CombineError<TimedOut> {
        CombineError::Shared {
            error: Arc::new(TimedOut::new(Duration::from_secs(1))),
            reason: StopReason::Attempts,
            may_be_applied,
        }
    }

    #[test]
    fn each_error_has_a_reason_and_says_whether_the_change_may_be_applied() {
        use CombineError::{Full, Interrupted, OutOfTime, Own, Stopped};
        let error = TimedOut::new(Duration::ZERO);
        let said = |error: CombineError<_>| (error.reason(), error.may_be_applied());
        let broken_off = [
            (true, StopReason::MaybeApplied),
            (false, StopReason::Stopped),
        ];
        for (may_be_applied, interrupted) in broken_off {
            let own = Own {
                error,
                may_be_applied,
            };
            for (error, reason) in [
                (own, StopReason::Permanent),
                (shared(may_be_applied), StopReason::Attempts),
                (OutOfTime { may_be_applied }, StopReason::Deadline),
                (Stopped { may_be_applied }, StopReason::Stopped),
                (Interrupted { may_be_applied }, interrupted),
            ] {
                assert_eq!(said(error), (reason, may_be_applied), "{reason}");
            }
        }
        assert_eq!(said(Full), (StopReason::Full, false));
    }

    #[test]
    fn a_policy_around_it_repeats_only_what_was_full() {
        let policy = Policy::exponential();
        assert_eq!(policy.judge(&shared(false)), Verdict::Permanent);
        let may_be_applied = true;
        let late = CombineError::<TimedOut>::OutOfTime { may_be_applied };
        assert_eq!(policy.judge(&late), Verdict::Permanent);
        let full = CombineError::<TimedOut>::Full;
        let Verdict::Retry { kind, .. } = policy.idempotent(false).judge(&full) else {
            panic!("there may be room later")
        };
        assert_eq!(kind, FaultKind::Throttled);
        assert!(!is_perhaps_applied(&full));
    }

    #[test]
    fn the_error_inside_is_the_source_and_tells_its_facts() {
        let error = shared(true);
        assert!(error.source().is_some_and(|inner| inner.is::<TimedOut>()));
        assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
        assert_eq!(
            error.to_string(),
            "gave up: all attempts are used up (the change may have been applied): \
             the attempt was cut after 1s"
        );
        let error = CombineError::Own {
            error: "https://h/?a=SECRET",
            may_be_applied: false,
        };
        let shown = error.to_string();
        assert!(!shown.contains("SECRET"), "{shown}");
    }
}
