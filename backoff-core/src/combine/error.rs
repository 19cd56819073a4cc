//! The error of a change to a resource that many callers change at once.

use crate::{
    call::settings::values::Conflict,
    facts::fault::{Fault, FaultKind, TimedOut},
    report::StopReason,
    text::Loggable,
};
use core::{error::Error, fmt, ops::Deref};
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
    /// The caller has left ([`Changing::leave`](super::Changing::leave)).
    Left {
        /// Whether a write may have applied the change.
        may_be_applied: bool,
    },
    /// The maximum number of callers ([`Combining::at_most`](super::Combining::at_most)) already waits for
    /// the resource. The change was not applied.
    Full,
    /// The read or the write panicked, or the runtime of the task that made them has ended, or the write was cut at a time
    /// limit. The caller may ask again, unless the change may have been applied and does not recognise its own effect.
    Interrupted {
        /// Whether a write may have applied the change.
        may_be_applied: bool,
    },
}

impl<E> CombineError<E> {
    /// The error of the change, of the read or of the write, if there is one.
    pub fn error(&self) -> Option<&E> {
        match self {
            Self::Own { error, .. } => Some(error),
            Self::Shared { error, .. } => Some(error),
            Self::Left { .. } | Self::Full | Self::Interrupted { .. } => None,
        }
    }

    /// Whether the change may have been applied, or may still be applied.
    pub const fn may_be_applied(&self) -> bool {
        match self {
            Self::Own { may_be_applied, .. }
            | Self::Shared { may_be_applied, .. }
            | Self::Left { may_be_applied }
            | Self::Interrupted { may_be_applied } => *may_be_applied,
            Self::Full => false,
        }
    }

    /// The reason why no further attempt is made.
    pub const fn reason(&self) -> StopReason {
        match self {
            Self::Own { .. } => StopReason::Permanent,
            Self::Shared { reason, .. } => *reason,
            Self::Full => StopReason::Full,
            Self::Interrupted { may_be_applied } if *may_be_applied => StopReason::MaybeApplied,
            Self::Interrupted { .. } | Self::Left { .. } => StopReason::Stopped,
        }
    }
}

/// The kind of failure, whether the change may have been applied, and the text of the error inside: on
/// one line, cut after 500 characters, and [without secrets](crate::telemetry#secrets).
impl<E: fmt::Display> fmt::Display for CombineError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own { .. } => f.write_str("the change failed")?,
            Self::Shared { reason, .. } => write!(f, "gave up: {reason}")?,
            Self::Left { .. } => f.write_str("the caller has left")?,
            Self::Full => f.write_str("too many callers wait for the resource")?,
            Self::Interrupted { .. } => f.write_str("the read or the write was interrupted")?,
        }
        if self.may_be_applied() {
            f.write_str(" (the change may have been applied)")?;
        }
        self.error()
            .map_or(Ok(()), |error| write!(f, ": {}", Loggable(error)))
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
        match self {
            Self::Full => Some(FaultKind::Throttled),
            _ => Some(FaultKind::Permanent),
        }
    }

    fn may_be_written(&self) -> bool {
        self.may_be_applied()
    }
}

/// The error of the read-modify-write of a group, which its callers share. Only a [`Group`](super::Group) makes it from the
/// error of a read or a write, and the settings of the call from a [`TimedOut`] or a [`Conflict`]. It is a [`Fault`] with the
/// facts of the error inside.
#[derive(Debug)]
pub struct Shared<E>(Arc<E>);

impl<E> Shared<E> {
    pub(super) fn new(error: E) -> Self {
        Shared(Arc::new(error))
    }

    /// The error of a caller.
    pub(super) fn told(&self, reason: StopReason, may_be_applied: bool) -> CombineError<E> {
        CombineError::Shared {
            error: Arc::clone(&self.0),
            reason,
            may_be_applied,
        }
    }
}

impl<E: From<TimedOut>> From<TimedOut> for Shared<E> {
    fn from(late: TimedOut) -> Self {
        Shared::new(E::from(late))
    }
}

impl<E: From<Conflict>> From<Conflict> for Shared<E> {
    fn from(conflict: Conflict) -> Self {
        Shared::new(E::from(conflict))
    }
}

impl<E> Deref for Shared<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0
    }
}

impl<E: Fault> Fault for Shared<E> {
    fn inner(&self) -> Option<&dyn Fault> {
        Some(&*self.0)
    }

    fn may_be_written(&self) -> bool {
        self.0.may_be_written()
    }

    fn refuses_value(&self) -> bool {
        self.0.refuses_value()
    }

    fn late() -> Option<fn(TimedOut) -> Self> {
        E::late()?;
        Some(|late| Shared::new(E::late().expect("the error says how it is made")(late)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{facts::fault::Delivery, judge::Verdict, policy::Policy};
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
        use CombineError::{Full, Interrupted, Left, Own};
        use StopReason::{Attempts, MaybeApplied, Permanent, Stopped};
        let error = TimedOut::new(Duration::ZERO);
        for (may_be_applied, interrupted) in [(true, MaybeApplied), (false, Stopped)] {
            let own = Own {
                error,
                may_be_applied,
            };
            for (error, reason) in [
                (own, Permanent),
                (shared(may_be_applied), Attempts),
                (Left { may_be_applied }, Stopped),
                (Interrupted { may_be_applied }, interrupted),
            ] {
                let said = (error.reason(), error.may_be_applied());
                assert_eq!(said, (reason, may_be_applied));
                assert_eq!(error.may_be_written(), may_be_applied);
            }
        }
        let full = Full::<TimedOut>;
        assert_eq!(
            (full.reason(), full.may_be_applied()),
            (StopReason::Full, false)
        );
    }

    #[test]
    fn a_policy_around_it_repeats_only_what_was_full() {
        let policy = Policy::exponential();
        assert_eq!(policy.judge(&shared(false)), Verdict::Permanent);
        let may_be_applied = true;
        let left = CombineError::<TimedOut>::Left { may_be_applied };
        assert_eq!(policy.judge(&left), Verdict::Permanent);
        let full = CombineError::<TimedOut>::Full;
        let Verdict::Retry { kind, .. } = policy.idempotent(false).judge(&full) else {
            panic!("there may be room later")
        };
        assert_eq!(kind, FaultKind::Throttled);
        assert!(!full.may_be_written());
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
