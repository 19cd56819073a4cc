//! `Fault` for `h2::Error`, version 0.4.
//!
//! There is none of an attempt that is [cut](crate::Retrying::attempt_timeout): all that one can be
//! made of is an error code of HTTP/2, and it would call itself a protocol error. Wrap it in an error
//! of your own that has a variant for [`TimedOut`](crate::TimedOut),
//! or for [`Stopped`](crate::Stopped) where a [signal](crate::Retrying::cut_on) cuts it.

use crate::facts::fault::{Delivery, Fault, FaultKind};
use core::fmt;
use h2_04 as h2;

/// The server refused the stream, or went away before it: not sent. Everything else that befell
/// the stream or its connection: perhaps applied. A misuse of h2 says nothing, and is permanent to
/// a policy.
///
/// A server that goes away names the last stream that it handles. h2 fails with it only the streams
/// beyond, and those that are begun afterwards. (What the future of the connection itself ends with
/// is no request's failure.)
///
/// Source: [RFC 9113](https://www.rfc-editor.org/rfc/rfc9113#section-8.7), section 8.7.
impl Fault for h2::Error {
    fn delivery(&self) -> Option<Delivery> {
        let is_refused = self.is_reset()
            && self.is_remote()
            && self.reason() == Some(h2::Reason::REFUSED_STREAM);
        let is_beyond = self.is_go_away() && self.is_remote();
        if is_refused || is_beyond {
            return Some(Delivery::NotSent);
        }
        (self.is_io() || self.reason().is_some()).then_some(Delivery::MaybeSent)
    }

    fn kind(&self) -> Option<FaultKind> {
        self.delivery().is_none().then_some(FaultKind::Permanent)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}
