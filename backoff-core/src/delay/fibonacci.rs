//! `first · 1, 1, 2, 3, 5, 8, …`

use super::Delay;
use crate::runtime::nanos;
use core::time::Duration;

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
        Some(Duration::from_nanos(delay(self.first, u64::MAX, retry)))
    }
}

/// The wait is at most `cap`. The 94th Fibonacci number exceeds 64 bits, so the loop is short for any
/// `n`.
pub(super) fn delay(first: u64, cap: u64, n: u32) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_the_sum_of_the_two_before() {
        for n in 2..90 {
            let [a, b, c] = [n - 2, n - 1, n].map(|n| delay(1, u64::MAX, n));
            assert_eq!(a + b, c, "{n}");
        }
    }

    #[test]
    fn stays_at_its_cap() {
        assert_eq!(delay(1, 100, 50), 100);
        assert_eq!(delay(1, u64::MAX, u32::MAX), u64::MAX);
        assert_eq!(delay(200, 100, 0), 100);
        assert_eq!(delay(0, 100, u32::MAX), 0);
    }
}
