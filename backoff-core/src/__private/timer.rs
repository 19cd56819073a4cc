//! The user's own timer, which the key `sleep` names.

use crate::runtime::{BlockingSleep, Clock, Random, Sleep};
use core::{future::Future, time::Duration};

/// The clock and the random numbers of a function with its own timer.
#[cfg(feature = "tokio")]
type OwnClock = crate::runtime::AsyncRuntime;
/// The clock and the random numbers of a function with its own timer.
#[cfg(not(feature = "tokio"))]
type OwnClock = crate::runtime::BlockingRuntime;

/// A runtime whose timer is the user's, by the key `sleep`.
#[derive(Debug)]
pub struct OwnTimer<F, C>(F, C);

/// The timer of an async function.
#[inline]
pub fn sleep_by<F, Fut>(sleep: F) -> OwnTimer<F, OwnClock>
where
    F: Fn(Duration) -> Fut,
    Fut: Future<Output = ()>,
{
    OwnTimer(sleep, OwnClock::default())
}

/// The timer of a sync function.
#[inline]
pub fn pause_by<F: Fn(Duration)>(pause: F) -> OwnTimer<F, OwnClock> {
    OwnTimer(pause, OwnClock::default())
}

impl<F, C: Clock> Clock for OwnTimer<F, C> {
    #[inline]
    fn now(&self) -> Duration {
        self.1.now()
    }
}

impl<F, C: Random> Random for OwnTimer<F, C> {
    #[inline]
    fn random(&self) -> u64 {
        self.1.random()
    }
}

impl<F, C, Fut> Sleep for OwnTimer<F, C>
where
    F: Fn(Duration) -> Fut,
    Fut: Future<Output = ()>,
{
    type Sleep = Fut;

    #[inline]
    fn sleep(&self, wait: Duration) -> Fut {
        (self.0)(wait)
    }
}

impl<F: Fn(Duration), C> BlockingSleep for OwnTimer<F, C> {
    fn sleep_blocking(&self, wait: Duration) {
        (self.0)(wait);
    }
}
