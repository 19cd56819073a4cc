//! RFC 9110, 10.2.3 (`Retry-After`) and 5.6.7 (dates).

use backoff_core::hint;
use std::time::{Duration, SystemTime};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Blanks around a field's value do not belong to it (RFC 9110, 5.5).
#[test]
fn dates() {
    for (source, value, instant) in [
        (
            "5.6.7, IMF-fixdate",
            "Sun, 06 Nov 1994 08:49:37 GMT",
            784_111_777,
        ),
        (
            "5.6.7, RFC 850",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            784_111_777,
        ),
        ("5.6.7, asctime", "Sun Nov  6 08:49:37 1994", 784_111_777),
        (
            "10.2.3, example",
            "Fri, 31 Dec 1999 23:59:59 GMT",
            946_684_799,
        ),
    ] {
        for (now, expected) in [
            // A date is the end of its second.
            (instant - 120, 121),
            (instant, 1),
            (instant + 1_000_000_000, 0),
        ] {
            let wait = hint::retry_after(&format!("\t{value} "), at(now));
            assert_eq!(
                wait,
                Some(Duration::from_secs(expected)),
                "RFC 9110, {source}"
            );
        }
        for rubbish in [
            format!("\"{value}\""),
            format!("({value})"),
            format!("{value}x"),
            format!("{value} +0000"),
            format!("{value}\0"),
            format!("{value}\u{a0}"),
        ] {
            let wait = hint::retry_after(&rubbish, at(instant - 120));
            assert_eq!(wait, None, "{rubbish:?}");
        }
    }
}

/// `google.protobuf.Duration` as JSON: the examples of its definition.
#[test]
fn retry_delay_of_google_rpc() {
    for (value, nanos) in [
        ("3s", 3_000_000_000),
        ("3.000000001s", 3_000_000_001),
        ("3.000001s", 3_000_001_000),
    ] {
        let wait = hint::retry_delay(value);
        assert_eq!(wait, Some(Duration::from_nanos(nanos)), "{value}");
    }
}
