//! What the log says of a call that fails, in every form of a call.

use crate::{
    common::{
        error::TestError,
        forms::{BUSY, Form, HANGS, PLAIN, SECOND, Setting, Step, call, fails, forms, gives},
    },
    spans::recorder::logged,
};
use backoff_core::{Budget, testing};
use std::time::Duration;

const HALF: Duration = Duration::from_millis(500);
const MICROS: Duration = Duration::from_micros(67);
const TOO_FAST: TestError = TestError::status(429);
const GONE: TestError = TestError::status(404);

/// The line without the fields that differ between forms.
fn shortened(line: &str) -> String {
    let words = line.split(' ').filter(|word| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_none_or(|name| ["attempt", "attempts", "delay", "reason"].contains(&name))
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The name of each form that can have the settings, and what it logs.
fn logs<'a>(
    setting: &'a Setting,
    script: &'a [Step],
) -> impl Iterator<Item = (&'static str, Vec<String>)> + 'a {
    let can = |form: &&Form| form.cannot(setting, script).is_none();
    forms().filter(can).map(|form| {
        let trial = form.trial(setting, script);
        (form.name, logged(|| drop(trial.run(form))))
    })
}

const TOO_LONG: &str = "WARN calls wait for more than a minute, or for longer than they may, because the service \
     refuses calls";
const WAITS: &str = "INFO attempt failed, waiting before the next attempt=1 delay=1.0";

#[test]
fn what_is_kept_from_being_retried_is_a_warning_and_what_waits_has_an_end() {
    let thrice = call(PLAIN.max_attempts(3));
    let once = call(PLAIN.max_attempts(1));
    let closed = call(PLAIN).rate(SECOND);
    let rows: &[(&str, Setting, &[Step], &[&str])] = &[
        (
            "the operation's own answer",
            thrice,
            &[fails(GONE)],
            &["DEBUG failed, not retried attempts=1 reason=permanent"],
        ),
        (
            "the same after a wait",
            thrice,
            &[fails(BUSY), fails(GONE)],
            &[WAITS, "WARN gave up attempts=2 reason=permanent"],
        ),
        (
            "a server that hangs",
            thrice.timeout(5 * SECOND),
            &[HANGS],
            &["WARN gave up attempts=1 reason=deadline"],
        ),
        (
            "one attempt alone",
            once,
            &[fails(BUSY)],
            &["WARN gave up attempts=1 reason=attempts"],
        ),
        (
            "an empty budget",
            thrice.budget(|| Budget::costs(100, 10, 5).starting_with(0)),
            &[fails(BUSY)],
            &["WARN gave up attempts=1 reason=budget"],
        ),
        (
            "no time for a wait",
            thrice.deadline(HALF),
            &[fails(BUSY)],
            &["WARN gave up attempts=1 reason=deadline"],
        ),
        (
            "a timer that wakes too late",
            thrice.late(60 * SECOND).timeout(30 * SECOND),
            &[fails(BUSY)],
            &[WAITS, "WARN gave up attempts=1 reason=deadline"],
        ),
        (
            "a signal in the first wait",
            thrice.stop_on(HALF),
            &[fails(BUSY)],
            &[WAITS, "WARN gave up attempts=1 reason=stopped"],
        ),
        (
            "a signal in the first attempt",
            thrice.cut_on(HALF),
            &[HANGS],
            &["WARN gave up attempts=1 reason=stopped"],
        ),
        (
            "no turn in time",
            closed.max_queue_time(HALF),
            &[gives(200)],
            &[
                TOO_LONG,
                "WARN gave up before the first attempt attempts=0 reason=rate",
            ],
        ),
        (
            "no turn within the timeout",
            closed.timeout(HALF),
            &[gives(200)],
            &[
                TOO_LONG,
                "WARN gave up before the first attempt attempts=0 reason=rate",
            ],
        ),
        (
            "a signal before the first turn",
            closed.cut_on(HALF),
            &[gives(200)],
            &["WARN gave up before the first attempt attempts=0 reason=stopped"],
        ),
        (
            "a turn that comes is waited for as long as it says",
            closed,
            &[fails(TOO_FAST), gives(200)],
            &[
                "INFO attempt failed, waiting before the next attempt=1 delay=1.25",
                "DEBUG calls go at 0.2 a second",
                "INFO succeeded after retries attempts=2",
            ],
        ),
        (
            "a value that never is the awaited one",
            call(PLAIN.max_attempts(2)).until(),
            &[gives(202)],
            &[
                "DEBUG not yet, asking again attempt=1 delay=1.0",
                "WARN gave up attempts=2 reason=attempts",
            ],
        ),
        (
            "microseconds",
            thrice,
            &[fails(BUSY).taking(MICROS), gives(200)],
            &[WAITS, "INFO succeeded after retries attempts=2"],
        ),
    ];
    for (name, setting, script, expected) in rows {
        let mut runs = 0;
        for (form, log) in logs(setting, script) {
            runs += 1;
            let short: Vec<_> = log.iter().map(|line| shortened(line)).collect();
            assert_eq!(short, *expected, "{name}, {form}: {log:?}");
            for figure in log.iter().flat_map(|line| line.split(' ')) {
                let value = figure.split_once('=').map_or("", |(_, value)| value);
                let is_number = value.parse::<f64>().is_ok();
                assert!(!is_number || !value.contains('e'), "{log:?}");
            }
        }
        assert!(runs > 0, "{name}");
    }
}

#[test]
fn retries_that_a_test_has_switched_off_are_a_warning() {
    let _off = testing::off();
    let (setting, script) = (call(PLAIN), [fails(BUSY)]);
    assert!(logs(&setting, &script).count() > 0);
    for (form, log) in logs(&setting, &script) {
        let short: Vec<_> = log.iter().map(|line| shortened(line)).collect();
        let expected = ["WARN gave up attempts=1 reason=switched_off"];
        assert_eq!(short, expected, "{form}");
    }
}

#[test]
fn an_attempt_that_begins_out_of_turn_is_a_warning() {
    let (setting, script) = (call(PLAIN).rate(SECOND).deadline(HALF), [gives(200)]);
    assert!(logs(&setting, &script).count() > 0);
    for (form, log) in logs(&setting, &script) {
        let said = match form.contains("rate of the call") {
            true => "WARN gave up before the first attempt attempts=0 reason=rate",
            false => "WARN attempts begin at their deadline without a turn",
        };
        assert_eq!(log[0], TOO_LONG, "{form}");
        assert!(
            log.len() == 2 && log[1].starts_with(said),
            "{form}: {log:?}"
        );
    }
}
