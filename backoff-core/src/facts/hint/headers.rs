//! Finds the hints in the headers of a reply.

use super::time::{self, MOST_ITEMS, items};
use std::{
    cell::LazyCell,
    iter,
    time::{Duration, SystemTime},
};

/// The hint in the headers of a reply with this status.
///
/// The longest of `Retry-After`, `retry-after-ms`, `x-ms-retry-after-ms` and `x-amz-retry-after` counts. If a reply has
/// none of these that can be read, and its status says that the request was refused because of a limit (429 or 503),
/// its quotas count: the longest time until a used-up quota is refilled. A quota is used up if its remainder is zero
/// (`0`, `0.0`). If a 429 names no used-up quota, the soonest reset counts beside which no remainder is named.
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
/// Of each header 8 KiB and 32 items are read, and of a reply 256 lines; what follows counts as if it were not there.
///
/// All times have the forms of [`retry_after`](super::retry_after). A date and an epoch count from the reply's own `Date`, so that a client
/// whose clock is wrong waits as long as the server asks. `now`, the client's wall clock, is used if the reply has no
/// valid `Date`, or has an `Age`: then a cache has kept the reply, and its `Date` is old.
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
/// assert_eq!(hint(429, &headers), Some(Duration::from_secs(31)));
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
pub(crate) fn pairs(headers: &http_1::HeaderMap) -> impl Iterator<Item = Header<'_>> {
    let headers = headers.iter();
    headers.map(|(name, value)| (name.as_str(), value.as_bytes()))
}

/// The name and the value of a header.
pub(in crate::facts) type Header<'h> = (&'h str, &'h [u8]);

/// The most lines of the headers of a reply, bytes of a line, and bytes of a name that are read: a server must not choose
/// how long its client reads. We chose the values: servers send less than 100 lines, most of them shorter than 100 bytes.
const MOST_LINES: usize = 256;
const MOST_BYTES: usize = 8_192;
const MOST_OF_NAME: usize = 128;

/// The part of the headers that is read.
pub(in crate::facts) fn beginning<'h>(
    headers: impl Iterator<Item = Header<'h>>,
) -> impl Iterator<Item = Header<'h>> {
    let headers = headers
        .take(MOST_LINES)
        .filter(|it| it.0.len() <= MOST_OF_NAME);
    headers.map(|(name, value)| (name, &value[..value.len().min(MOST_BYTES)]))
}

/// The hint in the headers, and the first header whose hint could not be read.
pub(crate) type Found<'h> = (Option<Duration>, Option<Header<'h>>);

/// Reads the headers of a reply with this status. `client` is the client's wall clock.
pub(crate) fn found<'h, H: Iterator<Item = Header<'h>>>(
    status: u16,
    headers: impl Fn() -> H,
    client: SystemTime,
) -> Found<'h> {
    let headers = || beginning(headers());
    let sent = LazyCell::new(|| sent(&headers, client));
    let read = |value: &str, unit| time::longest(value, unit, *sent);

    let asked = headers().filter_map(|header| {
        let unit = match header.0 {
            "retry-after" | "x-rate-limit-retry-after-seconds" => "s",
            "retry-after-ms" | "x-ms-retry-after-ms" | "x-amz-retry-after" => "ms",
            _ => return None,
        };
        Some((header, read(text(header.1), unit)))
    });
    let asked: Vec<_> = asked.collect();
    let is_limit = |name: &str| match status {
        429 | 503 => is_quota(name),
        403 => name == "x-ratelimit-remaining",
        _ => false,
    };
    let refilled = remainders(&headers, is_limit).filter_map(|quota| {
        match time::billionths(quota.left.trim_ascii()) {
            Some(0) => Some((quota.refill, read(quota.reset, "s"))),
            Some(_) => None,
            None => Some((quota.header, None)),
        }
    });
    let mut refilled: Vec<_> = refilled.collect();
    if status == 429 && refilled.is_empty() {
        // Some services leave the remainder out when nothing is left.
        let alone = headers().filter(|it| is_alone(it.0, &headers));
        let alone = alone.map(|header| (header, read(text(header.1), "s")));
        refilled.extend(alone.min_by_key(|it| it.1.unwrap_or(Duration::MAX)));
    }
    let longest = |hints: &[(_, Option<Duration>)]| hints.iter().filter_map(|it| it.1).max();
    let mut hints = asked.iter().chain(&refilled);
    let unread = hints.find(|it| it.1.is_none()).map(|it| it.0);
    (longest(&asked).or_else(|| longest(&refilled)), unread)
}

/// When the reply was sent: its `Date`; without one, or where a cache has kept the reply (`Age`), the client's clock.
pub(in crate::facts) fn sent<'h, H: Iterator<Item = Header<'h>>>(
    headers: &impl Fn() -> H,
    client: SystemTime,
) -> SystemTime {
    let date = headers().find(|it| it.0 == "date");
    let date = date.filter(|_| !headers().any(|it| it.0 == "age"));
    let date = date.and_then(|it| time::date(text(it.1).rsplit(',').next()?.trim_ascii()));
    date.unwrap_or(client)
}

/// The value of a header; a text that cannot be read, if the value is no text.
pub(in crate::facts) fn text(value: &[u8]) -> &str {
    str::from_utf8(value).unwrap_or("?")
}

/// Whether a header with this name, which has `remaining` in it or is `ratelimit`, is about a quota.
pub(in crate::facts) fn is_quota(name: &str) -> bool {
    name.contains("limit") || name.contains("priority")
}

/// Whether this header names the reset of a quota of which no header says what remains.
fn is_alone<'h, H: Iterator<Item = Header<'h>>>(name: &str, headers: &impl Fn() -> H) -> bool {
    let remaining = name.replace("-after", "").replace("reset", "remaining");
    let is_reset = remaining != name && name.contains("reset") && is_quota(name);
    is_reset && !headers().any(|it| it.0 == remaining)
}

/// What a reply says of one quota.
#[cfg_attr(
    not(all(feature = "rate", feature = "http-1")),
    allow(dead_code, reason = "only a rate asks for all fields")
)]
pub(in crate::facts) struct Remainder<'h> {
    /// The header that says what remains.
    pub(in crate::facts) header: Header<'h>,
    /// The name of the quota, if the field `RateLimit` has it.
    pub(in crate::facts) name: &'h str,
    /// What remains.
    pub(in crate::facts) left: &'h str,
    /// The header that says when the quota is refilled.
    pub(in crate::facts) refill: Header<'h>,
    /// When the quota is refilled.
    pub(in crate::facts) reset: &'h str,
    /// How much the full quota holds; empty if no header says so.
    pub(in crate::facts) limit: &'h str,
}

/// The quotas in the headers with these names.
pub(in crate::facts) fn remainders<'h, H: Iterator<Item = Header<'h>>>(
    headers: &impl Fn() -> H,
    is_quota: impl Fn(&str) -> bool,
) -> impl Iterator<Item = Remainder<'h>> {
    let policies = headers().find(|it| it.0 == "ratelimit-policy");
    let policies = policies.iter().flat_map(|it| items(text(it.1)));
    // Each with its limit.
    let policies = policies.map(|policy| (policy.trim(), part(policy, ["q"; 2])));
    let policies: Vec<_> = policies.collect();
    let mut found = Vec::new();
    for (index, header) in headers()
        .enumerate()
        .filter(|(_, header)| is_quota(header.0))
    {
        let (name, value) = (header.0, text(header.1));
        if name == "ratelimit" {
            found.extend(rate_limit(header, &policies));
        } else if name.contains("remaining") {
            let before = headers().take(index).filter(|it| it.0 == name).count();
            let nth = |name: String| headers().filter(|it| it.0 == name).nth(before);
            let limit = nth(name.replace("remaining", "limit")).map_or("", |it| text(it.1));
            let reset = name.replace("remaining", "reset");
            for refill in [format!("{reset}-after"), reset]
                .into_iter()
                .filter_map(nth)
            {
                let mut limits = limit.split(',');
                let count = items(value).count();
                // A quota without a reset has an empty one, which cannot be read.
                let resets = text(refill.1).splitn(count, ',').chain(iter::repeat(""));
                found.extend(items(value).zip(resets).map(|(left, reset)| Remainder {
                    header,
                    name: "",
                    left,
                    refill,
                    reset,
                    limit: limits.next().unwrap_or_default(),
                }));
            }
        }
    }
    found.into_iter()
}

/// The quotas of the field `RateLimit`, with the limits of the field `RateLimit-Policy`.
fn rate_limit<'h>(header: Header<'h>, policies: &[(&str, Option<&'h str>)]) -> Vec<Remainder<'h>> {
    let value = text(header.1);
    let quota = |name, left, reset, limit| Remainder {
        header,
        name,
        left,
        refill: header,
        reset,
        limit,
    };
    if !value.contains('=') {
        return vec![quota("", "", "", "")];
    }
    // The older form is one quota with its parts separated by commas.
    let is_one = value.contains("remaining=");
    let quotas = value.split(|c| c == ',' && !is_one).take(MOST_ITEMS);
    // A name may have a comma: then an item is the beginning of a name.
    let found = quotas.filter(|item| item.contains('=')).map(|item| {
        let name = item.split(';').next().unwrap_or_default().trim();
        let policy = policies.iter().find(|policy| policy.0.starts_with(name));
        let limit = part(item, ["limit"; 2]).or_else(|| policy?.1);
        let [left, reset] = [["r", "remaining"], ["t", "reset"]].map(|names| part(item, names));
        let [left, reset, limit] = [left, reset, limit].map(Option::unwrap_or_default);
        quota(name, left, reset, limit)
    });
    found.collect()
}

/// The value of the part with one of these names.
fn part<'h>(item: &'h str, names: [&str; 2]) -> Option<&'h str> {
    let mut parts = item
        .split([';', ','])
        .filter_map(|part| part.split_once('='));
    let found = parts.find(|(name, _)| names.contains(&name.trim()));
    found.map(|(_, value)| value)
}

#[cfg(all(test, feature = "http-1"))]
mod tests {
    use super::{super::sent::*, *};

    fn map(lines: &str) -> http_1::HeaderMap {
        let mut map = http_1::HeaderMap::new();
        for line in lines.split('|').filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").expect(line);
            let value = http_1::HeaderValue::from_bytes(value.as_bytes()).expect(line);
            map.append(name.parse::<http_1::HeaderName>().expect(line), value);
        }
        map
    }

    /// Rows: the statuses, the seconds of the hint, if there is one, and the headers. The mark `!` stands before the header
    /// that cannot be read. A moment counts from the `Date` of the reply; in a row with `+`, from the client's clock.
    #[test]
    fn headers_say_how_long_to_wait() {
        // The longest of the first four headers. They count before the quotas, unless they cannot be read.
        let asked = "
            429 -     = x-items-remaining: 0|x-items-reset: 30
            429 1     = retry-after: 1|retry-after-ms: 500
            429 1.001 = retry-after: 1|x-ms-retry-after-ms: 1001
            500 7     = retry-after: 7|x-amz-retry-after: 1500
            429 1     = !retry-after: -1|retry-after: 1
            429 20.5005 = retry-after: 20.5|retry-after-ms: 20500.5
            429 2     = x-ratelimit-remaining: 0|x-ratelimit-reset: 30|retry-after: 2
            429 30    = x-ratelimit-remaining: 0|x-ratelimit-reset: 30|!retry-after: soon
            429 42    = x-rate-limit-remaining: 0|x-rate-limit-retry-after-seconds: 42
            429 5     = retry-after: soon, 5
            429 -     = x-token: soon|set-cookie: a=b|date: soon
            500 -     = !retry-after: |x-a: b
            500 -     = !retry-after: é
            500 5     = retry-after: 5|!retry-after-ms: 1e3
            500 -     = !x-amz-retry-after: invalid
        ";
        let drafts = r#"
            429 55  = ratelimit: "api";r=0;t=55|ratelimit-policy: "fixed window";"api";q=500;w=300
            429 7   = ratelimit: "a";r=5;t=60, "b";t=7;r=0
            429 60  = ratelimit: "a";r=0;t=7, "b";r=0;t=60, "c";r=0;t=9
            429 60  = ratelimit: "a";r=0;t=7|ratelimit: "b";r=0;t=60
            429 7   = ratelimit: "a,b"; r=0 ; t=7,
            429 7.5 = ratelimit: "default";r=0.0;t=7.5
            429 -   = ratelimit: "default";r=0.5;t=30
            429 -   = ratelimit: "a";r=7;t=soon
            429 -   = !ratelimit: "a";r=0;t=soon
            429 -   = !ratelimit: "a";r=0
            429 -   = !ratelimit: "a";t=7
            429 -   = !ratelimit: a=b
            429 -   = !ratelimit: soon
            429 30  = ratelimit: limit=5, remaining=0, reset=30
            429 -   = ratelimit: limit=5, remaining=2, reset=30
            429 12  = ratelimit-remaining: 0|ratelimit-reset: 12
            429 -   = ratelimit-remaining: 0
            429 12  = ratelimit-reset: 12
            429 -   = ratelimit-remaining: 1|ratelimit-reset: 12|x-a-reset: 9
            429 7   = ratelimit-remaining: 5|ratelimit-remaining: 0|ratelimit-reset: 60|ratelimit-reset: 7
            429 60  = ratelimit-remaining: 0|ratelimit-remaining: 5|ratelimit-reset: 60|ratelimit-reset: 7
            429 7   = ratelimit-remaining: 5, 0|ratelimit-reset: 60, 7
            429 60  = ratelimit-remaining: 0,5|ratelimit-reset: 60,7
            429 -   = ratelimit-remaining: 5|ratelimit-remaining: 0|ratelimit-reset: 60
            429 -   = x-ratelimit-remaining: 5, 0|!x-ratelimit-reset: 30
            429 30  = x-ratelimit-remaining: 0, 5|x-ratelimit-reset: 30
        "#;
        // GitHub, Okta, X, Discord, Atlassian, Sentry, OpenAI and Anthropic.
        let services = "
            429 31   = x-ratelimit-remaining: 0|x-ratelimit-reset: 1746136908
            429 31   = x-ratelimit-limit: 60|x-ratelimit-reset: 1746136908
            429 55   = x-ratelimit-remaining-requests: 24|x-rate-limit-reset-tokens: 55|x-rate-limit-reset-day: 3000
            429 12.5 = x-ratelimit-reset-after: 12.5
            429 30   = x-ratelimit-remaining: 0.0|x-ratelimit-reset: 30
            429 30   = x-ratelimit-remaining: 000|x-ratelimit-reset: 30
            429 -    = x-ratelimit-remaining: 05|x-ratelimit-reset: 30
            429 -    = !x-ratelimit-remaining: |x-ratelimit-reset: 30
            429 -    = !x-ratelimit-remaining: -0|x-ratelimit-reset: 30
            429 -    = !x-ratelimit-remaining: 0;w=1|x-ratelimit-reset: 10
            429 -    = x-ratelimit-remaining: 0|!x-ratelimit-reset: 10;w=1
            429 -    = !x-ratelimit-reset: 1746136938000000
            429 48   = x-rate-limit-remaining: 0|x-rate-limit-reset: 1746136925
            429 60.18 = x-ratelimit-remaining: 0|x-ratelimit-reset-after: 60.18
            429 31   = x-sentry-ratelimit-remaining: 0|x-sentry-ratelimit-reset: 1746136908
            429 3    = x-ratelimit-remaining-tokens: 0|x-ratelimit-reset-tokens: 1s|x-ratelimit-remaining-requests: 0|x-ratelimit-reset-requests: 3s
            429 31   = anthropic-ratelimit-tokens-remaining: 0|anthropic-ratelimit-tokens-reset: 2025-05-01T22:01:48Z
            429 31   = anthropic-priority-tokens-remaining: 0|anthropic-priority-tokens-reset: 2025-05-01T22:01:48Z
        ";
        let statuses = r#"
            403,429,503 240 = x-ratelimit-remaining: 0|x-ratelimit-reset: 4m0s
            429,503     240 = x-ratelimit-remaining-requests: 0|x-ratelimit-reset-requests: 4m0s
            429,503     30  = ratelimit: "default";r=0;t=30
            others      -   = x-ratelimit-remaining: 0|x-ratelimit-reset: soon
            others      -   = x-ratelimit-remaining: 0|x-ratelimit-reset: 4m0s
            403,others  -   = x-ratelimit-remaining-requests: 0|x-ratelimit-reset-requests: 4m0s
            403,others  -   = ratelimit: "default";r=0;t=30
            403,others  240 = retry-after: 240
        "#;
        let statuses = statuses.replace("others", "200,400,408,500,502,504,529");
        let clocks = "
            429 61  = retry-after: Thu, 01 May 2025 22:02:18 GMT
            429 61  = retry-after: 1746136938|date: Thursday, 01-May-25 22:01:18 GMT
            429 61  = retry-after: 2025-05-01T22:02:18Z|date: Thu, 1 May 2025 22:01:18 UTC
            429 0   = retry-after: 1746136938|date: Thu, 01 May 2025 22:02:38 GMT
            429 0   = retry-after: 1746136938|date: Fri, 31 Dec 9999 23:59:59 GMT
            429 +61 = retry-after: Thu, 01 May 2025 22:02:18 GMT
            429 +61 = retry-after: Thu, 01 May 2025 22:02:18 GMT|date: Thu, 01 May 2025 21:31:18 GMT|age: 1800
            429 +61 = retry-after: 1746136938|date: Thu, 01 May 2025 22:01:18 GMT|age: x
            429 +61 = retry-after: 2025-05-01T22:02:18Z|date: 30s
            429 +61 = retry-after: 1746136938|date: 1746136878
            429 +61 = retry-after: 1746136938|date: é
        ";
        let rows = [asked, drafts, services, &statuses, clocks].map(str::lines);
        for row in rows.into_iter().flatten().filter(|row| row.contains(" = ")) {
            let (says, lines) = row.trim_ascii_start().split_once(" = ").expect(row);
            let (statuses, seconds) = says.split_once(' ').expect(row);
            let sent = ["|date: Thu, 01 May 2025 22:01:18 GMT", ""];
            let is_sum = seconds.trim_ascii().starts_with('+');
            let headers = map(&(lines.replace('!', "") + sent[usize::from(is_sum)]));
            let seconds: Option<f64> = seconds.trim_ascii().parse().ok();
            let bad = lines
                .split('|')
                .find_map(|it| it.strip_prefix('!')?.split_once(": "));
            let bad = bad.map(|(name, value)| (name, value.as_bytes()));
            for status in statuses.split(',').map(|it| it.parse().expect(row)) {
                for late in [7_200, -86_401] {
                    let client = at(SENT.checked_sub_signed(late).unwrap());
                    let late = if is_sum { late as f64 } else { 0.0 };
                    let hint = seconds.map(|it| nanos((it + late).max(0.0)));
                    assert_eq!(in_headers(status, &headers, client), hint, "{status} {row}");
                    let unread = unread_in_headers(status, &headers, client);
                    assert_eq!(unread, bad, "{status} {row}");
                }
            }
        }
        let bytes = http_1::HeaderValue::from_bytes(b"\xff").unwrap();
        let bytes = http_1::HeaderMap::from_iter([(http_1::header::RETRY_AFTER, bytes)]);
        let unread = unread_in_headers(429, &bytes, at(SENT));
        assert_eq!(unread, Some(("retry-after", &b"\xff"[..])));
    }

    /// What follows 32 items, 8 KiB or 256 lines counts as if it were not there, and so does a name of more than 128 bytes.
    #[test]
    fn only_the_beginning_of_headers_counts() {
        let hint = |lines: &str| in_headers(429, &map(lines), at(SENT)).map(|it| it.as_secs());
        let list = |n| format!("retry-after: {}9", "1,".repeat(n));
        let field = |n| format!(r#"ratelimit: {}"b";r=0;t=9"#, r#""a";r=0;t=1,"#.repeat(n));
        let left = |n| format!("x-ratelimit-remaining: {}0|", "0,".repeat(n));
        let lists = |n| format!("{}x-ratelimit-reset: {}9", left(n), "1,".repeat(n));
        let blanks = |n| format!("retry-after: 1,{}9", " ".repeat(n));
        let lines = |n| format!("{}retry-after: 9", "x: 1|".repeat(n));
        let name = |n| format!("{:x<n$}: 9", "ratelimit-reset-");
        for (within, beyond, last) in [
            (list(31), list(32), Some(1)),
            (field(31), field(32), Some(1)),
            (lists(31), lists(32), Some(9)),
            (blanks(8_000), blanks(9_000), Some(1)),
            (lines(255), lines(256), None),
            (name(128), name(129), None),
        ] {
            assert_eq!([hint(&within), hint(&beyond)], [Some(9), last], "{within}");
        }
    }
}
