//! Limits: of the attempts, of a call, of each attempt. Every form keeps them.
use crate::common::{
    error::TestError,
    forms::{BUSY, PLAIN, SECOND, Said, call, check, fails, runs, steps},
};
use backoff_core::{Jitter, Policy, Verdict, WaitSource};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn attempts_and_a_deadline() {
    let table = "
        three attempts            | max_attempts 3 | error 503                 | 0 1 3; at 3 attempts: error 503
        a success after failures  |                | error 503, error 503, 200 | 0 1 3; at 3: 200
        a success                 |                | 200                       | 0; at 0: 200
        a permanent error         |                | error 404                 | 0; at 0 permanent: error 404
        attempts that take no time          | deadline 20 | error 503             | 0 1 3 7 15; at 15 deadline: error 503
        of four seconds: a wait of 4 s fits | deadline 20 | error 503 taking 4    | 0 5 11 19; at 23 deadline: error 503
        of an hour                          | deadline 20 | error 503 taking 3600 | 0; at 3600 deadline: error 503
        a timer that wakes after it         | deadline 10, late 3600 | error 503  | 0 3601; at 3601 deadline: error 503
        but blocking | 0; at 3601 deadline: error 503
    ";
    check(call(PLAIN), table);
    // Each wait is drawn from zero on, and the least number is drawn.
    let five = "five attempts without a word | | error 503 | 0 0 0 0 0; at 0 attempts: error 503";
    check(call(Policy::exponential()), five);
}

/// A policy with a base of zero makes five attempts, whatever time there is, unless it says how many.
#[test]
fn without_a_pause_time_does_not_limit_attempts() {
    let never = Policy::constant(Duration::ZERO);
    let table = "
        a deadline | deadline 300              | error 503 | 0 0 0 0 0; at 0 attempts: error 503
        a timeout  | timeout 300               | error 503 | 0 0 0 0 0; at 0 attempts: error 503
        both       | deadline 600, timeout 300 | error 503 | 0 0 0 0 0; at 0 attempts: error 503
        seven      | max_attempts 7, timeout 300  | error 503 | 0 0 0 0 0 0 0; at 0 attempts: error 503
        seven      | max_attempts 7, deadline 300 | error 503 | 0 0 0 0 0 0 0; at 0 attempts: error 503
    ";
    check(call(never), table);
    let throttled = call(Policy::exponential().throttled_base(Duration::ZERO));
    check(throttled, table.replace("503", "429").leak());
    let pausing = call(never.base(SECOND).jitter(Jitter::None));
    // With a pause the time alone limits them. A call that is cut at 300 s needs some time before it.
    for (call, attempts) in [
        (pausing.timeout(300 * SECOND), 300),
        (pausing.deadline(300 * SECOND), 301),
    ] {
        for (form, came) in runs(&call, &[fails(BUSY)]) {
            assert_eq!(came.begun.len(), attempts, "{}", form.name);
        }
    }
}

// 1 + 2 + … + 32 = 63, then 64 a wait: with 190 s the next wait would end at 127, the one after at 191.
#[test]
fn a_timeout_limits_the_whole_call() {
    let table = "
        a hanging attempt is cut at the end    | timeout 30          | hangs | 0; at 30 deadline: error cut after 30s
        what must not be repeated may be applied | timeout 30, careful | hangs | 0; at 30 maybe_applied: error cut after 30s
        as many attempts as fit        | timeout 190 | error 503 | 0 1 3 7 15 31 63 127; at 127 deadline: error 503
        where they are limited, so many | max_attempts 3, timeout 190 | error 503 | 0 1 3; at 3 attempts: error 503
        a wait that would end at the limit is not begun | timeout 7 | error 503 | 0 1 3; at 3 deadline: error 503
        the last real error is kept    | timeout 10 | error 503, hangs | 0 1; at 10 deadline: error cut after 9s, last 503
        no attempt after a late timer  | timeout 10, late 60 | error 503 | 0; at 61 deadline: error cut after 0ns, last 503
        nor at the limit               | timeout 10, late 9  | error 503 | 0; at 10 deadline: error cut after 0ns, last 503
        a moment before | timeout 10, late 8.999999999 | error 503 | 0 9.999999999; at 9.999999999 deadline: error 503
        the shorter one holds          | deadline 7, timeout 30 | hangs | 0; at 7 deadline: error cut after 7s
        the shorter one holds          | deadline 30, timeout 7 | hangs | 0; at 7 deadline: error cut after 7s
        both are alike                 | deadline 7, timeout 7  | hangs | 0; at 7 deadline: error cut after 7s
    ";
    check(call(PLAIN), table);
}

/// It counts as a nanosecond.
#[test]
fn a_limit_of_zero_lets_an_attempt_begin() {
    let table = "
        a success            | timeout 0 | 200       | 0; at 0: 200
        an error             | timeout 0 | error 503 | 0; at 0 deadline: error 503
        a cut                | timeout 0 | hangs     | 0; at 0.000000001 deadline: error cut after 1ns
        a deadline of zero   | deadline 0, attempt_timeout 1 | 200   | 0; at 0: 200
        but update, in its read | 0; at 0 deadline: error cut after 0ns
        but update | never; at 0 deadline: error cut after 0ns
        a pending attempt    | deadline 0, attempt_timeout 1 | hangs | 0; at 0 deadline: error cut after 0ns
        but update, in its write | never; at 0 deadline: error cut after 0ns
        each attempt         | attempt_timeout 0 | hangs, hangs, 200 | 0 1 3; at 3: 200
    ";
    check(call(PLAIN), table);
}

/// The limit of an attempt counts from when the attempt is first found pending; the deadline from when the
/// call began.
#[test]
fn an_attempt_timeout_cuts_each_attempt() {
    let table = "
        a fast attempt is left alone | attempt_timeout 6 | 200 | 0; at 0: 200
        the last one is cut at the deadline | attempt_timeout 6, deadline 20 | hangs | 0 7 15; at 20 deadline: error cut after 5s
        or at the limit of the whole call   | attempt_timeout 6, timeout 20  | hangs | 0 7 15; at 20 deadline: error cut after 5s
        a wait that leaves no time for one is not begun | deadline 7, attempt_timeout 1 | error 503 | 0 1 3; at 3 deadline: error 503
        an attempt without time is neither made nor counted | deadline 10, attempt_timeout 1, late 3600 | error 503 | 0; at 3601 deadline: error cut after 0ns, last 503
        the last real error is kept | attempt_timeout 3, timeout 10 | error 503, hangs | 0 1 6; at 9 deadline: error cut after 3s, last 503
        what is handed back is no last one | max_attempts 2, timeout 60 | error 503 | 0 1; at 1 attempts: error 503
        a cut attempt is repeated | attempt_timeout 3, timeout 10 | hangs, 200 | 0 4; at 4: 200
        not if it may be applied | attempt_timeout 3, timeout 10, careful | hangs, 200 | 0; at 3 maybe_applied: error cut after 3s
        the first poll is not counted | max_attempts 1, attempt_timeout 10, deadline 60 | hangs blocking 4 | 0; at 14 attempts: error cut after 10s
        but for the deadline | max_attempts 1, attempt_timeout 10, deadline 12 | hangs blocking 4 | 0; at 12 attempts: error cut after 8s
        what is ready at once is never cut | timeout 10, attempt_timeout 1 | 200 blocking 60 | 0; at 60: 200
        but update, in its read | 0; at 60 deadline: error cut after 0ns
    ";
    check(call(PLAIN), table);
}

#[test]
fn hints_are_waited_for_or_end_a_call() {
    let table = "
        a hint                   | max_attempts 2 | error 429 after 5   | 0 5; at 5 attempts: error 429
        a hint past the deadline | deadline 300   | error 429 after 301 | 0; at 0 retry_after: error 429
    ";
    check(call(PLAIN), table);
    let nine =
        call(PLAIN.max_attempts(2)).when_any(|_| Verdict::from(true).after(Some(9 * SECOND)));
    check(
        nine,
        "of the judge | | error unknown | 0 9; at 9 attempts: error unknown",
    );
}

#[test]
fn all_forms_draw_the_same_waits() {
    let policy = PLAIN.jitter(Jitter::Additive(SECOND));
    let policy = policy.max_backoff(6 * SECOND).max_attempts(6);
    let least = "the shortest | | error 503 | 0 1 3 7 13 19; at 19 attempts: error 503";
    check(call(policy).drawing(0), least);
    let middle = "the middle | | error 503 | 0 1.5 4 8.5 14.5 20.5; at 20.5 attempts: error 503";
    check(call(policy).drawing(1 << 63), middle);
}

/// An outer loop, such as a queue, needs to know whether to call again, and not before when.
#[test]
fn the_hint_of_the_last_failure_is_kept() {
    let says_hour: fn(&TestError) -> Verdict = |_| Verdict::from(true).after(Some(HOUR));
    let three = call(PLAIN.max_attempts(3));
    for (setting, script, hint) in [
        (three, "error 429 after 3600", Some(HOUR)),
        (three, "error 503 after 2", Some(2 * SECOND)),
        (three, "error 503 after 2, error 503", None),
        // A refusal can say when to ask again.
        (three, "error 503, error 403 after 3600", Some(HOUR)),
        (three, "error 403", None),
        (three.when_any(says_hour), "error unknown", Some(HOUR)),
        (three.attempt_timeout(SECOND), "hangs", None),
    ] {
        for (form, came) in runs(&setting, &steps(script)) {
            let hints = came.told.map(|told| told.hint);
            assert!(
                hints.is_none_or(|told| told == hint),
                "{script}, {}",
                form.name
            );
            // Only the first failure of a script with a hint is waited for.
            if let Some(Said::Waiting { source, .. }) = came.events.first() {
                let is_hinted =
                    script.starts_with("error 429") || script.starts_with("error 503 after");
                assert_eq!(*source == WaitSource::RetryAfter, is_hinted, "{script}");
            }
        }
    }
}
