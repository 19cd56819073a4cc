//! One story of a call for all who read it: a hook, the log, spans and metrics, in every form.

pub(crate) mod story;

use self::story::{Recorded, Story};
use crate::{
    common::{
        forms::{Form, Kind, PLAIN, Setting, Step, assert_is_name, call, each_row},
        recorder::listening,
    },
    metrics::recorded,
};
use backoff_core::{Policy, testing};

pub(crate) const POLICY: Policy = PLAIN.max_attempts(3).name("storage");

/// The line without the fields that differ between forms.
fn shortened(line: &str) -> String {
    let words = line.split(' ').filter(|word| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_none_or(|name| {
            [
                "attempt",
                "attempts",
                "code",
                "delay",
                "late",
                "reason",
                "retry_after",
                "source",
            ]
            .contains(&name)
        })
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Without other readers. Where nothing else asks for the time, it counts from the first failure. For a report, for an
/// `Attempt` and for a limit, each call is measured.
fn check_hook(name: &str, form: &Form, setting: &Setting, script: &[Step], story: &Story) {
    let came = form.run(setting, script);
    let expected: Vec<_> = story
        .events
        .iter()
        .map(|(event, _)| event.clone())
        .collect();
    let heard: Vec<_> = came.events.iter().map(ToString::to_string).collect();
    assert_eq!(heard, expected, "{name}");
    let is_limited = setting.deadline.is_some() || setting.timeout.is_some();
    let is_measured = came.told.is_some() || !came.doubts.is_empty() || is_limited;
    if setting.rate.is_some() {
        return;
    }
    let first = story.events.first().map(|(_, at)| *at).unwrap_or_default();
    let times = story
        .events
        .iter()
        .enumerate()
        .map(|(n, (_, at))| match is_measured {
            true => Some(*at),
            false => (n > 0).then(|| *at - first),
        });
    assert_eq!(came.elapsed, times.collect::<Vec<_>>(), "{name}");
}

/// All readers at once.
fn check_readers(name: &str, form: &Form, setting: &Setting, script: &[Step], story: Story) {
    let trial = form.trial(setting, script);
    let mut told = Recorded::new();
    let state = listening(|| told = recorded(|| trial.run(form)).1);
    state
        .operations
        .iter()
        .for_each(|name| assert_is_name(name));
    let log: Vec<_> = state.logged.iter().map(|line| shortened(line)).collect();
    assert_eq!(log, story.log, "{name}: {:?}", state.logged);
    for figure in state.logged.iter().flat_map(|line| line.split(' ')) {
        let value = figure.split_once('=').map_or("", |(_, value)| value);
        let is_number = value.parse::<f64>().is_ok();
        assert!(!is_number || !value.contains('e'), "{name}: {figure}");
    }
    // What the attempt of an update does beside the script is in its span, too.
    let mut lines = state.lines;
    lines.retain(|line| line != "/attempt: other step");
    match form.name.contains("in spans") {
        true => assert_eq!(lines, story.spans, "{name}"),
        false => assert!(!lines.iter().any(|line| line.contains("/attempt"))),
    }
    let mut metrics = story.metrics;
    let is_resuming = matches!(form.kind, Kind::Resuming | Kind::BlockingResuming);
    if is_resuming && !metrics.is_empty() {
        // It begins with its first failure: nobody knows when that attempt began.
        if script.iter().any(|step| !step.takes.is_zero()) {
            return;
        }
        let first = metrics.get_mut(&story.first_attempt);
        first.unwrap().remove(0);
        metrics.retain(|_, values| !values.is_empty());
    }
    assert_eq!(told, metrics, "{name}");
}

fn check(base: Setting, table: &'static str) {
    each_row(base, table, |name, form, setting, script, story| {
        check_hook(name, form, setting, script, &Story::new(story));
        check_readers(name, form, setting, script, Story::new(story));
    });
}

// What follows a signal is no delay, and an attempt that a signal cuts is no timeout. Where nothing asks for the time
// after a wait, the written code of an attribute counts the lateness of the timer to the attempt.
#[test]
fn all_readers_hear_the_same_story() {
    let table = "
        recovers           | | error 503 taking 1, error 503 taking 1, 200 taking 1 | failed 503 in 1, waits 1, failed 503 in 1, waits 2, succeeded in 1
        with a deadline    | deadline 60 | error 503 taking 1, error 503 taking 1, 200 taking 1 | failed 503 in 1, waits 1, failed 503 in 1, waits 2, succeeded in 1
        succeeds at once   | | 200 taking 1 | succeeded in 1
        is given up        | | error 503 | failed 503, waits 1, failed 503, waits 2, failed 503, gave up attempts
        one attempt alone  | max_attempts 1 | error 503 | failed 503, gave up attempts
        fails for good     | | error 404 | failed 404, gave up permanent
        the same after a wait     | | error 503, error 404 | failed 503, waits 1, failed 404, gave up permanent perhaps
        but update, in its read | failed 503, waits 1, failed 404, gave up permanent
        after a refusal    | | error 429, error 404 | failed 429, waits 1, failed 404, gave up permanent
        after a lost reply | attempt_timeout 5 | hangs, error 404 | failed timeout in 5, waits 1, failed 404, gave up permanent perhaps
        but update, in its read | failed timeout in 5, waits 1, failed 404, gave up permanent
        takes microseconds | | error 503 taking 0.000067, 200 | failed 503 in 0.000067, waits 1, succeeded
        a long hint        | max_attempts 2 | error 503 after 30 | failed 503, waits 30 by RetryAfter, failed 503, gave up attempts
        of a body          | max_attempts 2 | error 503 after 30 by RetryInfo | failed 503, waits 30 by RetryInfo, failed 503, gave up attempts
        of the caller      | max_attempts 2 | error 503 after 30 by Pause | failed 503, waits 30 by Pause, failed 503, gave up attempts
        a hint shorter than the backoff | max_attempts 2 | error 503 after 0.001 by RetryInfo | failed 503, waits 1, failed 503, gave up attempts
        no facts, but a judge | max_attempts 1, when_any | error unknown | failed _OTHER, gave up attempts
        nothing is known   | | error unknown | failed _OTHER, gave up nothing_known
        the server asks for it | | error stops | failed 503, gave up stopped_by_server
        a hint that is too long | deadline 60 | error 429 after 61 | failed 429, gave up retry_after 61.0
        an attempt is cut  | max_attempts 1, attempt_timeout 5 | hangs | failed timeout in 5, gave up attempts
        the call is cut    | timeout 5 | hangs | failed timeout in 5, gave up deadline
        a signal cuts      | cut_on 5 | hangs | failed _OTHER in 5, gave up stopped
        its caller drops it | dropped_at 5 | hangs | dropped
        what may be applied | careful, cut_on 5 | hangs | failed _OTHER in 5, gave up maybe_applied
        a signal in its first wait | stop_on 0.5 | error 503 | failed 503, waits 1 for 0.5, gave up stopped
        a signal in its second     | stop_on 2 | error 503 | failed 503, waits 1, failed 503, waits 2 for 1, gave up stopped
        an empty budget    | budget costs 0 | error 503 | failed 503, gave up budget
        no time for a wait | deadline 0.5 | error 503 | failed 503, gave up deadline
        a late timer       | late 60, timeout 30 | error 503 | failed 503, waits 1 for 61, gave up deadline with timeout
        late for its policy | late 60, deadline 30 | error 503 | failed 503, waits 1 for 61, failed 503, gave up deadline late 31.0
        but blocking | failed 503, waits 1 for 61, gave up deadline
        but attribute | failed 503, waits 1, failed 503 in 60, gave up deadline late 31.0
        but block | failed 503, waits 1, failed 503 in 60, gave up deadline late 31.0
        late after a response | late 60, deadline 30, responses | 503 | failed 503, waits 1 for 61, failed 503, gave up deadline late 31.0
        but blocking | failed 503, waits 1 for 61, gave up deadline
        but attribute | failed 503, waits 1, failed 503 in 60, gave up deadline late 31.0
        but block | failed 503, waits 1, failed 503 in 60, gave up deadline late 31.0
        is never the awaited one | max_attempts 2, until | 202 | failed not_yet, waits 1, failed not_yet, gave up attempts
        a turn that comes  | rate 1 | error 429, 200 | queues 1, failed 429, waits 1.25, opens, succeeded
        no turn in time    | rate 1, max_queue_time 0.5 | 200 | too long, queues 0.5, gave up rate with timeout
        within the timeout | rate 1, timeout 0.5 | 200 | too long, queues 0.5, gave up rate with timeout
        a signal before the first turn | rate 1, cut_on 0.5 | 200 | queues 0.5, gave up stopped with _OTHER
        nor before the deadline | rate 1, deadline 0.5 | 200 | too long, queues 0.5, gave up rate with timeout
        out of turn        | rate 1, deadline 0.5, when_any | 200 | too long, unturned, queues 0.345491503, succeeded
        but rate of the call | too long, queues 0.5, gave up rate with timeout
        a breaker opens    | breaker 2 | error 503 | failed 503, waits 1, failed 503, breaks, gave up breaker
        a breaker is open  | breaker open 1, timeout 5 | 200 | gave up breaker with maybe_sent
        a probe closes it  | breaker open 0 | error 503 | failed 503, gave up breaker
        a probe fails      | breaker open 0 | 200 | closes, succeeded
    ";
    check(call(POLICY), table);
}

#[test]
fn retries_that_a_test_has_switched_off_are_a_warning() {
    let _off = testing::off();
    check(
        call(POLICY),
        "off | | error 503 | failed 503, gave up switched_off",
    );
}
