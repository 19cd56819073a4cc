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

/// Runs tasks in the background. Only [`Policy::combine`](crate::Policy::combine) needs this.
///
/// ```
/// use backoff_core::Spawn;
/// use std::{future::Future, pin::Pin};
///
/// struct OnHandle(tokio::runtime::Handle);
/// impl Spawn for OnHandle {
///     fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
///         self.0.spawn(task);
///     }
/// }
/// ```
#[cfg(feature = "combine")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot run the task that combines changes",
    label = "`{Self}` does not implement `Spawn`",
    note = "write `impl Spawn for` your runtime: one method, which spawns a task"
)]
pub trait Spawn {
    /// Runs a task until its end. Nobody waits for this end. If the runtime ends first, it drops the task.
    fn spawn(&self, task: core::pin::Pin<std::boxed::Box<dyn Future<Output = ()> + Send>>);
}

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

/// Uses the timer of the first part.
#[cfg(feature = "combine")]
impl<S: Spawn, R> Spawn for (S, R) {
    fn spawn(&self, task: core::pin::Pin<std::boxed::Box<dyn Future<Output = ()> + Send>>) {
        self.0.spawn(task);
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

/// What a program on an operating system takes from it, and its runtime.
#[cfg(not(all(feature = "wasm", target_family = "wasm", target_os = "unknown")))]
mod host {
    #[cfg(not(any(feature = "smol", feature = "tokio")))]
    pub use super::NoRuntime as AsyncRuntime;
    #[cfg(all(feature = "smol", not(feature = "tokio")))]
    pub use super::Std as AsyncRuntime;
    #[cfg(feature = "tokio")]
    pub use super::Tokio as AsyncRuntime;

    #[cfg(feature = "std")]
    #[inline]
    pub(super) fn now() -> core::time::Duration {
        super::with_std::since_origin(std::time::Instant::now())
    }

    /// Each `RandomState` has different keys, which come from the operating system.
    #[cfg(feature = "std")]
    pub(super) fn seed() -> [u64; 4] {
        let state = std::hash::RandomState::new();
        [0, 1, 2, 3].map(|i| std::hash::BuildHasher::hash_one(&state, i))
    }

    #[cfg(feature = "http-1")]
    pub(crate) fn date() -> std::time::SystemTime {
        std::time::SystemTime::now()
    }
}

#[cfg(all(feature = "wasm", target_family = "wasm", target_os = "unknown"))]
#[path = "runtime/browser.rs"]
mod host;

#[cfg(feature = "http-1")]
pub(crate) use host::date;

/// The runtime of async calls if the caller names none.
pub use host::AsyncRuntime;
/// The runtime of async calls if the caller names none.
pub const ASYNC: AsyncRuntime = AsyncRuntime;

#[cfg(feature = "smol")]
mod smol;

#[cfg(feature = "std")]
mod with_std {
    use super::{BlockingSleep, Clock, Duration, Random, Stop, host};
    use rand::{Rng as _, SeedableRng, rngs::SmallRng};
    use std::{
        cell::{Cell, RefCell},
        sync::{Mutex, OnceLock, PoisonError},
        time::Instant,
    };

    /// The clock and the timer of the standard library: the runtime of blocking calls. The feature `smol` adds a timer
    /// for async calls, which runs on any executor. In a browser, the feature `wasm` brings the browser's clock, timer
    /// and randomness instead. With one of the two, and without `tokio`, this is the runtime of async calls. In a
    /// browser with `wasm` this is always so.
    ///
    /// Random numbers come from a small generator of the thread (`rand`'s `SmallRng`). The standard
    /// library's `RandomState` seeds the generator from the operating system's randomness, with a
    /// different seed for each thread. On `wasm32-unknown-unknown` without the feature `wasm`, the clock panics, and
    /// all processes draw the same numbers: pass a runtime of your own there.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Std;

    impl Clock for Std {
        #[inline]
        fn now(&self) -> Duration {
            host::now()
        }
    }

    impl BlockingSleep for Std {
        fn sleep_blocking(&self, wait: Duration) {
            std::thread::sleep(wait);
        }

        fn sleep_or_stop(&self, wait: Duration, stop: &Stop) -> bool {
            stop.wait(wait)
        }
    }

    impl Random for Std {
        #[inline]
        fn random(&self) -> u64 {
            OF_THREAD.with(|generator| match generator.take() {
                Some(mut seeded) => {
                    let random = seeded.next_u64();
                    generator.set(Some(seeded));
                    random
                }
                None => first(generator),
            })
        }
    }

    thread_local! {
        static OF_THREAD: Cell<Option<SmallRng>> = const { Cell::new(None) };
    }

    /// Seeds a thread's generator, and draws from it.
    #[cold]
    #[inline(never)]
    fn first(generator: &Cell<Option<SmallRng>>) -> u64 {
        let mut seeded = seeded();
        let random = seeded.next_u64();
        generator.set(Some(seeded));
        random
    }

    /// A new generator.
    fn seeded() -> SmallRng {
        let mut seed = [0; 32];
        for (bytes, number) in seed.chunks_exact_mut(8).zip(host::seed()) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        SmallRng::from_seed(seed)
    }

    /// Any generator of the crate `rand` (0.10), on one thread.
    impl<G: rand::Rng> Random for RefCell<G> {
        #[inline]
        fn random(&self) -> u64 {
            self.borrow_mut().next_u64()
        }
    }

    /// Any generator of the crate `rand` (0.10), shared by threads.
    impl<G: rand::Rng> Random for Mutex<G> {
        fn random(&self) -> u64 {
            // A generator is still usable after a panic in another thread.
            let mut generator = self.lock().unwrap_or_else(PoisonError::into_inner);
            generator.next_u64()
        }
    }

    /// An instant as the time since the origin of the process. The origin is 100 years before the first
    /// instant, so that the paused clock of an older runtime is not before the origin.
    #[cfg_attr(feature = "wasm", allow(dead_code, reason = "only for tokio there"))]
    #[inline]
    pub(super) fn since_origin(instant: Instant) -> Duration {
        const LEAD: Duration = Duration::from_secs(100 * 365 * 86_400);
        static FIRST: OnceLock<Instant> = OnceLock::new();
        let first = *FIRST.get_or_init(|| instant);
        match instant.checked_duration_since(first) {
            Some(later) => LEAD.saturating_add(later),
            None => LEAD.saturating_sub(first.duration_since(instant)),
        }
    }
}

#[cfg(feature = "std")]
pub use with_std::Std;

#[cfg(feature = "tokio")]
mod with_tokio {
    use super::{Clock, Duration, Random, Sleep, Std, with_std::since_origin};
    use core::{
        future::Future,
        pin::Pin,
        task::{Context, Poll},
    };
    use pin_project_lite::pin_project;
    #[cfg(not(feature = "smol"))]
    use tokio::time::{Sleep as Timer, sleep as timer};

    /// Tokio's timer inside a tokio runtime, async-io's elsewhere: two crates of a program may each turn one feature on.
    #[cfg(feature = "smol")]
    type Timer = Pin<std::boxed::Box<dyn Future<Output = ()> + Send + Sync>>;

    #[cfg(feature = "smol")]
    fn timer(wait: Duration) -> Timer {
        if is_in_tokio() {
            return std::boxed::Box::pin(tokio::time::sleep(wait));
        }
        std::boxed::Box::pin(Std.sleep(wait))
    }

    /// Tokio's clock and timer: the runtime of async calls. Paused time works.
    ///
    /// The timer has a resolution of one millisecond and rounds up. A wait of zero does not use the timer, and is over
    /// at once.
    ///
    /// With the feature `smol`, a call outside a tokio runtime waits as [`Std`] does, and does not panic. Then each
    /// wait allocates.
    ///
    /// # Panics
    /// Panics if a wait, or a call that is cut at a time limit, begins outside a tokio runtime. The message
    /// says what to write instead. In a build with debug assertions, every call outside a tokio runtime
    /// panics, even if its first attempt would succeed. In a runtime whose time is not enabled, `tokio::time::sleep` panics: build such a runtime with `enable_time`
    /// or `enable_all`.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Tokio;

    impl Clock for Tokio {
        #[inline]
        fn now(&self) -> Duration {
            since_origin(tokio::time::Instant::now().into_std())
        }

        #[track_caller]
        fn check(&self) {
            needs_runtime();
        }
    }

    impl Sleep for Tokio {
        type Sleep = TokioSleep;

        #[inline]
        #[track_caller]
        fn sleep(&self, wait: Duration) -> Self::Sleep {
            needs_runtime();
            let timer = (!wait.is_zero()).then(|| timer(wait));
            TokioSleep { timer }
        }
    }

    #[cfg(feature = "combine")]
    impl super::Spawn for Tokio {
        #[track_caller]
        fn spawn(&self, task: Pin<std::boxed::Box<dyn Future<Output = ()> + Send>>) {
            #[cfg(feature = "smol")]
            if !is_in_tokio() {
                return super::Spawn::spawn(&Std, task);
            }
            needs_runtime();
            drop(tokio::spawn(task));
        }
    }

    pin_project! {
        /// A wait.
        #[cfg_attr(not(feature = "smol"), derive(Debug))]
        pub struct TokioSleep {
            #[pin]
            timer: Option<Timer>,
        }
    }

    impl Future for TokioSleep {
        type Output = ();

        #[inline]
        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            match self.project().timer.as_pin_mut() {
                Some(timer) => timer.poll(cx),
                None => Poll::Ready(()),
            }
        }
    }

    /// Panics in place of tokio, whose message does not help in a program that only retries. This is a
    /// separate function, so that a call without a wait has no cost.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn needs_runtime() {
        assert!(
            cfg!(feature = "smol") || is_in_tokio(),
            "an async retry waits with tokio's timer, but no tokio runtime runs on this thread. Call it \
             inside a runtime (`#[tokio::main]`, `Runtime::block_on`), turn on the feature `smol`, whose \
             timer runs on any executor, pass another timer (`.runtime(..)`, in the attribute \
             `runtime = ..`), or use the blocking form (`Policy::retry_blocking`, `#[retry]` on a \
             function that is not async)"
        );
    }

    /// Whether a tokio runtime runs on this thread.
    fn is_in_tokio() -> bool {
        tokio::runtime::Handle::try_current().is_ok()
    }

    impl Random for Tokio {
        #[inline]
        fn random(&self) -> u64 {
            Std.random()
        }
    }
}

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
        use super::with_std::since_origin;
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
