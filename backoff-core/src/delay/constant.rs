//! The same wait each time.

use super::Delay;
use core::time::Duration;

/// The same wait before each retry.
///
/// Many clients that fail together come back together, again and again: add a jitter.
///
/// ```
/// use backoff_core::delay::{Constant, Delay};
/// use std::time::Duration;
///
/// let waits = Constant::new(Duration::from_secs(5)).waits();
/// assert!(waits.take(100).all(|wait| wait == Duration::from_secs(5)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    wait: Duration,
}

impl Constant {
    /// Waits this time before each retry.
    pub const fn new(wait: Duration) -> Self {
        Constant { wait }
    }
}

impl Delay for Constant {
    fn delay(&self, _retry: u32, _previous: Duration, _random: u64) -> Option<Duration> {
        Some(self.wait)
    }
}
