//! `Fault` for `std::io::Error`, and the conversion of a cut attempt to such an error.

use super::{
    boxed::{Cause, first_known},
    sources::begins_with,
};
use crate::drive::stopping::Stopped;
use crate::facts::{
    fault::{Delivery, Fault, FaultKind, TimedOut},
    not_opened::NotOpened,
};
use core::fmt;
use std::{
    io::{Error, ErrorKind},
    sync::Arc,
};

/// Refused, or host name not found: not sent. The connection broke, the host was unreachable, the
/// socket was not connected (an open connection may end like that too), or no data came in time (Unix
/// reports this as `WouldBlock`): perhaps applied. Interrupted: transient. All other errors are
/// permanent: a retry does not create a missing file. For `Other`, nothing is known.
///
/// If the error was made from another error ([`io::Error::other`](Error::other)), the inner error
/// decides, if it or one of its sources is known: another `io::Error`, or an error of the clients whose
/// features are on.
impl Fault for Error {
    fn inner(&self) -> Option<&dyn Fault> {
        first_known(Cause::new(self.get_ref()?), &|_| None)
    }

    fn delivery(&self) -> Option<Delivery> {
        if let Some(inner) = self.inner() {
            return inner.delivery();
        }
        match self.kind() {
            ErrorKind::ConnectionRefused => Some(Delivery::NotSent),
            // Linux reports a reset socket like this, whatever was sent on it before.
            ErrorKind::NotConnected
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::TimedOut
            | ErrorKind::WouldBlock
            | ErrorKind::UnexpectedEof => Some(Delivery::MaybeSent),
            _ => is_unknown_name(self).then_some(Delivery::NotSent),
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match self.inner() {
            Some(inner) => inner.kind(),
            None => match self.kind() {
                ErrorKind::Interrupted => Some(FaultKind::Transient),
                // An error whose maker gives no details.
                ErrorKind::Other => None,
                _ => self.delivery().is_none().then_some(FaultKind::Permanent),
            },
        }
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): an error of the kind `TimedOut`, with
/// the [`TimedOut`] inside, where [`get_ref`](Error::get_ref) finds it.
impl From<TimedOut> for Error {
    fn from(error: TimedOut) -> Self {
        Error::new(ErrorKind::TimedOut, error)
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): an error of the kind `Other`, with
/// the [`Stopped`] inside.
impl From<Stopped> for Error {
    fn from(error: Stopped) -> Self {
        Error::other(error)
    }
}

/// For failed openings: an error of the same kind, with the [`NotOpened`] inside.
impl From<NotOpened<Error>> for Error {
    fn from(error: NotOpened<Error>) -> Self {
        Error::new(error.error.kind(), error)
    }
}

/// The same for an error that is shared by the callers who waited for the opening.
impl From<NotOpened<Arc<Error>>> for Error {
    fn from(error: NotOpened<Arc<Error>>) -> Self {
        Error::new(Error::kind(&error.error), error)
    }
}

/// A host name that was not found has no error kind; the standard library says it only in the text.
fn is_unknown_name(error: &Error) -> bool {
    let words = error.get_ref();
    words.is_some_and(|it| begins_with(it, "failed to lookup address information"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge::Verdict, policy::Policy};

    #[test]
    fn a_connection_that_was_never_made_is_retried_by_everybody() {
        let careful = Policy::exponential().idempotent(false);
        let refused = Error::from(ErrorKind::ConnectionRefused);
        assert_eq!(careful.judge(&refused), Verdict::from(true));
    }

    #[test]
    fn one_that_broke_off_is_retried_where_that_is_safe() {
        let policy = Policy::exponential();
        let kinds = [
            ErrorKind::NotConnected,
            ErrorKind::HostUnreachable,
            ErrorKind::NetworkUnreachable,
            ErrorKind::ConnectionReset,
            ErrorKind::ConnectionAborted,
            ErrorKind::BrokenPipe,
            ErrorKind::TimedOut,
            ErrorKind::WouldBlock,
            ErrorKind::UnexpectedEof,
        ];
        for kind in kinds {
            let error = Error::from(kind);
            assert!(error.must_reconnect(), "{kind}");
            assert_ne!(policy.judge(&error), Verdict::Permanent, "{kind}");
            let careful = policy.idempotent(false);
            assert_eq!(careful.judge(&error), Verdict::MaybeApplied, "{kind}");
        }
    }

    #[test]
    fn what_was_interrupted_is_transient_and_the_rest_permanent() {
        let policy = Policy::exponential();
        let interrupted = Error::from(ErrorKind::Interrupted);
        assert_ne!(policy.judge(&interrupted), Verdict::Permanent);
        assert!(!interrupted.must_reconnect());
        for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied] {
            assert_eq!(policy.judge(&Error::from(kind)), Verdict::Permanent);
        }
        let other = Error::other("no kind of its own");
        assert_eq!(policy.judge(&other), Verdict::NothingKnown);
    }

    #[test]
    fn an_attempt_that_a_signal_cut_keeps_the_reason_and_is_not_repeated() {
        let error = Error::from(Stopped::new());
        let inside = error.get_ref().and_then(|it| it.downcast_ref());
        assert_eq!(inside, Some(&Stopped::new()));
        assert_eq!(Policy::exponential().judge(&error), Verdict::Permanent);
    }

    #[test]
    fn an_attempt_that_was_cut_timed_out() {
        let cut = TimedOut::new(core::time::Duration::from_secs(1));
        let error = Error::from(cut);
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "the attempt was cut after 1s");
        let inside = error.get_ref().and_then(|it| it.downcast_ref());
        assert_eq!(inside, Some(&cut));
        assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
        assert_eq!(Fault::kind(&error), None);
        let careful = Policy::exponential().idempotent(false);
        assert_eq!(careful.judge(&error), Verdict::MaybeApplied);
    }

    #[test]
    fn an_opening_that_failed_was_not_sent() {
        let pause = Some(core::time::Duration::from_millis(20));
        let careful = Policy::exponential().idempotent(false);
        let timed_out = || Error::from(ErrorKind::TimedOut);
        let (owned, shared) = (timed_out(), Arc::new(timed_out()));
        for error in [
            Error::from(NotOpened {
                error: owned,
                pause,
            }),
            Error::from(NotOpened {
                error: shared,
                pause,
            }),
        ] {
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert_eq!(careful.judge(&error), Verdict::from(true).after(pause));
        }
        let denied = NotOpened::new(Error::from(ErrorKind::PermissionDenied));
        assert_eq!(careful.judge(&Error::from(denied)), Verdict::Permanent);
    }

    #[test]
    fn one_that_wraps_another_says_what_that_one_says() {
        let refused = || Error::from(ErrorKind::ConnectionRefused);
        let wrapped = Error::other(Error::new(ErrorKind::InvalidData, refused()));
        assert_eq!(wrapped.delivery(), Some(Delivery::NotSent));
        let late = Error::other(TimedOut::new(Default::default()));
        assert_eq!(late.delivery(), Some(Delivery::MaybeSent));
        // If the inner error is unknown, the kind decides.
        let reset = Error::new(ErrorKind::ConnectionReset, "by the test");
        assert_eq!(reset.delivery(), Some(Delivery::MaybeSent));
    }
}
