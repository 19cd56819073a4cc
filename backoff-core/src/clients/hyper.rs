//! `Fault` for `hyper::Error`, version 1.

use super::boxed::{Cause, first_known};
use crate::{Fault, Transport};
use core::fmt;
use hyper_1 as hyper;
use std::error::Error as _;

/// Dropped before it was begun, or refused by an HTTP/2 server (with the feature `h2-04`): not
/// sent. Everything else that befell the connection, a reply that is no HTTP included: perhaps
/// applied. A misuse of hyper, or a body of your own that failed, says nothing, and is permanent to
/// a policy.
impl Fault for hyper::Error {
    fn inner(&self) -> Option<&dyn Fault> {
        first_known(Cause::new(self.source()?), &|_| None)
    }

    fn transport(&self) -> Option<Transport> {
        if self.is_user() {
            return None;
        }
        if self.is_canceled() {
            return Some(Transport::NotSent);
        }
        let below = self.inner().and_then(Fault::transport);
        below.or(Some(Transport::MaybeSent))
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}
