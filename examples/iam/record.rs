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
    pub(crate) writer: usize,
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

    /// A writer's calls in the order of time.
    pub(crate) fn calls_of(&self, writer: usize) -> Vec<Call> {
        let own = self.calls.iter().filter(|call| call.writer == writer);
        let mut calls: Vec<_> = own.copied().collect();
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

/// The mean of several runs, in tenths where that can be other than a whole number.
pub(crate) fn mean(stories: &[Story], of: impl Fn(&Story) -> usize) -> String {
    let sum: usize = stories.iter().map(of).sum();
    let digits = usize::from(!sum.is_multiple_of(stories.len()));
    format!("{:.digits$}", sum as f64 / stories.len() as f64)
}

/// The mean time until the last writer was told, in seconds.
pub(crate) fn seconds(stories: &[Story]) -> f64 {
    let sum: f64 = stories.iter().map(|story| story.took.as_secs_f64()).sum();
    sum / stories.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Call {
        /// A call of the first writer, which takes 5 ms. Times are in milliseconds.
        pub(crate) fn of(kind: Kind, outcome: Outcome, start: u64) -> Self {
            let [start, end] = [start, start + 5].map(Duration::from_millis);
            Self {
                writer: 0,
                kind,
                outcome,
                start,
                end,
            }
        }
    }

    impl Story {
        /// A story without calls, of some writers.
        pub(crate) fn of(title: &'static str, endings: &[Ending], millis: u64) -> Self {
            let took = Duration::from_millis(millis);
            Self {
                title,
                calls: Vec::new(),
                endings: endings.to_vec(),
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
    fn means_are_of_all_runs() {
        let three = Story::of("a way", &[Ending::Arrived; 3], 2000);
        let four = Story::of("a way", &[Ending::Arrived; 4], 3000);
        assert_eq!(mean(std::slice::from_ref(&three), Story::arrived), "3");
        let runs = [three, four];
        assert_eq!(mean(&runs, Story::arrived), "3.5");
        assert_eq!(seconds(&runs), 2.5);
    }
}
