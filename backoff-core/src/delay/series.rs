//! Series of waits: each follows from the number of the retry.

use super::{Delay, draw::uniform, exponential};
use crate::runtime::nanos;
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
        Some(Duration::from_nanos(linear(self.first, self.step, retry)))
    }
}

pub(super) fn linear(first: u64, step: u64, n: u32) -> u64 {
    first.saturating_add(step.saturating_mul(n.into()))
}

/// Waits that grow like the Fibonacci numbers: `first` times 1, 1, 2, 3, 5, 8, …
///
/// The factor between two waits tends to 1.618, so the waits grow more slowly than by doubling.
///
/// ```
/// use backoff_core::delay::{Delay, Fibonacci};
/// use std::time::Duration;
///
/// let waits = Fibonacci::new(Duration::from_secs(1)).waits();
/// let seconds: Vec<_> = waits.take(7).map(|wait| wait.as_secs()).collect();
/// assert_eq!(seconds, [1, 1, 2, 3, 5, 8, 13]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fibonacci {
    first: u64,
}

impl Fibonacci {
    /// The first two waits are `first`.
    pub const fn new(first: Duration) -> Self {
        Fibonacci {
            first: nanos(first),
        }
    }
}

impl Delay for Fibonacci {
    fn delay(&self, retry: u32, _previous: Duration, _random: u64) -> Option<Duration> {
        Some(Duration::from_nanos(fibonacci(self.first, u64::MAX, retry)))
    }
}

/// The wait is at most `cap`. The 94th Fibonacci number exceeds 64 bits, so the loop is short for any
/// `n`.
pub(super) fn fibonacci(first: u64, cap: u64, n: u32) -> u64 {
    if first == 0 {
        return 0;
    }
    let (mut now, mut next) = (first, first);
    for _ in 0..n {
        if now >= cap {
            break;
        }
        (now, next) = (next, now.saturating_add(next));
    }
    now.min(cap)
}

/// The number of retries of a connection; the seventh attempt is the last.
pub(crate) const CONNECT_ATTEMPTS: u32 = 7;

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
        (retry < CONNECT_ATTEMPTS - 1).then_some(Duration::from_nanos(wait))
    }
}

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

    #[test]
    fn linear_waits_end_at_the_end_of_their_numbers() {
        assert_eq!(linear(7, u64::MAX / 2, 3), u64::MAX);
        assert_eq!(linear(u64::MAX, 1, 0), u64::MAX);
        assert_eq!(linear(7, 0, u32::MAX), 7);
        assert_eq!(linear(1, 1, u32::MAX), 1 << 32);
    }

    #[test]
    fn each_of_fibonaccis_waits_is_the_sum_of_the_two_before() {
        for n in 2..90 {
            let [a, b, c] = [n - 2, n - 1, n].map(|n| fibonacci(1, u64::MAX, n));
            assert_eq!(a + b, c, "{n}");
        }
    }

    #[test]
    fn fibonaccis_waits_stay_at_their_cap() {
        assert_eq!(fibonacci(1, 100, 50), 100);
        assert_eq!(fibonacci(1, u64::MAX, u32::MAX), u64::MAX);
        assert_eq!(fibonacci(200, 100, 0), 100);
        assert_eq!(fibonacci(0, 100, u32::MAX), 0);
    }
}
