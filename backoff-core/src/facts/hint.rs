//! Hints: `Retry-After` and its relatives. A hint that cannot be read is no error: the log names the hint.

#[cfg(any(feature = "http-1", feature = "aws-smithy-1"))]
pub(super) mod headers;
pub(super) mod time;

#[cfg(any(feature = "aws-smithy-1", feature = "azure-core-1"))]
pub(crate) use headers::{Found, found};
#[cfg(feature = "http-1")]
pub use headers::{in_headers, unread_in_headers};
use std::time::{Duration, SystemTime};

/// The header `Retry-After`. `now` is the wall clock, from which dates and epochs count.
///
/// RFC 9110 (sections 10.2.3 and 5.6.7) has whole seconds and three forms of a date. Servers send more forms, so this
/// function, which reads all hints in headers, reads these:
///
/// | form | examples |
/// |---|---|
/// | a number of seconds, rounded up to nanoseconds | `120`, `2.0`, `12.493` |
/// | numbers with units | `60s`, `1m0s`, `2m59.56s`, `12ms` |
/// | an epoch: a number from 10⁹ on in seconds, from 10¹² on in milliseconds | `1746136938`, `1746136938.18`, `1746136938180` |
/// | a date of HTTP, also with a day of one digit, `UTC` or `+0000`, or without the day of the week | `Sun, 06 Nov 1994 08:49:37 GMT`, `6 Nov 1994 08:49:37 UTC` |
/// | RFC 3339, also without the seconds | `2025-05-01T22:02:05Z`, `2025-05-01T22:02+00:00` |
/// | a list of these, of which the longest counts | `5, 30` |
///
/// A moment in the past gives zero. A moment in whole seconds is the end of its second, because senders cut parts off. A number beyond `u64` is [`Duration::MAX`], so that it ends the call. `None` for an
/// epoch that is more than a year ahead, and for any other text: signs, exponents, `inf`, an empty text.
///
/// ```
/// use backoff_core::hint;
/// use std::time::{Duration, SystemTime};
///
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_746_136_878);
/// let seconds = |s| Some(Duration::from_secs_f64(s));
/// assert_eq!(hint::retry_after("120", now), seconds(120.0));
/// assert_eq!(hint::retry_after("2.5", now), seconds(2.5));
/// assert_eq!(hint::retry_after("1m0s", now), seconds(60.0));
/// assert_eq!(hint::retry_after("1746136938", now), seconds(61.0));
/// assert_eq!(hint::retry_after("Thu, 01 May 2025 22:02:18 GMT", now), seconds(61.0));
/// assert_eq!(hint::retry_after("soon", now), None);
/// ```
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    time::longest(value, "s", now)
}

/// The headers `retry-after-ms`, `x-ms-retry-after-ms` and `x-amz-retry-after`: the forms of [`retry_after`], but a
/// number without a unit is in milliseconds.
///
/// ```
/// use backoff_core::hint::retry_after_ms;
/// use std::time::{Duration, SystemTime};
///
/// let now = SystemTime::now();
/// assert_eq!(retry_after_ms("1500", now), Some(Duration::from_millis(1_500)));
/// assert_eq!(retry_after_ms("20500.5", now), Some(Duration::from_micros(20_500_500)));
/// assert_eq!(retry_after_ms("-100", now), None);
/// ```
pub fn retry_after_ms(value: &str, now: SystemTime) -> Option<Duration> {
    time::longest(value, "ms", now)
}

/// `google.rpc.RetryInfo.retry_delay` in JSON: a number with an `s`, such as `"3.5s"`, rounded up to nanoseconds.
/// Seconds beyond `u64` are [`Duration::MAX`]. `None` for any other text, and for a negative delay.
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
    time::span(time::billionths(value.strip_suffix('s')?)?, "s")
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
        let digits = text.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        let ms = digits.and_then(|it| it.parse::<i32>().ok());
        let wait = ms.map(|ms| Duration::from_millis(ms.unsigned_abs().into()));
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

/// The times of the tests.
#[cfg(test)]
mod sent {
    use super::{Duration, SystemTime};

    /// Thu, 01 May 2025 22:01:18 GMT: when the replies of these tests are sent.
    pub(super) const SENT: u64 = 1_746_136_878;

    pub(super) fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    pub(super) fn nanos(seconds: f64) -> Duration {
        Duration::from_nanos((seconds * 1e9).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pushback_that_is_not_one_number_means_stop() {
        let after = |ms| Some(Pushback::After(Duration::from_millis(ms)));
        assert_eq!(Pushback::parse([&b"0"[..]]), after(0));
        assert_eq!(Pushback::parse([&b"2147483647"[..]]), after(2_147_483_647));
        let odd = b"|-1|+1|1.5| 1|2147483648|soon|99999999999999999999|\xff";
        for odd in odd.split(|it| *it == b'|') {
            assert_eq!(Pushback::parse([odd]), Some(Pushback::Stop), "{odd:?}");
        }
        let twice = [&b"1"[..], b"1"];
        assert_eq!(Pushback::parse(twice), Some(Pushback::Stop));
    }
}
