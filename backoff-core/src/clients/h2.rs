//! `Fault` for `h2::Error`, version 0.4.
//!
//! An attempt that is [cut](crate::Retrying::attempt_timeout) cannot become an `h2::Error`: such an
//! error can only be made from an error code of HTTP/2, and would look like a protocol error. Wrap it
//! in an error of your own that has a variant for [`TimedOut`](crate::TimedOut), or for
//! [`Stopped`](crate::Stopped) if a [signal](crate::Retrying::cut_on) cuts the attempt.

use crate::facts::fault::{Delivery, Fault, FaultKind, message};
use h2_04 as h2;

/// If the server refused the stream, or went away before the stream: not sent. Any other failure of the
/// stream or its connection: perhaps applied. For a misuse of h2, nothing is known, and a policy treats
/// it as permanent.
///
/// A server that goes away names the last stream that it handles. Only the streams after that one, and
/// streams begun later, fail with this error. (The error of the connection's own future is not the
/// failure of a request.)
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

    message!();
}
