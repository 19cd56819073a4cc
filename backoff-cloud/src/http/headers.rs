//! The headers of an error that are kept.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// How many bytes of headers are kept, names and values together.
const MOST: usize = 16 << 10;

/// Headers with secret values: a cookie, a token, or the address of an upload that anybody with the address
/// can continue.
const SECRET: [&str; 14] = [
    "authentication-info",
    "authorization",
    "content-location",
    "link",
    "location",
    "proxy-authenticate",
    "proxy-authorization",
    "set-cookie",
    "www-authenticate",
    "x-amz-security-token",
    "x-auth-token",
    "x-goog-upload-url",
    "x-guploader-uploadid",
    "x-subject-token",
];

/// As many of these headers as fit. A header that does not fit is left out. Secret values are marked, so
/// that the `Debug` of the map does not show them.
pub(super) fn kept(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    let mut room = MOST;
    for (name, value) in headers {
        let size = name.as_str().len() + value.len();
        if size > room {
            continue;
        }
        room -= size;
        let mut value = value.clone();
        mark(name, &mut value);
        // A map holds 32,768 headers. No reply has more.
        if kept.try_append(name.clone(), value).is_err() {
            break;
        }
    }
    kept
}

/// Marks the values of secret headers, so that the `Debug` of the map does not show them.
pub(super) fn marked(mut headers: HeaderMap) -> HeaderMap {
    for (name, value) in &mut headers {
        mark(name, value);
    }
    headers
}

/// The first value of this header, if it is a text.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn mark(name: &HeaderName, value: &mut HeaderValue) {
    let is_secret = SECRET.contains(&name.as_str());
    value.set_sensitive(value.is_sensitive() || is_secret);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::headers;

    #[test]
    fn a_header_that_is_too_long_hides_no_other() {
        let long = "x".repeat(MOST);
        let kept = kept(&headers(&[
            ("x-before", "1"),
            ("x-long", &long),
            ("range", "bytes=0-42"),
            ("x-twice", "a"),
            ("x-twice", "b"),
        ]));
        assert_eq!(text(&kept, "range"), Some("bytes=0-42"));
        assert_eq!(kept.get_all("x-twice").iter().count(), 2);
        assert!(!kept.contains_key("x-long") && kept.contains_key("x-before"));
    }

    #[test]
    fn at_most_the_limit_is_kept() {
        let value = "x".repeat(1_000);
        let many: Vec<_> = (0..100).map(|_| ("x-many", value.as_str())).collect();
        let kept = kept(&headers(&many));
        assert_eq!(kept.len(), MOST / (1_000 + "x-many".len()));
    }

    #[test]
    fn secrets_are_read_but_not_shown() {
        let given: Vec<_> = SECRET.iter().map(|name| (*name, "SECRET")).collect();
        let kept = kept(&headers(&given));
        assert!(!format!("{kept:?}").contains("SECRET"));
        assert_eq!(text(&kept, "location"), Some("SECRET"));
        assert!(format!("{:?}", super::kept(&headers(&[("range", "0-1")]))).contains("0-1"));
    }
}
