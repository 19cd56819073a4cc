//! `Fault` for `azure_core::Error`, version 1, and so for the errors of all clients of Azure; and the
//! conversion of a cut attempt to such an error.

use super::{
    boxed::known_fault,
    sources::is_own_configuration,
};
use crate::{
    call::signal::Stopped,
    facts::fault::{Delivery, Fault, FaultKind, TimedOut, made_late, message},
    hint,
};
use azure_core_1::{Error, error::ErrorKind};
use core::time::Duration;
use std::{error::Error as _, time::SystemTime};

/// | failure | `ErrorKind` | meaning |
/// |---|---|---|
/// | no connection: refused, host name not found, not in time | `Connection` | not sent |
/// | reset, closed before the reply, too late, a reply that ends too early | `Io` | perhaps applied |
/// | a status of 4xx or 5xx | `HttpResponse` | the status, and the hint in the [headers](crate::hint::in_headers) |
/// | no token, because its server could not be reached or was busy | `Credential` | not sent, with that server's hint |
/// | no token for another reason | `Credential` | permanent |
/// | everything else, including an `https` URL without TLS, a certificate that is not trusted (rustls, OpenSSL), a proxy that answers 407 | | permanent |
///
/// A write whose `ETag` is not the newest gets a 412, which is a conflict: an
/// [update](crate::Policy::update) reads again. A 409 is retried if a policy names it; many services of
/// Azure send 409 if the resource already exists.
///
/// Every client of Azure retries 408, 429, 500, 502, 503, 504 and failures of the transport, 8 times
/// within a minute, even for a write. A policy around the client multiplies the attempts. With the
/// client's retries on, "not sent" describes the last attempt only, so a policy that is not idempotent
/// needs them off. To retry yourself, switch them off:
///
/// ```
/// # use azure_core_1 as azure_core;
/// use azure_core::http::{ClientOptions, RetryOptions};
///
/// let options = ClientOptions { retry: RetryOptions::none(), ..Default::default() };
/// # let _ = options;
/// ```
impl Fault for Error {
    fn inner(&self) -> Option<&dyn Fault> {
        match self.kind() {
            ErrorKind::HttpResponse { .. } => None,
            _ => known_fault(self.source()?),
        }
    }

    fn status(&self) -> Option<u16> {
        match self.kind() {
            ErrorKind::HttpResponse { status, .. } => Some(u16::from(*status)),
            _ => None,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self.kind() {
            ErrorKind::HttpResponse { .. } => found(self)?.0,
            _ => self.inner()?.retry_after(),
        }
    }

    fn unread_hint(&self) -> Option<(&str, &[u8])> {
        match self.kind() {
            ErrorKind::HttpResponse { .. } => found(self)?.1,
            _ => self.inner()?.unread_hint(),
        }
    }

    fn delivery(&self) -> Option<Delivery> {
        match self.kind() {
            ErrorKind::Connection => (!is_own_configuration(self)).then_some(Delivery::NotSent),
            ErrorKind::Io => match self.inner() {
                Some(inner) => inner.delivery(),
                None => Some(Delivery::MaybeSent),
            },
            // Whatever the result of the request for a token was, the request itself did not begin.
            ErrorKind::Credential => {
                let inner = self.inner()?;
                let may_pass = inner.delivery().is_some() || is_busy(inner);
                may_pass.then_some(Delivery::NotSent)
            }
            _ => None,
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        let says_more = Fault::status(self).is_some() || self.delivery().is_some();
        (!says_more).then_some(FaultKind::Permanent)
    }

    message!();

    made_late!();
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): an error of the kind `Io`, with the
/// [`TimedOut`] inside.
impl From<TimedOut> for Error {
    fn from(error: TimedOut) -> Self {
        Error::new(ErrorKind::Io, error)
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): an error of the kind `Other`, with
/// the [`Stopped`] inside.
impl From<Stopped> for Error {
    fn from(error: Stopped) -> Self {
        Error::new(ErrorKind::Other, error)
    }
}

/// The hint in the headers, and a header whose hint could not be read.
fn found(error: &Error) -> Option<hint::Found<'_>> {
    let ErrorKind::HttpResponse { status, raw_response, .. } = error.kind() else {
        return None;
    };
    let headers = raw_response.as_ref()?.headers();
    let headers = || headers.iter().map(|(name, value)| (name.as_str(), value.as_str().as_bytes()));
    Some(hint::found(u16::from(*status), headers, SystemTime::now()))
}

/// Whether the error says that the token server cannot serve now.
fn is_busy(fault: &dyn Fault) -> bool {
    matches!(fault.status(), Some(408 | 429 | 500..=599))
}
