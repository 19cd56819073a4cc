//! Reads the body of an error.
//!
//! The body comes from a server or from a proxy. It may be cut, in another encoding, or not JSON.
//! Everything before the first mistake is kept.

use super::{
    scan::{Name, Rest, elements, fields},
    service,
};
use backoff_core::{GrpcCode, hint};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::{borrow::Cow, time::Duration};

/// How many characters are kept of a body that is not a `google.rpc.Status`.
const EXCERPT: usize = 200;

/// The parts of a `google.rpc.Status`, or an excerpt of another body as the message.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Whether the body has an object named `error`.
    is_status: bool,
    number: Option<i64>,
    name: Option<String>,
    message: Option<String>,
    details: Vec<Value>,
    /// The code of another service than Google.
    service_code: Option<String>,
}

impl Said {
    /// Reads the body of an error.
    pub(super) fn read(body: &[u8]) -> Self {
        let text = readable(body);
        let mut said = Said::default();
        let json = text.as_bytes();
        // Streaming services send lists.
        let object = elements(json).next().unwrap_or(json);
        for (name, value) in fields(object) {
            if name.is("error") && value.starts_with(b"{") {
                said.is_status = true;
                said.read_error(value);
            } else if (name.is("__type") || name.is("code")) && value.len() <= service::LONGEST {
                said.name_service_code(parsed(value));
            }
        }
        said.name_service_code(service::in_xml(&text));
        let is_whole = said.is_status && serde_json::from_str::<IgnoredAny>(&text).is_ok();
        if said.message.is_none() && !is_whole {
            said.message = Some(excerpt_of(&text));
        }
        said
    }

    /// Reads the message and the details in the first `longest` bytes. The code is read from the whole
    /// body: it decides whether the call is retried, and takes no memory. Also returns whether something
    /// was left out.
    pub(super) fn read_part(body: &[u8], longest: usize) -> (Self, bool) {
        let mut said = Said::read(&body[..body.len().min(longest)]);
        let is_cut = body.len() > longest;
        if is_cut {
            let mut rest = Rest(without_mark(body));
            rest.take(b'[');
            for (name, value) in fields(rest.0) {
                if name.is("error") {
                    fields(value).for_each(|(name, value)| said.read_code(name, value));
                }
            }
        }
        (said, is_cut)
    }

    fn read_error(&mut self, error: &[u8]) {
        for (name, value) in fields(error) {
            self.read_code(name, value);
            if name.is("message") {
                self.message = text(value);
            } else if name.is("details") {
                self.details
                    .extend(elements(value).filter_map(parsed::<Value>));
            }
        }
    }

    /// Reads a field of the error if it is a code.
    fn read_code(&mut self, name: Name<'_>, value: &[u8]) {
        // Every code is shorter.
        let value = if value.len() > 64 { b"" } else { value };
        if name.is("code") {
            self.number = parsed(value);
            self.name_service_code(parsed(value));
        } else if name.is("status") {
            self.name = parsed(value);
        }
    }

    /// The first code counts.
    fn name_service_code(&mut self, code: Option<String>) {
        let named = self.service_code.take();
        self.service_code = named.or_else(|| service::plain(&code?));
    }

    /// The gRPC code by its name. If the HTTP status is a success, it says nothing about the error, so the
    /// code's number counts too. (If the HTTP status is a failure, Google repeats the status in this
    /// number, and other services have numbers of their own.)
    pub(super) fn grpc_code(&self, http_status: u16) -> Option<GrpcCode> {
        let name = self.name.as_deref().and_then(GrpcCode::from_name);
        let number = || match http_status {
            200..300 => i32::try_from(self.number?).ok(),
            _ => None,
        };
        name.or_else(|| GrpcCode::from_number(number()?))
    }

    /// The number as an HTTP status, if it is the status of a failure.
    pub(super) fn status(&self) -> Option<u16> {
        status_of(self.number?)
    }

    /// The longest delay of a `google.rpc.RetryInfo` in the details.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.details.iter().filter_map(retry_info).max()
    }

    /// Takes out the code of another service than Google: `__type` or `code` of AWS, `error.code` of Azure, or
    /// the `<Code>` of an XML body, which both services send.
    pub(super) fn take_service_code(&mut self) -> Option<String> {
        self.service_code.take()
    }

    /// The message and the details.
    pub(super) fn into_parts(self) -> (String, Vec<Value>) {
        (self.message.unwrap_or_default(), self.details)
    }
}

/// The `code` of an error in a body as an HTTP status, if it is the status of a failure.
fn status_of(code: i64) -> Option<u16> {
    let status = u16::try_from(code).ok()?;
    (400..600).contains(&status).then_some(status)
}

/// The error in the body of a success, if the body contains only an error with a code. A body with another
/// first field is not read further. For a body that is longer than `longest` see [`Said::read_part`].
pub(super) fn error_of_success(body: &[u8], longest: usize) -> Option<(Said, bool)> {
    let body = without_mark(body);
    let is_only_error = has_only_error(body) && serde_json::from_slice::<IgnoredAny>(body).is_ok();
    let (said, is_cut) = is_only_error.then(|| Said::read_part(body, longest))?;
    (said.number.is_some() || said.name.is_some()).then_some((said, is_cut))
}

/// Whether a body contains only an object `error`, or is a list with one such body.
fn has_only_error(body: &[u8]) -> bool {
    let mut rest = Rest(body);
    let is_list = rest.take(b'[');
    rest.take(b'{')
        && rest.name().is_some_and(|name| name.is("error"))
        && rest.begins_with(b'{')
        && rest.value().is_some()
        && rest.take(b'}')
        && (!is_list || rest.take(b']'))
        && rest.is_at_end()
}

/// The beginning of a body as one line of text for people.
pub(super) fn excerpt(body: &[u8]) -> String {
    // A character has at most four bytes.
    excerpt_of(&readable(&body[..body.len().min(4 * EXCERPT)]))
}

/// The beginning of a text, as [`excerpt`].
pub(super) fn excerpt_of(text: &str) -> String {
    let beginning = match text.char_indices().nth(4 * EXCERPT) {
        Some((end, _)) => &text[..end],
        None => text,
    };
    let line = beginning.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Whether a JSON object has a field of this name with a text that is not empty.
pub(crate) fn has_text(object: &[u8], name: &str) -> bool {
    let mut named = fields(object).filter(|(field, _)| field.is(name));
    named.any(|(_, value)| text(value).is_some_and(|text| !text.is_empty()))
}

/// A body without the byte order mark that some servers put before UTF-8.
pub(super) fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// A body as text that the parser accepts: bytes that are not UTF-8 are replaced, and so are control
/// characters, which JSON forbids in strings.
fn readable(body: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(without_mark(body));
    let is_forbidden = |c: char| c < ' ';
    if text.contains(is_forbidden) {
        text.replace(is_forbidden, " ").into()
    } else {
        text
    }
}

/// The delay of a `google.rpc.RetryInfo`.
fn retry_info(detail: &Value) -> Option<Duration> {
    let kind = detail.get("@type")?.as_str()?;
    if !kind.ends_with("/google.rpc.RetryInfo") {
        return None;
    }
    hint::retry_delay(detail.get("retryDelay")?.as_str()?)
}

/// A part as a `T`, if it can be read as one.
fn parsed<T: serde::de::DeserializeOwned>(part: &[u8]) -> Option<T> {
    serde_json::from_slice(part).ok()
}

/// A field as text. A text with an invalid escape stays as it was written.
fn text(field: &[u8]) -> Option<String> {
    let raw = field.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    Some(parsed(field).unwrap_or_else(|| String::from_utf8_lossy(raw).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Code, message and number of details.
    fn read(body: impl AsRef<[u8]>) -> (Option<GrpcCode>, String, usize) {
        let said = Said::read(body.as_ref());
        let code = said.grpc_code(409);
        let (message, details) = said.into_parts();
        (code, message, details.len())
    }

    const ABORTED: Option<GrpcCode> = Some(GrpcCode::Aborted);

    #[test]
    fn an_odd_field_does_not_hide_the_code() {
        for body in [
            r#"{"error": {"status": "ABORTED", "details": null, "message": null}}"#,
            r#"{"error": {"status": "ABORTED", "details": {}, "message": 3, "code": "x"}}"#,
            r#"{"error": {"details": {"a": [{}]}, "message": [], "code": {}, "status": "ABORTED"}}"#,
            r#"{"error": {"details": "", "message": {"a": 1}, "code": 1e99, "status": "ABORTED"}}"#,
            r#"{"a": {"error": 1}, "error": {"status": "ABORTED"}, "b": [true, 1, -1, 1.5, null]}"#,
            r#"[{"error": {"status": "ABORTED"}}]"#,
            r#"[{"error": {"status": "ABORTED"}}, {"error": {"status": "INTERNAL"}}, 3]"#,
            r#"{"error": {"\ud800": 1, "status": "ABORTED"}}"#,
            r#"{"\ud800": 1, "error": {"status": "ABORTED"}}"#,
            r#"{"error": {"details": 1e999, "status": "ABORTED"}}"#,
            r#"{"error": {"details": "\ud800", "status": "ABORTED"}}"#,
            r#"{"error": 1e999, "error": {"message": 1e999, "status": "ABORTED"}}"#,
            r#"{"error": {"details": [1e999, "\ud800"], "status": "ABORTED", "code": "\ud800"}}"#,
        ] {
            assert_eq!(read(body), (ABORTED, String::new(), 0), "{body}");
        }
        // The same for a text that ends too early.
        let cut = r#"{"error": {"\ud800": 1, "details": 1e999, "status": "ABORTED", "mess"#;
        assert_eq!(read(cut), (ABORTED, cut.to_owned(), 0));
    }

    /// 50 is half of 503, and 1 is half of 14.
    #[test]
    fn a_number_that_is_cut_is_not_a_code() {
        let said = Said::read(br#"{"error": {"status": "ABORTED", "code": 50"#);
        assert_eq!(
            (said.number, said.grpc_code(200)),
            (None, Some(GrpcCode::Aborted))
        );
        let said = Said::read(br#"{"error": {"code": 503,"#);
        assert_eq!(said.status(), Some(503));
    }

    #[test]
    fn a_body_without_a_google_status_is_kept_as_an_excerpt() {
        for body in [
            "null",
            "[]",
            "{}",
            "3",
            "-3",
            "1.5",
            "true",
            "\"a\"",
            r#"{"error": "no"}"#,
            r#"{"error": null}"#,
            r#"{"error": [{"status": "ABORTED"}]}"#,
            "<p>busy</p>",
            r#"[[{"error": {"status": "ABORTED"}}]]"#,
        ] {
            assert_eq!(read(body), (None, body.to_owned(), 0));
        }
        assert_eq!(read(""), (None, String::new(), 0));
        assert_eq!(read("\0a\r\n\tb"), (None, "a b".to_owned(), 0));
        let long = "<p>busy</p>\n".repeat(1_000);
        let (_, shown, _) = read(long);
        assert!(shown.starts_with("<p>busy</p> <p>busy</p>"), "{shown}");
        assert_eq!(shown.chars().count(), EXCERPT + 1);
        assert!(shown.ends_with('…'), "{shown}");
    }

    #[test]
    fn a_mark_before_the_text_hides_nothing() {
        let body = "\u{feff}{\"error\": {\"status\": \"ABORTED\", \"message\": \"busy\"}}";
        assert_eq!(read(body), (ABORTED, "busy".to_owned(), 0));
    }

    #[test]
    fn a_message_of_another_encoding_hides_nothing() {
        let body = b"{\"error\": {\"message\": \"besch\xe4ftigt\", \"status\": \"ABORTED\"}}";
        assert_eq!(read(body), (ABORTED, "besch\u{fffd}ftigt".to_owned(), 0));
        let body = "{\"error\": {\"message\": \"on two\nlines\", \"status\": \"ABORTED\"}}";
        assert_eq!(read(body), (ABORTED, "on two lines".to_owned(), 0));
        let body = r#"{"error": {"message": "half \ud800 a pair", "status": "ABORTED"}}"#;
        assert_eq!(read(body), (ABORTED, r"half \ud800 a pair".to_owned(), 0));
    }

    #[test]
    fn a_part_that_is_nested_too_deeply_hides_nothing() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let info = r#"{"@type": "a/google.rpc.RetryInfo", "retryDelay": "7s"}"#;
        let error = format!(
            r#""details": [{deep}, {{"a": {deep}}}, {info}], "x": {deep}, "status": "ABORTED", "message": "busy""#
        );
        for body in [
            format!(r#"{{"error": {{{error}}}}}"#),
            format!(r#"{{"x": {deep}, "error": {{{error}, "y": {deep}}}, "z": {deep}}}"#),
            format!(r#"{{"error": {{"code": {deep}, "message": {deep}, {error}}}}}"#),
        ] {
            assert_eq!(read(&body), (ABORTED, "busy".to_owned(), 1));
            assert_eq!(
                Said::read(body.as_bytes()).retry_after(),
                Some(Duration::from_secs(7))
            );
        }
    }

    #[test]
    fn the_part_before_the_cut_counts() {
        let whole = r#"{"error": {"status": "ABORTED", "details": [{"@type": "a/google.rpc.RetryInfo", "retryDelay": "7s"}, {"b": 1}], "message": "busy"}}"#;
        let after = |part: &str| whole.find(part).unwrap() + part.len();
        for end in 0..whole.len() {
            let said = Said::read(&whole.as_bytes()[..end]);
            let expected = (end >= after("\"ABORTED\"")).then_some(GrpcCode::Aborted);
            assert_eq!(said.grpc_code(409), expected, "{end}");
            let expected = (end >= after("\"7s\"}")).then_some(Duration::from_secs(7));
            assert_eq!(said.retry_after(), expected, "{end}");
            let (message, _) = said.into_parts();
            if end < after("\"busy\"") {
                let beginning = excerpt(&whole.as_bytes()[..end]);
                assert_eq!(message, beginning, "{end}");
            } else {
                assert_eq!(message, "busy");
            }
        }
        // Everything after a mistake is ignored.
        let wrong = r#"{"error": {"status": "ABORTED", "message": "a" "code": 1}}"#;
        assert_eq!(read(wrong), (ABORTED, "a".to_owned(), 0));
    }

    #[test]
    fn a_code_without_a_name_is_known_by_its_number() {
        let code = |status, body: &str| Said::read(body.as_bytes()).grpc_code(status);
        let unavailable = Some(GrpcCode::Unavailable);
        assert_eq!(code(200, r#"{"error": {"code": 14}}"#), unavailable);
        for (status, number) in [(503, "1"), (400, "14"), (403, "10")] {
            let own = code(status, &format!(r#"{{"error": {{"code": {number}}}}}"#));
            assert_eq!(own, None, "{status} {number}");
        }
        for number in ["0", "17", "503", "-1", "1e99", "\"14\""] {
            let other = code(200, &format!(r#"{{"error": {{"code": {number}}}}}"#));
            assert_eq!(other, None, "{number}");
        }
    }

    #[test]
    fn the_code_of_another_service_is_found_where_it_stands() {
        let code = |body: &str| Said::read(body.as_bytes()).take_service_code();
        for body in [
            r#"{"__type": "a#Busy", "message": "m"}"#,
            r#"{"message": "m", "code": "a#Busy"}"#,
            r#"{"error": {"message": "m", "code": "a#Busy"}}"#,
            r#"{"__type": "a#Busy", "error": {"code": 503}}"#,
            r#"{"__type": "a#Busy", "half": "#,
        ] {
            assert_eq!(code(body).as_deref(), Some("Busy"), "{body}");
        }
        assert_eq!(code("<Error><Code>Busy</Code>").as_deref(), Some("Busy"));
        let long = format!(r#"{{"__type": "{}"}}"#, "x".repeat(service::LONGEST));
        for body in [
            r#"{"code": 7}"#,
            r#"{"error": {"code": 7}}"#,
            "{\"code\": \"a",
            &long,
        ] {
            assert_eq!(code(body), None, "{body}");
        }
    }

    #[test]
    fn a_field_is_a_text_or_it_is_not() {
        assert!(has_text(br#"{"a": 1, "etag": "CAE="}"#, "etag"));
        for body in [
            "",
            "{}",
            r#"{"etag": ""}"#,
            r#"{"etag": 1}"#,
            r#"[{"etag": "a"}]"#,
        ] {
            assert!(!has_text(body.as_bytes(), "etag"), "{body}");
        }
    }

    fn error_in(body: &[u8]) -> Option<Option<u16>> {
        error_of_success(body, usize::MAX).map(|(said, _)| said.status())
    }

    #[test]
    fn only_a_body_with_nothing_but_an_error_is_an_error() {
        let deep = format!(
            r#"{{"error": {{"code": 503, "x": {}{}}}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        for body in [
            &br#"{"error": {"code": 503, "message": "busy"}}"#[..],
            br#"{"error": {"status": "ABORTED", "code": 503, "details": [{}]}}"#,
            br#"[{"error": {"code": 503}}]"#,
            b"\xef\xbb\xbf {\"error\": {\"code\": 503}}",
            b"{\"error\": {\"message\": \"besch\xe4ftigt\", \"code\": 503}}",
            deep.as_bytes(),
        ] {
            let shown = String::from_utf8_lossy(body);
            assert_eq!(error_in(body), Some(Some(503)), "{shown}");
        }
        let unnumbered = br#"{"error": {"status": "ABORTED"}}"#;
        assert_eq!(error_in(unnumbered), Some(None));
        for body in [
            "",
            "{}",
            "[]",
            "[[]]",
            r#"[[{"error": {"code": 503}}]]"#,
            r#"{"error": {}}"#,
            r#"{"error": null}"#,
            r#"{"error": "no"}"#,
            r#"{"error": [503, "ABORTED"]}"#,
            r#"[{"code": 503}]"#,
            r#"{"name": "operations/1", "done": true, "error": {"code": 5}}"#,
            r#"{"error": {"code": 5}, "done": true}"#,
            r#"{"error": {"code": 5}} {}"#,
            r#"{"error": {"code": 5}"#,
            r#"[{"error": {"code": 503}}, {"name": "the second"}]"#,
        ] {
            assert_eq!(error_in(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn of_a_long_error_in_a_success_the_code_is_read_wherever_it_is() {
        let long = "x".repeat(1_000);
        let aborted = Some(GrpcCode::Aborted);
        for (error, status, code) in [
            (
                format!(r#""message": "{long}", "code": 503"#),
                Some(503),
                None,
            ),
            (
                format!(r#""details": [{{"a": "{long}"}}], "status": "ABORTED""#),
                None,
                aborted,
            ),
            (
                format!(r#""code": 503, "message": "{long}", "status": "ABORTED""#),
                Some(503),
                aborted,
            ),
        ] {
            for body in [
                format!(r#"{{"error": {{{error}}}}}"#),
                format!("\u{feff} [ {{ \"error\" : {{{error}}} }} ] "),
            ] {
                for longest in [0, 8, 100, 1_000] {
                    let (said, is_cut) = error_of_success(body.as_bytes(), longest).unwrap();
                    assert_eq!(
                        (said.status(), said.grpc_code(200)),
                        (status, code),
                        "{body}"
                    );
                    assert!(is_cut && said.details.is_empty(), "{body}");
                }
                let (said, is_cut) = error_of_success(body.as_bytes(), 2_000).unwrap();
                assert_eq!(
                    (said.status(), said.grpc_code(200)),
                    (status, code),
                    "{body}"
                );
                assert!(!is_cut, "{body}");
            }
        }
        // A long body without a code is a value, as a short one is.
        let body = format!(r#"{{"error": {{"message": "{long}", "code": "{long}"}}}}"#);
        assert!(error_of_success(body.as_bytes(), 100).is_none());
    }

    proptest! {
        #[test]
        fn nothing_panics(body in prop::collection::vec(any::<u8>(), 0..100), longest in 0usize..100) {
            let said = Said::read(&body);
            let _ = (said.grpc_code(200), said.retry_after(), said.status(), excerpt(&body));
            let _ = error_of_success(&body, longest);
        }

        #[test]
        fn nothing_panics_of_what_is_almost_an_error(
            body in "(\\{|\\}|\\[|\\]|\"error\"|\"code\"|\"status\"|\"details\"|\"message\"|:|,|\"|1| |é){0,40}",
            end in 0usize..100,
        ) {
            let body = &body.as_bytes()[..end.min(body.len())];
            let _ = (Said::read(body).retry_after(), error_of_success(body, 50).is_some());
        }
    }
}
