//! `Fault` for `kube_client::Error`, which is `kube::Error`, version 5, and the conversion of a cut
//! attempt to such an error.

use super::{
    boxed::known_fault,
    sources::{chain, is_own_configuration},
};
use crate::{
    call::signal::Stopped,
    facts::fault::{Delivery, Fault, FaultKind, TimedOut, made_late, message},
};
use core::time::Duration;
use kube_client_5::{Error, core::Status};
use std::error::Error as _;

/// | failure | `kube::Error` | meaning |
/// |---|---|---|
/// | no connection: refused, host name not found, not in time | `Service` | not sent |
/// | reset, closed before the reply, too late, a reply that ends too early | `Service`, `HyperError` | perhaps applied |
/// | 409 `Conflict`: another `resourceVersion` | `Api` | a conflict |
/// | 409 `AlreadyExists`: a lost race to create, too | `Api` | permanent, also in an update |
/// | 409 `Conflict` with the cause `FieldManagerConflict`: a field of another manager, in a server-side apply without `force` | `Api` | permanent |
/// | any other status, also from a proxy's page | `Api` | the status; `details.retryAfterSeconds` is the hint |
/// | no token, because its server could not be reached | `Auth` | not sent |
/// | everything else, including an `https` URL without TLS, a certificate that is not trusted (rustls, OpenSSL), a proxy that answers 407 | | permanent |
///
/// An [update](crate::Policy::update) retries a conflict, because it reads again. Other calls retry a
/// conflict if the policy [retries conflicts](crate::Policy::retry_conflicts). kube drops the headers
/// of an error; the API server repeats the value of `Retry-After` in `details`.
///
/// A client of kube retries 429, 503 and 504, up to 15 times, even for a write. A policy around the
/// client multiplies the attempts. With the client's retries on, "not sent" describes the last attempt
/// only, so a policy that is not idempotent needs them off. To retry yourself, switch them off with
/// `default_retry`. A reply has no time limit unless `read_timeout` sets one. The `resourceVersion`,
/// which `replace` sends, protects a change of an object:
///
/// ```no_run
/// use backoff_core::{Policy, codes};
/// # use kube_client_5 as kube;
/// use kube::{Api, Client, Config, api::PostParams, core::{ApiResource, DynamicObject}};
///
/// const POLICY: Policy = Policy::exponential().on(codes![429, 500..=504]);
///
/// # async fn f(kind: &ApiResource) -> Result<(), kube::Error> {
/// let mut config = Config::infer().await.map_err(kube::Error::InferConfig)?;
/// config.default_retry = false;
/// let client = Client::try_from(config)?;
///
/// let maps: &Api<DynamicObject> = &Api::default_namespaced_with(client, kind);
/// POLICY
///     .update(
///         || maps.get("settings"),
///         |map| { map.data["data"]["owner"] = "me".into(); true },
///         |map| async move { maps.replace("settings", &PostParams::default(), &map).await },
///     )
///     .await?;
/// # Ok(()) }
/// ```
impl Fault for Error {
    fn inner(&self) -> Option<&dyn Fault> {
        match self {
            Error::Api(_) => None,
            _ => known_fault(self.source()?),
        }
    }

    fn status(&self) -> Option<u16> {
        match self {
            Error::Api(status) => (status.code > 0).then_some(status.code),
            _ => None,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        let Error::Api(status) = self else {
            return None;
        };
        let seconds = status.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    fn delivery(&self) -> Option<Delivery> {
        match self {
            // Whatever the result of the request for a token was, the request itself did not begin.
            Error::Auth(_) => self.inner()?.delivery().map(|_| Delivery::NotSent),
            Error::HyperError(_) | Error::Service(_) | Error::ReadEvents(_) => {
                if is_not_connected(self) {
                    return (!is_own_configuration(self)).then_some(Delivery::NotSent);
                }
                self.inner()?.delivery()
            }
            _ => None,
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match self {
            // The status of all three is 409.
            Error::Api(status) if status.is_already_exists() => Some(FaultKind::Permanent),
            Error::Api(status) if is_of_another_manager(status) => Some(FaultKind::Permanent),
            Error::Api(status) if status.is_conflict() => Some(FaultKind::Conflict),
            Error::Api(status) if status.code > 0 => None,
            Error::HyperError(_) | Error::Service(_) | Error::ReadEvents(_) | Error::Auth(_)
                if self.delivery().is_some() =>
            {
                None
            }
            _ => Some(FaultKind::Permanent),
        }
    }

    message!();

    made_late!();
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): `Service`, with the [`TimedOut`] as
/// its source.
impl From<TimedOut> for Error {
    fn from(error: TimedOut) -> Self {
        Error::Service(Box::new(error))
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): `Service`, with the [`Stopped`]
/// as its source.
impl From<Stopped> for Error {
    fn from(error: Stopped) -> Self {
        Error::Service(Box::new(error))
    }
}

/// Whether a server-side apply changes a field that another manager owns. The same apply would conflict
/// again.
fn is_of_another_manager(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "FieldManagerConflict")
}

/// Whether no connection was made. In this case the error of hyper's client decides, not its source: a
/// connection that was not made in time looks like a reply that did not come in time.
fn is_not_connected(error: &Error) -> bool {
    let mut links = chain(error).filter_map(|link| link.downcast_ref());
    links.any(hyper_util::client::legacy::Error::is_connect)
}
