//! `first + n · step`.

use super::Delay;
use crate::runtime::nanos;
use core::time::Duration;

/// Each wait is longer than the previous wait by the same time: `first + n · step`.
///
/// ```
/// use backoff_core::delay::{Delay, Linear};
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let waits: Vec<_> = Linear::new(ms(100), ms(50)).waits().take(4).collect();
/// assert_eq!(waits, [ms(100), ms(150), ms(200), ms(250)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    first: u64,
    step: u64,
}

impl Linear {
    /// Begins with `first` and grows by `step`.
    pub const fn new(first: Duration, step: Duration) -> Self {
        Linear {
            first: nanos(first),
            step: nanos(step),
        }
    }
}

impl Delay for Linear {
    fn delay(&self, retry: u32, _previous: Duration, _random: u64) -> Option<Duration> {
        Some(Duration::from_nanos(delay(self.first, self.step, retry)))
    }
}

pub(super) fn delay(first: u64, step: u64, n: u32) -> u64 {
    first.saturating_add(step.saturating_mul(n.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_at_the_end_of_its_numbers() {
        assert_eq!(delay(7, u64::MAX / 2, 3), u64::MAX);
        assert_eq!(delay(u64::MAX, 1, 0), u64::MAX);
        assert_eq!(delay(7, 0, u32::MAX), 7);
        assert_eq!(delay(1, 1, u32::MAX), 1 << 32);
    }
}
