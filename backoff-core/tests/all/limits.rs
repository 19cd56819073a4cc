//! Limits: of the attempts, of a call, of each attempt. Every form keeps them.
use crate::common::{
    error::TestError,
    forms::{BUSY, HANGS, Kind, PLAIN, SECOND, Said, call, check, fails, gives, row, runs},
};
use backoff_core::{Jitter, Policy, Verdict, WaitSource};
use std::time::Duration;

const NANOSECOND: Duration = Duration::from_nanos(1);
const HOUR: Duration = Duration::from_secs(3_600);
const NEVER_WAITS: Policy = Policy::constant(Duration::ZERO);

#[test]
fn a_deadline_ends_waits_and_no_attempts() {
    let by_20 = call(PLAIN).deadline(20 * SECOND);
    let four = fails(BUSY).taking(4 * SECOND);
    check(&[
        row(
            "attempts that take no time",
            by_20,
            &[fails(BUSY)],
            "0 1 3 7 15; at 15 deadline: error 503",
        ),
        // 4 + 1 + 4 + 2 + 4 = 15; a wait of 4 s would end at 19, and is the last that fits.
        row(
            "attempts of four seconds",
            by_20,
            &[four],
            "0 5 11 19; at 23 deadline: error 503",
        ),
        row(
            "attempts of an hour",
            by_20,
            &[fails(BUSY).taking(HOUR)],
            "0; at 3600 deadline: error 503",
        ),
        row(
            "a timer that wakes after the deadline",
            call(PLAIN).deadline(10 * SECOND).late(HOUR),
            &[fails(BUSY)],
            "0 3601; at 3601 deadline: error 503",
        )
        .but(|form| form.is_blocking(), "0; at 3601 deadline: error 503"),
    ]);
}

#[test]
fn attempts_are_counted() {
    check(&[
        row(
            "three attempts",
            call(PLAIN.max_attempts(3)),
            &[fails(BUSY)],
            "0 1 3; at 3 attempts: error 503",
        ),
        row(
            "a success after failures",
            call(PLAIN),
            &[fails(BUSY), fails(BUSY), gives(200)],
            "0 1 3; at 3: 200",
        ),
        row("a success", call(PLAIN), &[gives(200)], "0; at 0: 200"),
        // Each wait is drawn from zero on, and the least number is drawn.
        row(
            "five attempts without a word",
            call(Policy::exponential()),
            &[fails(BUSY)],
            "0 0 0 0 0; at 0 attempts: error 503",
        ),
        row(
            "a permanent error",
            call(PLAIN),
            &[fails(TestError::status(404))],
            "0; at 0 permanent: error 404",
        ),
    ]);
}

/// A policy that never waits makes five attempts, whatever time there is, unless it says how many.
#[test]
fn without_a_pause_time_does_not_limit_attempts() {
    let five = "0 0 0 0 0; at 0 attempts: error 503";
    let nine = "0 0 0 0 0 0 0 0 0; at 0 attempts: error 503";
    for (policy, expected) in [(NEVER_WAITS, five), (NEVER_WAITS.max_attempts(9), nine)] {
        let (limit, busy) = (300 * SECOND, [fails(BUSY)]);
        let call = call(policy);
        check(&[
            row("a deadline", call.deadline(limit), &busy, expected),
            row("a timeout", call.timeout(limit), &busy, expected),
            row(
                "both",
                call.deadline(2 * limit).timeout(limit),
                &busy,
                expected,
            ),
        ]);
    }
}

#[test]
fn with_a_pause_the_time_alone_limits_attempts() {
    let policy = NEVER_WAITS.base(SECOND).jitter(Jitter::None);
    // A call that is cut at 300 s needs some time before it.
    for (call, attempts) in [
        (call(policy).timeout(300 * SECOND), 300),
        (call(policy).deadline(300 * SECOND), 301),
    ] {
        for (form, came) in runs(&call, &[fails(BUSY)]) {
            assert_eq!(came.begun.len(), attempts, "{}", form.name);
        }
    }
}

#[test]
fn a_timeout_limits_the_whole_call() {
    let by_10 = call(PLAIN).timeout(10 * SECOND);
    check(&[
        row(
            "a hanging attempt is cut at the end",
            call(PLAIN).timeout(30 * SECOND),
            &[HANGS],
            "0; at 30 deadline: error cut after 30s",
        ),
        row(
            "one that must not be made twice may have been applied",
            call(PLAIN).timeout(30 * SECOND).careful(),
            &[HANGS],
            "0; at 30 maybe_applied: error cut after 30s",
        ),
        // 1 + 2 + … + 32 = 63, then 64 a wait: the next one would end at 127, the one after at 191.
        row(
            "as many attempts are made as fit",
            call(PLAIN).timeout(190 * SECOND),
            &[fails(BUSY)],
            "0 1 3 7 15 31 63 127; at 127 deadline: error 503",
        ),
        row(
            "where the attempts are limited, they are",
            call(PLAIN.max_attempts(3)).timeout(190 * SECOND),
            &[fails(BUSY)],
            "0 1 3; at 3 attempts: error 503",
        ),
        // 1 + 2 + 4 end at the limit, where nothing of it is left for an attempt.
        row(
            "a wait that would end at the limit is not begun",
            call(PLAIN).timeout(7 * SECOND),
            &[fails(BUSY)],
            "0 1 3; at 3 deadline: error 503",
        ),
        row(
            "the last real error is kept beside the cut",
            by_10,
            &[fails(BUSY), HANGS],
            "0 1; at 10 deadline: error cut after 9s, last 503",
        ),
        row(
            "a timer that wakes after the limit begins no attempt",
            by_10.late(60 * SECOND),
            &[fails(BUSY)],
            "0; at 61 deadline: error cut after 0ns, last 503",
        ),
        row(
            "nor does one that wakes at the limit",
            by_10.late(9 * SECOND),
            &[fails(BUSY)],
            "0; at 10 deadline: error cut after 0ns, last 503",
        ),
        row(
            "one that wakes a moment before does",
            by_10.late(9 * SECOND - NANOSECOND),
            &[fails(BUSY)],
            "0 9.999999999; at 9.999999999 deadline: error 503",
        ),
    ]);
    for (deadline, timeout) in [(7, 30), (30, 7), (7, 7)] {
        check(&[row(
            "the shorter one of it and the policy's deadline holds",
            call(PLAIN)
                .deadline(deadline * SECOND)
                .timeout(timeout * SECOND),
            &[HANGS],
            "0; at 7 deadline: error cut after 7s",
        )]);
    }
}

/// It counts as a nanosecond.
#[test]
fn a_limit_of_zero_lets_an_attempt_begin() {
    let at_once = call(PLAIN).timeout(Duration::ZERO);
    let no_deadline = call(PLAIN).deadline(Duration::ZERO).attempt_timeout(SECOND);
    let each = call(PLAIN).attempt_timeout(Duration::ZERO);
    check(&[
        row("a success", at_once, &[gives(200)], "0; at 0: 200"),
        row(
            "an error",
            at_once,
            &[fails(BUSY)],
            "0; at 0 deadline: error 503",
        ),
        row(
            "an attempt that is cut",
            at_once,
            &[HANGS],
            "0; at 0.000000001 deadline: error cut after 1ns",
        ),
        row(
            "a deadline of zero",
            no_deadline,
            &[gives(200)],
            "0; at 0: 200",
        )
        .but(
            |form| form.kind == Kind::UpdateRead,
            "0; at 0 deadline: error cut after 0ns",
        )
        .but(
            |form| form.is_update(),
            "never; at 0 deadline: error cut after 0ns",
        ),
        row(
            "an attempt that is pending at a deadline of zero",
            no_deadline,
            &[HANGS],
            "0; at 0 deadline: error cut after 0ns",
        )
        .but(
            |form| form.kind == Kind::UpdateWrite,
            "never; at 0 deadline: error cut after 0ns",
        ),
        row(
            "each attempt",
            each,
            &[HANGS, HANGS, gives(200)],
            "0 1 3; at 3: 200",
        ),
    ]);
}

#[test]
fn an_attempt_timeout_cuts_each_attempt() {
    let each_6 = call(PLAIN).attempt_timeout(6 * SECOND);
    check(&[
        row(
            "a fast attempt is left alone",
            each_6,
            &[gives(200)],
            "0; at 0: 200",
        ),
        // 6 + 1, 6 + 2, then 5 remain of 20.
        row(
            "the last one is cut at the deadline",
            each_6.deadline(20 * SECOND),
            &[HANGS],
            "0 7 15; at 20 deadline: error cut after 5s",
        ),
        row(
            "or at the limit of the whole call",
            each_6.timeout(20 * SECOND),
            &[HANGS],
            "0 7 15; at 20 deadline: error cut after 5s",
        ),
        // 1 + 2 + 4 end at the deadline: without a limit a fourth attempt may begin there.
        row(
            "a wait that leaves no time for an attempt is not begun",
            call(PLAIN).deadline(7 * SECOND).attempt_timeout(SECOND),
            &[fails(BUSY)],
            "0 1 3; at 3 deadline: error 503",
        ),
        row(
            "an attempt for which no time remains is neither made nor counted",
            call(PLAIN)
                .deadline(10 * SECOND)
                .attempt_timeout(SECOND)
                .late(HOUR),
            &[fails(BUSY)],
            "0; at 3601 deadline: error cut after 0ns, last 503",
        ),
        // Fails at 0, cut from 1 to 4, cut from 6 to 9; a wait of 4 s does not fit.
        row(
            "the last real error is kept beside the cut",
            call(PLAIN).attempt_timeout(3 * SECOND).timeout(10 * SECOND),
            &[fails(BUSY), HANGS],
            "0 1 6; at 9 deadline: error cut after 3s, last 503",
        ),
        row(
            "an error that is handed back itself is no last one",
            call(PLAIN.max_attempts(2)).timeout(60 * SECOND),
            &[fails(BUSY)],
            "0 1; at 1 attempts: error 503",
        ),
        row(
            "a cut attempt is repeated",
            call(PLAIN).attempt_timeout(3 * SECOND).timeout(10 * SECOND),
            &[HANGS, gives(200)],
            "0 4; at 4: 200",
        ),
        row(
            "and not if it may have been applied",
            call(PLAIN)
                .attempt_timeout(3 * SECOND)
                .timeout(10 * SECOND)
                .careful(),
            &[HANGS, gives(200)],
            "0; at 3 maybe_applied: error cut after 3s",
        ),
    ]);
}

/// The limit of an attempt counts from when the attempt is first found pending; the deadline from when the
/// call began.
#[test]
fn time_in_which_an_attempt_blocks_its_thread_is_not_counted_for_its_limit() {
    let once = call(PLAIN.max_attempts(1)).attempt_timeout(10 * SECOND);
    check(&[
        row(
            "what the first poll takes is not counted",
            once.deadline(60 * SECOND),
            &[HANGS.blocking(4 * SECOND)],
            "0; at 14 attempts: error cut after 10s",
        ),
        row(
            "but for the deadline",
            once.deadline(12 * SECOND),
            &[HANGS.blocking(4 * SECOND)],
            "0; at 12 attempts: error cut after 8s",
        ),
        row(
            "an attempt that is ready at once is never cut",
            call(PLAIN).timeout(10 * SECOND).attempt_timeout(SECOND),
            &[gives(200).blocking(60 * SECOND)],
            "0; at 60: 200",
        )
        // No write is begun after it.
        .but(
            |form| form.kind == Kind::UpdateRead,
            "0; at 60 deadline: error cut after 0ns",
        ),
    ]);
}

#[test]
fn hints_are_waited_for_or_end_a_call() {
    let hinted = |seconds| fails(TestError::status(429).after(seconds * SECOND));
    let says_nine: fn(&TestError) -> Verdict = |_| Verdict::from(true).after(Some(9 * SECOND));
    check(&[
        row(
            "a hint",
            call(PLAIN.max_attempts(2)),
            &[hinted(5)],
            "0 5; at 5 attempts: error 429",
        ),
        row(
            "a hint past the deadline",
            call(PLAIN).deadline(300 * SECOND),
            &[hinted(301)],
            "0; at 0 retry_after: error 429",
        ),
        row(
            "a hint of the function that judges",
            call(PLAIN.max_attempts(2)).when_any(says_nine),
            &[fails(TestError::UNKNOWN)],
            "0 9; at 9 attempts: error unknown",
        ),
    ]);
}

#[test]
fn all_forms_draw_the_same_waits() {
    let policy = Policy::exponential()
        .jitter(Jitter::Additive(SECOND))
        .max_backoff(6 * SECOND)
        .max_attempts(6);
    check(&[
        row(
            "the shortest",
            call(policy).drawing(0),
            &[fails(BUSY)],
            "0 1 3 7 13 19; at 19 attempts: error 503",
        ),
        row(
            "those in the middle",
            call(policy).drawing(1 << 63),
            &[fails(BUSY)],
            "0 1.5 4 8.5 14.5 20.5; at 20.5 attempts: error 503",
        ),
    ]);
}

/// An outer loop, such as a queue, needs to know whether to call again, and not before when.
#[test]
fn the_hint_of_the_last_failure_is_kept() {
    const HOUR_LATER: Option<Duration> = Some(HOUR);
    const REFUSED: TestError = TestError::status(403);
    let soon = BUSY.after(2 * SECOND);
    let says_hour: fn(&TestError) -> Verdict = |_| Verdict::from(true).after(HOUR_LATER);
    let three = call(PLAIN.max_attempts(3));
    for (setting, script, hint) in [
        (
            three,
            &[fails(TestError::status(429).after(HOUR))][..],
            HOUR_LATER,
        ),
        (three, &[fails(soon)], soon.hint),
        (three, &[fails(soon), fails(BUSY)], None),
        // A refusal can say when to ask again.
        (
            three,
            &[fails(BUSY), fails(REFUSED.after(HOUR))],
            HOUR_LATER,
        ),
        (three, &[fails(REFUSED)], None),
        (
            three.when_any(says_hour),
            &[fails(TestError::UNKNOWN)],
            HOUR_LATER,
        ),
        (three.attempt_timeout(SECOND), &[HANGS], None),
    ] {
        for (form, came) in runs(&setting, script) {
            let hints = came.told.map(|told| told.hint);
            assert!(
                hints.is_none_or(|told| told == hint),
                "{script:?}, {}",
                form.name
            );
            let waits = came.events.iter().filter_map(|said| match said {
                Said::Waiting { source, .. } => Some(*source),
                _ => None,
            });
            // Only the first failure of a script with a hint is waited for.
            let is_hinted = script[0].error().is_some_and(|error| error.hint.is_some());
            for source in waits.take(1) {
                assert_eq!(source == WaitSource::RetryAfter, is_hinted, "{script:?}");
            }
        }
    }
}
