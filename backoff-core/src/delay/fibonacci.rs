//! `first · 1, 1, 2, 3, 5, 8, …`

use super::Delay;
use crate::runtime::nanos;
use core::time::Duration;

/// Waits that grow as Fibonacci's numbers: `first` times 1, 1, 2, 3, 5, 8, …
///
/// They grow by a factor that tends to 1.618, so slower than by doubling.
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
    /// Begins with `first`, twice.
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

/// At most `cap`. The numbers pass 64 bits at the 94th, so few are computed for any `n`.
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
