//! Calls that repeat until the value is the awaited one, and whose values are judged as errors are, in every form.
use crate::common::forms::{PLAIN, call, check};

#[test]
fn a_call_is_repeated_until_its_value_is_the_awaited_one() {
    let table = "
        asked again until it is done    | | 202, error 503, 202, 200 | 0 1 3 7; at 7: 200
        the first value may be the one  | | 200 | 0; at 0: 200
        attempts end it with an error of its own | max_attempts 3 | 202 | 0 1 3; at 3 attempts: error not yet
        so does the deadline            | deadline 20 | 202 | 0 1 3 7 15; at 15 deadline: error not yet
        an error that no repetition cures | | 202, error 404 | 0 1; at 1 permanent: error 404
        asking again costs no budget    | max_attempts 4, budget ratio 0.5 2 | 202 | 0 1 3 7; at 7 attempts: error not yet [2 2 2 2 2]
        and errors do                   | budget ratio 0.5 2 | error 503 | 0 1 3; at 3 budget: error 503 [1 0 0 0]
        an attempt is cut               | attempt_timeout 10 | hangs, 202, 200 | 0 11 13; at 13: 200
        a timer that wakes after the deadline | deadline 5, attempt_timeout 1, late 60 | 202 | 0; at 61 deadline: error cut after 0ns, last not yet
    ";
    check(call(PLAIN).until(), table);
}

/// A last response that is handed back is given up: reports, hooks and metrics say so. A blocking call can make no
/// error of its own.
#[test]
fn a_response_is_judged_as_an_error_is() {
    let table = "
        the attempts that were made are counted | | 503 | 0 1 3; at 3 attempts: 503
        also in a call that succeeds            | | 503, 200 | 0 1; at 1: 200
        a response that is not retried is a value | | 404 | 0; at 0: 404
        one that may have been applied | careful | 503 | 0; at 0 maybe_applied: 503
        a limit of the call            | timeout 2 | 503 | 0 1; at 1 deadline: 503
        a timer that wakes late        | deadline 30, late 60 | 503 | 0 61; at 61 deadline: 503
        but blocking | 0; at 61 deadline: 503
    ";
    check(call(PLAIN.max_attempts(3)).responses(), table);
}
