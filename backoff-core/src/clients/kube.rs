//! `Fault` for `kube_client::Error`, which is `kube::Error`, version 5.
//!
//! | failure | `kube::Error` | meaning |
//! |---|---|---|
//! | refused, no such name, no connection in time | `Service` | not sent |
//! | reset, closed before the reply, a reply that ends too early | `Service`, `HyperError` | perhaps applied |
//! | 409 `Conflict`: another `resourceVersion` | `Api` | 409: a conflict |
//! | 409 `AlreadyExists` | `Api` | permanent |
//! | 429, 5xx | `Api` | the status, and `details.retryAfterSeconds` |
//! | a page of a proxy, such as a 502 | `Api` | the status |
//! | no token, because its server could not be reached | `Auth` | not sent |
//! | everything else | | permanent |
//!
//! # What to switch off
//!
//! A client of kube retries 429, 503 and 504 by itself, up to 15 times, a write too. A policy around it
//! multiplies the attempts. `default_retry` switches that off. There is no time limit for a reply by
//! default; `read_timeout`, or `attempt_timeout` of the policy, sets one:
//!
//! ```no_run
//! # fn f(url: http_1::Uri) -> Result<(), kube_client_5::Error> {
//! # use kube_client_5 as kube;
//! let mut config = kube::Config::new(url); // or `Config::infer().await?`
//! config.default_retry = false;
//! let client = kube::Client::try_from(config)?;
//! # let _ = client;
//! # Ok(()) }
//! ```

use super::{
    boxed::{Cause, first_known},
    sources::{chain, is_untrusted_certificate},
};
use crate::facts::fault::{Delivery, Fault, FaultKind, TimedOut};
use core::{fmt, time::Duration};
use kube_client_5::{Error, core::response::reason};
use std::error::Error as _;

/// | failure | meaning |
/// |---|---|
/// | no connection (refused, no such name, not in time) | not sent |
/// | a connection that broke, a reply that ended too early | perhaps applied |
/// | `Api`, 409 with the reason `Conflict` | 409: a conflict |
/// | `Api`, 409 with the reason `AlreadyExists` | permanent |
/// | `Api` with any other status | the status; `details.retryAfterSeconds` is the hint |
/// | `Auth` | not sent, where the server of tokens could not be reached |
/// | the rest | permanent |
///
/// kube reads the body of an error and drops its headers, so the hint is only what `details` says.
/// The API server says the same in both.
///
/// A client of kube retries 429, 503 and 504 by itself. Where you retry, switch that off:
/// `config.default_retry = false`.
///
/// An object is changed by its `resourceVersion`, which `replace` sends along:
///
/// ```ignore
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// POLICY
///     .update(
///         || maps.get("counter"),
///         |map| { map.data.get_or_insert_default().insert("owner".into(), me.clone()); },
///         |map| async move { maps.replace("counter", &PostParams::default(), &map).await },
///     )
///     .await?;
/// ```
impl Fault for Error {
    fn inner(&self) -> Option<&dyn Fault> {
        match self {
            Error::Api(_) => None,
            _ => first_known(Cause::new(self.source()?), &|_| None),
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
            // Whatever became of the request for a token, the request itself was not begun.
            Error::Auth(_) => self.inner()?.delivery().map(|_| Delivery::NotSent),
            Error::HyperError(_) | Error::Service(_) | Error::ReadEvents(_) => {
                if is_not_connected(self) {
                    return (!is_untrusted_certificate(self)).then_some(Delivery::NotSent);
                }
                self.inner()?.delivery()
            }
            _ => None,
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match self {
            Error::Api(status) if status.reason == reason::ALREADY_EXISTS => {
                Some(FaultKind::Permanent)
            }
            Error::Api(status) if status.code > 0 => None,
            Error::HyperError(_) | Error::Service(_) | Error::ReadEvents(_) | Error::Auth(_)
                if self.delivery().is_some() =>
            {
                None
            }
            _ => Some(FaultKind::Permanent),
        }
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): `Service`, with the [`TimedOut`]
/// as its source.
impl From<TimedOut> for Error {
    fn from(error: TimedOut) -> Self {
        Error::Service(Box::new(error))
    }
}

/// Whether no connection was made. What hyper's client says then is worth more than the error behind
/// it: a connection that was not made in time looks like a reply that did not come in time.
fn is_not_connected(error: &Error) -> bool {
    let mut links = chain(error).filter_map(|link| link.downcast_ref());
    links.any(hyper_util::client::legacy::Error::is_connect)
}
