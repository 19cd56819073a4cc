//! `Fault` for `reqwest::Error`, version 0.13.

use crate::{Class, Fault, Transport};
use core::fmt;
use reqwest_013 as reqwest;
use std::error::Error as _;

/// Refused, or no such name: not sent. Reset, timed out, reply cut: perhaps applied. A request
/// that could not be built, a redirect that leads nowhere, a reply that is whole but not JSON:
/// permanent.
///
/// `error_for_status()` drops the headers, and with them `Retry-After`: read that before.
impl Fault for reqwest::Error {
    fn status(&self) -> Option<u16> {
        reqwest::Error::status(self).map(|status| status.as_u16())
    }

    fn transport(&self) -> Option<Transport> {
        if self.is_connect() {
            return Some(Transport::NotSent);
        }
        let on_its_way = self.is_timeout() || self.is_request() || self.is_body();
        (on_its_way || is_cut(self)).then_some(Transport::MaybeSent)
    }

    fn class(&self) -> Option<Class> {
        (self.is_builder() || self.is_redirect()).then_some(Class::Permanent)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

/// A reply that ends too early is reported as one that cannot be decoded, as bad JSON is. Only
/// its source tells: the transport's error, and not the parser's.
fn is_cut(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.is::<std::io::Error>() {
            return true;
        }
        source = cause.source();
    }
    false
}
