//! Celery's backoff.

use super::{Delay, draw::uniform};
use core::time::Duration;

/// The backoff of Celery's tasks: `max(0, min(maximum, factor · 2ⁿ))` seconds. With full jitter, a
/// whole number of seconds drawn uniformly from `0..=factor · 2ⁿ`, before the maximum is applied.
///
/// As in Celery, a factor or a maximum of zero or below gives waits of zero. Celery itself sets a
/// maximum of 600 s, full jitter, and 3 retries.
///
/// Source: Celery, `celery/utils/time.py`, `get_exponential_backoff_interval`, in the version before
/// Celery applied the maximum first. A draw from `0..=maximum` is
/// [`Jitter::Full`](crate::Jitter::Full).
///
/// ```
/// use backoff_core::delay::{Celery, Delay};
///
/// let waits = Celery::new(3, 60).waits();
/// let seconds: Vec<_> = waits.take(7).map(|wait| wait.as_secs()).collect();
/// assert_eq!(seconds, [3, 6, 12, 24, 48, 60, 60]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Celery {
    factor: i64,
    maximum: i64,
    full_jitter: bool,
}

impl Celery {
    /// Begins with `factor` seconds, doubles, and stays at `maximum` seconds; no jitter.
    pub const fn new(factor: i64, maximum: i64) -> Self {
        Celery {
            factor,
            maximum,
            full_jitter: false,
        }
    }

    /// Turns full jitter on or off.
    #[must_use]
    pub const fn full_jitter(self, full_jitter: bool) -> Self {
        Celery {
            full_jitter,
            ..self
        }
    }
}

impl Delay for Celery {
    fn delay(&self, retry: u32, _previous: Duration, random: u64) -> Option<Duration> {
        let factor = self.factor.max(0) as u64;
        let countdown = match 1u64.checked_shl(retry) {
            Some(power) => factor.saturating_mul(power),
            None if factor == 0 => 0,
            None => u64::MAX,
        };
        let countdown = if self.full_jitter {
            uniform(countdown, random)
        } else {
            countdown
        };
        Some(Duration::from_secs(
            countdown.min(self.maximum.max(0) as u64),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(celery: Celery, retry: u32, random: u64) -> u64 {
        celery
            .delay(retry, Duration::ZERO, random)
            .expect("it never ends")
            .as_secs()
    }

    #[test]
    fn nothing_is_below_zero_or_above_the_maximum() {
        for retry in [0, 1, 62, 63, 64, u32::MAX] {
            assert_eq!(seconds(Celery::new(0, 600), retry, 0), 0);
            assert_eq!(seconds(Celery::new(-7, 600), retry, 0), 0);
            assert_eq!(seconds(Celery::new(7, -1), retry, 0), 0);
            assert!(seconds(Celery::new(i64::MAX, 600), retry, 0) <= 600);
        }
        assert_eq!(seconds(Celery::new(1, 600), u32::MAX, 0), 600);
    }

    #[test]
    fn the_jitter_is_drawn_before_the_maximum_is_applied() {
        let celery = Celery::new(1, 10).full_jitter(true);
        // Drawn from 0..=64, so 55 of 65 numbers end at the maximum.
        assert_eq!(seconds(celery, 6, 0), 0);
        assert_eq!(seconds(celery, 6, u64::MAX / 65 * 10 - 1), 9);
        assert_eq!(seconds(celery, 6, u64::MAX / 65 * 11 + 65), 10);
        assert_eq!(seconds(celery, 6, u64::MAX), 10);
    }
}
