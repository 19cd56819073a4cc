//! Calls that repeat until the value is the awaited one, in every form.
use crate::common::error::TestError;
use crate::common::forms::{BUSY, HANGS, PLAIN, SECOND, call, check, fails, gives, row};
use backoff_core::Budget;

#[test]
fn a_call_is_repeated_until_its_value_is_the_awaited_one() {
    let until = |policy| call(policy).until();
    let two = || Budget::ratio(0.5, 2);
    check(&[
        row(
            "asked again until it is done",
            until(PLAIN),
            &[gives(202), fails(BUSY), gives(202), gives(200)],
            "0 1 3 7; at 7: 200",
        ),
        row(
            "the first value may be the one",
            until(PLAIN),
            &[gives(200)],
            "0; at 0: 200",
        ),
        row(
            "attempts end it with an error of its own",
            until(PLAIN.max_attempts(3)),
            &[gives(202)],
            "0 1 3; at 3 attempts: error not yet",
        ),
        row(
            "so does the deadline",
            until(PLAIN).deadline(20 * SECOND),
            &[gives(202)],
            "0 1 3 7 15; at 15 deadline: error not yet",
        ),
        row(
            "an error that no repetition cures ends it",
            until(PLAIN),
            &[gives(202), fails(TestError::status(404))],
            "0 1; at 1 permanent: error 404",
        ),
        row(
            "asking again costs no budget",
            until(PLAIN.max_attempts(4)).budget(two),
            &[gives(202)],
            "0 1 3 7; at 7 attempts: error not yet [2 2 2 2 2]",
        ),
        row(
            "and errors do",
            until(PLAIN).budget(two),
            &[fails(BUSY)],
            "0 1 3; at 3 budget: error 503 [1 0 0 0]",
        ),
        row(
            "an attempt is cut",
            until(PLAIN).attempt_timeout(10 * SECOND),
            &[HANGS, gives(202), gives(200)],
            "0 11 13; at 13: 200",
        ),
        row(
            "no attempt is begun when the timer wakes after the deadline",
            until(PLAIN)
                .deadline(5 * SECOND)
                .attempt_timeout(SECOND)
                .late(60 * SECOND),
            &[gives(202)],
            "0; at 61 deadline: error cut after 0ns, last not yet",
        ),
    ]);
}
