//! Parsers for `Retry-After` and similar hints. An invalid hint is ignored; it is never an error.

use std::time::{Duration, SystemTime};

/// The header `Retry-After`: seconds, or an HTTP date in any of its three forms.
///
/// `now` is the wall clock that a date is compared with; a date in the past gives zero. A number beyond
/// `u64` is [`Duration::MAX`], so that it ends the call. `None` for any other text: signs, fractions, an
/// empty text.
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
    if let Some(seconds) = time(value, Duration::from_secs) {
        return Some(seconds);
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// The headers `retry-after-ms` and `x-ms-retry-after-ms`: whole milliseconds. A number beyond `u64` is
/// [`Duration::MAX`].
///
/// ```
/// use backoff_core::hint::retry_after_ms;
/// use std::time::Duration;
///
/// assert_eq!(retry_after_ms("1500"), Some(Duration::from_millis(1_500)));
/// assert_eq!(retry_after_ms("-100"), None);
/// ```
pub fn retry_after_ms(value: &str) -> Option<Duration> {
    time(value.trim_matches([' ', '\t']), Duration::from_millis)
}

/// `google.rpc.RetryInfo.retry_delay` in JSON: seconds with up to nine decimals and an `s`, such as
/// `"3.5s"`. Seconds beyond `u64` are [`Duration::MAX`]. `None` for any other text, and for a negative
/// delay.
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
    let rest = time(decimals, Duration::from_nanos)? * 10u32.pow(9 - decimals.len() as u32);
    Some(time(whole, Duration::from_secs)?.saturating_add(rest))
}

/// The longest hint in the headers `Retry-After`, `retry-after-ms`, `x-ms-retry-after-ms` and
/// `x-amz-retry-after`. The last three headers are in milliseconds. Invalid headers are ignored.
///
/// A date in `Retry-After` is compared with the reply's own `Date`, so that a client whose clock is
/// wrong waits as long as the server asks. `now`, the client's wall clock, is used if the reply has no
/// valid `Date`.
///
/// Sources: [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3), section 10.2.3;
/// Azure's [constants](https://docs.rs/azure_core/latest/azure_core/http/headers/index.html); the
/// [retries](https://docs.aws.amazon.com/sdk-for-python/v1/guide/config-retries.html) of AWS' SDKs.
///
/// ```
/// use backoff_core::hint;
/// use std::time::{Duration, SystemTime};
/// # use http_1 as http;
///
/// let mut headers = http::HeaderMap::new();
/// headers.insert("retry-after", "2".parse().unwrap());
/// headers.insert("retry-after-ms", "2500".parse().unwrap());
/// let longest = hint::in_headers(&headers, SystemTime::UNIX_EPOCH);
/// assert_eq!(longest, Some(Duration::from_millis(2_500)));
///
/// headers.insert("date", "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap());
/// headers.insert("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT".parse().unwrap());
/// let longest = hint::in_headers(&headers, SystemTime::UNIX_EPOCH);
/// assert_eq!(longest, Some(Duration::from_secs(30)));
/// ```
#[cfg(feature = "http-1")]
pub fn in_headers(headers: &http_1::HeaderMap, now: SystemTime) -> Option<Duration> {
    let values = |name: Header| {
        let values = headers.get_all(&HEADERS[name as usize]).iter();
        values.filter_map(|it| it.to_str().ok())
    };
    (!headers.is_empty())
        .then(|| longest(values, now))
        .flatten()
}

/// A header with a hint, or with the date of the reply.
#[cfg(any(feature = "http-1", feature = "aws-smithy-1"))]
#[derive(Clone, Copy)]
pub(crate) enum Header {
    RetryAfter,
    RetryAfterMs,
    AzureRetryAfterMs,
    AmazonRetryAfter,
    Date,
}

/// The name of each [`Header`].
#[cfg(any(feature = "http-1", feature = "aws-smithy-1"))]
const NAMES: [&str; 5] = [
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-amz-retry-after",
    "date",
];

/// The same names, parsed once.
#[cfg(feature = "http-1")]
static HEADERS: [http_1::HeaderName; 5] = {
    let [a, b, c, d, e] = NAMES;
    [
        http_1::HeaderName::from_static(a),
        http_1::HeaderName::from_static(b),
        http_1::HeaderName::from_static(c),
        http_1::HeaderName::from_static(d),
        http_1::HeaderName::from_static(e),
    ]
};

#[cfg(feature = "aws-smithy-1")]
impl Header {
    pub(crate) const fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// The longest hint in the headers. `values` gives all values of one header.
#[cfg(any(feature = "http-1", feature = "aws-smithy-1"))]
pub(crate) fn longest<'h, V: Iterator<Item = &'h str>>(
    values: impl Fn(Header) -> V,
    client: SystemTime,
) -> Option<Duration> {
    use Header::{AmazonRetryAfter, AzureRetryAfterMs, Date, RetryAfter, RetryAfterMs};
    let milliseconds = [RetryAfterMs, AzureRetryAfterMs, AmazonRetryAfter]
        .map(|name| values(name).filter_map(retry_after_ms).max());
    let sent = || {
        let date = values(Date).next()?;
        httpdate::parse_http_date(date.trim_matches([' ', '\t'])).ok()
    };
    let seconds =
        values(RetryAfter).filter_map(|value| retry_after(value, sent().unwrap_or(client)));
    milliseconds.into_iter().max().flatten().max(seconds.max())
}

/// The gRPC header or trailer of a [`Pushback`]: `grpc-retry-pushback-ms`.
pub const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// What a gRPC server asks about the next attempt, in the header [`PUSHBACK`].
///
/// Source: gRPC proposal
/// [A6](https://github.com/grpc/proposal/blob/master/A6-client-retries.md#pushback), "Pushback".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushback {
    /// Wait at least this time. If the policy's own backoff is longer, the policy waits for the
    /// backoff.
    After(Duration),
    /// Make no further attempt.
    Stop,
}

impl Pushback {
    /// Parses all values of the header; `None` without a value. Milliseconds that fit an `i32` are a
    /// wait. A negative number, any other text, and more than one value mean stop.
    ///
    /// ```
    /// use backoff_core::hint::Pushback;
    /// use std::time::Duration;
    ///
    /// let wait = Pushback::After(Duration::from_millis(1_500));
    /// assert_eq!(Pushback::parse([&b"1500"[..]]), Some(wait));
    /// assert_eq!(Pushback::parse([&b"-1"[..]]), Some(Pushback::Stop));
    /// assert_eq!(Pushback::parse([]), None);
    /// ```
    pub fn parse<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Option<Self> {
        let mut values = values.into_iter();
        let only = values.next()?;
        let text = str::from_utf8(only)
            .ok()
            .filter(|_| values.next().is_none());
        let wait = text.and_then(|it| time(it, Duration::from_millis));
        let wait = wait.filter(|it| it.as_millis() <= i32::MAX as u128);
        Some(wait.map_or(Pushback::Stop, Pushback::After))
    }

    /// How long to wait; `None` for [`Stop`](Self::Stop).
    pub const fn wait(self) -> Option<Duration> {
        match self {
            Pushback::After(wait) => Some(wait),
            Pushback::Stop => None,
        }
    }
}

/// The time that one or more digits mean, and nothing else: `str::parse` would accept a sign. A number
/// beyond `u64` is the longest time.
fn time(number: &str, unit: fn(u64) -> Duration) -> Option<Duration> {
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().map_or(Duration::MAX, unit))
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
        let dates = "06 Nov 1994 08:49:37 GMT|Sun, 06 Nov 1994|Sun, 32 Nov 1994 08:49:37 GMT|\
                     Sun, 06 Nov 1994 08:49:37 CET";
        let numbers = "| |-1|+1|1.5|1e3|0x10|1 2|soon|١|120s|\0";
        for value in dates.split('|').chain(numbers.split('|')) {
            assert_eq!(retry_after(value, at(EXAMPLE)), None, "{value:?}");
        }
    }

    #[test]
    fn the_ends_of_what_is_understood() {
        assert_eq!(retry_after("0", at(0)), Some(Duration::ZERO));
        assert_eq!(retry_after("007", at(0)), Some(Duration::from_secs(7)));
        let most = u64::MAX.to_string();
        let longest = Some(Duration::from_secs(u64::MAX));
        assert_eq!(retry_after(&most, at(0)), longest);
        assert_eq!(retry_after_ms(&most), Some(Duration::from_millis(u64::MAX)));
        for beyond in ["18446744073709551616", &"9".repeat(1_000)] {
            assert_eq!(retry_after(beyond, at(0)), Some(Duration::MAX));
            assert_eq!(retry_after_ms(beyond), Some(Duration::MAX));
            assert_eq!(retry_delay(&format!("{beyond}.5s")), Some(Duration::MAX));
        }
        assert_eq!(retry_delay("0s"), Some(Duration::ZERO));
        assert_eq!(retry_delay("0.000000001s"), Some(Duration::from_nanos(1)));
        assert_eq!(
            retry_delay("315576000000.999999999s").map(|d| d.as_secs()),
            Some(315_576_000_000)
        );
        for value in "|s|1|.5s|1.s|1.0000000000s|1ms|-0.5s|NaNs|1.5.5s".split('|') {
            assert_eq!(retry_delay(value), None, "{value:?}");
        }
    }

    #[test]
    fn a_pushback_that_is_not_one_number_means_stop() {
        let ms = |ms| Some(Pushback::After(Duration::from_millis(ms)));
        assert_eq!(Pushback::parse([&b"0"[..]]), ms(0));
        assert_eq!(Pushback::parse([&b"2147483647"[..]]), ms(i32::MAX as u64));
        for odd in "|-1|+1|1.5| 1|2147483648|soon|99999999999999999999".split('|') {
            let parsed = Pushback::parse([odd.as_bytes()]);
            assert_eq!(parsed, Some(Pushback::Stop), "{odd:?}");
        }
        assert_eq!(Pushback::parse([&b"\xff"[..]]), Some(Pushback::Stop));
        let twice = [&b"1"[..], b"1"];
        assert_eq!(Pushback::parse(twice), Some(Pushback::Stop));
    }

    #[cfg(feature = "http-1")]
    #[test]
    fn the_longest_of_all_headers_counts() {
        let mut headers = http_1::HeaderMap::new();
        let mut append = |name: &'static str, value: &[u8]| {
            let value = http_1::HeaderValue::from_bytes(value).unwrap();
            headers.append(name, value);
            in_headers(&headers, at(0))
        };
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(append("retry-after", b"-1"), None);
        assert_eq!(append("retry-after", b"\xff"), None);
        assert_eq!(append("x-amz-retry-after", b"500"), ms(500));
        assert_eq!(append("retry-after", b"1"), ms(1_000));
        assert_eq!(append("x-ms-retry-after-ms", b"1001"), ms(1_001));
        assert_eq!(append("retry-after-ms", b"1.5"), ms(1_001));
        assert_eq!(append("retry-after", b"7"), ms(7_000));
    }

    #[cfg(feature = "http-1")]
    #[test]
    fn a_date_is_read_by_the_servers_clock() {
        let wait = |date: Option<&[u8]>, now| {
            let mut headers = http_1::HeaderMap::new();
            let after = http_1::HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT");
            headers.insert("retry-after", after);
            if let Some(date) = date {
                headers.insert("date", http_1::HeaderValue::from_bytes(date).unwrap());
            }
            in_headers(&headers, at(now)).map(|wait| wait.as_secs())
        };
        const HOURS: u64 = 2 * 3_600;
        for now in [EXAMPLE - 30, EXAMPLE - 30 - HOURS, EXAMPLE - 30 + HOURS] {
            for date in [
                "Sun, 06 Nov 1994 08:49:07 GMT",
                "Sunday, 06-Nov-94 08:49:07 GMT",
            ] {
                assert_eq!(wait(Some(date.as_bytes()), now), Some(30), "{date}");
            }
        }
        let past = wait(Some(b"Sun, 06 Nov 1994 08:50:07 GMT"), EXAMPLE - 30);
        assert_eq!(past, Some(0));
        // Without a valid date, the client's clock is used.
        assert_eq!(wait(None, EXAMPLE - 90), Some(90));
        for date in [&b"yesterday"[..], b"", b"30", b"\xff"] {
            assert_eq!(wait(Some(date), EXAMPLE - 90), Some(90), "{date:?}");
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
