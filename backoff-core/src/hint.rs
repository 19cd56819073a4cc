//! `Retry-After` and its relatives, parsed. What is not understood is ignored, never an error.

use std::time::{Duration, SystemTime};

/// The header `Retry-After`: seconds, or an HTTP date in any of its three forms.
///
/// `now` is the wall clock that a date is compared with; a date that has passed gives zero.
/// `None` for anything else: signs, fractions, an empty text, a number beyond `u64`.
///
/// Source: RFC 9110, sections 10.2.3 and 5.6.7.
///
/// ```
/// use backoff_core::hint;
/// use std::time::{Duration, SystemTime};
///
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
/// let seconds = |s| Some(Duration::from_secs(s));
/// assert_eq!(hint::retry_after("120", now), seconds(120));
/// assert_eq!(hint::retry_after("Sun, 06 Nov 1994 08:50:07 GMT", now), seconds(30));
/// assert_eq!(hint::retry_after("soon", now), None);
/// ```
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if let Some(seconds) = digits(value) {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// The headers `retry-after-ms` and `x-ms-retry-after-ms`: whole milliseconds.
///
/// ```
/// use backoff_core::hint::retry_after_ms;
/// use std::time::Duration;
///
/// assert_eq!(retry_after_ms("1500"), Some(Duration::from_millis(1_500)));
/// assert_eq!(retry_after_ms("-100"), None);
/// ```
pub fn retry_after_ms(value: &str) -> Option<Duration> {
    digits(value.trim_matches([' ', '\t'])).map(Duration::from_millis)
}

/// `google.rpc.RetryInfo.retry_delay` as JSON carries it: seconds with up to nine decimals and an
/// `s`, such as `"3.5s"`. `None` for anything else, and for a negative delay.
///
/// Source: `google/protobuf/duration.proto`, "JSON Mapping".
///
/// ```
/// use backoff_core::hint::retry_delay;
/// use std::time::Duration;
///
/// assert_eq!(retry_delay("3.5s"), Some(Duration::from_millis(3_500)));
/// assert_eq!(retry_delay("-1s"), None);
/// ```
pub fn retry_delay(value: &str) -> Option<Duration> {
    let number = value.strip_suffix('s')?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    if decimals.len() > 9 {
        return None;
    }
    let nanos = digits(decimals)? * 10u64.pow(9 - decimals.len() as u32);
    Some(Duration::new(digits(whole)?, nanos as u32))
}

/// One digit or more and nothing else; `str::parse` would take a sign.
fn digits(value: &str) -> Option<u64> {
    value
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| value.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110's examples.
    const EXAMPLE: u64 = 784_111_777;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn all_three_forms_of_a_date() {
        for date in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "  Sun, 06 Nov 1994 08:49:37 GMT\t",
        ] {
            let wait = |now| retry_after(date, at(now));
            assert_eq!(wait(EXAMPLE - 90), Some(Duration::from_secs(90)), "{date}");
            assert_eq!(wait(EXAMPLE), Some(Duration::ZERO), "{date}");
            assert_eq!(wait(EXAMPLE + 90), Some(Duration::ZERO), "{date}");
        }
    }

    #[test]
    fn rubbish_is_ignored() {
        for value in [
            "",
            " ",
            "-1",
            "+1",
            "1.5",
            "1e3",
            "0x10",
            "1 2",
            "soon",
            "18446744073709551616",
            "١",
            "06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "120s",
            "\0",
        ] {
            assert_eq!(retry_after(value, at(EXAMPLE)), None, "{value:?}");
        }
    }

    #[test]
    fn the_ends_of_what_is_understood() {
        assert_eq!(retry_after("0", at(0)), Some(Duration::ZERO));
        assert_eq!(retry_after("007", at(0)), Some(Duration::from_secs(7)));
        let most = u64::MAX.to_string();
        assert_eq!(
            retry_after(&most, at(0)),
            Some(Duration::from_secs(u64::MAX))
        );
        assert_eq!(retry_after_ms(&most), Some(Duration::from_millis(u64::MAX)));
        assert_eq!(retry_delay("0s"), Some(Duration::ZERO));
        assert_eq!(retry_delay("0.000000001s"), Some(Duration::from_nanos(1)));
        assert_eq!(
            retry_delay("315576000000.999999999s").map(|d| d.as_secs()),
            Some(315_576_000_000)
        );
        for value in [
            "",
            "s",
            "1",
            ".5s",
            "1.s",
            "1.0000000000s",
            "1ms",
            "-0.5s",
            "NaNs",
            "1.5.5s",
        ] {
            assert_eq!(retry_delay(value), None, "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(value in "\\PC*", now in 0u64..4_000_000_000) {
            let _ = (retry_after(&value, at(now)), retry_after_ms(&value), retry_delay(&value));
        }

        #[test]
        fn almost_a_delay_does_not_panic(value in "[0-9.+-]{0,30}s") {
            let _ = retry_delay(&value);
        }
    }
}
