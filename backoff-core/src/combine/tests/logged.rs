//! The log events that a subscriber of `tracing` sees.

use super::{story::*, *};
use crate::report::StopReason::{Attempts, Permanent};
use recorder::listening;

#[path = "../../../tests/all/spans/recorder.rs"]
mod recorder;

#[test]
fn a_wait_and_an_end_that_many_share_are_one_event_each() {
    let slow = |ms| adds(1).deadline(ms).out_of_time(false);
    let ended = adds(1)
        .attempts(1)
        .fails(TestError::CONFLICT, Attempts, false);
    let denied = |name| adds(name).fails(TestError::status(403), Permanent, true);
    let logs = |events, story: Story| {
        let name = story.name.clone();
        let told = listening(|| run([story.policy(Policy::exponential())]));
        assert_eq!(told.logged.len(), events, "{name}: {:?}", told.logged);
    };
    let hangs = story("a deadline and a signal, while a read hangs")
        .failing([Fate::Hang], [])
        .callers([slow(100), adds(2).stopped(false).stops(200)]);
    logs(2, hangs);
    let full = story("no room")
        .combined(|combined| combined.at_most(1))
        .callers([adds(1), adds(2).error(CombineError::Full)]);
    logs(1, full);
    // The other one waits: an event for all. The end of the first caller is one for the caller alone.
    let attempts = story("its own attempts")
        .failing([], [STALE])
        .callers([ended, adds(2)]);
    logs(3, attempts);
    let success = story("a wait and a success of a hundred")
        .failing([], [BUSY])
        .callers((0..100).map(adds));
    logs(2, success);
    let failure = story("a wait and a failure of a hundred")
        .failing([], [BUSY, fails(403)])
        .callers((0..100).map(denied));
    logs(2, failure);
}
