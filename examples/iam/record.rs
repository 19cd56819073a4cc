//! What happened: every call of every writer, and how each writer ended.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a call was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// What the service answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// 409 ABORTED: someone else wrote since this writer read.
    Conflict,
    /// 429: too many calls a second.
    Throttled,
    /// Any other error, or no answer at all.
    Failed,
}

/// One call, its times counted from the start of its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// `None` where the call was made for all who waited for it.
    pub(crate) writer: Option<usize>,
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
    pub(crate) start: Duration,
    pub(crate) end: Duration,
}

/// What became of one writer's change, and what the writer was told about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Told Ok, and the change is there.
    Arrived,
    /// Told Ok, and the change is not there.
    Lost,
    /// Told an error, and the change is not there.
    GaveUp,
    /// Told an error, and yet the change is there.
    Misled,
}

impl Ending {
    pub(crate) const ALL: [Self; 4] = [Self::Arrived, Self::Misled, Self::GaveUp, Self::Lost];

    pub(crate) fn new(told_ok: bool, is_there: bool) -> Self {
        match (told_ok, is_there) {
            (true, true) => Self::Arrived,
            (true, false) => Self::Lost,
            (false, false) => Self::GaveUp,
            (false, true) => Self::Misled,
        }
    }
}

/// The calls so far, shared by all writers of one way.
#[derive(Debug)]
pub(crate) struct Log {
    began: Instant,
    calls: Mutex<Vec<Call>>,
}

impl Log {
    pub(crate) fn start() -> Self {
        Self {
            began: Instant::now(),
            calls: Mutex::default(),
        }
    }

    /// The time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn add(&self, call: Call) {
        self.locked().push(call);
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One way, told to the end.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) title: &'static str,
    pub(crate) calls: Vec<Call>,
    /// By writer's number.
    pub(crate) endings: Vec<Ending>,
    /// When each writer was told, by its number.
    pub(crate) told: Vec<Duration>,
    pub(crate) took: Duration,
}

impl Story {
    pub(crate) fn writers(&self) -> usize {
        self.endings.len()
    }

    /// How many changes are in the policy at the end, whatever their writers were told.
    pub(crate) fn arrived(&self) -> usize {
        self.ended(Ending::Arrived) + self.ended(Ending::Misled)
    }

    pub(crate) fn ended(&self, ending: Ending) -> usize {
        self.endings.iter().filter(|&&one| one == ending).count()
    }

    /// How many writers were told an error in the end.
    pub(crate) fn gave_up(&self) -> usize {
        self.ended(Ending::GaveUp) + self.ended(Ending::Misled)
    }

    pub(crate) fn answered(&self, outcome: Outcome) -> usize {
        self.calls
            .iter()
            .filter(|call| call.outcome == outcome)
            .count()
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> usize {
        self.calls.iter().filter(|call| call.kind == kind).count()
    }

    /// A writer's calls in the order of time, and those that were made for others too while it
    /// waited.
    pub(crate) fn calls_of(&self, writer: usize) -> Vec<Call> {
        let told = self.told[writer];
        let is_its = |call: &&Call| match call.writer {
            Some(caller) => caller == writer,
            None => call.end <= told,
        };
        let mut calls: Vec<_> = self.calls.iter().filter(is_its).copied().collect();
        calls.sort_by_key(|call| call.start);
        calls
    }

    /// From when to when one writer waited: what lies between a failed call and the next one.
    pub(crate) fn waits_of(calls: &[Call]) -> Vec<(Duration, Duration)> {
        calls
            .windows(2)
            .filter(|pair| pair[0].outcome != Outcome::Done)
            .map(|pair| (pair[0].end, pair[1].start))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Call {
        /// A call of the first writer, which takes 5 ms. Times are in milliseconds.
        pub(crate) fn of(kind: Kind, outcome: Outcome, start: u64) -> Self {
            let [start, end] = [start, start + 5].map(Duration::from_millis);
            let writer = Some(0);
            Self {
                writer,
                kind,
                outcome,
                start,
                end,
            }
        }
    }

    impl Story {
        /// A story without calls, at whose end all were told.
        pub(crate) fn of(title: &'static str, endings: &[Ending], millis: u64) -> Self {
            let took = Duration::from_millis(millis);
            let (endings, told) = (endings.to_vec(), vec![took; endings.len()]);
            Self {
                title,
                calls: Vec::new(),
                endings,
                told,
                took,
            }
        }
    }

    #[test]
    fn a_pause_after_a_failure_is_a_wait() {
        let calls = [
            Call::of(Kind::Read, Outcome::Done, 0),
            Call::of(Kind::Write, Outcome::Conflict, 6),
            Call::of(Kind::Read, Outcome::Done, 30),
            Call::of(Kind::Write, Outcome::Done, 36),
        ];
        let [from, to] = [11, 30].map(Duration::from_millis);
        assert_eq!(Story::waits_of(&calls), [(from, to)]);
    }

    #[test]
    fn a_shared_call_is_one_of_each_writer_that_waited_for_it() {
        let shared = |start| Call {
            writer: None,
            ..Call::of(Kind::Write, Outcome::Done, start)
        };
        let mut story = Story::of("", &[Ending::Arrived; 2], 12);
        story.calls = vec![shared(0), shared(6)];
        story.told[0] = Duration::from_millis(5);
        assert_eq!(story.calls_of(0).len(), 1);
        assert_eq!(story.calls_of(1).len(), 2);
        assert_eq!(story.of_kind(Kind::Write), 2);
    }
}
