//! Waits for writers that compete for one resource, computed from how busy the resource is.

use super::draw::root;
use crate::runtime::nanos;
use core::time::Duration;

/// The information of a version about the writes since another version was read. Made by
/// [`Version::passed`](crate::drive::Version::passed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// This number of writes: the versions are numbers that count writes.
    Writes(u64),
    /// At least one write: the versions can only be compared, and they differ.
    Changed,
    /// No known write: the version is the same, an older one, or not known.
    Same,
}

/// The weight of the newest window in the mean.
const NEWS: f64 = 0.25;

/// The longest range, in windows: a number whose products stay finite.
const MOST: f64 = 1e15;

/// The constants of the formula, for versions that count or that can only be compared.
struct Weights {
    /// The first range, in windows or in bases, whichever are shorter.
    first: f64,
    /// The factor of the range for a resource that is always busy, in addition to the growth with the
    /// number of conflicts.
    growth: f64,
    /// The number added to the known writes.
    writes: f64,
    /// The time added to the measured time, in windows.
    time: f64,
    /// The lowest value of `busy` after no conflict, and the addition for the square of the number of
    /// conflicts: many conflicts mean many writers.
    quiet: f64,
    crowd: f64,
    /// The shortest range, in windows for each conflict.
    least: f64,
    /// `busy` to the power p.
    power: fn(f64) -> f64,
}

impl Weights {
    const COUNTED: Weights = Weights {
        first: 3.5,
        growth: 1.05,
        writes: 1.5,
        time: 0.6,
        quiet: 0.0,
        crowd: 0.0,
        least: 0.2,
        power: |busy| busy * busy * busy * busy,
    };

    const COMPARED: Weights = Weights {
        first: 1.15,
        growth: 1.22,
        writes: 9.0,
        time: 0.8,
        quiet: 0.1,
        crowd: 0.001,
        least: 0.01,
        power: root,
    };

    /// The factor of the range after this number of conflicts.
    fn scale(&self, conflicts: f64, writes: f64, time: f64) -> f64 {
        let least = self.quiet + self.crowd * conflicts * conflicts;
        let busy = (writes + self.writes) / (time + self.time);
        let busy = busy.max(least).min(1.0);
        let more = (conflicts + 1.0) / conflicts;
        self.growth * more * root(more) * (self.power)(busy)
    }
}

/// The pace of a writer: after a conflict, the wait depends on how busy the resource is and on how long
/// an attempt takes.
///
/// The *window* is the time from a read to the refusal of the write after it, because any write in that
/// time causes the conflict. The window is a mean of this writer's measurements. The wait is drawn from
/// zero to a range, as with full jitter:
///
/// - after the first conflict: `first · min(window · r, base)`, where `r` is the root of the number of
///   changes that the write [combined](crate::Policy::combine), rounded down;
/// - after conflict n + 1: the last range · `growth · ((n + 1) / n)^1.5 · busy^p`, and at least
///   `least · n` windows.
///
/// `busy` is the busy share of the time since the previous read: `(writes + w) / (time / window + t)`,
/// at least `quiet + crowd · n²` and at most 1. So a writer that has waited for a long time while few
/// others wrote draws from a smaller range next, and a writer that has met many conflicts draws from a
/// larger range.
///
/// | the version | first | growth | p | w | t | quiet | crowd | least |
/// |---|---|---|---|---|---|---|---|---|
/// | is a number that counts the writes | 3.5 | 1.05 | 4 | 1.5 | 0.6 | 0 | 0 | 0.2 |
/// | can only be compared (an etag); `writes` is 0 | 1.15 | 1.22 | 0.5 | 9 | 0.8 | 0.1 | 0.001 | 0.01 |
///
/// We found the numbers by simulation: the pace is nowhere more than 15 % worse than full jitter, in
/// calls or in time, from 1 to 200 writers over three networks, and as cheap as possible for a hundred
/// writers (`cargo run --release -p examples --example simulation -- contention --check`).
///
/// A number that grows by more than 64 in a window does not count writes; it is a time stamp or an
/// offset, for example. Such a number is treated as a version that can only be compared.
///
/// After any other failure the policy's own waits are used. Conflicts do not lengthen them. A failed
/// read is repeated as a call of its own: its wait counts only the failed reads directly before it, at
/// most five of them, and failed reads do not lengthen the waits after failed writes. A failure without a
/// [`read`](Pace::read) since the last failure counts as a failed read. With decorrelated jitter each wait
/// follows from the wait before, whatever failed.
///
/// The policy's own wait is also used after a conflict if the pace has no information: if no read since
/// the conflict shows another version (the read is stale, the version is not known, or the conflict is
/// not a race of writers), or if the clock says that an attempt takes no time.
///
/// A pace is used only if the policy's waits are exponential. After a conflict, the policy's factor and
/// jitter do not affect the wait; its `max_backoff` limits the wait, and its base limits the first
/// range. Policies with [other waits](crate::Policy::custom) use their own waits. Because the pace's
/// waits are short, a policy without `max_attempts` and deadline makes up to 100 attempts, as long as
/// they end in such conflicts; all other failures count as usual.
///
/// [`Policy::update`](crate::Policy::update) and [`Policy::combine`](crate::Policy::combine) keep a
/// pace if `version` tells them the version. A loop of your own keeps a pace together with its
/// [`RetryState`](crate::RetryState):
///
/// ```
/// use backoff_core::{Decision, Policy, RetryState, Verdict, FaultKind, delay::{Pace, Passed}};
/// use std::time::Duration;
///
/// const POLICY: Policy = Policy::exponential().base(Duration::from_secs(1));
/// let ms = Duration::from_millis;
/// let conflict = Verdict::Retry { kind: FaultKind::Conflict, retry_after: None };
///
/// let mut retry = RetryState::start(&POLICY, || ms(0));
/// let mut pace = Pace::new();
/// pace.read(ms(10), Passed::Same); // the first read: an etag has no writes to count
/// // The write is refused 20 ms later.
/// let decision = retry.failed_paced(&mut pace, &POLICY, conflict, || ms(30), || u64::MAX);
/// let Decision::Wait(wait) = decision else { panic!() };
/// assert_eq!(wait.delay, ms(23)); // the longest that can be drawn; by the policy, 1 s
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The time of the last reply to a read, in nanoseconds.
    read: u64,
    /// Nanoseconds from a read to the refusal of the write after it; zero before the first conflict.
    window: u64,
    /// The number of conflicts, without conflicts after stale reads.
    conflicts: u32,
    /// The number of failed reads since the last answered one, at most 255.
    reads_in_row: u8,
    /// The number of all failed reads.
    failed_reads: u16,
    /// The number of changes that a write combines.
    changes: u32,
    /// The range of the wait after the last conflict, and the range of the next wait after a read, in
    /// windows.
    range: f64,
    /// The versions are numbers.
    counts: bool,
    last: Last,
    /// No read since a conflict showed another version than the one that was refused.
    is_stale: bool,
    waits: Waits,
}

/// How many failed reads in a row lengthen the wait: with a base of 1 s and a factor of 2, to 16 s at
/// most. A read changes nothing and costs a service less than a write (IAM's quota: a tenth). Without
/// this limit, the last of many writers often waits for a minute when all others are done.
const COUNTED_READS: u8 = 5;

/// The last answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Last {
    /// No answer yet, or a failure after a read.
    Other,
    /// A read was answered, so that the next failure is that of a later step.
    Read,
    /// A write was refused, because another writer was faster.
    Conflict,
}

/// The source of the next wait.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Waits {
    /// No attempt has failed.
    Nothing,
    Pace,
    Policy,
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
            reads_in_row: 0,
            failed_reads: 0,
            changes: 1,
            range: 0.0,
            counts: false,
            last: Last::Other,
            is_stale: false,
            waits: Waits::Nothing,
        }
    }

    /// Sets the number of changes that each of the next writes combines. If many callers of one process
    /// change the resource, probably as many callers change it elsewhere.
    pub fn combines(&mut self, changes: u32) {
        self.changes = changes.max(1);
    }

    /// A read was answered at this time of the clock; `passed` describes the writes since the previous
    /// read. The first read compares the version with itself, which shows whether the version counts
    /// writes.
    pub fn read(&mut self, now: Duration, passed: Passed) {
        let now = nanos(now);
        let since = now.saturating_sub(core::mem::replace(&mut self.read, now));
        let last = core::mem::replace(&mut self.last, Last::Read);
        let after_conflict = last == Last::Conflict || self.is_stale;
        self.is_stale = after_conflict && matches!(passed, Passed::Same | Passed::Writes(0));
        if self.conflicts == 0 {
            self.counts = matches!(passed, Passed::Writes(_));
            return;
        }
        if self.is_stale {
            return;
        }
        let time = since as f64 / self.window.max(1) as f64;
        let (weights, writes) = match passed {
            // A number that grows faster than writers can write does not count writes.
            Passed::Writes(writes) if writes as f64 <= 64.0 * (time + 1.0) => {
                (Weights::COUNTED, writes as f64)
            }
            Passed::Writes(_) | Passed::Changed => (Weights::COMPARED, 0.0),
            Passed::Same => return,
        };
        let conflicts = f64::from(self.conflicts);
        let range = self.range * weights.scale(conflicts, writes, time);
        self.range = range.max(weights.least * conflicts).min(MOST);
    }

    /// A write was refused at this time of the clock, because another writer was faster. `base` is the
    /// policy's first wait.
    pub(crate) fn conflict(&mut self, now: Duration, base: Duration) {
        let took = nanos(now).saturating_sub(self.read);
        // With a clock that does not advance, the writer would try again at once, for ever.
        if self.is_stale || took == 0 {
            self.failed();
            self.last = Last::Conflict;
            return;
        }
        self.waits = Waits::Pace;
        self.last = Last::Conflict;
        self.reads_in_row = 0;
        self.conflicts = self.conflicts.saturating_add(1);
        if self.conflicts == 1 {
            self.window = took;
            let base = nanos(base) as f64 / took as f64;
            let weights = if self.counts {
                Weights::COUNTED
            } else {
                Weights::COMPARED
            };
            self.range = weights.first * base.min(f64::from(self.changes.isqrt()));
        } else {
            let window = self.window as f64;
            self.window = (window + NEWS * (took as f64 - window)) as u64;
        }
    }

    /// An attempt failed for another reason: the policy's own wait follows.
    pub(crate) fn failed(&mut self) {
        self.waits = Waits::Policy;
        if self.last == Last::Read {
            self.last = Last::Other;
            self.reads_in_row = 0;
        } else {
            self.reads_in_row = self.reads_in_row.saturating_add(1);
            self.failed_reads = self.failed_reads.saturating_add(1);
        }
    }

    /// Whether an attempt has failed.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.waits != Waits::Nothing
    }

    /// The number of failed reads. They do not lengthen the waits after other failures.
    pub(crate) fn failed_reads(&self) -> u16 {
        self.failed_reads
    }

    /// Which wait of the policy follows a failed read, counted from 1; 0 after another failure. The first
    /// [`COUNTED_READS`] of the failed reads directly before it lengthen the wait.
    pub(crate) fn wait_of_read(&self) -> u8 {
        self.reads_in_row.min(COUNTED_READS)
    }

    /// The number of waits that the pace gave.
    pub(crate) fn kept(&self) -> u32 {
        self.conflicts
    }

    /// The range of the wait after the last conflict, in nanoseconds from 0; `None` if the policy's own
    /// wait follows.
    pub(crate) fn range(&self) -> Option<u64> {
        // The conversion of a number that is too large gives the largest number.
        (self.waits == Waits::Pace).then_some((self.range * self.window as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);
    const BASE: Duration = Duration::from_secs(1);

    /// A pace whose window is `took` milliseconds, after its first conflict at 100 ms.
    fn after_one(took: u32, first: Passed) -> Pace {
        let mut pace = Pace::new();
        pace.read((100 - took) * MS, first);
        pace.conflict(100 * MS, BASE);
        pace
    }

    fn range(pace: &Pace) -> f64 {
        pace.range().unwrap() as f64 / 1e6
    }

    #[track_caller]
    fn assert_near(range: f64, expected: f64) {
        assert!(
            (range / expected - 1.0).abs() < 1e-6,
            "{range} and not {expected}"
        );
    }

    #[test]
    fn the_first_range_is_that_of_the_window_or_of_a_shorter_base() {
        assert_near(range(&after_one(20, Passed::Writes(0))), 3.5 * 20.0);
        assert_near(range(&after_one(20, Passed::Same)), 1.15 * 20.0);
        let mut hasty = Pace::new();
        hasty.read(80 * MS, Passed::Same);
        hasty.conflict(100 * MS, 4 * MS);
        assert_near(range(&hasty), 1.15 * 4.0);
    }

    #[test]
    fn a_write_of_many_changes_waits_longer_at_first() {
        let mut pace = Pace::new();
        pace.read(80 * MS, Passed::Same);
        pace.combines(50);
        pace.conflict(100 * MS, BASE);
        assert_near(range(&pace), 7.0 * 1.15 * 20.0);
    }

    /// The formula, with powers that `core` does not have.
    #[test]
    fn the_next_range_follows_from_the_writes_of_others() {
        for (writes, time) in [(1_u32, 2.0), (3, 8.0), (40, 25.0), (1, 60.0)] {
            let mut pace = after_one(20, Passed::Writes(0));
            // The previous read was at 80 ms.
            let now = 80 + (20.0 * time) as u32;
            pace.read(now * MS, Passed::Writes(writes.into()));
            pace.conflict((now + 20) * MS, BASE);
            let busy = ((f64::from(writes) + 1.5) / (time + 0.6)).min(1.0);
            let factor = 1.05 * 2_f64.powf(1.5) * busy.powf(4.0);
            assert_near(range(&pace), 20.0 * (3.5 * factor).max(0.2));
        }
    }

    #[test]
    fn the_next_range_follows_from_the_time_where_writes_are_not_counted() {
        for time in [2.0, 8.0, 25.0, 200.0] {
            let mut pace = after_one(20, Passed::Same);
            let now = 80 + (20.0 * time) as u32;
            pace.read(now * MS, Passed::Changed);
            pace.conflict((now + 20) * MS, BASE);
            let busy = (9.0_f64 / (time + 0.8)).clamp(0.101, 1.0);
            let factor = 1.22 * 2_f64.powf(1.5) * busy.sqrt();
            assert_near(range(&pace), 20.0 * 1.15 * factor);
        }
    }

    /// The more conflicts, the less a quiet resource shortens the range.
    #[test]
    fn many_conflicts_lift_the_least_share() {
        let mut pace = after_one(20, Passed::Same);
        let mut expected = 20.0 * 1.15;
        for conflicts in 1..=6 {
            // The next read is 200 windows later, so that the resource looks quiet.
            let now = conflicts * 4_000;
            pace.read(now * MS, Passed::Changed);
            pace.conflict((now + 20) * MS, BASE);
            let conflicts = f64::from(conflicts);
            let least = 0.1 + 0.001 * conflicts * conflicts;
            let more = 1.0 + 1.0 / conflicts;
            expected *= 1.22 * more.powf(1.5) * (9.0_f64 / 200.8).max(least).sqrt();
            assert_near(range(&pace), expected);
        }
    }

    #[test]
    fn a_number_that_grows_too_fast_does_not_count() {
        // Microseconds since a fixed date.
        let after = |passed| {
            let mut pace = after_one(20, passed);
            pace.range = 1.0;
            pace.read(480 * MS, passed);
            pace.conflict(500 * MS, BASE);
            range(&pace)
        };
        assert_near(after(Passed::Writes(400_000)), after(Passed::Changed));
        // 64 writes for each of 20 windows, and 64 more.
        assert!(after(Passed::Writes(64 * 21)) != after(Passed::Changed));
        assert_near(after(Passed::Writes(64 * 21 + 1)), after(Passed::Changed));
    }

    #[test]
    fn a_read_that_shows_the_refused_version_leaves_the_wait_to_the_policy() {
        for same in [Passed::Same, Passed::Writes(0)] {
            let mut pace = after_one(20, same);
            pace.read(150 * MS, same);
            pace.conflict(170 * MS, BASE);
            assert_eq!((pace.range(), pace.kept()), (None, 1));
            // The next read shows another version.
            pace.read(200 * MS, Passed::Changed);
            pace.conflict(220 * MS, BASE);
            assert!(pace.range().is_some());
            assert_eq!(pace.kept(), 2);
        }
    }

    #[test]
    fn a_read_stays_stale_until_another_version_is_seen() {
        let mut pace = after_one(20, Passed::Same);
        pace.read(150 * MS, Passed::Same);
        // The write fails for another reason, and the next read is stale too.
        pace.failed();
        pace.read(200 * MS, Passed::Same);
        pace.conflict(220 * MS, BASE);
        assert_eq!(pace.range(), None);
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_leaves_the_wait_to_the_policy() {
        for conflict in [80, 70] {
            let mut pace = Pace::new();
            pace.read(80 * MS, Passed::Same);
            pace.conflict(conflict * MS, BASE);
            assert_eq!((pace.range(), pace.kept()), (None, 0));
        }
    }

    #[test]
    fn other_failures_leave_the_wait_to_the_policy_and_the_range_as_it_is() {
        let mut pace = after_one(20, Passed::Same);
        let before = pace.range();
        pace.failed();
        assert_eq!(pace.range(), None);
        // The read after the conflict failed; then a write fails; then the version is unchanged.
        pace.read(150 * MS, Passed::Changed);
        pace.failed();
        pace.read(300 * MS, Passed::Same);
        pace.conflict(320 * MS, BASE);
        assert!(pace.range() > before, "{pace:?}");
    }

    #[test]
    fn the_window_is_a_mean() {
        let mut pace = after_one(20, Passed::Same);
        pace.read(200 * MS, Passed::Changed);
        pace.conflict(260 * MS, BASE);
        assert_eq!(pace.window, 30_000_000);
    }

    proptest! {
        /// For every clock and version, the range is a number and greater than zero.
        #[test]
        fn any_history_gives_a_range(
            steps in prop::collection::vec((any::<u64>(), any::<u64>(), 0..5_u8), 1..300),
            base: u64,
        ) {
            let mut pace = Pace::new();
            for (read, conflict, what) in steps {
                let passed = match what {
                    0 => Passed::Same,
                    1 => Passed::Changed,
                    2 => Passed::Writes(read % 7),
                    _ => Passed::Writes(read),
                };
                pace.read(Duration::from_nanos(read), passed);
                if what == 4 {
                    pace.failed();
                    prop_assert_eq!(pace.range(), None);
                } else {
                    pace.conflict(Duration::from_nanos(conflict), Duration::from_nanos(base));
                }
                prop_assert!(pace.range.is_finite() && pace.range >= 0.0);
                prop_assert!(pace.conflicts == 0 || pace.window > 0);
            }
        }
    }
}
