//! `Retry-After` and its relatives.

use backoff_core::hint::{self, Pushback};
use http_1::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, SystemTime};

/// Values of hint headers, and texts that are nearly such values.
pub const SAMPLES: &str = include_str!("../samples/hints.txt");
const NAMES: [&str; 6] = [
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-amz-retry-after",
    "date",
    "x-else",
];

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Digits, perhaps between blanks.
fn is_number(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

/// Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110's examples.
const NOW: u64 = 784_111_777;

/// A text means one time, whatever the clock says.
pub fn check_text(value: &[u8]) {
    let _ = Pushback::parse([value]);
    let Ok(text) = str::from_utf8(value) else {
        return;
    };
    let trimmed = text.trim_matches([' ', '\t']);
    let number = is_number(text).then(|| trimmed.parse::<u64>());
    // A number beyond `u64` is the longest time.
    let time = |unit: fn(u64) -> Duration| {
        Some(
            number
                .as_ref()?
                .as_ref()
                .map_or(Duration::MAX, |it| unit(*it)),
        )
    };
    assert_eq!(hint::retry_after_ms(text), time(Duration::from_millis));
    let (read, later) = (
        hint::retry_after(text, at(NOW)),
        hint::retry_after(text, at(NOW + 7)),
    );
    let seconds = time(Duration::from_secs);
    match seconds {
        Some(_) => assert_eq!((read, later), (seconds, seconds)),
        // A date is nearer when the clock is later.
        None => assert_eq!(
            later,
            read.map(|it| it.saturating_sub(Duration::from_secs(7)))
        ),
    }
    // A delay in JSON: the same number with `s` behind it.
    let delay = hint::retry_delay(&format!("{trimmed}s"));
    if seconds.is_some() {
        assert_eq!(delay, seconds);
    }
    let _ = hint::retry_delay(text);
}

/// Of several headers the longest counts. The number of a header chooses its name.
pub fn check_headers(given: &[(u8, impl AsRef<[u8]>)]) {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let name = HeaderName::from_static(NAMES[usize::from(*name) % NAMES.len()]);
        if let Ok(value) = HeaderValue::from_bytes(value.as_ref()) {
            headers.append(name, value);
        }
    }
    let now = at(NOW);
    let all = |name| {
        headers
            .get_all(name)
            .iter()
            .filter_map(|it: &HeaderValue| it.to_str().ok())
    };
    // A date is compared with the reply's own date: a hint says when it is, from the epoch on.
    let date = all("date").next().filter(|it| !is_number(it));
    let date = date.and_then(|it| hint::retry_after(it, at(0)));
    let sent = date.map_or(now, |date| at(0) + date);
    let seconds = all("retry-after").filter_map(|it| hint::retry_after(it, sent));
    let milliseconds = NAMES[1..4]
        .iter()
        .flat_map(|name| all(name))
        .filter_map(hint::retry_after_ms);
    assert_eq!(
        hint::in_headers(&headers, now),
        seconds.chain(milliseconds).max()
    );
}

#[test]
fn every_sample() {
    let names = 0..NAMES.len() as u8;
    for value in SAMPLES.lines().map(str::as_bytes) {
        check_text(value);
        for other in SAMPLES.lines().map(str::as_bytes) {
            for name in names.clone() {
                for second in names.clone() {
                    check_headers(&[(name, value), (second, other)]);
                }
            }
        }
    }
}
