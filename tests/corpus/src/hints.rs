//! `Retry-After` and its relatives.

use backoff_core::hint::{self, Pushback};
use http_1::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, SystemTime};

/// Values of hint headers, and texts that are nearly such values.
pub const SAMPLES: &str = include_str!("../samples/hints.txt");
const NAMES: [&str; 8] = [
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-amz-retry-after",
    "date",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
];

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The number that the text is: digits with at most one point, perhaps between blanks.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_ascii();
    let is_number = text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    is_number.then(|| text.parse().ok())?
}

/// Whether a number is 2⁶⁴ or more.
fn is_beyond(number: &str) -> bool {
    let whole = number.trim_ascii().split('.').next();
    whole.is_some_and(|it| !it.is_empty() && it.parse::<u64>().is_err())
}

/// Thu, 01 May 2025 22:01:18 GMT.
const NOW: u64 = 1_746_136_878;
const STEP: Duration = Duration::from_secs(7);
/// An epoch is the end of its second.
const YEAR: Duration = Duration::from_secs(365 * 86_400 + 1);

/// A text means one time or one moment.
pub fn check_text(value: &[u8]) {
    let _ = Pushback::parse([value]);
    let Ok(text) = str::from_utf8(value) else {
        return;
    };
    let read = hint::retry_after(text, at(NOW));
    let later = hint::retry_after(text, at(NOW) + STEP);
    let ms = hint::retry_after_ms(text, at(NOW));
    match number(text) {
        // Rounded up, so that the milliseconds follow from the seconds.
        Some(value) if value < 999_999_999.9 => {
            let time = read.expect(text);
            let rounding = time.as_secs_f64() - value;
            assert!((-1e-6..1e-6).contains(&rounding), "{text}: {time:?}");
            assert_eq!(later, read, "{text}");
            let nanos = time.as_nanos().div_ceil(1_000);
            assert_eq!(ms.expect(text).as_nanos(), nanos, "{text}");
        }
        Some(_) if is_beyond(text) => {
            assert_eq!((read, ms), (Some(Duration::MAX), read), "{text}");
        }
        // An epoch.
        Some(value) if value > 1_000_000_000.1 => {
            assert_eq!(ms, read, "{text}");
            assert!(read <= Some(YEAR), "{text}: {read:?}");
        }
        Some(_) => {}
        // The unit of the header counts for numbers alone.
        None if !text.contains(',') => assert_eq!(ms, read, "{text}"),
        None => assert_eq!(ms.is_some(), read.is_some(), "{text}"),
    }
    // A moment is nearer when the clock is later.
    match (read, later) {
        (Some(time), _) => {
            let nearer = time.saturating_sub(STEP);
            assert!(
                later == read || later == Some(nearer) || text.contains(','),
                "{text}: {later:?}"
            );
            // An epoch of a list may come within the year.
            let has_come = text.contains(',') && later > Some(YEAR - STEP);
            assert!(later >= Some(nearer), "{text}: {later:?}");
            assert!(later <= read || has_come, "{text}: {later:?}");
        }
        (None, Some(later)) => assert!(later > YEAR - STEP, "{text}: {later:?}"),
        (None, None) => {}
    }
    let sign = text.trim_ascii().starts_with(['-', '+']);
    assert!(
        !sign || text.contains(',') || read.is_none(),
        "{text}: {read:?}"
    );
    // Blanks around a value do not count, and of the first 32 items of a list the longest counts.
    let is_short = text.split(',').count() <= 15;
    for (list, other) in [
        (format!(" {text}\t"), None),
        (format!("{text}, {text}"), None),
        (format!("{text},11"), Some(Duration::from_secs(11))),
        (format!("11s , {text}"), Some(Duration::from_secs(11))),
        (format!("-1, {text}"), None),
    ]
    .into_iter()
    .filter(|_| is_short)
    {
        assert_eq!(hint::retry_after(&list, at(NOW)), read.max(other), "{list}");
    }
    // A delay in JSON: the same number with `s` behind it.
    let delay = hint::retry_delay(&format!("{}s", text.trim_ascii()));
    match number(text) {
        Some(value) if value < 999_999_999.9 => assert_eq!(delay, read, "{text}"),
        other => assert_eq!(delay.is_some(), other.is_some(), "{text}"),
    }
    let _ = hint::retry_delay(text);
}

/// Of several headers the longest counts; a quota counts without them, and after 429 and 403. The number of a header
/// chooses its name.
pub fn check_headers(given: &[(u8, impl AsRef<[u8]>)]) {
    let is_long = |value: &[u8]| value.len() > 8_192 || value.split(|it| *it == b',').count() > 32;
    if given.iter().any(|(_, value)| is_long(value.as_ref())) {
        return;
    }
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let name = HeaderName::from_static(NAMES[usize::from(*name) % NAMES.len()]);
        if let Ok(value) = HeaderValue::from_bytes(value.as_ref()) {
            headers.append(name, value);
        }
    }
    let now = at(NOW);
    let texts = |name| {
        let values = headers.get_all(name).iter();
        values.map(|it: &HeaderValue| str::from_utf8(it.as_bytes()).unwrap_or("?"))
    };
    // A date is compared with the reply's own date, which is recognised because another clock reads another time.
    let date = texts("date").next();
    let date = date.and_then(|it| it.rsplit(',').next());
    let since = |at| {
        date.filter(|it| number(it).is_none())
            .and_then(|it| hint::retry_after(it, at))
    };
    let epoch = at(0);
    let sent = match since(epoch) {
        // A date of whole seconds is read as the end of its second.
        Some(wait) if since(epoch + STEP) != Some(wait) => match wait.subsec_nanos() {
            0 => epoch + wait - Duration::from_secs(1),
            _ => epoch + wait,
        },
        _ => now,
    };
    let seconds = texts("retry-after").map(|it| hint::retry_after(it, sent));
    let names = NAMES[1..4].iter();
    let milliseconds = names
        .flat_map(|name| texts(name))
        .map(|it| hint::retry_after_ms(it, sent));
    let asked: Vec<_> = seconds.chain(milliseconds).collect();
    let asks = asked.iter().copied().max().flatten();
    let pairs = texts(NAMES[5]).zip(texts(NAMES[6]));
    let pairs = pairs.flat_map(|(left, reset)| {
        let count = left.split(',').count();
        left.split(',').zip(reset.splitn(count, ','))
    });
    let used_up = pairs.filter(|(left, _)| number(left) == Some(0.0));
    let refilled = used_up
        .filter_map(|(_, reset)| hint::retry_after(reset, sent))
        .max();
    for (status, quota) in [(500, None), (403, refilled)] {
        let found = hint::in_headers(status, &headers, now);
        assert_eq!(found, asks.or(quota), "{status} {headers:?}");
    }
    let limited = hint::in_headers(429, &headers, now);
    // A reset counts beside which no header says what remains.
    let alone = texts(NAMES[6]).map(|reset| hint::retry_after(reset, sent));
    let alone = alone.min_by_key(|it| it.unwrap_or(Duration::MAX)).flatten();
    let alone = alone.filter(|_| texts(NAMES[5]).next().is_none());
    match texts(NAMES[7]).next() {
        None => assert_eq!(limited, asks.or(refilled).or(alone), "{headers:?}"),
        Some(_) => assert!(
            limited == asks || asks.is_none() && limited >= refilled,
            "{headers:?}"
        ),
    }
    // A header is named if it was there and cannot be read, and no other.
    let unread = hint::unread_in_headers(500, &headers, now);
    assert_eq!(unread.is_some(), asked.contains(&None), "{headers:?}");
    let named = hint::unread_in_headers(429, &headers, now);
    assert!(named.is_none_or(
        |(name, value)| name != "date" && headers.get_all(name).iter().any(|it| it == value)
    ));
}

#[test]
fn every_sample() {
    let names = 0..NAMES.len() as u8;
    for value in SAMPLES.lines().map(str::as_bytes) {
        check_text(value);
        for other in SAMPLES.lines().map(str::as_bytes) {
            for name in names.clone() {
                for second in name..NAMES.len() as u8 {
                    check_headers(&[(name, value), (second, other)]);
                }
            }
        }
    }
}
