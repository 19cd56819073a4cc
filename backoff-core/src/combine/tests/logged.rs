//! The log events that a subscriber of `tracing` sees.

use super::{story::*, *};
use crate::report::StopReason::Permanent;
use recorder::listening;

#[path = "../../../tests/all/spans/recorder.rs"]
mod recorder;

#[test]
fn a_wait_and_an_end_that_many_share_are_one_event_each() {
    let denied = |name| adds(name).fails(TestError::status(403), Permanent, true);
    let logs = |events, story: Story| {
        let name = story.name.clone();
        let told = listening(|| run([story.policy(Policy::exponential())]));
        assert_eq!(told.logged.len(), events, "{name}: {:?}", told.logged);
    };
    let full = story("no room")
        .combined(|policy, server| combine(policy, server).at_most(1))
        .callers([adds(1), adds(2).error(CombineError::Full)]);
    logs(1, full);
    let success = story("a wait and a success of a hundred")
        .failing([], [BUSY])
        .callers((0..100).map(adds));
    logs(2, success);
    let failure = story("a wait and a failure of a hundred")
        .failing([], [BUSY, fails(403)])
        .callers((0..100).map(denied));
    logs(2, failure);
    let lost = story("an end of a hundred who may have been applied")
        .failing([], [LOST])
        .callers((0..100).map(|name| appends(name).maybe_applied(UNAVAILABLE)));
    logs(1, lost);
}
