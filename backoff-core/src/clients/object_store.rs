//! `Fault` for `object_store::Error`, version 0.14, and the conversion of a cut attempt to such an
//! error.

use super::{
    boxed::known_fault,
    sources::chain,
};
use crate::{
    call::signal::Stopped,
    facts::fault::{Delivery, Fault, FaultKind, TimedOut, made_late, message},
};
use object_store_014::Error;
use std::error::Error as _;

/// | failure | `object_store::Error` | meaning |
/// |---|---|---|
/// | no connection: refused, host name not found, not in time | `Generic` | not sent |
/// | reset, closed, too late, a reply that ends too early | `Generic` | perhaps applied |
/// | 408, 429, 5xx | `Generic` | the status, without the headers |
/// | a success with `SlowDown` or `InternalError` in it (S3) | `Generic` | transient |
/// | the object has changed meanwhile | `Precondition` | 412 for every store: a conflict |
/// | another conditional write is under way (S3) | `AlreadyExists`, with `ConditionalRequestConflict` or `OperationAborted` | a conflict |
/// | the object exists already: a lost race to create, too | `AlreadyExists` | permanent, also in an update |
/// | 404, 403, 401, 304 | `NotFound`, `PermissionDenied`, `Unauthenticated`, `NotModified` | the status |
/// | everything else, including an `https` URL without TLS, a certificate that is not trusted (rustls, OpenSSL), a proxy that answers 407 | | permanent |
///
/// An [update](crate::Policy::update) retries a conflict, because it reads again. Other calls retry a
/// 412 if the policy names it, and the other conflict if the policy [retries
/// conflicts](crate::Policy::retry_conflicts).
///
/// `object_store` drops the headers of replies, so no `Retry-After` is known. Failures of the transport
/// are recognised by the types of reqwest 0.13, which `object_store` uses. The errors of an
/// `HttpConnector` of your own are recognised if they have a known error among their sources.
///
/// The clients for HTTP, S3, Cloud Storage and Azure retry ten times within three minutes, and a policy
/// around them multiplies the attempts. With the client's retries on, "not sent" describes the last
/// attempt only, so a policy that is not idempotent needs them off. To retry yourself, switch them off:
///
/// ```ignore
/// let once = RetryConfig { max_retries: 0, ..Default::default() };
/// let store = AmazonS3Builder::from_env().with_retry(once).build()?;
/// let object = POLICY.retry(|| store.get(&path)).await?;
/// ```
impl Fault for Error {
    fn inner(&self) -> Option<&dyn Fault> {
        known_fault(self.source()?)
    }

    fn status(&self) -> Option<u16> {
        match self {
            Error::NotModified { .. } => Some(304),
            Error::Unauthenticated { .. } => Some(401),
            Error::PermissionDenied { .. } => Some(403),
            Error::NotFound { .. } => Some(404),
            Error::AlreadyExists { .. } => Some(409),
            Error::Precondition { .. } => Some(412),
            Error::Generic { .. } => match reply(self)? {
                Reply::Status(status) => Some(status),
                Reply::ErrorInSuccess => None,
            },
            _ => None,
        }
    }

    fn delivery(&self) -> Option<Delivery> {
        match self {
            Error::Generic { .. } => self.inner()?.delivery(),
            _ => None,
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match self {
            Error::AlreadyExists { .. } if is_under_way(self) => Some(FaultKind::Conflict),
            Error::Generic { .. } => match (reply(self), self.inner()) {
                (Some(Reply::Status(_)), _) => None,
                (Some(Reply::ErrorInSuccess), _) => Some(FaultKind::Transient),
                (None, Some(inner)) => inner.kind(),
                (None, None) => Some(FaultKind::Permanent),
            },
            Error::AlreadyExists { .. } => Some(FaultKind::Permanent),
            _ => Fault::status(self)
                .is_none()
                .then_some(FaultKind::Permanent),
        }
    }

    message!();

    made_late!();
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): `Generic`, with the [`TimedOut`] as
/// its source.
impl From<TimedOut> for Error {
    fn from(error: TimedOut) -> Self {
        Error::Generic {
            store: "cut",
            source: Box::new(error),
        }
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): `Generic`, with the [`Stopped`]
/// as its source.
impl From<Stopped> for Error {
    fn from(error: Stopped) -> Self {
        Error::Generic {
            store: "cut",
            source: Box::new(error),
        }
    }
}

/// The facts about the reply in the error of one request. The type of this error is private in
/// `object_store`, and the error is among the sources; only its text shows the facts.
enum Reply {
    Status(u16),
    /// A success with an error in its body, as S3 sends it.
    ErrorInSuccess,
}

fn reply(error: &Error) -> Option<Reply> {
    chain(error).skip(1).find_map(|link| {
        let text = link.to_string();
        if text.starts_with("Server returned error response") {
            return Some(Reply::ErrorInSuccess);
        }
        let rest = text.strip_prefix("Server returned non-2xx status code: ")?;
        rest.get(..3)?.parse().ok().map(Reply::Status)
    })
}

/// Whether S3 refused a conditional write because another conditional write of the same object was
/// running.
fn is_under_way(error: &Error) -> bool {
    let mut links = chain(error).skip(1);
    links.any(|link| {
        let text = link.to_string();
        // The name without its delimiters may also be part of the object's name.
        text.contains("<Code>ConditionalRequestConflict</Code>")
            || text.contains("<Code>OperationAborted</Code>")
    })
}
