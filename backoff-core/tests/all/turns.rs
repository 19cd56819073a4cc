//! The turn of an attempt at a rate, in every form of a call. The rate lets nobody go in the first second.
use crate::common::{
    error::TestError,
    forms::{BUSY, Form, HANGS, PLAIN, SECOND, call, check, fails, gives, row, runs},
};
use backoff_core::Budget;
use std::time::Duration;

const TOO_FAST: TestError = TestError::status(429);
const HALF: Duration = Duration::from_millis(500);

#[test]
fn an_attempt_begins_at_its_turn() {
    let closed = call(PLAIN.max_attempts(4)).rate(SECOND);
    let hinted = TestError {
        hint: Some(3 * SECOND),
        ..TOO_FAST
    };
    check(&[
        row("the first one too", closed, &[gives(200)], "1; at 1: 200"),
        // The gap between two probes is a quarter of the time since the first refusal: 5 s, 6.25 s.
        row(
            "while nobody else waits, the wait of the policy holds",
            closed,
            &[fails(TOO_FAST), fails(TOO_FAST), gives(200)],
            "1 2.25 4.25; at 4.25: 200",
        ),
        row(
            "a hint comes before the queue",
            closed,
            &[fails(hinted), gives(200)],
            "1 4; at 4: 200",
        ),
        row(
            "after another failure the wait of the policy comes before the queue",
            closed,
            &[fails(BUSY), gives(200)],
            "1 2; at 2: 200",
        ),
        row(
            "the queue costs no tokens",
            closed.budget(|| Budget::costs(100, 10, 5).starting_with(50)),
            &[fails(TOO_FAST), gives(200)],
            "1 2.25; at 2.25: 200 [45 50 50]",
        ),
        row(
            "attempts are counted without the queue",
            closed,
            &[fails(TOO_FAST)],
            "1 2.25 4.25 8.25; at 8.25 attempts: error 429",
        ),
    ]);
}

#[test]
fn what_ends_the_waiting() {
    let closed = call(PLAIN).rate(SECOND);
    let quick = call(PLAIN.base(HALF / 50)).rate(SECOND);
    check(&[
        row(
            "a retry whose turn comes after the deadline",
            closed.deadline(2 * SECOND),
            &[fails(TOO_FAST)],
            "1; at 1 rate: error 429",
        ),
        row(
            "the deadline, where no error can be made: the attempt begins within the last half of its time",
            closed.deadline(HALF),
            &[gives(200)],
            "0.345491503; at 0.345491503: 200",
        )
        .but(
            |form| form.name.contains("rate of the call"),
            "never; at 0.5 rate: error cut after 500ms",
        ),
        row(
            "a timeout",
            closed.timeout(HALF),
            &[gives(200)],
            "never; at 0.5 rate: error cut after 500ms",
        ),
        row(
            "the longest wait, before the first attempt",
            closed.max_queue_time(HALF),
            &[gives(200)],
            "never; at 0.5 rate: error cut after 500ms",
        ),
        row(
            "the longest wait, before a retry",
            quick.max_queue_time(SECOND + HALF / 5),
            &[fails(TOO_FAST)],
            "1; at 2.11 rate: error cut after 1.1s, last 429",
        )
        // A blocking call keeps its error while it waits.
        .but(Form::is_blocking, "1; at 2.11 rate: error 429"),
        row(
            "a signal, before a retry",
            closed.stop_on(SECOND + HALF),
            &[fails(TOO_FAST)],
            "1; at 1.5 stopped: error 429",
        ),
        row(
            "a signal, before the first attempt: the attempt is made at once",
            closed.stop_on(HALF),
            &[gives(200)],
            "0.5; at 0.5: 200",
        ),
        row(
            "a signal that cuts attempts",
            closed.cut_on(HALF),
            &[gives(200)],
            "never; at 0.5 stopped: error stopped",
        ),
        row(
            "a caller who drops the call",
            closed.dropped_at(HALF),
            &[HANGS],
            "never; dropped at 0.5",
        ),
        row(
            "a caller who drops the call before a retry",
            closed.dropped_at(2 * SECOND),
            &[fails(TOO_FAST)],
            "1; dropped at 2",
        ),
        row(
            "a caller who drops the call gets the tokens of the retry back",
            closed
                .dropped_at(2 * SECOND)
                .budget(|| Budget::costs(100, 10, 5).starting_with(50)),
            &[fails(TOO_FAST)],
            "1; dropped at 2 [45 50]",
        ),
    ]);
}

#[test]
fn a_hook_gets_the_changes_of_the_rate() {
    // A rate that nobody has met refuses nobody for a moment: the second probe comes at the start.
    let new = call(PLAIN.max_attempts(3)).rate(Duration::ZERO);
    let closed = call(PLAIN.max_attempts(3)).rate(SECOND);
    // What the first refusal has said before the start is not told again.
    for (setting, script) in [(new, [TOO_FAST, TOO_FAST]), (closed, [TOO_FAST, BUSY])] {
        let [first, second] = script.map(fails);
        for (form, came) in runs(&setting, &[first, second, gives(200)]) {
            let changes = came.changes.len();
            let opened = came
                .changes
                .iter()
                .all(|change| change.starts_with("calls go at "));
            assert!(changes == 1 && opened, "{}: {:?}", form.name, came.changes);
        }
    }
}
