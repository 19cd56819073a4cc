//! `Fault` for `std::io::Error`.

use crate::{Class, Fault, Transport};
use core::fmt;
use std::io::{Error, ErrorKind};

/// No connection was made: not sent. It broke off, or nothing came in time: perhaps applied.
/// Interrupted or not ready yet: transient. Everything else says nothing, and is permanent to a
/// policy: no repetition makes a file that is missing.
impl Fault for Error {
    fn transport(&self) -> Option<Transport> {
        match self.kind() {
            ErrorKind::ConnectionRefused
            | ErrorKind::NotConnected
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown => Some(Transport::NotSent),
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::TimedOut
            | ErrorKind::UnexpectedEof => Some(Transport::MaybeSent),
            _ => None,
        }
    }

    fn class(&self) -> Option<Class> {
        let passes = matches!(self.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock);
        passes.then_some(Class::Transient)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Verdict};

    #[test]
    fn a_connection_that_was_never_made_is_retried_by_everybody() {
        let careful = Policy::exponential().idempotent(false);
        let kinds = [ErrorKind::ConnectionRefused, ErrorKind::NotConnected];
        for kind in kinds {
            assert_ne!(careful.judge(&Error::from(kind)), Verdict::Permanent);
        }
    }

    #[test]
    fn one_that_broke_off_is_retried_where_that_is_safe() {
        let policy = Policy::exponential();
        let kinds = [
            ErrorKind::ConnectionReset,
            ErrorKind::ConnectionAborted,
            ErrorKind::BrokenPipe,
            ErrorKind::TimedOut,
            ErrorKind::UnexpectedEof,
        ];
        for kind in kinds {
            let error = Error::from(kind);
            assert_ne!(policy.judge(&error), Verdict::Permanent, "{kind}");
            let careful = policy.idempotent(false);
            assert_eq!(careful.judge(&error), Verdict::PerhapsApplied, "{kind}");
        }
    }

    #[test]
    fn what_is_not_ready_yet_is_transient_and_the_rest_permanent() {
        let policy = Policy::exponential();
        for kind in [ErrorKind::Interrupted, ErrorKind::WouldBlock] {
            assert_ne!(policy.judge(&Error::from(kind)), Verdict::Permanent);
        }
        for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied] {
            assert_eq!(policy.judge(&Error::from(kind)), Verdict::Permanent);
        }
        let other = Error::other("no kind of its own");
        assert_eq!(policy.judge(&other), Verdict::Permanent);
    }
}
