//! A last response that is handed back is given up: reports, hooks and metrics say so, in every form.
use crate::common::forms::{PLAIN, SECOND, call, check, gives, row};

#[test]
fn a_response_is_judged_as_an_error_is() {
    let three = call(PLAIN.max_attempts(3)).responses();
    check(&[
        row(
            "the attempts that were made are counted",
            three,
            &[gives(503)],
            "0 1 3; at 3 attempts: 503",
        ),
        row(
            "also in a call that succeeds",
            three,
            &[gives(503), gives(200)],
            "0 1; at 1: 200",
        ),
        row(
            "a response that is not retried is a value",
            three,
            &[gives(404)],
            "0; at 0: 404",
        ),
        row(
            "one that may have been applied",
            three.careful(),
            &[gives(503)],
            "0; at 0 maybe_applied: 503",
        ),
        row(
            "a limit of the call",
            three.timeout(2 * SECOND),
            &[gives(503)],
            "0 1; at 1 deadline: 503",
        ),
        // A blocking call can make no error of its own.
        row(
            "a timer that wakes late",
            three.deadline(30 * SECOND).late(60 * SECOND),
            &[gives(503)],
            "0 61; at 61 deadline: 503",
        )
        .but(|form| form.is_blocking(), "0; at 61 deadline: 503"),
    ]);
}
