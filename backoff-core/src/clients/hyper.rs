//! `Fault` for `hyper::Error`, version 1.
//!
//! Only hyper makes one, so none can be made of an attempt that is [cut](crate::Retrying::attempt_timeout):
//! wrap it in an error of your own that has a variant for [`TimedOut`](crate::TimedOut),
//! or for [`Stopped`](crate::Stopped) where a [signal](crate::Retrying::cut_on) cuts it.

use super::{
    boxed::{Cause, first_known},
    sources::begins_with,
};
use crate::facts::fault::{Delivery, Fault, FaultKind};
use core::fmt;
use hyper_1 as hyper;
use std::error::Error as _;

/// Dropped before it was begun, or refused by an HTTP/2 server (with the feature `h2-04`): not
/// sent. Everything else that befell the connection, a reply that is no HTTP and an upgrade that
/// came to nothing included: perhaps applied. A misuse of hyper, or a body of your own that failed,
/// is permanent, whatever the body's error would say by itself.
impl Fault for hyper::Error {
    fn inner(&self) -> Option<&dyn Fault> {
        // Behind these is another's failure: that of the body, or of the request before.
        if is_own_doing(self) || self.is_canceled() {
            return None;
        }
        first_known(Cause::new(self.source()?), &|_| None)
    }

    fn delivery(&self) -> Option<Delivery> {
        if is_own_doing(self) {
            return None;
        }
        if was_never_begun(self) {
            return Some(Delivery::NotSent);
        }
        let below = self.inner().and_then(Fault::delivery);
        below.or(Some(Delivery::MaybeSent))
    }

    fn kind(&self) -> Option<FaultKind> {
        if is_own_doing(self) {
            return Some(FaultKind::Permanent);
        }
        self.inner()?.kind()
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

/// A misuse of hyper, or a body that failed. Over HTTP/2 hyper then resets the stream and reports
/// that reset; h2 says in words whose it is. The other way round, a task that was dropped with the
/// connection in it counts as the user's to hyper, although the request may be with the server.
fn is_own_doing(error: &hyper::Error) -> bool {
    let source = error.source();
    let own_reset = source.is_some_and(|it| begins_with(it, "stream error sent by user"));
    own_reset || (error.is_user() && !begins_with(error, "dispatch task is gone"))
}

/// Cancelled is also what an upgrade is that was agreed on and not completed, so the reason counts:
/// no connection was ready, it closed before the request's turn came, or the request before it broke
/// the connection.
fn was_never_begun(error: &hyper::Error) -> bool {
    let Some(reason) = error.source().filter(|_| error.is_canceled()) else {
        return false;
    };
    let beginnings = ["connection was not ready", "connection closed"];
    reason.is::<hyper::Error>() || beginnings.iter().any(|it| begins_with(reason, it))
}
