//! `U(base, 3 · previous)`.

use super::{Delay, draw::uniform};
use crate::runtime::nanos;
use core::time::Duration;

/// A wait drawn between the base and three times the previous wait, at most the cap:
/// `min(cap, U(base, 3 · previous))`, where the first "previous" is the base.
///
/// Source: AWS Architecture Blog, "Exponential Backoff And Jitter". (Some scripts start "previous" at
/// zero and so draw waits below the base; that is a mistake.)
///
/// ```
/// use backoff_core::delay::{Decorrelated, Delay};
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let delay = Decorrelated::new(ms(10), ms(100));
/// // The greatest number drawn each time: 30, 90, then the cap.
/// assert_eq!(delay.delay(0, Duration::ZERO, u64::MAX), Some(ms(30)));
/// assert_eq!(delay.delay(1, ms(30), u64::MAX), Some(ms(90)));
/// assert_eq!(delay.delay(2, ms(90), u64::MAX), Some(ms(100)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decorrelated {
    base: u64,
    cap: u64,
}

impl Decorrelated {
    /// Draws from `base` up, and waits at most `cap`. If `base` is above `cap`, `cap` applies.
    pub const fn new(base: Duration, cap: Duration) -> Self {
        Decorrelated {
            base: nanos(base),
            cap: nanos(cap),
        }
    }
}

impl Delay for Decorrelated {
    fn delay(&self, _retry: u32, previous: Duration, random: u64) -> Option<Duration> {
        let wait = decorrelated(self.base, self.cap, nanos(previous), random);
        Some(Duration::from_nanos(wait))
    }
}

#[inline]
pub(crate) fn decorrelated(base: u64, cap: u64, previous: u64, random: u64) -> u64 {
    let least = base.min(cap);
    let most = previous.max(least).saturating_mul(3);
    (least + uniform(most - least, random)).min(cap)
}
