//! `Fault` for `std::io::Error`, and the conversion of a cut attempt to such an error.

use super::{boxed::known_fault, sources::begins_with};
use crate::call::signal::Stopped;
use crate::facts::{
    fault::{Delivery, Fault, FaultKind, TimedOut, made_late, message},
    not_opened::NotOpened,
};
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
        known_fault(self.get_ref()?)
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

    message!();

    made_late!();
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
    use super::{super::rows::*, *};
    use ErrorKind::*;

    #[test]
    fn a_kind_of_failure_says_what_was_sent() {
        let no_name = std::net::ToSocketAddrs::to_socket_addrs("no-such-host.invalid:80");
        all_say(NOT_SENT, true, [refused(), no_name.unwrap_err()]);
        let broke_off = [
            NotConnected,
            HostUnreachable,
            NetworkUnreachable,
            ConnectionReset,
            ConnectionAborted,
            BrokenPipe,
            TimedOut,
            WouldBlock,
            UnexpectedEof,
        ];
        all_say(MAYBE_SENT, true, broke_off.map(Error::from));
        all_say(TRANSIENT, false, [Error::from(Interrupted)]);
        let permanent = [NotFound, PermissionDenied];
        all_say(PERMANENT, false, permanent.map(Error::from));
        all_say(UNKNOWN, false, [Error::other("no kind of its own")]);
        // If the inner error is unknown, the kind decides.
        let reset = Error::new(ConnectionReset, "by the test");
        all_say(MAYBE_SENT, true, [reset]);
    }

    #[test]
    fn an_error_inside_says_what_it_says_alone() {
        let refused = Error::new(InvalidData, refused());
        all_say(NOT_SENT, true, [Error::other(refused)]);
        for (error, kind) in [(Error::from(CUT), TimedOut), (Error::other(CUT), Other)] {
            assert_eq!(error.get_ref().and_then(|it| it.downcast_ref()), Some(&CUT));
            assert_eq!((error.kind(), error.to_string()), (kind, CUT.to_string()));
            all_say(MAYBE_SENT, true, [error]);
        }
        let stopped = Error::from(Stopped::new());
        let inside = stopped.get_ref().and_then(|it| it.downcast_ref());
        assert_eq!(inside, Some(&Stopped::new()));
        all_say(PERMANENT, false, [stopped]);
    }

    #[test]
    fn an_opening_that_failed_was_not_sent() {
        let late = || Error::from(TimedOut);
        let (owned, shared) = (not_opened(late()), not_opened(Arc::new(late())));
        let errors = [Error::from(owned), Error::from(shared)];
        assert_eq!([errors[0].kind(), errors[1].kind()], [TimedOut; 2]);
        all_say(NOT_SENT.after(PAUSE), true, errors);
        let denied = NotOpened::new(Error::from(PermissionDenied));
        let unsent = PERMANENT.and_delivery(Delivery::NotSent);
        all_say(unsent, false, [Error::from(denied)]);
    }
}
