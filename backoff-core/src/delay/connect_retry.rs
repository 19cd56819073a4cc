//! `connect_retry` of "Advanced Programming in the UNIX Environment".

use super::{Delay, exponential};
use core::time::Duration;

/// The number of retries of a connection; the seventh attempt is the last.
pub(crate) const ATTEMPTS: u32 = 7;

/// The waits between attempts to connect a socket: 1, 2, 4, 8, 16 and 32 s, for seven attempts.
///
/// The listing in the book sleeps another 64 s after the last attempt, without a use; this type leaves
/// that wait out. Each attempt needs a new socket.
///
/// Source: W. R. Stevens and S. A. Rago, "Advanced Programming in the UNIX Environment", third
/// edition, section 16.4, `connect_retry`.
///
/// ```
/// use backoff_core::delay::{ConnectRetry, Delay};
///
/// let seconds: Vec<_> = ConnectRetry.waits().map(|wait| wait.as_secs()).collect();
/// assert_eq!(seconds, [1, 2, 4, 8, 16, 32]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectRetry;

impl Delay for ConnectRetry {
    fn delay(&self, retry: u32, _previous: Duration, _random: u64) -> Option<Duration> {
        let wait = exponential::delay(1_000_000_000, 2.0, u64::MAX, retry);
        (retry < ATTEMPTS - 1).then_some(Duration::from_nanos(wait))
    }
}
