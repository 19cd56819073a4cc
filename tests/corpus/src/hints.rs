//! `Retry-After` and its relatives.

use backoff_core::hint::{self, Pushback};
use http_1::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, SystemTime};

/// Values of hint headers, and texts that are nearly such values.
pub const SAMPLES: &str = include_str!("../samples/hints.txt");
const NAMES: &str = "retry-after retry-after-ms x-ms-retry-after-ms x-amz-retry-after \
                     date x-ratelimit-remaining x-ratelimit-reset ratelimit";

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
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
    let [read, later] = [at(NOW), at(NOW) + STEP].map(|now| hint::retry_after(text, now));
    let (ms, is_list) = (hint::retry_after_ms(text, at(NOW)), text.contains(','));
    let delay = hint::retry_delay(&format!("{}s", text.trim_ascii()));
    let has_digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let number = Some(text.trim_ascii()).filter(|it| has_digits(it));
    match number.and_then(|it| it.parse::<f64>().ok()) {
        // Rounded up, so that the milliseconds and a delay in JSON follow from the seconds.
        Some(value) if value < 999_999_999.9 => {
            let time = read.expect(text);
            let rounding = time.as_secs_f64() - value;
            assert!((-1e-6..1e-6).contains(&rounding), "{text}: {time:?}");
            assert_eq!((later, delay), (read, read), "{text}");
            let nanos = time.as_nanos().div_ceil(1_000);
            assert_eq!(ms.expect(text).as_nanos(), nanos, "{text}");
        }
        // The unit of the header does not count for an epoch.
        Some(value) => assert!(ms == read || value < 1_000_000_000.1, "{text}"),
        None => {
            assert_eq!((ms.is_some(), delay), (read.is_some(), None), "{text}");
            assert!(ms == read || is_list, "{text}");
        }
    }
    if !is_list {
        // A moment is nearer when the clock is later.
        let nearer = read.map(|time| time.saturating_sub(STEP));
        let has_come = read.is_none() && later > Some(YEAR - STEP);
        assert!(later == read || later == nearer || has_come, "{text}");
        let sign = text.trim_ascii().starts_with(['-', '+']);
        assert!(!sign || read.is_none(), "{text}: {read:?}");
    }
    // Blanks around a value do not count, and of the first 32 items of a list the longest counts.
    if text.split(',').count() <= 15 {
        let list = format!(" {text}\t,-1, {text}");
        assert_eq!(hint::retry_after(&list, at(NOW)), read, "{list}");
        let (list, eleven) = (format!("11s , {text}"), Some(Duration::from_secs(11)));
        let longest = hint::retry_after(&list, at(NOW));
        assert_eq!(longest, read.max(eleven), "{list}");
    }
}

/// The longest of the first four headers counts whatever the status is; a quota counts without them, and after 429 and
/// 403. The number of a header chooses its name.
pub fn check_headers(given: &[(u8, impl AsRef<[u8]>)]) {
    let is_long = |value: &[u8]| value.len() > 8_192 || value.split(|it| *it == b',').count() > 32;
    if given.iter().any(|(_, value)| is_long(value.as_ref())) {
        return;
    }
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let name = NAMES.split(' ').cycle().nth((*name).into());
        let name = HeaderName::from_static(name.expect("a cycle"));
        if let Ok(value) = HeaderValue::from_bytes(value.as_ref()) {
            headers.append(name, value);
        }
    }
    let now = at(NOW);
    let [any, denied, limited] = [500, 403, 429].map(|it| hint::in_headers(it, &headers, now));
    // A date of the reply stands for the clock.
    if !headers.contains_key("date") {
        let asked = headers.iter().filter_map(|(name, value)| {
            let text = str::from_utf8(value.as_bytes()).unwrap_or("?");
            let is_asked = name.as_str().contains("retry-after");
            is_asked.then(|| match name == "retry-after" {
                true => hint::retry_after(text, now),
                false => hint::retry_after_ms(text, now),
            })
        });
        let asked: Vec<_> = asked.collect();
        assert_eq!(any, asked.iter().copied().max().flatten(), "{headers:?}");
        let unread = hint::unread_in_headers(500, &headers, now);
        assert_eq!(unread.is_some(), asked.contains(&None), "{headers:?}");
    }
    match any {
        Some(_) => assert_eq!([denied, limited], [any; 2], "{headers:?}"),
        None => assert!(limited >= denied, "{headers:?}"),
    }
    // A header is named if it was there and cannot be read, and no other.
    let named = hint::unread_in_headers(429, &headers, now);
    assert!(named.is_none_or(
        |(name, value)| name != "date" && headers.get_all(name).iter().any(|it| it == value)
    ));
}

#[test]
fn every_sample() {
    let names = 0..NAMES.split(' ').count() as u8;
    for value in SAMPLES.lines().map(str::as_bytes) {
        check_text(value);
        for other in SAMPLES.lines().map(str::as_bytes) {
            for name in names.clone() {
                for second in name..names.end {
                    check_headers(&[(name, value), (second, other)]);
                }
            }
        }
    }
}
