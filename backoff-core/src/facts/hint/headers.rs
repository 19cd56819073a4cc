//! Finds the hints in the headers of a reply.

use super::time;
use std::{
    cell::LazyCell,
    time::{Duration, SystemTime},
};

/// The hint in the headers of a reply with this status.
///
/// The longest of `Retry-After`, `retry-after-ms`, `x-ms-retry-after-ms` and `x-amz-retry-after` counts. If a reply has
/// none of these that can be read, and its status says that the request was refused because of a limit (429 or 503),
/// its quotas count: the longest time until a used-up quota is refilled. A quota is used up if its remainder is zero
/// (`0`, `0.0`).
///
/// | headers | senders | usual form of the time |
/// |---|---|---|
/// | `RateLimit` | Cloudflare, express-rate-limit, Hugging Face | `"default";r=0;t=30` or `limit=5, remaining=0, reset=30`: seconds |
/// | `RateLimit-Remaining`, `RateLimit-Reset` | older drafts of the same; GitLab | seconds, or an epoch |
/// | `x-ratelimit-remaining`, `x-ratelimit-reset`; here a 403 counts too | GitHub, Atlassian and others | seconds, an epoch, or RFC 3339 |
/// | the same with `x-ratelimit-reset-after` | Discord | seconds |
/// | `x-rate-limit-remaining`, `x-rate-limit-reset` | Okta, X | an epoch |
/// | `x-ratelimit-remaining-*`, `x-ratelimit-reset-*`, with `requests` and `tokens` | OpenAI, Groq | `1s`, `6m0s`, `12ms` |
/// | `anthropic-ratelimit-*-remaining`, `-reset`, and `anthropic-priority-*` | Anthropic | RFC 3339 |
///
/// Any other header with `remaining`, and `limit` or `priority`, in its name is read in the same way, together with the
/// header that has `reset` in place of `remaining`. If such headers come more than once, the first remainder belongs to
/// the first time, and so on.
///
/// All times have the forms of [`retry_after`](super::retry_after). A date and an epoch count from the reply's own `Date`, so that a client
/// whose clock is wrong waits as long as the server asks. `now`, the client's wall clock, is used if the reply has no
/// valid `Date`, or one that is more than a day away from `now`.
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
/// let late = SystemTime::UNIX_EPOCH + Duration::from_secs(1_764_100_000 + 3_600);
/// let hint = |status, headers: &http::HeaderMap| hint::in_headers(status, headers, late);
/// assert_eq!(hint(429, &headers), Some(Duration::from_secs(30)));
/// assert_eq!(hint(500, &headers), None); // the quota has nothing to do with this failure
///
/// headers.insert("retry-after", "2".parse().unwrap());
/// headers.insert("retry-after-ms", "2500".parse().unwrap());
/// assert_eq!(hint(429, &headers), Some(Duration::from_millis(2_500)));
/// ```
#[cfg(feature = "http-1")]
pub fn in_headers(status: u16, headers: &http_1::HeaderMap, now: SystemTime) -> Option<Duration> {
    found(status, || pairs(headers), now).0
}

/// The name and the value of the first header that [`in_headers`] could not read, for
/// [`Fault::unread_hint`](crate::Fault::unread_hint).
///
/// ```
/// use backoff_core::hint;
/// # use http_1 as http;
///
/// let mut headers = http::HeaderMap::new();
/// headers.insert("retry-after", "soon".parse().unwrap());
/// let unread = hint::unread_in_headers(429, &headers, std::time::SystemTime::now());
/// assert_eq!(unread, Some(("retry-after", &b"soon"[..])));
/// ```
#[cfg(feature = "http-1")]
pub fn unread_in_headers(
    status: u16,
    headers: &http_1::HeaderMap,
    now: SystemTime,
) -> Option<(&str, &[u8])> {
    found(status, || pairs(headers), now).1
}

#[cfg(feature = "http-1")]
fn pairs(headers: &http_1::HeaderMap) -> impl Iterator<Item = Header<'_>> {
    let headers = headers.iter();
    headers.map(|(name, value)| (name.as_str(), value.as_bytes()))
}

/// The name and the value of a header.
type Header<'h> = (&'h str, &'h [u8]);

/// The hint in the headers, and the first header whose hint could not be read.
pub(crate) type Found<'h> = (Option<Duration>, Option<Header<'h>>);

/// Reads the headers of a reply with this status. `client` is the client's wall clock.
pub(crate) fn found<'h, H: Iterator<Item = Header<'h>>>(
    status: u16,
    headers: impl Fn() -> H,
    client: SystemTime,
) -> Found<'h> {
    const DAY: Duration = Duration::from_secs(86_400);
    let sent = LazyCell::new(|| {
        let (_, value) = headers().find(|it| it.0 == "date")?;
        let date = time::date(text(value).rsplit(',').next()?.trim_ascii())?;
        let ahead = date.duration_since(client);
        (ahead.unwrap_or_else(|behind| behind.duration()) <= DAY).then_some(date)
    });
    let read = |value: &str, unit| time::longest(value, unit, sent.unwrap_or(client));

    let asked = headers().filter_map(|header| {
        let unit = match header.0 {
            "retry-after" => "s",
            "retry-after-ms" | "x-ms-retry-after-ms" | "x-amz-retry-after" => "ms",
            _ => return None,
        };
        Some((header, read(text(header.1), unit)))
    });
    let asked: Vec<_> = asked.collect();
    let mut refilled = Vec::new();
    let mut quota = |left: Header<'h>, remainder: &str, reset: Header<'h>, refill: &str| {
        let remainder = time::billionths(remainder.trim_ascii());
        match remainder {
            Some(0) => refilled.push((reset, read(refill, "s"))),
            Some(_) => {}
            None => refilled.push((left, None)),
        }
    };
    for (index, header) in headers().enumerate() {
        let (name, value) = (header.0, text(header.1));
        let is_limit = match status {
            429 | 503 => name.contains("limit") || name.contains("priority"),
            403 => name == "x-ratelimit-remaining",
            _ => false,
        };
        if is_limit && name == "ratelimit" {
            if !value.contains('=') {
                quota(header, "", header, "");
            }
            for (remainder, refill) in rate_limit(value) {
                quota(header, remainder, header, refill);
            }
        } else if is_limit && name.contains("remaining") {
            let before = headers().take(index).filter(|it| it.0 == name).count();
            let reset = name.replace("remaining", "reset");
            for reset in [format!("{reset}-after"), reset] {
                let mut same = headers().filter(|it| it.0 == reset);
                if let Some(reset) = same.nth(before) {
                    let count = value.split(',').count();
                    let refills = text(reset.1).splitn(count, ',');
                    for (remainder, refill) in value.split(',').zip(refills) {
                        quota(header, remainder, reset, refill);
                    }
                }
            }
        }
    }
    let longest = |hints: &[(_, Option<Duration>)]| hints.iter().filter_map(|it| it.1).max();
    let mut hints = asked.iter().chain(&refilled);
    let unread = hints.find(|it| it.1.is_none()).map(|it| it.0);
    (longest(&asked).or_else(|| longest(&refilled)), unread)
}

/// The value of a header; a text that cannot be read, if the value is no text.
fn text(value: &[u8]) -> &str {
    str::from_utf8(value).unwrap_or("?")
}

/// The quotas of the field `RateLimit`: what remains, and when the quota is refilled.
fn rate_limit(value: &str) -> impl Iterator<Item = (&str, &str)> {
    // The older form is one quota with its parts separated by commas.
    let is_one = value.contains("remaining=");
    let quotas = value.split(move |c| c == ',' && !is_one);
    quotas.filter_map(|quota| {
        let parts = quota.split([';', ',']);
        let parts = parts.filter_map(|part| part.split_once('='));
        let part = |names: [&str; 2]| {
            let mut parts = parts.clone();
            let found = parts.find(|(name, _)| names.contains(&name.trim()));
            found.map(|(_, value)| value)
        };
        Some((part(["r", "remaining"])?, part(["t", "reset"])?))
    })
}

#[cfg(all(test, feature = "http-1"))]
mod tests {
    use super::{super::sent::*, *};
    use proptest::prelude::*;

    fn map(lines: &str) -> http_1::HeaderMap {
        let mut map = http_1::HeaderMap::new();
        for line in lines.split('|').filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").expect(line);
            let value = http_1::HeaderValue::from_bytes(value.as_bytes()).expect(line);
            map.append(name.parse::<http_1::HeaderName>().expect(line), value);
        }
        map
    }

    /// Rows: the headers of a reply with the status 429, and the seconds of the hint. The client's clock is two hours
    /// late.
    #[test]
    fn headers_say_how_long_to_wait() {
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
        let of_requests = openai("0", "3s").replace("tokens", "requests");
        let priority = anthropic("0", "2025-05-01T22:01:48Z").replace("ratelimit", "priority");
        let sentry = github("0", "1746136908").replace("x-", "x-sentry-");
        for (headers, hint) in [
            ("", None),
            // The longest of the first four.
            ("retry-after: 1|retry-after-ms: 500", Some(1.0)),
            ("retry-after: 1|x-ms-retry-after-ms: 1001", Some(1.001)),
            ("retry-after: 7|x-amz-retry-after: 1500", Some(7.0)),
            ("retry-after: -1|retry-after: 1", Some(1.0)),
            ("retry-after: 20.5|retry-after-ms: 20500.5", Some(20.5005)),
            (
                "retry-after: 1746136938|x-ratelimit-remaining: 0|x-ratelimit-reset: 1746136938",
                Some(60.0),
            ),
            // They count before the quotas, unless they cannot be read.
            (&format!("{}|retry-after: 2", github("0", "30")), Some(2.0)),
            (
                &format!("{}|retry-after: soon", github("0", "30")),
                Some(30.0),
            ),
            (r#"ratelimit: "default";r=0;t=30"#, Some(30.0)),
            (
                r#"ratelimit: "api";r=0;t=55|ratelimit-policy: "fixed window";"api";q=500;w=300"#,
                Some(55.0),
            ),
            (r#"ratelimit: "a";r=5;t=60, "b";t=7;r=0"#, Some(7.0)),
            (
                r#"ratelimit: "a";r=0;t=7, "b";r=0;t=60, "c";r=0;t=9"#,
                Some(60.0),
            ),
            (r#"ratelimit: "a";r=0;t=60, "b";r=0;t=7"#, Some(60.0)),
            (
                r#"ratelimit: "a";r=0;t=7|ratelimit: "b";r=0;t=60"#,
                Some(60.0),
            ),
            (r#"ratelimit: "a,b"; r=0 ; t=7"#, Some(7.0)),
            (r#"ratelimit: "default";r=0.0;t=7.5"#, Some(7.5)),
            (r#"ratelimit: "default";r=05;t=30"#, None),
            (r#"ratelimit: "default";r=0.5;t=30"#, None),
            (r#"ratelimit: "default";r=50;t=30"#, None),
            (r#"ratelimit: "default";r=0"#, None),
            ("ratelimit: limit=5, remaining=0, reset=30", Some(30.0)),
            ("ratelimit: limit=5, remaining=2, reset=30", None),
            ("ratelimit: limit=5, remaining=02, reset=30", None),
            ("ratelimit-remaining: 0|ratelimit-reset: 12", Some(12.0)),
            ("ratelimit-remaining: 1|ratelimit-reset: 12", None),
            ("ratelimit-remaining: 0", None),
            ("ratelimit-reset: 12", None),
            // GitLab.
            (
                "ratelimit-remaining: 0|ratelimit-reset: 1746136938",
                Some(60.0),
            ),
            // Two quotas under one name.
            (
                "ratelimit-remaining: 5|ratelimit-remaining: 0|ratelimit-reset: 60|ratelimit-reset: 7",
                Some(7.0),
            ),
            (
                "ratelimit-remaining: 0|ratelimit-remaining: 5|ratelimit-reset: 60|ratelimit-reset: 7",
                Some(60.0),
            ),
            (
                "ratelimit-remaining: 5, 0|ratelimit-reset: 60, 7",
                Some(7.0),
            ),
            ("ratelimit-remaining: 0,5|ratelimit-reset: 60,7", Some(60.0)),
            (
                "ratelimit-remaining: 5|ratelimit-remaining: 0|ratelimit-reset: 60",
                None,
            ),
            (&github("0", "1746136908"), Some(30.0)),
            (&github("0", "1746136908500"), Some(30.5)),
            (&github("0", "999999999"), Some(999_999_999.0)),
            (&github("0", "1746136878"), Some(0.0)),
            (&github("0.0", "30"), Some(30.0)),
            (&github("000", "30"), Some(30.0)),
            (&github("05", "30"), None),
            (&github("0.5", "30"), None),
            (&github("0e0", "30"), None),
            (&github("-0", "30"), None),
            (&github("-1", "30"), None),
            (&github("17", "1746136908"), None),
            (&github("0", "soon"), None),
            (&github("", "30"), None),
            // Okta and X.
            (
                &github("0", "1746136925").replace("ratelimit", "rate-limit"),
                Some(47.0),
            ),
            (
                &github("1", "1746136925").replace("ratelimit", "rate-limit"),
                None,
            ),
            // Discord.
            (
                &format!(
                    "{}|x-ratelimit-reset-after: 60.18",
                    github("0", "1746136938.180")
                ),
                Some(60.18),
            ),
            (
                "x-ratelimit-remaining: 0|x-ratelimit-reset-after: 60.18",
                Some(60.18),
            ),
            // Atlassian.
            (&github("0", "2025-05-01T22:03Z"), Some(102.0)),
            (&sentry, Some(30.0)),
            (&openai("0", "6m0s"), Some(360.0)),
            (&openai("0", "12ms"), Some(0.012)),
            (&openai("0", "8.64s"), Some(8.64)),
            (&openai("0", "2m59.56s"), Some(179.56)),
            (&openai("100", "6m0s"), None),
            (&format!("{}|{of_requests}", openai("0", "1s")), Some(3.0)),
            (&anthropic("0", "2025-05-01T22:01:48Z"), Some(30.0)),
            (&anthropic("0", "2025-05-01T22:00:48Z"), Some(0.0)),
            (&anthropic("1000", "2025-05-01T22:01:48Z"), None),
            (&anthropic("0", "2025-05-01"), None),
            (&priority, Some(30.0)),
            // No limit.
            ("x-items-remaining: 0|x-items-reset: 30", None),
        ] {
            let headers = map(&format!("{headers}|date: Thu, 01 May 2025 22:01:18 GMT"));
            let found = in_headers(429, &headers, at(SENT - 2 * 3_600));
            assert_eq!(found, hint.map(nanos), "{headers:?}");
        }
    }

    #[test]
    fn a_quota_counts_only_where_the_reply_says_that_it_is_used_up() {
        let quota = |name: &str| {
            map(&format!(
                "x-ratelimit-remaining{name}: 0|x-ratelimit-reset{name}: 4m0s"
            ))
        };
        let (github, openai) = (quota(""), quota("-requests"));
        let field = map(r#"ratelimit: "a";r=0;t=240"#);
        let asks = map("retry-after: 240");
        for (status, counts) in [
            (429, [true, true, true]),
            (503, [true, true, true]),
            (403, [true, false, false]),
            (200, [false; 3]),
            (400, [false; 3]),
            (408, [false; 3]),
            (500, [false; 3]),
            (502, [false; 3]),
            (504, [false; 3]),
            (529, [false; 3]),
        ] {
            let waits = Some(Duration::from_secs(240));
            let hint = |headers| in_headers(status, headers, at(SENT));
            let hints = [&github, &openai, &field].map(hint);
            assert_eq!(hints, counts.map(|it| waits.filter(|_| it)), "{status}");
            assert_eq!(hint(&asks), waits, "{status}");
        }
    }

    /// Rows: the status, the headers, and the header that cannot be read.
    #[test]
    fn a_hint_that_cannot_be_read_is_named() {
        for (status, headers, unread) in [
            (429, "", None),
            (429, "retry-after: 2.5", None),
            (429, "retry-after: soon, 5", None),
            (429, "x-token: soon|set-cookie: a=b|date: soon", None),
            (429, "retry-after: soon", Some(("retry-after", "soon"))),
            (500, "retry-after: -1", Some(("retry-after", "-1"))),
            (500, "retry-after: ", Some(("retry-after", ""))),
            (500, "retry-after: \u{e9}", Some(("retry-after", "\u{e9}"))),
            (
                500,
                "retry-after: 4102444800",
                Some(("retry-after", "4102444800")),
            ),
            (
                500,
                "retry-after: 5|retry-after-ms: 1e3",
                Some(("retry-after-ms", "1e3")),
            ),
            (
                500,
                "x-amz-retry-after: invalid",
                Some(("x-amz-retry-after", "invalid")),
            ),
            (
                429,
                "x-ratelimit-remaining: 0|x-ratelimit-reset: soon",
                Some(("x-ratelimit-reset", "soon")),
            ),
            (
                429,
                "x-ratelimit-remaining: none|x-ratelimit-reset: 5",
                Some(("x-ratelimit-remaining", "none")),
            ),
            (
                429,
                "x-ratelimit-remaining: 1|x-ratelimit-reset: soon",
                None,
            ),
            (
                500,
                "x-ratelimit-remaining: 0|x-ratelimit-reset: soon",
                None,
            ),
            (429, "ratelimit: soon", Some(("ratelimit", "soon"))),
            (
                429,
                r#"ratelimit: "a";r=0;t=soon"#,
                Some(("ratelimit", r#""a";r=0;t=soon"#)),
            ),
            (429, r#"ratelimit: "a";r=7;t=soon"#, None),
        ] {
            let headers = map(headers);
            let found = unread_in_headers(status, &headers, at(SENT));
            let unread = unread.map(|(name, value)| (name, value.as_bytes()));
            assert_eq!(found, unread, "{status} {headers:?}");
        }
        let mut bytes = http_1::HeaderMap::new();
        let value = http_1::HeaderValue::from_bytes(b"\xff").unwrap();
        bytes.insert("retry-after", value);
        let found = unread_in_headers(429, &bytes, at(SENT));
        assert_eq!(found, Some(("retry-after", &b"\xff"[..])));
    }

    /// Rows: the `Date` of the reply, how many seconds the client's clock is late, and the hint's seconds.
    #[test]
    fn a_moment_counts_from_the_servers_clock_unless_one_of_the_clocks_is_broken() {
        const DAY: i64 = 86_400;
        for (date, late, seconds) in [
            ("Thu, 01 May 2025 22:01:18 GMT", 0, 60),
            ("Thu, 01 May 2025 22:01:18 GMT", DAY, 60),
            ("Thu, 01 May 2025 22:01:18 GMT", -DAY, 60),
            ("Thu, 01 May 2025 22:01:18 GMT", DAY + 1, DAY + 61),
            ("Thu, 01 May 2025 22:01:18 GMT", -DAY - 1, 0),
            ("Thursday, 01-May-25 22:01:18 GMT", 7_200, 60),
            ("Thu, 1 May 2025 22:01:18 UTC", 7_200, 60),
            ("Thu, 01 May 2025 22:02:38 GMT", 7_200, 0),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 30, 90),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 30, 90),
            // No date.
            ("yesterday", 30, 90),
            ("", 30, 90),
            ("30", 30, 90),
            ("30s", 30, 90),
            ("1746136878", 30, 90),
            ("\u{e9}", 30, 90),
        ] {
            for moment in [
                "Thu, 01 May 2025 22:02:18 GMT",
                "1746136938",
                "2025-05-01T22:02:18Z",
            ] {
                let headers = map(&format!("retry-after: {moment}|date: {date}"));
                let client = at(SENT.checked_sub_signed(late).unwrap());
                let wait = in_headers(429, &headers, client).map(|wait| wait.as_secs());
                assert_eq!(wait, Some(seconds.unsigned_abs()), "{date} {late} {moment}");
            }
        }
        let headers = map("retry-after: Thu, 01 May 2025 22:02:18 GMT");
        let wait = in_headers(429, &headers, at(SENT));
        assert_eq!(wait, Some(Duration::from_secs(60)));
    }

    proptest! {
        #[test]
        fn almost_a_field_does_not_panic(parts in "[\"rt=;, 0-9a-z\u{e9}]{0,30}") {
            let _ = (rate_limit(&parts).count(), rate_limit(&format!("remaining=0{parts}")).count());
        }
    }
}
