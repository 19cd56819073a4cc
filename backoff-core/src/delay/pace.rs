//! Waits for writers that compete for one resource, computed from how long an attempt takes.

use crate::{facts::fault::FaultKind, runtime::nanos};
use core::{mem, time::Duration};

/// The pace of a writer: after a conflict, the wait depends on the number of conflicts and on how long
/// an attempt takes.
///
/// After conflict `n` of a call, the wait is drawn from zero to
///
/// ```text
/// 2.5 · window · n^1.25
/// ```
///
/// and is at most the policy's `max_backoff`. The *window* is the time from a read to the refusal of the
/// write after it, because any write in that time causes the conflict. The window is a mean of this
/// writer's measurements; a new one counts a quarter. One writer succeeds in each window at most,
/// so a writer that has met n conflicts had at least n others beside it. The numbers 2.5 and 1.25 are ours,
/// found by simulation (`cargo run --release -p examples --example simulation -- contention --check`).
///
/// After any other failure the policy's own waits are used. Which of them follows depends on the number of
/// failures of the same sort:
///
/// | the failure | the number |
/// |---|---|
/// | throttled, of a read or of a write | all throttled failures of the call |
/// | another failed read | such failures since the last answered read |
/// | another failed write | all such failures of the call |
///
/// A throttled failure tells what the service can take from all, so no success of a single step ends the
/// count. A failure without a [`read`](Pace::read) since the last failure counts as that of a read. With
/// decorrelated jitter each wait follows from the wait before, whatever failed.
///
/// A conflict counts as another failed write if it is no race of writers, or if its window is not known:
/// if the read before the write showed the version that was refused already, or if the clock says that
/// the attempt took no time.
///
/// A pace is used only if the policy's waits are exponential. Policies with
/// [other waits](crate::Policy::custom) use their own waits. After a conflict, the policy's base, factor
/// and jitter do not affect the wait. Because the pace's waits are short, a policy without `max_attempts`
/// and deadline makes up to 100 attempts, as long as they end in such conflicts; all other failures count
/// as usual.
///
/// [`Policy::update`](crate::Policy::update) keeps a pace if [`version`](crate::Retrying::version) tells it the version. A loop of your own keeps a pace together with its
/// [`RetryState`](crate::RetryState):
///
/// ```
/// use backoff_core::{Decision, Policy, RetryState, Verdict, FaultKind, delay::Pace};
/// use std::time::Duration;
///
/// const POLICY: Policy = Policy::exponential().base(Duration::from_secs(1));
/// let ms = Duration::from_millis;
/// let conflict = Verdict::Retry { kind: FaultKind::Conflict, retry_after: None };
///
/// let mut retry = RetryState::start(&POLICY, || ms(0));
/// let mut pace = Pace::new();
/// pace.read(ms(10), false); // the first read
/// // The write is refused 20 ms later.
/// let decision = retry.failed_paced(&mut pace, &POLICY, conflict, || ms(30), || u64::MAX);
/// let Decision::Wait(wait) = decision else { panic!() };
/// assert_eq!(wait.delay, ms(50)); // the longest that can be drawn; by the policy, 1 s
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The time of the last reply to a read, in nanoseconds.
    read: u64,
    /// Nanoseconds from a read to the refusal of the write after it; zero before the first conflict.
    window: u64,
    /// The number of conflicts whose wait was the pace's.
    conflicts: u32,
    throttled: u16,
    /// Other failed reads since the last answered one.
    failed_reads: u16,
    /// Other failed writes.
    failed_writes: u16,
    /// Which wait of the policy follows, counted from 1; 0 before the first failure, and if the pace gives
    /// the wait.
    turn: u16,
    /// A read was answered since the last failure, so that the next failure is that of a later step.
    has_read: bool,
    /// The write under the version that was read last was refused.
    is_refused: bool,
}

/// Before the first read.
impl Default for Pace {
    fn default() -> Self {
        Pace::new()
    }
}

impl Pace {
    /// Before the first read.
    #[must_use]
    pub const fn new() -> Self {
        Pace {
            read: 0,
            window: 0,
            conflicts: 0,
            throttled: 0,
            failed_reads: 0,
            failed_writes: 0,
            turn: 0,
            has_read: false,
            is_refused: false,
        }
    }

    /// A read was answered at this time of the clock. `is_same_version`: the value has the version of the
    /// read before. For the first read, and for a version that is not known, `false`.
    pub fn read(&mut self, now: Duration, is_same_version: bool) {
        self.read = nanos(now);
        self.failed_reads = 0;
        self.has_read = true;
        self.is_refused &= is_same_version;
    }

    /// An attempt failed. `kind` is `Conflict` only if the write was refused, because another writer was
    /// faster; then the clock is read.
    pub(crate) fn failed(&mut self, kind: FaultKind, now: impl FnOnce() -> Duration) {
        let has_read = mem::take(&mut self.has_read);
        if kind == FaultKind::Conflict {
            let took = nanos(now()).saturating_sub(self.read);
            let was_refused = mem::replace(&mut self.is_refused, true);
            // With a clock that does not advance, the writer would try again at once, for ever.
            if took > 0 && !was_refused {
                self.conflicts = self.conflicts.saturating_add(1);
                self.window = match self.conflicts {
                    1 => took,
                    _ => self.window - self.window / 4 + took / 4,
                };
                self.turn = 0;
                return;
            }
        }
        let failures = match kind {
            FaultKind::Throttled => &mut self.throttled,
            _ if has_read => &mut self.failed_writes,
            _ => &mut self.failed_reads,
        };
        *failures = failures.saturating_add(1);
        self.turn = *failures;
    }

    /// Whether an attempt has failed.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.turn > 0 || self.conflicts > 0
    }

    /// Which wait of the policy follows, counted from 1; 0 if the pace gives the wait, or if nothing has
    /// failed.
    pub(crate) fn turn(&self) -> u16 {
        self.turn
    }

    /// The number of waits that the pace gave.
    pub(crate) fn kept(&self) -> u32 {
        self.conflicts
    }

    /// The range of the wait after the last conflict, in nanoseconds from 0; `None` if the policy's own
    /// wait follows.
    pub(crate) fn range(&self) -> Option<u64> {
        let n = self.conflicts;
        let windows = 2.5 * f64::from(n) * fourth_root(n);
        // The conversion of a number that is too large gives the largest number.
        (self.turn == 0 && n > 0).then_some((windows * self.window as f64) as u64)
    }
}

/// To 15 binary places at least, because `core` has no roots for floats.
fn fourth_root(number: u32) -> f64 {
    let root = (u64::from(number) << 32).isqrt();
    (root << 32).isqrt() as f64 / f64::from(1 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use FaultKind::{Conflict, Throttled, Transient};
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    /// A read that shows another version than the one before, and a conflict, so many milliseconds later.
    fn conflict(pace: &mut Pace, took: u32) -> Option<u64> {
        pace.read(100 * MS, false);
        pace.failed(Conflict, || (100 + took) * MS);
        pace.range()
    }

    fn after_one() -> Pace {
        let mut pace = Pace::new();
        assert_eq!(conflict(&mut pace, 20), Some(50_000_000));
        pace
    }

    /// The formula, with powers that `core` does not have.
    #[test]
    fn the_range_grows_with_the_conflicts() {
        let mut pace = Pace::new();
        for conflicts in 1..=300 {
            let range = conflict(&mut pace, 20).unwrap() as f64;
            let expected = 2.5 * 20e6 * f64::from(conflicts).powf(1.25);
            let error = (range / expected - 1.0).abs();
            assert!(error < 2e-5, "{conflicts}: {range}");
            assert_eq!((pace.kept(), pace.turn()), (conflicts, 0));
        }
    }

    #[test]
    fn the_window_is_a_mean() {
        let mut pace = after_one();
        conflict(&mut pace, 60);
        assert_eq!(pace.window, 30_000_000);
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_leaves_the_wait_to_the_policy() {
        for conflict in [80, 70] {
            let mut pace = Pace::new();
            pace.read(80 * MS, false);
            pace.failed(Conflict, || conflict * MS);
            assert_eq!((pace.range(), pace.kept(), pace.turn()), (None, 0, 1));
        }
    }

    proptest! {
        /// For every clock and version, the range is a number, and greater than zero.
        #[test]
        fn any_history_gives_a_range(
            steps in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>(), 0..4_u8), 1..300),
        ) {
            let mut pace = Pace::new();
            for (read, failed, is_same, what) in steps {
                pace.read(Duration::from_nanos(read), is_same);
                let kind = [Throttled, Transient, Conflict, Conflict][usize::from(what)];
                pace.failed(kind, || Duration::from_nanos(failed));
                prop_assert!(pace.range() != Some(0));
                prop_assert!(pace.range().is_some() != (pace.turn() > 0));
                prop_assert!(pace.range().is_none() || kind == Conflict && failed > read);
                prop_assert!(pace.conflicts == 0 || pace.window > 0);
            }
        }

        #[test]
        fn the_fourth_root_to_the_fourth_is_the_number(number: u32) {
            let root = fourth_root(number);
            prop_assert!((root.powi(4) - f64::from(number)).abs() <= 3e-5 * f64::from(number));
        }
    }
}
