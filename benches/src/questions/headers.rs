//! Can a reply choose how long its client reads? What 400 KB of headers cost more than ten times 4 KB: nothing, if the
//! limits of what is read hold. Only this project is measured, because the peers read no headers.

use super::Cases;
#[cfg(feature = "rate")]
use backoff_core::Rate;
use backoff_core::hint;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::{hint::black_box, time::SystemTime};

/// Headers of about so many bytes.
fn filled(bytes: usize, lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, item) in lines {
        let value = item.repeat(bytes / lines.len() / item.len());
        let value = HeaderValue::from_str(&value).expect("text without controls");
        headers.append(HeaderName::try_from(*name).expect("a name"), value);
    }
    headers
}

/// The same two lines, as often as they fit, beside one long line.
fn many_lines(bytes: usize, lines: [(&str, &str); 2], policies: usize) -> HeaderMap {
    let mut headers = filled(policies, &[("ratelimit-policy", r#""b";q=1,"#)]);
    let length: usize = lines.iter().map(|it| it.0.len() + it.1.len()).sum();
    for _ in 0..(bytes - policies) / length {
        for (name, value) in lines {
            let value = HeaderValue::from_str(value).expect("text without controls");
            headers.append(HeaderName::try_from(name).expect("a name"), value);
        }
    }
    headers
}

/// Reads the headers of a reply with the status 429.
fn read(n: u64, headers: &HeaderMap) {
    #[cfg(feature = "rate")]
    static RATE: Rate = Rate::new();
    for _ in 0..n {
        let now = SystemTime::UNIX_EPOCH;
        black_box(hint::in_headers(429, black_box(headers), now));
        #[cfg(feature = "rate")]
        RATE.observe(headers);
    }
}

macro_rules! case {
    ($cases:ident, $who:literal, $headers:expr) => {
        $cases.each(
            $who,
            "400 KB less 10 × 4 KB",
            1,
            |n| read(n / 100, &($headers)(400_000)),
            |n| read(n / 10, &($headers)(4_000)),
        );
    };
}

pub(super) fn cases() -> Cases {
    let mut cases = Cases::of("headers");
    case!(cases, "RateLimit", |bytes| filled(
        bytes,
        &[
            ("ratelimit", r#""a";r=0;t=1,"#),
            ("ratelimit-policy", r#""b";q=1;w=1,"#)
        ]
    ));
    case!(cases, "RateLimit, one item", |bytes| filled(
        bytes,
        &[("ratelimit", "a;r=0;t=1;"), ("ratelimit-policy", "a;q=1;")]
    ));
    case!(cases, "remaining and reset", |bytes| filled(
        bytes,
        &[("x-ratelimit-remaining", "0,"), ("x-ratelimit-reset", "1,")]
    ));
    case!(cases, "Retry-After", |bytes| filled(
        bytes,
        &[("retry-after", "1s,")]
    ));
    case!(cases, "Retry-After and Date, one item", |bytes| filled(
        bytes,
        &[("retry-after", "1s"), ("date", "1 ")]
    ));
    case!(cases, "many lines", |bytes| many_lines(
        bytes,
        [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1")],
        8
    ));
    case!(cases, "many lines of RateLimit", |bytes| many_lines(
        bytes,
        [("ratelimit", r#""a";r=0;t=1"#), ("ratelimit", r#""a";r=0"#)],
        bytes / 2
    ));
    case!(cases, "long names", |bytes| {
        let name = format!("x-ratelimit-remaining-{}", "a".repeat(bytes / 20));
        let reset = name.replace("remaining", "reset");
        many_lines(bytes, [(&name, "0"), (&reset, "1")], 8)
    });
    cases
}
