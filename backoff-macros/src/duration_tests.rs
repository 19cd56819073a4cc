//! Tests of `duration.rs`, which is compiled into backoff-core too: here they run once.

use crate::duration::parse;
use proptest::prelude::*;
use std::time::Duration;

/// Nanoseconds, and the texts that mean them.
const READ: &str = "
    0                = 0s
    1                = 0.000000001s
    5                = 5ns
    5000             = 5us|5µs|5\u{3bc}s
    250000000        = 250ms
    360000000        = 0.0001h
    500000000        = .5s
    1000000000       = 1_000ms
    1500000000       = 1.5s|1.50000000000000000000000s
    2000000000       = 1s1s
    5000000000       = 5.s
    64000000000      = 64s
    90000000000      = 1m 30s|1m30s|30s 1m
    120000000000     = 2m|2min
    7200000000000    =   2 h  |2h
    10800000000000   = 3h
    86400000000000   = 1d
    129600000000000  = 1.5d
    18446744073709551615999999999 = 18446744073709551615.999999999s
";

/// A part of the message, and the texts that it is about. Humantime 2.4 panics at the last one.
const REFUSED: &str = "
    such as `30s`               = | |soon|s|1h, 2m
    write `0ms` or `0s`         = 0
    write `64ms` or `64s`       = 64
    write `30ms` or `30s`       = 1m 30
    write `1ms` or `1s`         = 1 0s
    write `64s`                 = 64sec|64S
    write `5m`                  = 5Min|5 minutes
    write `3h`                  = 3 hrs
    write `1s`                  = -1s
    the units are               = 3 fortnights|1w|1h 2 months|1.5y
    `M` is not a unit of time; the units are = 5M
    `e` is not a unit           = 1e3s
    one decimal point           = 1.2.3s
    finer than a nanosecond     = 0.1ns
    longer than a `Duration`    = 99999999999999999999d
    a `Duration`                = 9999999999999999999999999999999999999999999s
    a `Duration`                = 18446744073709551615s 1000000000ns
";

/// The first cell of each row, and each text after it.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().filter_map(|row| row.split_once(" = "));
    rows.flat_map(|(said, texts)| texts.split('|').map(|text| (said.trim(), text)))
}

#[test]
fn reads_numbers_with_units() {
    for (nanos, text) in rows(READ) {
        let read = parse(text).map(|it| it.as_nanos().to_string());
        assert_eq!(read.as_deref(), Ok(nanos), "{text}");
    }
}

#[test]
fn says_what_to_write_instead() {
    for (part, text) in rows(REFUSED) {
        let message = parse(text).unwrap_err();
        assert!(message.contains(part), "{text}: {message}");
    }
}

proptest! {
    #[test]
    fn never_panics(text in prop_oneof!["\\PC*", "[-0-9._ a-z]{0,60}"]) {
        let _ = parse(&text);
    }

    #[test]
    fn whole_milliseconds_survive(millis in any::<u32>()) {
        let expected = Duration::from_millis(millis.into());
        prop_assert_eq!(parse(&format!("{millis}ms")), Ok(expected));
        let seconds = format!("{}.{:03}s", millis / 1000, millis % 1000);
        prop_assert_eq!(parse(&seconds), Ok(expected));
    }
}
