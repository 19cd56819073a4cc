//! `Fault` for `reqwest::Error` and `reqwest::Response`, versions 0.12 and 0.13: the same code, once
//! for each version whose feature is on.
//!
//! Only reqwest can make its error, so an attempt that is [cut](crate::Retrying::attempt_timeout)
//! cannot become one: wrap it in an error of your own that has a variant for
//! [`TimedOut`](crate::TimedOut), or for [`Stopped`](crate::Stopped) if a
//! [signal](crate::Retrying::cut_on) cuts the attempt.

use super::sources::{chain, is_own_configuration};
use crate::facts::{
    fault::{Delivery, Fault, FaultKind, message},
    hint,
};
use core::time::Duration;
use std::{error::Error, io, time::SystemTime};

macro_rules! faults {
    ($reqwest:ident) => {
        /// Refused, host name not found, a failed TLS handshake, a request that never began: not sent.
        /// Reset, timed out, reply cut: perhaps applied. A request that could not be built, a redirect
        /// without a target, a failure of your own body, a complete reply that is not JSON: permanent. So is
        /// a connection that your own configuration prevents: an `https` URL if reqwest is built without
        /// TLS, a certificate that is not trusted, a proxy that answers 407.
        ///
        /// With the feature `h2-04`, a stream that an HTTP/2 server refused is distinguished from a
        /// stream that the server reset. A bad certificate is recognised by the text of rustls or OpenSSL;
        /// with `native-tls` on macOS and Windows, it counts as a failed handshake.
        ///
        /// `error_for_status()` drops the headers, and with them `Retry-After`: read `Retry-After`
        /// first.
        impl Fault for $reqwest::Error {
            fn status(&self) -> Option<u16> {
                $reqwest::Error::status(self).map(|status| status.as_u16())
            }

            fn delivery(&self) -> Option<Delivery> {
                let below = below(self);
                // This check comes first, because reqwest's other checks also look into the body's
                // error.
                if below.is_some_and(is_permanent) {
                    return None;
                }
                if self.is_connect() {
                    return Some(Delivery::NotSent);
                }
                if self.is_request() {
                    let delivery = below.and_then(Fault::delivery);
                    return delivery.or(Some(Delivery::MaybeSent));
                }
                let on_its_way = self.is_timeout() || self.is_body() || is_cut(self);
                on_its_way.then_some(Delivery::MaybeSent)
            }

            fn kind(&self) -> Option<FaultKind> {
                let is_own_doing = below(self).is_some_and(is_permanent);
                let is_wrong = self.is_builder() || self.is_redirect() || is_own_doing;
                let is_unable = self.is_connect() && is_own_configuration(self);
                let says_more = Fault::status(self).is_some() || self.delivery().is_some();
                (is_wrong || is_unable || !says_more).then_some(FaultKind::Permanent)
            }

            message!();
        }

        /// The status and the hint of its headers, so that a response can be judged like an error
        /// ([`Retrying::responses`](crate::Retrying::responses); the attribute does this without a
        /// key). The body is not read.
        impl Fault for $reqwest::Response {
            #[cfg(feature = "rate")]
            fn observe_quotas(&self) {
                crate::rate::observe_reply(self.headers());
            }

            fn status(&self) -> Option<u16> {
                Some($reqwest::Response::status(self).as_u16())
            }

            fn retry_after(&self) -> Option<Duration> {
                let status = self.status().as_u16();
                hint::in_headers(status, self.headers(), SystemTime::now())
            }

            fn unread_hint(&self) -> Option<(&str, &[u8])> {
                let status = self.status().as_u16();
                hint::unread_in_headers(status, self.headers(), SystemTime::now())
            }

            fn header(&self, name: &str) -> Option<&str> {
                self.headers().get(name)?.to_str().ok()
            }
        }
    };
}

#[cfg(feature = "reqwest-012")]
faults!(reqwest_012);
#[cfg(feature = "reqwest-013")]
faults!(reqwest_013);

/// The error of hyper below the error of reqwest.
fn below<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e hyper_1::Error> {
    chain(error).find_map(|link| link.downcast_ref())
}

fn is_permanent(below: &hyper_1::Error) -> bool {
    below.kind() == Some(FaultKind::Permanent)
}

/// Whether the reply ended too early. reqwest reports such a reply as one that cannot be decoded, like
/// bad JSON. Only the source shows the difference: it is an error of the transport, not of the parser.
/// A body of version 0.12 may be read by version 0.13, which does not recognise the timeouts of version
/// 0.12.
fn is_cut(error: &(dyn Error + 'static)) -> bool {
    let mut behind = error.source().into_iter().flat_map(chain);
    behind.any(|link| link.is::<io::Error>() || link.is::<hyper_1::Error>() || is_old_timeout(link))
}

#[cfg(feature = "reqwest-012")]
fn is_old_timeout(error: &(dyn Error + 'static)) -> bool {
    let old = error.downcast_ref::<reqwest_012::Error>();
    old.is_some_and(reqwest_012::Error::is_timeout)
}

#[cfg(not(feature = "reqwest-012"))]
fn is_old_timeout(_: &(dyn Error + 'static)) -> bool {
    false
}
