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

/// The hint in the headers of a reply. Invalid headers are ignored.
///
/// The longest of `Retry-After`, `retry-after-ms`, `x-ms-retry-after-ms` and `x-amz-retry-after` counts. The last
/// three are in milliseconds. If a reply has none of these, its quotas count: the longest time until a
/// used-up quota (its remainder is `0`) is refilled:
///
/// | headers | senders | form of the time |
/// |---|---|---|
/// | `RateLimit` | Cloudflare, express-rate-limit | `"default";r=0;t=30` or `limit=5, remaining=0, reset=30`: seconds |
/// | `RateLimit-Remaining`, `RateLimit-Reset` | older drafts of the same; GitLab | seconds, or an epoch |
/// | `x-ratelimit-remaining`, `x-ratelimit-reset` | GitHub and others | seconds, or an epoch |
/// | `x-ratelimit-remaining-*`, `x-ratelimit-reset-*`, with `requests` and `tokens` | OpenAI | `1s`, `6m0s`, `12ms` |
/// | `anthropic-ratelimit-*-remaining`, `-reset`, with `requests`, `tokens`, `input-tokens`, `output-tokens` | Anthropic | RFC 3339 |
///
/// A number from 10⁹ on is an epoch, in seconds; one from 10¹¹ on is an epoch in milliseconds. A date and an epoch are
/// compared with the reply's own `Date`, so that a client whose clock is wrong waits as long as the server asks.
/// `now`, the client's wall clock, is used if the reply has no valid `Date`.
///
/// Sources: [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3), section 10.2.3;
/// Azure's [constants](https://docs.rs/azure_core/latest/azure_core/http/headers/index.html); the
/// [retries](https://docs.aws.amazon.com/sdk-for-python/v1/guide/config-retries.html) of AWS' SDKs; the
/// [draft](https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/) of the IETF, and the pages of the
/// senders.
///
/// ```
/// use backoff_core::hint;
/// use std::time::{Duration, SystemTime};
/// # use http_1 as http;
///
/// let mut headers = http::HeaderMap::new();
/// headers.insert("x-ratelimit-remaining", "0".parse().unwrap());
/// headers.insert("x-ratelimit-reset", "1764100030".parse().unwrap());
/// headers.insert("date", "Tue, 25 Nov 2025 19:46:40 GMT".parse().unwrap());
/// let hint = |headers: &http::HeaderMap| hint::in_headers(headers, SystemTime::UNIX_EPOCH);
/// assert_eq!(hint(&headers), Some(Duration::from_secs(30)));
///
/// headers.insert("retry-after", "2".parse().unwrap());
/// headers.insert("retry-after-ms", "2500".parse().unwrap());
/// assert_eq!(hint(&headers), Some(Duration::from_millis(2_500)));
/// ```
#[cfg(feature = "http-1")]
pub fn in_headers(headers: &http_1::HeaderMap, now: SystemTime) -> Option<Duration> {
    let values = |name: &'static str| {
        let values = headers.get_all(name).iter();
        values.filter_map(|it| it.to_str().ok())
    };
    (!headers.is_empty())
        .then(|| longest(values, now))
        .flatten()
}

/// The remainder of a quota, and the time when the quota is refilled.
#[cfg(any(feature = "http-1", feature = "aws-smithy-1"))]
const QUOTAS: [(&str, &str); 8] = [
    ("ratelimit-remaining", "ratelimit-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    (
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    (
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ),
    (
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ),
    (
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ),
    (
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
    ),
];

/// The hint in the headers. `values` gives all values of one header.
#[cfg(any(feature = "http-1", feature = "aws-smithy-1"))]
pub(crate) fn longest<'h, V: Iterator<Item = &'h str>>(
    values: impl Fn(&'static str) -> V,
    client: SystemTime,
) -> Option<Duration> {
    let milliseconds = ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"]
        .map(|name| values(name).filter_map(retry_after_ms).max());
    let sent = || {
        let date = values("date").next()?;
        httpdate::parse_http_date(date.trim_matches([' ', '\t'])).ok()
    };
    let sent = || sent().unwrap_or(client);
    let seconds = values("retry-after").filter_map(|value| retry_after(value, sent()));
    let asked = milliseconds.into_iter().max().flatten().max(seconds.max());
    asked.or_else(|| {
        let used_up = QUOTAS.iter().filter(|(remaining, _)| {
            let mut remaining = values(remaining);
            remaining.any(|value| value.trim() == "0")
        });
        let resets = used_up.flat_map(|(_, reset)| values(reset));
        let resets = resets.filter_map(|value| reset(value.trim(), sent()));
        resets
            .max()
            .max(values("ratelimit").filter_map(rate_limit).max())
    })
}

/// The time until a quota is refilled.
#[cfg(any(feature = "http-1", feature = "aws-smithy-1"))]
fn reset(value: &str, sent: SystemTime) -> Option<Duration> {
    let since_epoch = |sent: SystemTime| sent.duration_since(SystemTime::UNIX_EPOCH).ok();
    if let Some(seconds) = time(value, Duration::from_secs) {
        let epoch = match seconds.as_secs() {
            0..1_000_000_000 => return Some(seconds),
            1_000_000_000..100_000_000_000 => seconds,
            millis => Duration::from_millis(millis),
        };
        return Some(epoch.saturating_sub(since_epoch(sent)?));
    }
    if let Ok(time) = humantime::parse_rfc3339(value) {
        return Some(time.duration_since(sent).unwrap_or(Duration::ZERO));
    }
    humantime::parse_duration(value).ok()
}

/// The longest time until a used-up quota is refilled, from the field `RateLimit`.
#[cfg(any(feature = "http-1", feature = "aws-smithy-1"))]
fn rate_limit(value: &str) -> Option<Duration> {
    // The older form is one quota with its parts separated by commas.
    let is_one = value.contains("remaining=");
    let quotas = value.split(move |c| c == ',' && !is_one);
    let quota = |quota: &str| {
        let parts = quota
            .split([';', ','])
            .filter_map(|part| part.split_once('='));
        let parts: Vec<_> = parts
            .map(|(name, value)| (name.trim(), value.trim()))
            .collect();
        let part = |names: [&str; 2]| {
            let mut parts = parts.iter().filter(|(name, _)| names.contains(name));
            parts.next().map(|(_, value)| *value)
        };
        let is_used_up = part(["r", "remaining"])? == "0";
        is_used_up.then(|| time(part(["t", "reset"])?, Duration::from_secs))?
    };
    quotas.filter_map(quota).max()
}

/// The gRPC header or trailer of a [`Pushback`]: `grpc-retry-pushback-ms`.
pub const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// A gRPC server's request about the next attempt, in the header [`PUSHBACK`].
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

    /// Rows: the headers, and the seconds of the hint. The reply was sent at 10⁹ s, and the client's clock is
    /// two hours late.
    #[cfg(feature = "http-1")]
    #[test]
    fn a_quota_that_is_used_up_says_when_it_is_there_again() {
        let github = |left: &str, reset: &str| {
            format!("x-ratelimit-remaining: {left}|x-ratelimit-reset: {reset}")
        };
        let openai = |left: &str, reset: &str| {
            format!("x-ratelimit-remaining-tokens: {left}|x-ratelimit-reset-tokens: {reset}")
        };
        let anthropic = |left: &str, reset: &str| {
            format!(
                "anthropic-ratelimit-input-tokens-remaining: {left}|anthropic-ratelimit-input-tokens-reset: {reset}"
            )
        };
        let both = format!(
            "{}|{}",
            openai("0", "1s"),
            openai("0", "3s").replace("tokens", "requests")
        );
        let explicit = format!("{}|retry-after: 2", github("0", "30"));
        for (headers, hint) in [
            (r#"ratelimit: "default";r=0;t=30"#.to_owned(), Some(30.0)),
            (
                r#"ratelimit: "a";r=5;t=60, "b";t=7;r=0"#.to_owned(),
                Some(7.0),
            ),
            (r#"ratelimit: "a,b";r=0;t=7"#.to_owned(), Some(7.0)),
            (r#"ratelimit: "default";r=50;t=30"#.to_owned(), None),
            (r#"ratelimit: "default";r=0"#.to_owned(), None),
            (
                "ratelimit: limit=5, remaining=0, reset=30".to_owned(),
                Some(30.0),
            ),
            ("ratelimit: limit=5, remaining=2, reset=30".to_owned(), None),
            (
                "ratelimit-remaining: 0|ratelimit-reset: 12".to_owned(),
                Some(12.0),
            ),
            (
                "ratelimit-remaining: 1|ratelimit-reset: 12".to_owned(),
                None,
            ),
            ("ratelimit-reset: 12".to_owned(), None),
            // GitLab: an epoch.
            (
                "ratelimit-remaining: 0|ratelimit-reset: 1000000060".to_owned(),
                Some(60.0),
            ),
            (github("0", "1000000030"), Some(30.0)),
            (github("0", "1000000030500"), Some(30.5)),
            (github("0", "999999999"), Some(999_999_999.0)),
            (github("0", "1000000000"), Some(0.0)),
            (github("17", "1000000030"), None),
            (github("0", "soon"), None),
            (github("", "30"), None),
            (openai("0", "6m0s"), Some(360.0)),
            (openai("0", "12ms"), Some(0.012)),
            (openai("0", "8.64s"), Some(8.64)),
            (openai("100", "6m0s"), None),
            (both, Some(3.0)),
            (anthropic("0", "2001-09-09T01:47:10Z"), Some(30.0)),
            (anthropic("0", "2001-09-09T01:46:10Z"), Some(0.0)),
            (anthropic("1000", "2001-09-09T01:47:10Z"), None),
            (anthropic("0", "2001-09-09"), None),
            // `Retry-After` counts before the quotas.
            (explicit, Some(2.0)),
        ] {
            let mut map = http_1::HeaderMap::new();
            let date = "date: Sun, 09 Sep 2001 01:46:40 GMT";
            for line in headers.split('|').chain([date]) {
                let (name, value) = line.split_once(": ").unwrap();
                let name: http_1::HeaderName = name.parse().unwrap();
                map.append(name, value.parse().unwrap());
            }
            let found = in_headers(&map, at(1_000_000_000 - 2 * 3_600));
            assert_eq!(found, hint.map(Duration::from_secs_f64), "{headers}");
        }
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
            #[cfg(feature = "http-1")]
            let _ = (reset(&value, at(now)), rate_limit(&value));
        }

        #[cfg(feature = "http-1")]
        #[test]
        fn almost_a_reset_does_not_panic(value in "[0-9TZ:.+a-zé-]{0,30}", parts in "[\"rt=;, 0-9a-zé]{0,30}") {
            let _ = (reset(&value, at(5)), rate_limit(&parts), rate_limit(&format!("remaining=0{parts}")));
        }

        #[test]
        fn almost_a_delay_does_not_panic(value in "[0-9.+-]{0,30}s") {
            let _ = retry_delay(&value);
        }
    }
}
