//! `Fault` for the error of hyper-util's client (`client::legacy`), version 0.1.
//!
//! Only hyper-util can make this error, so an attempt that is [cut](crate::Retrying::attempt_timeout)
//! cannot become one: wrap it in an error of your own that has a variant for
//! [`TimedOut`](crate::TimedOut), or for [`Stopped`](crate::Stopped) if a
//! [signal](crate::Retrying::cut_on) cuts the attempt.

use super::{
    boxed::known_fault,
    sources::{chain, is_own_configuration},
};
use crate::facts::fault::{Delivery, Fault, FaultKind};
use core::fmt;
use hyper_util::client::legacy::Error;
use std::error::Error as _;

/// If no connection was made: not sent. For any other failure, hyper's inner error decides. A request
/// that cannot be sent at all (no host in its URI, an HTTP version that is not supported) is permanent,
/// and so is a connection that your own configuration prevents: an `https` URL without TLS, a certificate
/// that is not trusted (rustls, OpenSSL), a proxy that answers 407.
///
/// Logs show the innermost cause, because the text of the error itself is only `client error (Connect)`.
impl Fault for Error {
    fn inner(&self) -> Option<&dyn Fault> {
        // Only `is_connect` shows that the connection attempt failed.
        if self.is_connect() {
            return None;
        }
        known_fault(self.source()?)
    }

    fn delivery(&self) -> Option<Delivery> {
        if self.is_connect() {
            return (!is_own_configuration(self)).then_some(Delivery::NotSent);
        }
        self.inner()?.delivery()
    }

    fn kind(&self) -> Option<FaultKind> {
        match self.inner() {
            Some(inner) => inner.kind(),
            None => self.delivery().is_none().then_some(FaultKind::Permanent),
        }
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        let cause: &dyn fmt::Display = chain(self).last()?;
        Some(cause)
    }
}
