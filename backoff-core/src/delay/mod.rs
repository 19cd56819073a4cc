//! Pure functions for the delays: how long to wait before each retry. Each algorithm has its own file.
//!
//! Each algorithm can be used alone, as an iterator or through [`Delay::delay`], and inside a
//! [`Policy`](crate::Policy), which adds the cap, the jitter and the limits. The algorithms compute in
//! whole nanoseconds, so nothing drifts. A wait is at most 584 years, so nothing overflows.
//!
//! | algorithm | wait before retry n = 0, 1, 2, … | in a policy |
//! |---|---|---|
//! | [`Constant`] | `wait` | [`Policy::constant`](crate::Policy::constant) |
//! | [`Linear`] | `first + n · step` | [`Policy::linear`](crate::Policy::linear) |
//! | [`Exponential`] | `base · factorⁿ` | [`Policy::exponential`](crate::Policy::exponential) |
//! | [`Fibonacci`] | `first · 1, 1, 2, 3, 5, …` | [`Policy::fibonacci`](crate::Policy::fibonacci) |
//! | [`Decorrelated`] | `U(base, 3 · previous)` | [`Jitter::Decorrelated`](crate::Jitter::Decorrelated) |
//! | [`Slots`] | `slot · U{0, …, 2ⁿ⁺¹ − 1}` | [`Policy::slots`](crate::Policy::slots) |
//! | [`Celery`] | `max(0, min(maximum, factor · 2ⁿ s))` | [`Policy::celery`](crate::Policy::celery) |
//! | [`ConnectRetry`] | 1 s, 2 s, 4 s, …, 32 s | [`Policy::connect_retry`](crate::Policy::connect_retry) |
//! | a closure, a list, your own type | your own waits | [`Policy::custom`](crate::Policy::custom), `.delays(..)` |

mod decorrelated;
pub(crate) mod draw;
pub(crate) mod exponential;
pub(crate) mod growth;
pub(crate) mod jitter;
mod pace;
pub(crate) mod series;
pub(crate) mod slots;

pub use decorrelated::Decorrelated;
pub use exponential::Exponential;
pub use pace::Pace;
pub use series::{Celery, ConnectRetry, Constant, Fibonacci, Linear};
pub use slots::Slots;

use crate::{facts::fault::FaultKind, runtime::Random};
use core::time::Duration;

/// How long to wait before each retry.
///
/// Implemented by the algorithms of this module, by closures `Fn(u32) -> Duration` of the number of the
/// retry, by lists of waits (the retries end at the end of the list), and by [`Policy`](crate::Policy).
///
/// ```
/// use backoff_core::delay::{Delay, Linear};
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// let three: Vec<_> = Linear::new(second, 2 * second).waits().take(3).collect();
/// assert_eq!(three, [second, 3 * second, 5 * second]);
///
/// // A list ends after its last wait; a closure never ends.
/// assert_eq!([second, second].waits().count(), 2);
/// assert_eq!((|n: u32| n * second).waits().nth(9), Some(9 * second));
/// ```
pub trait Delay {
    /// The wait before a retry, or `None` if there is no further retry.
    ///
    /// `retry` counts from 0. `previous` is the wait before this one (zero at first). `random` is drawn
    /// uniformly from all of `u64`.
    fn delay(&self, retry: u32, previous: Duration, random: u64) -> Option<Duration>;

    /// Like [`delay`](Self::delay), for an algorithm that depends on the kind of the failure.
    fn delay_after(
        &self,
        kind: FaultKind,
        retry: u32,
        previous: Duration,
        random: u64,
    ) -> Option<Duration> {
        let _ = kind;
        self.delay(retry, previous, random)
    }

    /// An iterator over the waits, drawn with the thread's random numbers.
    #[cfg(feature = "std")]
    fn waits(self) -> Waits<Self>
    where
        Self: Sized,
    {
        self.waits_with(crate::runtime::Std)
    }

    /// An iterator over the waits, drawn with these random numbers.
    fn waits_with<R: Random>(self, random: R) -> Waits<Self, R>
    where
        Self: Sized,
    {
        Waits::new(self, random)
    }
}

impl<F: Fn(u32) -> Duration> Delay for F {
    fn delay(&self, retry: u32, _previous: Duration, _random: u64) -> Option<Duration> {
        Some(self(retry))
    }
}

impl Delay for &[Duration] {
    fn delay(&self, retry: u32, _previous: Duration, _random: u64) -> Option<Duration> {
        self.get(usize::try_from(retry).ok()?).copied()
    }
}

impl<const N: usize> Delay for [Duration; N] {
    fn delay(&self, retry: u32, previous: Duration, random: u64) -> Option<Duration> {
        self.as_slice().delay(retry, previous, random)
    }
}

/// An iterator over the waits of a [`Delay`]. Made by [`Delay::waits`].
#[derive(Clone, Debug)]
pub struct Waits<D, R = crate::runtime::BlockingRuntime> {
    delay: D,
    random: R,
    retry: u32,
    previous: Duration,
}

impl<D, R> Waits<D, R> {
    pub(crate) const fn new(delay: D, random: R) -> Self {
        Waits {
            delay,
            random,
            retry: 0,
            previous: Duration::ZERO,
        }
    }
}

impl<D: Delay, R: Random> Iterator for Waits<D, R> {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let wait = self
            .delay
            .delay(self.retry, self.previous, self.random.random())?;
        self.retry = self.retry.saturating_add(1);
        self.previous = wait;
        Some(wait)
    }
}
