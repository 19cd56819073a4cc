//! Limits: of attempts, of a call, of each attempt.
use crate::common::forms::{BUSY, HANGS, PLAIN, SECOND, call, check, fails, row};

#[test]
fn limits() {
    check(&[
        row(
            "three attempts",
            call(PLAIN.max_attempts(3)),
            &[fails(BUSY)],
            "0 1 3; at 3 attempts: error 503",
        ),
        row(
            "a hanging attempt is cut at the end",
            call(PLAIN).timeout(30 * SECOND),
            &[HANGS],
            "0; at 30 deadline: error cut after 30s",
        ),
    ]);
}
