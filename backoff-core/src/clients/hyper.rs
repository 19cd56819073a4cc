//! `Fault` for `hyper::Error`, version 1.
//!
//! Only hyper can make this error, so an attempt that is [cut](crate::Retrying::attempt_timeout) cannot
//! become one: wrap it in an error of your own that has a variant for [`TimedOut`](crate::TimedOut), or
//! for [`Stopped`](crate::Stopped) if a [signal](crate::Retrying::cut_on) cuts the attempt.

use super::{
    boxed::known_fault,
    sources::begins_with,
};
use crate::facts::fault::{Delivery, Fault, FaultKind, message};
use hyper_1 as hyper;
use std::error::Error as _;

/// If the connection was closed before it was ready, or the request was dropped before it began, or
/// refused by an HTTP/2 server (with the feature `h2-04`): not sent. Any other failure of the
/// connection: perhaps applied. This includes a reply that is not HTTP and a failed upgrade. A misuse
/// of hyper, or a failure of your own body, is permanent, even if the body's error alone would be
/// retryable.
///
/// hyper has no time limit: a server that does not answer holds an attempt for ever. Set
/// [`attempt_timeout`](crate::Retrying::attempt_timeout). An attempt that is cut cannot become a
/// `hyper::Error`. So end the attempt with `.map_err(BoxError::from)`, where `BoxError` is
/// `Box<dyn Error + Send + Sync>`: a policy finds the facts of hyper's error in the box. The
/// [guide](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/tower/#around-a-client) has a
/// program with hyper-util's client.
impl Fault for hyper::Error {
    fn inner(&self) -> Option<&dyn Fault> {
        // The source of these errors is a different failure: of the body, or of the previous request.
        if is_own_doing(self) || self.is_canceled() {
            return None;
        }
        known_fault(self.source()?)
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

    message!();
}

/// A misuse of hyper, or a body that failed. Over HTTP/2, hyper then resets the stream and reports that
/// reset; the text of h2 says which side reset the stream. On the other hand, hyper also reports a
/// dropped connection task as the user's error, although the request may have reached the server.
fn is_own_doing(error: &hyper::Error) -> bool {
    let source = error.source();
    let own_reset = source.is_some_and(|it| begins_with(it, "stream error sent by user"));
    own_reset || (error.is_user() && !begins_with(error, "dispatch task is gone"))
}

/// A connection that is closed before it is ready for a request took none: an HTTP/2 server may go away
/// at once. "Cancelled" is also the error of an upgrade that was agreed on and not completed, so the
/// reason decides: no connection was ready, the connection closed before it sent the request, or the
/// previous request broke the connection.
fn was_never_begun(error: &hyper::Error) -> bool {
    if error.is_closed() {
        return true;
    }
    let Some(reason) = error.source().filter(|_| error.is_canceled()) else {
        return false;
    };
    let beginnings = ["connection was not ready", "connection closed"];
    reason.is::<hyper::Error>() || beginnings.iter().any(|it| begins_with(reason, it))
}
