//! RFC 9110, 10.2.3 (`Retry-After`) and 5.6.7 (dates).

use super::{SECOND, TestError};
use backoff_core::{Decision, Jitter, Policy, RetryState, WaitSource, hint};
use std::time::{Duration, SystemTime};

/// Sun, 06 Nov 1994 08:49:37 GMT, the instant of the RFC's three examples.
const EXAMPLE: u64 = 784_111_777;
/// Fri, 31 Dec 1999 23:59:59 GMT, the example of `Retry-After`.
const RETRY_AFTER: u64 = 946_684_799;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Source, value, and the instant it names.
#[rustfmt::skip]
const DATES: &[(&str, &str, u64)] = &[
    ("RFC 9110, 5.6.7, IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", EXAMPLE),
    ("RFC 9110, 5.6.7, RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", EXAMPLE),
    ("RFC 9110, 5.6.7, asctime", "Sun Nov  6 08:49:37 1994", EXAMPLE),
    ("RFC 9110, 10.2.3, example", "Fri, 31 Dec 1999 23:59:59 GMT", RETRY_AFTER),
    ("RFC 9110, 10.2.3, in RFC 850's form", "Friday, 31-Dec-99 23:59:59 GMT", RETRY_AFTER),
    ("RFC 9110, 10.2.3, in asctime's form", "Fri Dec 31 23:59:59 1999", RETRY_AFTER),
];

/// What stands before a date and after it, and makes it none.
#[rustfmt::skip]
const RUBBISH: &[(&str, &str)] = &[
    ("\"", "\""), ("Retry-After: ", "x"), ("", "x"), ("", " +0000"), ("(", ")"), ("\0", "\0"), ("", "\u{a0}"),
];

#[rustfmt::skip]
const SECONDS: &[(&str, Option<u64>)] = &[
    ("120", Some(120)), ("0", Some(0)), (" 120\t", Some(120)), ("0120", Some(120)),
    ("-1", None), ("+1", None), ("1e3", None), ("120;", None), ("\"120\"", None), ("", None), ("\t", None),
    ("Sun, 06 Nov 1994 08:49:37", None),
    // Not in the RFC, but sent.
    ("120.0", Some(120)), ("120s", Some(120)), ("120, 60", Some(120)), ("784111777", Some(784_111_777)),
    ("06 Nov 1994 08:49:37 GMT", Some(120)), ("Sun, 06 Nov 1994 08:49:37 UTC", Some(120)),
    ("1994-11-06T08:49:37Z", Some(120)),
];

#[test]
fn dates_and_seconds() {
    for (source, value, instant) in DATES {
        // Blanks around a field's value do not belong to it (RFC 9110, 5.5).
        for value in [
            (*value).into(),
            format!(" {value}"),
            format!("\t{value} \t "),
        ] {
            for (now, seconds) in [
                (instant - 120, 120),
                (instant - 1, 1),
                (*instant, 0),
                (instant + 1, 0),
                (instant + 1_000_000_000, 0),
            ] {
                let wait = hint::retry_after(&value, at(now));
                let expected = Some(Duration::from_secs(seconds));
                assert_eq!(wait, expected, "{source}: {value:?}");
            }
        }
        for (before, after) in RUBBISH {
            let rubbish = format!("{before}{value}{after}");
            let wait = hint::retry_after(&rubbish, at(instant - 120));
            assert_eq!(wait, None, "{source}: {rubbish:?}");
        }
    }
    for (value, seconds) in SECONDS {
        let wait = hint::retry_after(value, at(EXAMPLE - 120));
        assert_eq!(wait, seconds.map(Duration::from_secs), "{value:?}");
    }
    let beyond = hint::retry_after("99999999999999999999", at(EXAMPLE));
    assert_eq!(beyond, Some(Duration::MAX));
}

#[test]
fn the_longer_one_of_header_and_backoff_is_waited_for() {
    const POLICY: Policy = Policy::exponential().jitter(Jitter::None).base(SECOND);
    use WaitSource::{Backoff, RetryAfter};
    for (header, seconds, source) in [
        ("120", 120, RetryAfter),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 30, RetryAfter),
        ("Sun, 06 Nov 1994 08:40:00 GMT", 1, Backoff),
        ("1", 1, Backoff),
        ("0", 1, Backoff),
        ("soon", 1, Backoff),
    ] {
        let failed = TestError {
            hint: hint::retry_after(header, at(EXAMPLE - 30)),
            ..TestError::status(503)
        };
        let mut retry = RetryState::start(&POLICY, || SECOND);
        let verdict = POLICY.judge(&failed);
        let Decision::Wait(wait) = retry.failed(&POLICY, verdict, || SECOND, || 0) else {
            panic!("{header}: it stops");
        };
        let waited = (wait.delay.as_secs(), wait.source);
        assert_eq!(waited, (seconds, source), "{header}");
    }
}

/// `google.protobuf.Duration` as JSON: the examples of its definition.
#[test]
fn retry_delay_of_google_rpc() {
    for (value, nanos) in [
        ("3s", 3_000_000_000),
        ("3.000000001s", 3_000_000_001),
        ("3.000001s", 3_000_001_000),
        ("3.5s", 3_500_000_000),
    ] {
        let wait = hint::retry_delay(value);
        assert_eq!(wait, Some(Duration::from_nanos(nanos)), "{value}");
    }
}
