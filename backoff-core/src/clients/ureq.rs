//! `Fault` for `ureq::Error`, version 3, and the conversion of a cut attempt to such an error.

use super::{
    boxed::known_fault,
    sources::begins_with,
};
use crate::{
    call::signal::Stopped,
    facts::fault::{Delivery, Fault, FaultKind, TimedOut, made_late, message},
};
use std::io;
use ureq_3::{Error, Timeout};

/// | failure | `ureq::Error` | meaning |
/// |---|---|---|
/// | the host name is not found, the connection is refused | `HostNotFound`, `Io` | not sent |
/// | no connection in time | `Timeout(Resolve)`, `Timeout(Connect)` | not sent |
/// | no connection for another reason, a proxy that makes no tunnel | `ConnectionFailed`, `ConnectProxyFailed` | not sent |
/// | a proxy that answers 4xx, except 408 and 429 | `ConnectProxyFailed` | not sent, permanent |
/// | reset, closed before the reply, a reply that ends too early | `Io` | perhaps applied |
/// | any other timeout | `Timeout(..)` | perhaps applied |
/// | a reply that is not HTTP, or cannot be decompressed | `Protocol`, `Decompress` | perhaps applied |
/// | a status of 4xx or 5xx | `StatusCode` | the status, without the headers |
/// | a custom connector's error | `Other` | the known facts of the error inside |
/// | everything else | | permanent |
///
/// A timeout of the whole call (`Global`, `PerCall`) does not show which step the request had reached.
///
/// When ureq makes an error of a status, it drops the headers, and with them `Retry-After`. With
/// `http_status_as_error(false)`, the response is kept. The response has a status and a hint (through
/// the feature `http-1`, which this feature turns on), so it can be judged like an error:
///
/// ```no_run
/// use backoff_core::{Policy, codes};
/// # use ureq_3 as ureq;
///
/// const POLICY: Policy = Policy::exponential().on(codes![429, 500..=504]);
///
/// # fn f() -> Result<(), ureq::Error> {
/// let config = ureq::Agent::config_builder().http_status_as_error(false).build();
/// let agent = config.new_agent();
/// let get = || agent.get("http://127.0.0.1:8080/").call();
/// let response = POLICY.blocking(get).responses().call()?;
/// # let _ = response;
/// # Ok(()) }
/// ```
///
/// ureq repeats no request, but it follows up to ten redirects. An error does not show which request
/// failed: if a `POST` was applied and answered with 303, and the server of the second request cannot
/// be reached, the error says "not sent". So if a request must not be sent twice, set
/// `max_redirects(0)`; the redirect is then the response:
///
/// ```no_run
/// use backoff_core::{Policy, codes};
/// # use ureq_3 as ureq;
///
/// const ONCE: Policy = Policy::exponential().on(codes![429, 500..=504]).idempotent(false);
///
/// # fn f() -> Result<(), ureq::Error> {
/// let config = ureq::Agent::config_builder().max_redirects(0).build();
/// let agent = config.new_agent();
/// let pay = || agent.post("http://127.0.0.1:8080/payments").send("one");
/// let response = ONCE.blocking(pay).call()?;
/// # let _ = response;
/// # Ok(()) }
/// ```
impl Fault for Error {
    fn inner(&self) -> Option<&dyn Fault> {
        match self {
            Error::Io(error) => Some(error),
            Error::Other(error) => known_fault(&**error),
            _ => None,
        }
    }

    fn status(&self) -> Option<u16> {
        match self {
            Error::StatusCode(status) => Some(*status),
            _ => self.inner()?.status(),
        }
    }

    fn delivery(&self) -> Option<Delivery> {
        match self {
            Error::HostNotFound
            | Error::ConnectionFailed
            | Error::ConnectProxyFailed(_)
            | Error::Timeout(Timeout::Resolve | Timeout::Connect) => Some(Delivery::NotSent),
            Error::Timeout(_) => Some(Delivery::MaybeSent),
            _ if is_of_the_reply(self) => Some(Delivery::MaybeSent),
            _ => self.inner()?.delivery(),
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        if let Some(inner) = self.inner() {
            return inner.kind();
        }
        if is_refused_by_proxy(self) {
            return Some(FaultKind::Permanent);
        }
        let says_more = Fault::status(self).is_some() || self.delivery().is_some();
        (!says_more).then_some(FaultKind::Permanent)
    }

    message!();

    made_late!();
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): an I/O error of the kind `TimedOut`,
/// with the [`TimedOut`] inside.
impl From<TimedOut> for Error {
    fn from(error: TimedOut) -> Self {
        Error::Io(io::Error::from(error))
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): an I/O error with the [`Stopped`]
/// inside.
impl From<Stopped> for Error {
    fn from(error: Stopped) -> Self {
        Error::Io(io::Error::from(error))
    }
}

/// Whether a proxy refused a tunnel for this request, for example because of a missing password. ureq
/// has the status in the text only.
fn is_refused_by_proxy(error: &Error) -> bool {
    let Error::ConnectProxyFailed(reason) = error else {
        return false;
    };
    let status = reason.strip_prefix("proxy server responded ");
    let status = status.and_then(|it| it.get(..3)?.parse().ok());
    status.is_some_and(|status: u16| matches!(status, 400..500) && !matches!(status, 408 | 429))
}

/// Whether a reply came that cannot be read. Only the text of ureq shows this: `Protocol` is also the
/// error of a request that could not be made, and its inner type has no public name. A compressed body
/// that ended too early counts as a body that cannot be decompressed.
fn is_of_the_reply(error: &Error) -> bool {
    let beginnings = [
        "protocol: http parse",
        "protocol: chunk",
        "protocol: unsupported http version",
        "gzip decompression failed",
        "brotli decompression failed",
    ];
    let in_words = !matches!(error, Error::Io(_) | Error::Other(_));
    in_words && beginnings.iter().any(|it| begins_with(error, it))
}
