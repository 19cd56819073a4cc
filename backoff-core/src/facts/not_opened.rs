//! A failure to open a connection.

use super::fault::{Delivery, Fault};
use core::{error::Error, fmt};

/// No connection was opened, so nothing of the operation was sent on it.
///
/// A client's error does not say that: a handshake that timed out looks like a command that timed
/// out, which may have been applied. Where the policy is not
/// [idempotent](crate::Policy::idempotent) that would end the operation, although nothing has been
/// done yet. So let the function that opens say what it knows; whatever the error inside says, it is
/// then safe to repeat, if it is to be retried at all:
///
/// ```
/// use backoff_core::{Fault, NotOpened, Policy, TimedOut, Verdict};
/// use std::time::Duration;
///
/// let handshake = TimedOut::new(Duration::from_secs(1));
/// let careful = Policy::exponential().idempotent(false);
/// assert_eq!(careful.judge(&handshake), Verdict::MaybeApplied);
/// assert_eq!(careful.judge(&NotOpened(handshake)), Verdict::from(true));
/// ```
///
/// With `Reconnect` it is a `.map_err(NotOpened)` in the function that opens, and a
/// `From<NotOpened<..>>` for the error of the operation. The feature `redis-1` has that for
/// `redis::RedisError`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOpened<E>(pub E);

impl<E: fmt::Display> fmt::Display for NotOpened<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no connection was opened: {}", self.0)
    }
}

impl<E: Error + 'static> Error for NotOpened<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl<E: Fault> Fault for NotOpened<E> {
    fn inner(&self) -> Option<&dyn Fault> {
        Some(&self.0)
    }

    // Said only of an error that says something: another one is permanent, and stays so.
    fn delivery(&self) -> Option<Delivery> {
        let says_something = self.0.delivery().is_some()
            || self.0.kind().is_some()
            || self.0.grpc_code().is_some()
            || self.0.status().is_some();
        says_something.then_some(Delivery::NotSent)
    }
}
