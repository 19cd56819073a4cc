//! A call that outlives its process.

use super::{Decision, RetryState};
use crate::{
    facts::fault::Fault,
    policy::{LONGEST, Policy},
    runtime::Random,
};
use core::time::Duration;
use std::time::SystemTime;

/// A call that outlives its process, as two numbers for a column, a message or a file. Another process may make the
/// next attempt; if the attempt fails, it asks this value for the next step.
///
/// The time counts from the first attempt, by the clock of the machine. If that clock goes back, no time has passed:
/// the deadline comes later, and the waits are as long as the number of failures says.
///
/// With the feature `serde` it is a pair of numbers.
///
/// ```
/// use backoff_core::{Decision, Jitter, Policy, SavedRetry, StopReason, TimedOut};
/// use std::{cell::RefCell, collections::BTreeMap, time::{Duration, SystemTime}};
///
/// const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(3);
///
/// /// A store of one's own: when each job runs again, and what is kept of its call.
/// #[derive(Default)]
/// struct Store(RefCell<BTreeMap<u64, (SystemTime, SavedRetry)>>);
///
/// impl Store {
///     /// The job `id` has failed. Returns why it ends, or puts it back.
///     fn failed(&self, id: u64, mut retry: SavedRetry, error: &TimedOut, now: SystemTime) -> Option<StopReason> {
///         match retry.failed(&POLICY, error, now, &backoff_core::Std) {
///             Decision::Wait(wait) => {
///                 self.0.borrow_mut().insert(id, (now + wait.delay, retry));
///                 None
///             }
///             Decision::Stop(reason) => Some(reason),
///         }
///     }
/// }
///
/// let (store, start) = (Store::default(), SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
/// let (error, mut retry) = (TimedOut::new(Duration::ZERO), SavedRetry::begins(start));
/// let mut runs_at = start;
/// for seconds in [1, 2] {
///     assert_eq!(store.failed(7, retry, &error, runs_at), None);
///     let before = runs_at;
///     (runs_at, retry) = store.0.borrow_mut().remove(&7).unwrap(); // in another process, perhaps
///     assert_eq!(runs_at, before + Duration::from_secs(seconds));
/// }
/// assert_eq!(store.failed(7, retry, &error, runs_at), Some(StopReason::Attempts));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SavedRetry {
    /// When the first attempt began, in milliseconds since 1970.
    pub began_millis: u64,
    /// How many attempts have failed.
    pub failures: u32,
}

impl SavedRetry {
    /// The first attempt begins at `now`.
    pub fn begins(now: SystemTime) -> Self {
        SavedRetry {
            began_millis: millis(now),
            failures: 0,
        }
    }

    /// The time since the first attempt; zero if the clock has gone back before it.
    pub fn elapsed(&self, now: SystemTime) -> Duration {
        Duration::from_millis(millis(now).saturating_sub(self.began_millis))
    }

    /// Whether the deadline is over, so that no attempt may begin. The first attempt always may. Ask this before each
    /// run, because a queue can be late.
    pub fn is_too_late(&self, policy: &Policy, now: SystemTime) -> bool {
        let elapsed = self.elapsed(now).min(LONGEST);
        let state = RetryState::resumed(Duration::ZERO, self.failures);
        state.is_too_late(policy, || elapsed)
    }

    /// An attempt has failed: counts the failure, and decides whether and when another attempt follows, as every call
    /// with this policy does. The earlier waits are not known; where the next wait depends on them (decorrelated
    /// jitter), they are drawn again. The retry takes tokens of a budget, which are not given back.
    pub fn failed<E: Fault>(
        &mut self,
        policy: &Policy,
        error: &E,
        now: SystemTime,
        random: &impl Random,
    ) -> Decision {
        let mut state = RetryState::resumed(Duration::ZERO, self.failures);
        state.draw_waits(policy, || random.random());
        self.failures = self.failures.saturating_add(1);
        let elapsed = self.elapsed(now).min(LONGEST);
        state.failed(policy, policy.judge(error), || elapsed, || random.random())
    }
}

/// Since 1970; zero before it.
fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis().try_into().unwrap_or(u64::MAX))
}

#[cfg(feature = "serde")]
impl serde_core::Serialize for SavedRetry {
    fn serialize<S: serde_core::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.began_millis, self.failures).serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde_core::Deserialize<'de> for SavedRetry {
    fn deserialize<D: serde_core::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (began_millis, failures) = serde_core::Deserialize::deserialize(deserializer)?;
        Ok(SavedRetry {
            began_millis,
            failures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{delay::jitter::Jitter, report::StopReason, test_error::TestError};

    const BUSY: TestError = TestError::status(503);
    const POLICY: Policy = Policy::exponential()
        .jitter(Jitter::None)
        .max_attempts(5)
        .deadline(Duration::from_secs(60));

    struct Half;

    impl Random for Half {
        fn random(&self) -> u64 {
            1 << 63
        }
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn begun(seconds: u64, failures: u32) -> SavedRetry {
        SavedRetry {
            failures,
            ..SavedRetry::begins(at(seconds))
        }
    }

    const fn hinted(seconds: u64) -> TestError {
        BUSY.after(Duration::from_secs(seconds))
    }

    /// Rows: the failures so far, the error, the time of this one, and the seconds of the wait or why the call ends.
    /// The first attempt began at 1000 s.
    #[test]
    fn a_decision_is_that_of_a_call() {
        for (failures, error, now, decided) in [
            (0, BUSY, 1_000, Ok(1)),
            (3, BUSY, 1_007, Ok(8)),
            (4, BUSY, 1_015, Err(StopReason::Attempts)),
            (1, BUSY, 1_058, Ok(2)),
            (1, BUSY, 1_059, Err(StopReason::Deadline)),
            (0, TestError::status(404), 1_000, Err(StopReason::Permanent)),
            (0, hinted(30), 1_000, Ok(30)),
            (0, hinted(90), 1_000, Err(StopReason::RetryAfter)),
            // The clock has gone back: no time has passed, and the waits grow all the same.
            (3, BUSY, 500, Ok(8)),
            (4, BUSY, 0, Err(StopReason::Attempts)),
            // After longer than any deadline.
            (1, BUSY, 1 << 40, Err(StopReason::Deadline)),
        ] {
            let mut saved = begun(1_000, failures);
            let decision = match saved.failed(&POLICY, &error, at(now), &Half) {
                Decision::Wait(wait) => Ok(wait.delay.as_secs()),
                Decision::Stop(reason) => Err(reason),
            };
            assert_eq!(decision, decided, "{failures}, {error:?}, at {now}");
            assert_eq!(saved.failures, failures + 1);
        }
    }

    #[test]
    fn no_attempt_but_the_first_begins_after_the_deadline() {
        for (failures, now, too_late) in [
            (0, 2_000, false),
            (1, 1_059, false),
            (1, 1_061, true),
            (1, 500, false),
            (1, 1 << 40, true),
        ] {
            let is_too_late = begun(1_000, failures).is_too_late(&POLICY, at(now));
            assert_eq!(is_too_late, too_late, "{failures}, {now}");
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn it_is_a_pair_of_numbers() {
        let saved = SavedRetry {
            began_millis: 1_000,
            failures: 3,
        };
        let text = serde_json::to_string(&saved).unwrap();
        assert_eq!(text, "[1000,3]");
        assert_eq!(serde_json::from_str::<SavedRetry>(&text).unwrap(), saved);
    }
}
