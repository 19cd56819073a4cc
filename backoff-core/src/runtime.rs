//! Clocks, timers and random sources: tokio's, the standard library's, or your own.

#[cfg(feature = "std")]
use crate::stop::Stop;
use core::{future::Future, time::Duration};

/// A monotonic clock.
///
/// The clock is read only for a deadline, a report or an [`Attempt`](crate::Attempt).
#[diagnostic::on_unimplemented(
    message = "there is no clock to retry with",
    label = "`{Self}` is not a clock",
    note = "turn on a feature of backoff-core: `tokio`, `smol`, in a browser `wasm`, for blocking functions `std`",
    note = "or pass a runtime of your own: `runtime = ..` in `#[retry]`, `.runtime(..)` after `Policy::retry`"
)]
pub trait Clock {
    /// The time since a fixed origin. Each clock chooses its own origin.
    fn now(&self) -> Duration;

    /// Panics if this runtime cannot wait on this thread. In a build with debug assertions, a call asks
    /// before its first attempt, so that a program without a runtime panics in its first run and not at its first
    /// failure. By default, a runtime can wait everywhere.
    #[inline]
    fn check(&self) {}
}

/// A timer for async functions.
pub trait Sleep {
    /// The future of a wait.
    type Sleep: Future<Output = ()>;

    /// Returns a future that is ready once `wait` has passed.
    fn sleep(&self, wait: Duration) -> Self::Sleep;
}

/// A task that combines changes, for a runtime.
#[cfg(feature = "combine")]
pub type Task = core::pin::Pin<std::boxed::Box<dyn Future<Output = ()> + Send>>;

/// A timer for blocking functions.
pub trait BlockingSleep {
    /// Returns once `wait` has passed.
    fn sleep_blocking(&self, wait: Duration);

    /// Returns once `wait` has passed or `stop` is stopped. The result says whether `stop` is stopped.
    /// A blocking call with [`stop_on`](crate::Retrying::stop_on) waits by this method. A call in the queue of
    /// a rate looks for the signal every 50 ms.
    ///
    /// By default, this method checks `stop` before and after [`sleep_blocking`](Self::sleep_blocking),
    /// which is right for virtual time. A timer that takes real time must wait with [`Stop::wait`]
    /// instead. Otherwise a stop does not end the wait early.
    #[cfg(feature = "std")]
    fn sleep_or_stop(&self, wait: Duration, stop: &Stop) -> bool {
        if stop.is_stopped() {
            return true;
        }
        self.sleep_blocking(wait);
        stop.is_stopped()
    }
}

/// A source of random numbers for the jitter, and for the id of a call
/// ([`RequestId`](crate::RequestId)).
///
/// Any generator of the crate `rand` is a source, in a `RefCell` or, for several threads, in a `Mutex`.
/// A pair is a runtime: the first part is the clock and the timer, the second part is the source of
/// random numbers:
///
/// ```
/// use backoff_core::{Policy, TimedOut};
/// use rand::{SeedableRng, rngs::SmallRng};
/// use std::{cell::RefCell, time::Duration};
///
/// # #[cfg(feature = "std")] {
/// const POLICY: Policy = Policy::exponential().base(Duration::from_millis(1)).max_attempts(2);
/// let generator = RefCell::new(SmallRng::seed_from_u64(7));
/// let busy = || Err::<(), _>(TimedOut::new(Duration::ZERO));
/// let outcome = POLICY.blocking(busy).runtime((backoff_core::Std, generator)).call();
/// assert!(outcome.is_err());
/// # }
/// ```
pub trait Random {
    /// A number drawn uniformly from all of `u64`.
    fn random(&self) -> u64;
}

/// A reference to a runtime is a runtime.
impl<C: Clock + ?Sized> Clock for &C {
    #[inline]
    fn now(&self) -> Duration {
        (**self).now()
    }

    #[inline]
    #[track_caller]
    fn check(&self) {
        (**self).check();
    }
}

impl<S: Sleep + ?Sized> Sleep for &S {
    type Sleep = S::Sleep;

    #[inline]
    fn sleep(&self, wait: Duration) -> S::Sleep {
        (**self).sleep(wait)
    }
}

impl<P: BlockingSleep + ?Sized> BlockingSleep for &P {
    fn sleep_blocking(&self, wait: Duration) {
        (**self).sleep_blocking(wait);
    }

    #[cfg(feature = "std")]
    fn sleep_or_stop(&self, wait: Duration, stop: &Stop) -> bool {
        (**self).sleep_or_stop(wait, stop)
    }
}

impl<R: Random + ?Sized> Random for &R {
    #[inline]
    fn random(&self) -> u64 {
        (**self).random()
    }
}

/// Uses the clock of the first part.
impl<C: Clock, R> Clock for (C, R) {
    #[inline]
    fn now(&self) -> Duration {
        self.0.now()
    }

    #[inline]
    #[track_caller]
    fn check(&self) {
        self.0.check();
    }
}

/// Uses the timer of the first part.
impl<S: Sleep, R> Sleep for (S, R) {
    type Sleep = S::Sleep;

    #[inline]
    fn sleep(&self, wait: Duration) -> S::Sleep {
        self.0.sleep(wait)
    }
}

impl<P: BlockingSleep, R> BlockingSleep for (P, R) {
    fn sleep_blocking(&self, wait: Duration) {
        self.0.sleep_blocking(wait);
    }

    #[cfg(feature = "std")]
    fn sleep_or_stop(&self, wait: Duration, stop: &Stop) -> bool {
        self.0.sleep_or_stop(wait, stop)
    }
}

/// Uses the random numbers of the second part.
impl<C, R: Random> Random for (C, R) {
    #[inline]
    fn random(&self) -> u64 {
        self.1.random()
    }
}

/// A time, and its timer. No time needs no timer.
#[inline]
pub(crate) fn timer_of<R: Sleep>(runtime: &R, time: Duration) -> (Duration, Option<R::Sleep>) {
    (time, (!time.is_zero()).then(|| runtime.sleep(time)))
}

/// `wait` in nanoseconds, at most 584 years.
#[inline]
pub const fn nanos(wait: Duration) -> u64 {
    let nanos = wait.as_nanos();
    if nanos > u64::MAX as u128 {
        u64::MAX
    } else {
        nanos as u64
    }
}

#[cfg(feature = "testing")]
std::thread_local! {
    static LEFT_OUT: core::cell::Cell<Duration> = const { core::cell::Cell::new(Duration::ZERO) };
    /// Whether the waits of this thread are left out.
    pub(crate) static IS_INSTANT: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// The time of what calls share, such as the pauses of `Reconnect` and the turns of a `Rate`: the waits that `testing::instant`
/// left out on this thread count as time that has passed. They differ from thread to thread, so that a
/// time may be earlier than one that was read before on another thread.
#[inline]
pub(crate) fn shared_now(clock: &impl Clock) -> Duration {
    clock.now().saturating_add(left_out())
}

/// The waits that [`testing::instant`](crate::testing::instant) left out on this thread.
pub(crate) fn left_out() -> Duration {
    #[cfg(feature = "testing")]
    return LEFT_OUT.get();
    #[cfg(not(feature = "testing"))]
    Duration::ZERO
}

/// Leaves a wait out on this thread: [`shared_now`] is ahead by so much from now on.
#[cfg(feature = "testing")]
pub(crate) fn leave_out(wait: Duration) {
    LEFT_OUT.set(LEFT_OUT.get().saturating_add(wait));
}

/// Leaves out a wait in a queue, while retries are instant: whether the time counts as passed.
#[cfg(all(feature = "rate", feature = "testing"))]
pub(crate) fn leaves_out(wait: Duration) -> bool {
    let is_instant = IS_INSTANT.get();
    if is_instant {
        leave_out(wait);
    }
    is_instant
}

#[cfg_attr(
    all(feature = "wasm", target_family = "wasm", target_os = "unknown"),
    path = "runtime/browser.rs"
)]
mod host;

#[cfg(feature = "http-1")]
pub(crate) use host::date;

#[cfg(all(
    feature = "combine",
    any(
        feature = "smol",
        feature = "tokio",
        all(feature = "wasm", target_family = "wasm", target_os = "unknown")
    )
))]
pub(crate) use host::spawn;

/// The runtime of async calls if the caller names none.
pub use host::AsyncRuntime;
/// The runtime of async calls if the caller names none.
pub const ASYNC: AsyncRuntime = AsyncRuntime;

#[cfg(feature = "smol")]
mod smol;

#[cfg(feature = "std")]
mod origin;
#[cfg(feature = "std")]
mod with_std;

#[cfg(feature = "std")]
pub use with_std::Std;

#[cfg(feature = "tokio")]
mod with_tokio;

#[cfg(feature = "tokio")]
pub use with_tokio::Tokio;

/// A placeholder for a runtime that the caller must still name, if no feature brings a runtime.
///
/// It has no clock, so a type with this runtime is not a future and cannot be called.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRuntime;

impl Random for NoRuntime {
    fn random(&self) -> u64 {
        0
    }
}

impl Sleep for NoRuntime {
    type Sleep = core::future::Pending<()>;

    fn sleep(&self, _wait: Duration) -> Self::Sleep {
        core::future::pending()
    }
}

/// The runtime of blocking calls if the caller names none.
#[cfg(feature = "std")]
pub type BlockingRuntime = Std;
/// The runtime of blocking calls if the caller names none.
#[cfg(not(feature = "std"))]
pub type BlockingRuntime = NoRuntime;

/// The runtime of blocking calls if the caller names none.
#[cfg(feature = "std")]
pub const BLOCKING: BlockingRuntime = Std;
/// The runtime of blocking calls if the caller names none.
#[cfg(not(feature = "std"))]
pub const BLOCKING: BlockingRuntime = NoRuntime;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_stop_at_their_end() {
        assert_eq!(nanos(Duration::MAX), u64::MAX);
        assert_eq!(nanos(Duration::from_nanos(u64::MAX)), u64::MAX);
        assert_eq!(nanos(Duration::from_nanos(u64::MAX - 1)), u64::MAX - 1);
        assert_eq!(nanos(Duration::new(1, 1)), 1_000_000_001);
    }

    #[cfg(feature = "std")]
    #[test]
    fn an_instant_before_the_origin_is_told_apart() {
        use super::origin::since_origin;
        let now = std::time::Instant::now();
        let at = since_origin(now);
        let day = Duration::from_secs(86_400);
        assert_eq!(since_origin(now + day) - at, day);
        if let Some(earlier) = now.checked_sub(Duration::from_secs(60)) {
            assert_eq!(at - since_origin(earlier), Duration::from_secs(60));
        }
    }

    #[cfg(feature = "std")]
    #[test]
    fn threads_draw_different_numbers() {
        let draw = || [0; 4].map(|_| Std.random());
        let here = draw();
        let there = std::thread::spawn(draw).join().unwrap();
        assert_ne!(here, there);
        assert_ne!(here, draw());
    }
}
