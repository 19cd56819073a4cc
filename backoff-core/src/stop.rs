//! A stop signal that one thread gives and that ends the blocking calls of other threads.

use std::{
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Ends the waits of blocking calls from another thread. All clones share one signal.
///
/// Give a `Stop` to a call with [`Retrying::stop_on`](crate::Retrying::stop_on). [`stop`](Self::stop)
/// wakes the thread of the call, and the call ends. A stop is final.
///
/// ```
/// use backoff_core::{Jitter, Policy, Stop, StopReason, TimedOut};
/// use std::{thread, time::Duration};
///
/// const POLICY: Policy = Policy::constant(Duration::from_secs(60)).jitter(Jitter::None);
/// let busy = || Err::<(), _>(TimedOut::new(Duration::ZERO));
///
/// let stop = Stop::new();
/// let of_call = stop.clone();
/// let call = thread::spawn(move || POLICY.blocking(busy).stop_on(&of_call).reported().call());
/// stop.stop();
/// let ended = call.join().unwrap().unwrap_err();
/// assert_eq!((ended.reason, ended.report.attempts), (StopReason::Stopped, 1));
/// ```
#[derive(Clone, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// A `Stop` on which [`stop`](Self::stop) has not been called.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops all calls that use this `Stop` or a clone, and all calls that use it later.
    pub fn stop(&self) {
        *self.is_stopped_now() = true;
        self.0.changed.notify_all();
    }

    /// Whether [`stop`](Self::stop) was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.is_stopped_now()
    }

    /// Blocks this thread until [`stop`](Self::stop) is called, or until `wait` has passed. Returns
    /// whether `stop` was called. Use this method in a timer of your own:
    /// [`BlockingSleep::sleep_or_stop`](crate::BlockingSleep::sleep_or_stop).
    ///
    /// ```
    /// use backoff_core::Stop;
    /// use std::time::Duration;
    ///
    /// let stop = Stop::new();
    /// assert!(!stop.wait(Duration::from_millis(1)));
    /// stop.stop();
    /// assert!(stop.wait(Duration::MAX));
    /// ```
    pub fn wait(&self, wait: Duration) -> bool {
        let changed = &self.0.changed;
        let waited = changed.wait_timeout_while(self.is_stopped_now(), wait, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn is_stopped_now(&self) -> MutexGuard<'_, bool> {
        // No code panics while it holds this lock.
        let locked = self.0.is_stopped.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop")
            .field("is_stopped", &self.is_stopped())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_any_length_ends_when_it_is_stopped() {
        let stop = Stop::new();
        let (ends, ended) = std::sync::mpsc::channel();
        for wait in [Duration::MAX, Duration::from_secs(3600)] {
            let (stop, ends) = (stop.clone(), ends.clone());
            std::thread::spawn(move || ends.send(stop.wait(wait)).unwrap());
        }
        assert!(!stop.is_stopped());
        stop.stop();
        for _ in 0..2 {
            assert_eq!(ended.recv_timeout(Duration::from_secs(120)), Ok(true));
        }
        assert!(stop.wait(Duration::MAX) && stop.is_stopped());
        assert!(format!("{stop:?}").contains("true"));
    }

    #[test]
    fn a_wait_that_nobody_stops_lasts_its_time() {
        let wait = Duration::from_millis(5);
        let start = std::time::Instant::now();
        assert!(!Stop::new().wait(wait));
        assert!(start.elapsed() >= wait);
    }
}
