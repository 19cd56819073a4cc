//! Waits of writers who meet at one resource, by how busy it is.

use super::draw::root;
use crate::runtime::nanos;
use core::time::Duration;

/// What a read tells of the writes of others, compared with the read before. Made by a
/// [`Version`](crate::drive::Version).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// So many writes: the versions are numbers that count.
    Writes(u64),
    /// At least one write: the versions can only be compared.
    Some,
    /// No write: the version is the one that was read before.
    None,
}

/// The first range, in windows or in bases, whichever are shorter.
const FIRST: f64 = 2.2;

/// How much the newest window counts in the mean.
const NEWS: f64 = 0.25;

/// How a kind of version is heard.
struct Ear {
    /// By what a resource that is always busy multiplies the range, beside the growth with the
    /// number of conflicts.
    growth: f64,
    /// What is added to the number of writes.
    writes: f64,
    /// What is added to the time, in windows.
    time: f64,
    /// The shortest range, in windows for each conflict.
    least: f64,
}

const COUNTED: Ear = Ear {
    growth: 1.03,
    writes: 1.37,
    time: 0.567,
    least: 0.1,
};

const COMPARED: Ear = Ear {
    growth: 1.11,
    writes: 9.5,
    time: 0.5,
    least: 0.1,
};

/// The pace of a writer: after a conflict, the wait follows from how busy the resource is and from how
/// long an attempt takes.
///
/// The *window* is the time from a read to the refusal of the write after it, because whoever writes
/// meanwhile causes the conflict: a mean of what this writer has measured. The wait is drawn from
/// zero to a range, as with full jitter:
///
/// - after the first conflict: `first · min(window, base)`;
/// - after conflict n + 1: the last range · `growth · ((n + 1) / n)^1.5 · busy^p`, and at least
///   `least · n` windows. `busy` is the share of the time in which the resource was taken since the
///   read before: `(writes + w) / (time / window + t)`, at most 1.
///
/// A writer who has waited for long while few others wrote draws from a smaller range next, and one who
/// has met many conflicts from a larger one. Where the version tells how many writes were
/// made (a number that counts), p is 2.5; where it can only be compared (an etag), p is 0.5, and a
/// change stands for any number of writes. The numbers were found by simulation; see
/// [`Retrying::version`](crate::Retrying::version) for what the pace is worth.
///
/// If a read after a conflict shows the version of the read before, then the read is stale, or the
/// conflict is no conflict of writers. The pace knows nothing then, and the policy's own wait follows.
///
/// [`Policy::update`](crate::Policy::update) and [`Policy::combine`](crate::Policy::combine) keep a pace
/// by themselves where `version` tells them the version. A loop of your own keeps one beside its
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
/// pace.read(ms(10), Passed::None); // what the first read tells is not heard
/// // The write is refused 20 ms later.
/// let decision = retry.failed_at(&mut pace, &POLICY, conflict, || ms(30), || u64::MAX);
/// let Decision::Wait(wait) = decision else { panic!() };
/// assert!(wait.delay > ms(20) && wait.delay < ms(100)); // and not up to a second
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// When the last read was answered, in nanoseconds.
    read: u64,
    /// Nanoseconds from a read to the refusal of the write after it; zero before the first conflict.
    window: u64,
    /// Conflicts, without those of stale reads.
    conflicts: u32,
    /// How many windows the wait after the last conflict was drawn from, and how many the next one is
    /// drawn from after a read.
    range: f64,
    /// A conflict came after the last read.
    in_conflict: bool,
    /// The read after a conflict showed the version that had been refused.
    is_stale: bool,
    /// The wait that follows is the pace's.
    is_kept: bool,
}

impl Pace {
    /// Before the first read.
    #[must_use]
    pub const fn new() -> Self {
        Pace {
            read: 0,
            window: 0,
            conflicts: 0,
            range: 0.0,
            in_conflict: false,
            is_stale: false,
            is_kept: false,
        }
    }

    /// A read was answered at this time of the clock, and told this of the writes since the read before.
    /// What the first read tells is not heard.
    pub fn read(&mut self, now: Duration, passed: Passed) {
        let now = nanos(now);
        let since = now.saturating_sub(core::mem::replace(&mut self.read, now));
        let after_conflict = core::mem::take(&mut self.in_conflict);
        if self.conflicts == 0 {
            return;
        }
        self.is_stale = after_conflict && matches!(passed, Passed::None | Passed::Writes(0));
        let time = since as f64 / self.window.max(1) as f64;
        let (ear, writes) = match passed {
            // A number that has grown by more than writers can write is none that counts.
            Passed::Writes(writes) if writes as f64 <= 64.0 * (time + 1.0) => {
                (&COUNTED, writes as f64)
            }
            Passed::Writes(_) | Passed::Some => (&COMPARED, 0.0),
            Passed::None => return,
        };
        let busy = ((writes + ear.writes) / (time + ear.time)).min(1.0);
        let busy = match passed {
            Passed::Writes(_) => busy * busy * root(busy),
            _ => root(busy),
        };
        let conflicts = f64::from(self.conflicts);
        let more = (conflicts + 1.0) / conflicts;
        let range = self.range * ear.growth * more * root(more) * busy;
        self.range = range.max(ear.least * conflicts);
    }

    /// A write was refused at this time of the clock, because somebody else was faster. `base` is the
    /// policy's first wait: the first range is none longer because an attempt takes long.
    pub(crate) fn conflict(&mut self, now: Duration, base: Duration) {
        let took = nanos(now).saturating_sub(self.read).max(1);
        self.in_conflict = true;
        self.is_kept = !self.is_stale;
        if self.is_stale {
            return;
        }
        self.conflicts = self.conflicts.saturating_add(1);
        if self.conflicts == 1 {
            self.window = took;
            let base = nanos(base) as f64 / took as f64;
            self.range = FIRST * base.min(1.0);
        } else {
            let window = self.window as f64;
            self.window = (window + NEWS * (took as f64 - window)) as u64;
        }
    }

    /// An attempt failed otherwise: the policy's own wait follows.
    pub(crate) fn failed(&mut self) {
        self.is_kept = false;
    }

    /// How many waits were the pace's.
    pub(crate) fn kept(&self) -> u32 {
        self.conflicts
    }

    /// What the wait is drawn from after the conflict that came last, in nanoseconds from 0; nothing
    /// if the policy's own wait follows.
    pub(crate) fn range(&self) -> Option<u64> {
        // A conversion of a number that is too large gives the largest one.
        self.is_kept
            .then(|| (self.range * self.window as f64) as u64)
    }
}
