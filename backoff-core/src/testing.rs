//! Tools for testing programs that retry: virtual time, retries without waits, no retries, and faults.
//!
//! Turn the feature `testing` on in `[dev-dependencies]`. The tools apply to every form of retry: async
//! and blocking calls, updates, annotated functions and blocks, and policies inside Google's and AWS'
//! clients. [`faults()`] and [`script`] are around your operation, and need no form of retry.
//!
//! ```
//! use backoff_core::{Policy, TimedOut, testing};
//! use std::time::Duration;
//!
//! const POLICY: Policy = Policy::exponential().max_attempts(3);
//! let busy = || Err::<(), _>(TimedOut::new(Duration::ZERO));
//!
//! // No wait lasts.
//! {
//!     let _instant = testing::instant();
//!     let report = POLICY.blocking(busy).reported().call().unwrap_err().report;
//!     assert_eq!(report.attempts, 3);
//!     assert!(report.slept < Duration::from_secs(1));
//! }
//!
//! // No retry is made.
//! let _off = testing::off();
//! assert_eq!(POLICY.blocking(busy).reported().call().unwrap_err().report.attempts, 1);
//! ```
//!
//! In tokio's tests with `start_paused = true`, waits take no real time anyway, and the deadline counts
//! the virtual time of the waits.

mod faults;

use crate::{
    report::StopReason,
    runtime::{BlockingSleep, Clock, IS_INSTANT, Random, Sleep, leave_out},
    state::{Decision, RetryState},
};
use core::{
    cell::Cell,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    task::{Context, Poll},
    time::Duration,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use faults::{Faults, Injected, faults, script};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Retries {
    Real,
    Instant,
    Off,
}

thread_local! {
    static RETRIES: Cell<Retries> = const { Cell::new(Retries::Real) };
}

static OFF_EVERYWHERE: AtomicBool = AtomicBool::new(false);

/// Returns the setting before.
fn set(retries: Retries) -> Retries {
    IS_INSTANT.set(retries == Retries::Instant);
    RETRIES.replace(retries)
}

/// While the guard lives, the retries of its thread are instant or switched off. Made by [`instant`]
/// and [`off`].
#[derive(Debug)]
#[must_use = "dropping the guard ends its effect at once"]
pub struct Guard {
    before: Retries,
    // The guard belongs to its thread.
    not_send: PhantomData<*const ()>,
}

impl Guard {
    fn new(retries: Retries) -> Self {
        Guard {
            before: set(retries),
            not_send: PhantomData,
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        set(self.before);
    }
}

/// While the guard lives, the retries of this thread do not wait. Attempts, budget, deadline and `timeout`
/// count as usual: each wait that is left out counts as elapsed time. So a call ends after as many attempts
/// as it does with its waits. The pauses of a `Reconnect` that this thread uses are shorter by the same
/// waits. Tasks that run on other threads of a runtime are not affected.
///
/// ```
/// use backoff_core::{Jitter, Policy, StopReason, TimedOut, testing};
/// use std::time::Duration;
///
/// // Attempts begin after 0, 1, 3, 7 and 15 s; the next attempt would begin after 31 s.
/// const POLICY: Policy = Policy::exponential().jitter(Jitter::None).deadline(Duration::from_secs(30));
/// let _instant = testing::instant();
/// let busy = || Err::<(), _>(TimedOut::new(Duration::ZERO));
/// let given_up = POLICY.blocking(busy).reported().call().unwrap_err();
/// assert_eq!((given_up.reason, given_up.report.attempts), (StopReason::Deadline, 5));
/// ```
pub fn instant() -> Guard {
    Guard::new(Retries::Instant)
}

/// While the guard lives, each call of this thread makes one attempt, without the second request of a
/// [`Hedge`](crate::Hedge), and ends with [`StopReason::SwitchedOff`] instead of a retry.
pub fn off() -> Guard {
    Guard::new(Retries::Off)
}

/// As [`off`], for all threads until the process ends: for a suite of tests whose calls run on many threads. Where
/// [`instant`] holds on a thread, its retries are instant.
///
/// ```
/// use backoff_core::{Policy, TimedOut, testing};
/// use std::{thread, time::Duration};
///
/// const POLICY: Policy = Policy::exponential().max_attempts(3);
/// let attempts = || {
///     let busy = || Err::<(), _>(TimedOut::new(Duration::ZERO));
///     POLICY.blocking(busy).reported().call().unwrap_err().report.attempts
/// };
///
/// testing::off_everywhere();
/// assert_eq!(thread::spawn(attempts).join().unwrap(), 1);
///
/// let _instant = testing::instant();
/// assert_eq!(attempts(), 3);
/// ```
pub fn off_everywhere() {
    OFF_EVERYWHERE.store(true, Relaxed);
}

/// Adjusts a decision to wait.
pub(crate) fn adjusted(next: Decision, retry: &mut RetryState) -> Decision {
    if !next.is_wait() {
        return next;
    }
    match RETRIES.get() {
        Retries::Real if !OFF_EVERYWHERE.load(Relaxed) => next,
        Retries::Instant => {
            retry.skip(next.wait());
            leave_out(next.wait());
            next.lasting(Duration::ZERO)
        }
        Retries::Off | Retries::Real => Decision::Stop(StopReason::SwitchedOff),
    }
}

/// Virtual time: a runtime whose clock moves only when a caller waits or advances it, and whose random
/// numbers the test sets. Clones share the clock.
///
/// ```
/// use backoff_core::{Policy, TimedOut, testing::VirtualTime};
/// use std::time::Duration;
///
/// const POLICY: Policy = Policy::exponential().max_attempts(4);
/// let time = VirtualTime::new(); // draws the longest waits
/// let busy = || Err::<(), _>(TimedOut::new(Duration::ZERO));
/// assert!(POLICY.blocking(busy).runtime(time.clone()).call().is_err());
/// assert_eq!(time.waits(), [1, 2, 4].map(Duration::from_secs));
/// assert_eq!(time.elapsed(), Duration::from_secs(7));
/// ```
#[derive(Clone, Debug)]
pub struct VirtualTime(Arc<Mutex<VirtualState>>);

#[derive(Debug)]
struct VirtualState {
    now: Duration,
    random: u64,
    waits: Vec<Duration>,
}

impl VirtualTime {
    /// A clock at zero. The random number is `u64::MAX`, so each wait is the longest possible wait.
    #[must_use]
    pub fn new() -> Self {
        VirtualTime(Arc::new(Mutex::new(VirtualState {
            now: Duration::ZERO,
            random: u64::MAX,
            waits: Vec::new(),
        })))
    }

    /// The same clock. From now on, each random number is `random`: 0 gives the shortest waits,
    /// `u64::MAX` the longest waits.
    #[must_use]
    pub fn drawing(self, random: u64) -> Self {
        self.state().random = random;
        self
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state();
        state.now = state.now.saturating_add(by);
    }

    /// The time that has passed.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.state().now
    }

    /// The waits so far, in their order.
    #[must_use]
    pub fn waits(&self) -> Vec<Duration> {
        self.state().waits.clone()
    }

    fn state(&self) -> MutexGuard<'_, VirtualState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, wait: Duration) -> Duration {
        let mut state = self.state();
        state.waits.push(wait);
        state.now.saturating_add(wait)
    }

    fn reach(&self, end: Duration) {
        let mut state = self.state();
        state.now = state.now.max(end);
    }
}

impl Default for VirtualTime {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for VirtualTime {
    fn now(&self) -> Duration {
        self.elapsed()
    }
}

impl Sleep for VirtualTime {
    type Sleep = VirtualSleep;

    fn sleep(&self, wait: Duration) -> VirtualSleep {
        VirtualSleep {
            end: self.wait(wait),
            time: self.clone(),
        }
    }
}

impl BlockingSleep for VirtualTime {
    fn sleep_blocking(&self, wait: Duration) {
        let end = self.wait(wait);
        self.reach(end);
    }
}

impl Random for VirtualTime {
    fn random(&self) -> u64 {
        self.state().random
    }
}

/// A wait in [`VirtualTime`]: ready at the first poll, which moves the clock to the end of the wait.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct VirtualSleep {
    end: Duration,
    time: VirtualTime,
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
        self.time.reach(self.end);
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::WaitSource;

    fn after(next: Decision) -> Decision {
        let mut retry = RetryState::UNTIMED;
        adjusted(next, &mut retry)
    }

    #[test]
    fn a_guard_gives_back_what_was_before_it() {
        let real = Decision::after(7, WaitSource::Backoff);
        {
            let _instant = instant();
            assert_eq!(after(real).wait().as_nanos(), 0);
            {
                let _off = off();
                assert_eq!(after(real).reason(), Some(StopReason::SwitchedOff));
            }
            assert_eq!(after(real).wait().as_nanos(), 0);
        }
        assert_eq!(after(real).wait().as_nanos(), 7);
        std::thread::spawn(move || assert_eq!(after(real).wait().as_nanos(), 7))
            .join()
            .unwrap();
    }
}
