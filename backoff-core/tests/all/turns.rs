//! The turn of an attempt at a rate, in every form of a call. The rate lets nobody go in the first second.
use crate::common::forms::{PLAIN, SECOND, call, check, runs, steps};
use std::time::Duration;

// The gap between two probes is a quarter of the time since the first refusal: 5 s, 6.25 s.
#[test]
fn an_attempt_begins_at_its_turn() {
    let table = "
        the first one too | | 200 | 1; at 1: 200
        while nobody else waits, the wait of the policy holds | | error 429, error 429, 200 | 1 2.25 4.25; at 4.25: 200
        a hint comes before the queue | | error 429 after 3, 200 | 1 4; at 4: 200
        so does the wait of the policy after another failure | | error 503, 200 | 1 2; at 2: 200
        the queue costs no tokens | budget costs 50 | error 429, 200 | 1 2.25; at 2.25: 200 [45 50 50]
        so does a panic at a change of the rate after a success | budget costs 50, panicking_at 2 | error 429, 200 | 1 2.25; dropped at 2.25 [45 50]
        after a failure, those of the retry are used | budget costs 50, panicking_at 2 | error 429, error 503 | 1 2.25; dropped at 2.25 [45 45]
        attempts are counted without the queue | | error 429 | 1 2.25 4.25 8.25; at 8.25 attempts: error 429
    ";
    check(call(PLAIN.max_attempts(4)).rate(SECOND), table);
}

// At a deadline, where no error can be made, the attempt begins within the last half of its time. A blocking call
// keeps its error while it waits.
#[test]
fn what_ends_the_waiting() {
    let table = "
        a retry whose turn comes after the deadline | deadline 2 | error 429 | 1; at 1 rate: error 429
        the deadline      | deadline 0.5       | 200 | never; at 0.5 rate: error cut after 500ms
        with a judge      | deadline 0.5, when | 200 | never; at 0.5 rate: error cut after 500ms
        without an error  | deadline 0.5, when_any | 200 | 0.345491503; at 0.345491503: 200
        but rate of the call | never; at 0.5 rate: error cut after 500ms
        a timeout         | timeout 0.5        | 200 | never; at 0.5 rate: error cut after 500ms
        the longest wait  | max_queue_time 0.5 | 200 | never; at 0.5 rate: error cut after 500ms
        a signal, before a retry | stop_on 1.5 | error 429 | 1; at 1.5 stopped: error 429
        a signal, before the first attempt | stop_on 0.5 | 200 | 0.5; at 0.5: 200
        a signal that cuts attempts | cut_on 0.5 | 200 | never; at 0.5 stopped: error stopped
        a caller who drops the call    | dropped_at 0.5 | hangs | never; dropped at 0.5
        who drops it before a retry    | dropped_at 2 | error 429 | 1; dropped at 2
        who gets the tokens of the retry back | dropped_at 2, budget costs 50 | error 429 | 1; dropped at 2 [45 50]
    ";
    check(call(PLAIN).rate(SECOND), table);
    let retry = "
        the longest wait, before a retry | max_queue_time 1.1 | error 429 | 1; at 2.11 rate: error cut after 1.1s, last 429
        but blocking | 1; at 2.11 rate: error 429
    ";
    check(call(PLAIN.base(SECOND / 100)).rate(SECOND), retry);
}

#[test]
fn a_hook_gets_the_changes_of_the_rate() {
    // A rate that nobody has met refuses nobody for a moment: the second probe comes at the start. What the first
    // refusal has said before the start is not told again.
    // A connection that was lost says nothing about the limit: the rate stays closed.
    for (closed_for, script, times) in [
        (Duration::ZERO, "error 429, error 429, 200", 1),
        (SECOND, "error 429, error 503, 200", 1),
        (SECOND, "error 429, error lost", 0),
    ] {
        let setting = call(PLAIN.max_attempts(3)).rate(closed_for);
        for (form, came) in runs(&setting, &steps(script)) {
            let opens = |change: &String| change.starts_with("calls go at ");
            let opened = came.changes.len() == times && came.changes.iter().all(opens);
            assert!(opened, "{}: {:?}", form.name, came.changes);
        }
    }
}
