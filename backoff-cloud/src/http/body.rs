//! Reads the body of an error.
//!
//! The body comes from a server or from a proxy. It may be cut, in another encoding, or not JSON. Then only
//! its beginning is kept, as a text for people. If a field has an unexpected type, the other fields are still read.

use super::service;
use backoff_core::{
    __private::{Loggable, Reasons},
    FaultKind, GrpcCode, hint,
};
use serde::{
    Deserialize, Deserializer as _,
    de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};
use std::{fmt, time::Duration};

/// How many characters are kept of a body that is not a `google.rpc.Status`.
const EXCERPT: usize = 200;

/// The facts in the body of an error: the parts of a `google.rpc.Status`, or an excerpt of another body as the message.
#[derive(Debug, Default)]
pub(super) struct BodyFacts {
    /// Whether the body has an error with a code or a type.
    pub(super) names_code: bool,
    /// Whether the body, which is an event of a stream, has an error.
    pub(super) says_error: bool,
    number: Option<i64>,
    /// The HTTP status of a failure in `error.code`.
    pub(super) status: Option<u16>,
    name: Option<String>,
    pub(super) message: String,
    /// The details of a `google.rpc.Status`, as the server has sent them: as values they would take a hundred times
    /// the memory.
    details: Option<Box<RawValue>>,
    /// The code of another service than Google: `__type` or `code` of AWS, `error.code` of Azure and OpenAI, or the
    /// `<Code>` of an XML body, which AWS and Azure send; Google's reason; OpenAI's `error.type`.
    pub(super) service_code: Option<String>,
    /// The kind of the first code, or type, that is known without a status.
    pub(super) llm_kind: Option<FaultKind>,
    /// The kind of an error in the stream of a success, whatever the rest says.
    pub(super) stream_kind: Option<FaultKind>,
    /// What Google's reasons say about limits and quotas.
    pub(super) reasons: Reasons,
    /// The `details.retryAfterSeconds` of Kubernetes; zero means nothing.
    pub(super) hint: Option<Duration>,
    /// The longest delay of a `google.rpc.RetryInfo` in the details.
    pub(super) retry_info: Option<Duration>,
    /// The limit that the body passes, if the rest was left out.
    pub(super) cut_at: Option<usize>,
}

/// The fields that are read of the objects in a body: of the body itself, of its `error`, and of the details.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(bound = "'de: 'a", default, rename_all = "camelCase")]
pub(super) struct Fields<'a> {
    code: Option<&'a RawValue>,
    details: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    errors: Option<&'a RawValue>,
    object: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    reason: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
    retry_after_seconds: Option<&'a RawValue>,
    retry_delay: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
    #[serde(rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(rename = "__type")]
    aws_kind: Option<&'a RawValue>,
    #[serde(rename = "@type")]
    google_kind: Option<&'a RawValue>,
    // AWS and Alibaba. (With an alias, a body with both would be invalid.)
    #[serde(rename = "Code")]
    aws_code: Option<&'a RawValue>,
    #[serde(rename = "Error")]
    aws_error: Option<&'a RawValue>,
    #[serde(rename = "Message")]
    aws_message: Option<&'a RawValue>,
}

impl Fields<'_> {
    fn is(&self, kind: &str) -> bool {
        parsed::<String>(self.google_kind).is_some_and(|named| named.ends_with(kind))
    }
}

/// A body with an error and no other field. (serde makes a struct of a list, too, in which nothing is found.)
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnlyError {
    #[serde(rename = "error")]
    _error: IgnoredAny,
}

impl BodyFacts {
    /// Reads the body of an error.
    pub(super) fn read(body: &[u8]) -> Self {
        Self::read_within(body, usize::MAX, false)
    }

    /// Reads a body. Of a body with more than `longest` bytes the codes are read, which take no memory, and
    /// an excerpt is the message. With `is_error` a body without another error is one itself.
    pub(super) fn read_within(body: &[u8], longest: usize, is_error: bool) -> Self {
        let is_cut = body.len() > longest;
        let text = String::from_utf8_lossy(without_mark(body));
        // Streaming services send lists.
        let mut first = None;
        let is_list = each(&text, |element| first = first.or(Some(element)));
        let json = first.filter(|_| is_list).map_or(&*text, RawValue::get);
        let all = object(json).unwrap_or_default();
        // vLLM and Mistral send the error as the body itself, and OpenAI as an event. An element of a list may be
        // anything, such as a line of a log.
        let mut types = [all.object, all.kind].into_iter().flatten();
        let is_error = is_error || !is_list && types.any(is_bare);
        let response = all.response.and_then(|it| object(it.get()));
        let parts = [all.error, all.aws_error, response.and_then(|it| it.error)];
        let part = parts.into_iter().flatten().find_map(|it| object(it.get()));
        let error = part.or(is_error.then_some(all)).unwrap_or_default();
        let (reasons, reason) = reasons(&error);
        let named = [error.code, error.aws_code, error.kind, error.status];
        let mut named = named.into_iter().flatten();
        let names_code = named.clone().any(is_filled);
        let codes = [all.aws_kind, all.code, all.aws_code];
        let inner = [error.code, error.aws_code, reason, error.kind];
        let codes = codes.into_iter().chain(inner).flatten();
        // A status as a text is no name.
        let codes = codes.filter(|it| is_filled(it) && status(it).is_none());
        let codes = codes.filter_map(|code| service::plain(&parsed::<String>(Some(code))?));
        let codes: Vec<_> = codes.chain(service::in_xml(&text)).collect();
        let details = all.details.and_then(|it| object(it.get()));
        let seconds: Option<u64> = details.and_then(|it| parsed(it.retry_after_seconds));
        let said = part.unwrap_or(all);
        let message = parsed(said.message).or(parsed(said.aws_message));
        let message = message.or(part.map(|_| String::new())).filter(|_| !is_cut);
        // Beside a code that says nothing, such as 0, the message is no error.
        let said = part.map_or(all.error, |it| it.message.filter(|_| it.code.is_none()));
        let mut facts = BodyFacts {
            names_code,
            says_error: is_error || names_code || said.is_some_and(is_filled),
            number: parsed(error.code),
            status: named.find_map(status),
            name: parsed(error.status),
            llm_kind: codes.iter().find_map(|code| service::llm_kind(code)),
            service_code: codes.into_iter().next(),
            reasons,
            hint: seconds.filter(|it| *it > 0).map(Duration::from_secs),
            cut_at: is_cut.then_some(longest),
            // Cleaned before it is cut: the end of a secret may be what shows that it is one.
            message: message.unwrap_or_else(|| {
                let line = line(&body[..body.len().min(longest)]);
                format!("{:.EXCERPT$}", Loggable(line))
            }),
            ..BodyFacts::default()
        };
        if let Some(details) = error.details.filter(|_| !is_cut) {
            facts.details = Some(details.to_owned());
            let longest = &mut facts.retry_info;
            each(details.get(), |it| {
                *longest = (*longest).max(retry_info(it))
            });
        }
        facts
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

    /// The details as values. A detail that is no value (it is nested too deeply) is left out.
    pub(super) fn details(&self) -> Vec<Value> {
        let mut values = Vec::new();
        if let Some(details) = &self.details {
            each(details.get(), |detail| {
                values.extend(parsed::<Value>(Some(detail)))
            });
        }
        values
    }
}

/// The error in the body of a success, with a code or a type: if the body contains nothing else or, with `beside`, whatever
/// stands beside it. For a body that is longer than `longest` see [`BodyFacts::read_within`].
pub(super) fn error_of_success(body: &[u8], longest: usize, beside: bool) -> Option<BodyFacts> {
    let text = without_mark(body).trim_ascii_start();
    // This does not read a body with another first field any further.
    let is_alone = match text.starts_with(b"[") {
        true => serde_json::from_slice::<[OnlyError; 1]>(text).is_ok(),
        false => serde_json::from_slice::<OnlyError>(text).is_ok(),
    };
    let mut facts = (is_alone || beside).then(|| BodyFacts::read_within(body, longest, false))?;
    if !is_alone && facts.cut_at.is_some() {
        // The excerpt would show the value.
        facts.message.clear();
    }
    facts.names_code.then_some(facts)
}

/// The error in the body of a success if the body is an XML document whose root is `Error` and that has a `Code`, as
/// S3 sends it.
pub(super) fn xml_error_of_success(body: &[u8], longest: usize) -> Option<BodyFacts> {
    let text = without_mark(body).trim_ascii_start();
    let text = match text.strip_prefix(b"<?xml") {
        Some(rest) => rest[rest.iter().position(|byte| *byte == b'>')? + 1..].trim_ascii_start(),
        None => text,
    };
    let after = text.strip_prefix(b"<Error")?.first()?;
    let is_root = *after == b'>' || after.is_ascii_whitespace();
    let facts = is_root.then(|| BodyFacts::read_within(body, longest, false))?;
    facts.service_code.is_some().then_some(facts)
}

/// The beginning of a body as one line of text for people.
pub(super) fn excerpt(body: &[u8]) -> String {
    let line = line(body);
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The beginning of a body on one line, longer than an excerpt: a character has at most four bytes. It ends with `…` if
/// more follows, so that the cleaner takes the last word for a part of one.
fn line(body: &[u8]) -> String {
    let beginning = &body[..body.len().min(8 * EXCERPT)];
    let text = String::from_utf8_lossy(without_mark(beginning));
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let more = if beginning.len() < body.len() {
        "…"
    } else {
        ""
    };
    line + more
}

/// A body without the byte order mark that some servers put before UTF-8.
pub(super) fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// The delay of a `google.rpc.RetryInfo`.
fn retry_info(detail: &RawValue) -> Option<Duration> {
    let info = object(detail.get())?;
    let delay = info
        .is("/google.rpc.RetryInfo")
        .then_some(info.retry_delay)?;
    hint::retry_delay(&parsed::<String>(delay)?)
}

/// What Google's reasons say, in `errors` and in each `google.rpc.ErrorInfo`, and the first of them.
fn reasons<'a>(error: &Fields<'a>) -> (Reasons, Option<&'a RawValue>) {
    let (mut reasons, mut first) = (Reasons::default(), None);
    for list in [error.details, error.errors].into_iter().flatten() {
        each(list.get(), |text| {
            let detail = object(text.get()).unwrap_or_default();
            let is_info = detail.google_kind.is_none() || detail.is("/google.rpc.ErrorInfo");
            if let Some(reason) = detail.reason.filter(|_| is_info) {
                reasons = reasons.and(&parsed::<String>(Some(reason)).unwrap_or_default());
                first = first.or(Some(reason));
            }
            if is_info || detail.is("/google.rpc.QuotaFailure") {
                reasons = reasons.and(text.get());
            }
        });
    }
    (reasons, first)
}

/// Calls a function with each element of a JSON list, which is not held as a whole. Returns whether the text is a
/// list; before an error in it, elements may have been taken.
fn each<'a>(list: &'a str, take: impl FnMut(&'a RawValue)) -> bool {
    struct Each<F>(F);

    impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for Each<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
            while let Some(element) = list.next_element()? {
                (self.0)(element);
            }
            Ok(())
        }
    }

    let mut json = serde_json::Deserializer::from_str(list);
    json.deserialize_seq(Each(take))
        .and_then(|()| json.end())
        .is_ok()
}

/// The fields of a JSON object. (serde would also make a struct of a list.)
pub(super) fn object(json: &str) -> Option<Fields<'_>> {
    let is_object = json.trim_ascii_start().starts_with('{');
    is_object.then(|| serde_json::from_str(json).ok())?
}

/// A number, or a text, that is the HTTP status of a failure.
fn status(field: &RawValue) -> Option<u16> {
    let status = field.get().trim_matches('"').parse().ok()?;
    (400..600).contains(&status).then_some(status)
}

/// Whether a type says that something failed, and no more.
fn is_bare(kind: &RawValue) -> bool {
    matches!(kind.get(), r#""error""# | r#""response.failed""#)
}

/// Whether a field is not as empty as in the replies of gateways that send an `error` with each success.
fn is_filled(field: &RawValue) -> bool {
    let text = field.get().trim_matches('"');
    !is_bare(field) && !["", "0", "false", "[]"].contains(&text)
}

/// A field as a `T`, if it can be read as one.
pub(super) fn parsed<T: DeserializeOwned>(field: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(field?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Code, message and number of details.
    fn read(body: impl AsRef<[u8]>) -> (Option<GrpcCode>, String, usize) {
        let facts = BodyFacts::read(body.as_ref());
        let code = facts.grpc_code(409);
        let details = facts.details().len();
        (code, facts.message, details)
    }

    const ABORTED: Option<GrpcCode> = Some(GrpcCode::Aborted);

    #[test]
    fn no_odd_part_hides_the_code() {
        for body in [
            r#"{"error": {"status": "ABORTED", "details": null, "message": null}}"#,
            r#"{"error": {"status": "ABORTED", "details": {}, "message": 3, "code": "x"}}"#,
            r#"{"error": {"details": {"a": [{}]}, "message": [], "code": {}, "status": "ABORTED"}}"#,
            r#"{"error": {"details": "", "message": {"a": 1}, "code": 1e99, "status": "ABORTED"}}"#,
            r#"{"a": {"error": 1}, "error": {"status": "ABORTED"}, "b": [true, 1, -1, 1.5, null]}"#,
            r#"[{"error": {"status": "ABORTED"}}]"#,
            r#"[{"error": {"status": "ABORTED"}}, {"error": {"status": "INTERNAL"}}, 3]"#,
            r#"{"error": {"details": [1e999, "\ud800"], "status": "ABORTED", "code": "\ud800"}}"#,
        ] {
            assert_eq!(read(body), (ABORTED, String::new(), 0), "{body}");
        }
        // A mark before the text, and a message of another encoding.
        let marked = "\u{feff}{\"error\": {\"status\": \"ABORTED\", \"message\": \"busy\"}}";
        assert_eq!(read(marked), (ABORTED, "busy".to_owned(), 0));
        let latin = b"{\"error\": {\"message\": \"besch\xe4ftigt\", \"status\": \"ABORTED\"}}";
        assert_eq!(read(latin), (ABORTED, "besch\u{fffd}ftigt".to_owned(), 0));
        // A part that is nested too deeply.
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let info = r#"{"@type": "a/google.rpc.RetryInfo", "retryDelay": "7s"}"#;
        let error =
            format!(r#""details": [{info}], "x": {deep}, "status": "ABORTED", "message": "busy""#);
        for body in [
            format!(r#"{{"error": {{{error}}}}}"#),
            format!(r#"{{"x": {deep}, "error": {{{error}, "y": {deep}}}, "z": {deep}}}"#),
            format!(r#"{{"error": {{"code": {deep}, {error}}}}}"#),
        ] {
            assert_eq!(read(&body), (ABORTED, "busy".to_owned(), 1));
            let delay = BodyFacts::read(body.as_bytes()).retry_info;
            assert_eq!(delay, Some(Duration::from_secs(7)));
        }
    }

    /// Bodies without the error of Google, neither in a failure nor in a success.
    const OTHERS: [&str; 13] = [
        "[]",
        "{}",
        "[[]]",
        r#"{"error": [{"status": "ABORTED"}]}"#,
        r#"{"error": "no"}"#,
        r#"{"error": null}"#,
        r#"{"error": [503, "ABORTED"]}"#,
        r#"[[{"error": {"code": 503, "status": "ABORTED"}}]]"#,
        r#"[{"code": 503}]"#,
        r#"[{"type":"error","code":"E0308"}]"#,
        r#"[{"type":"error","status":"open"}]"#,
        r#"[{"object":"error","code":"x"}]"#,
        r#"[[{"object":"error","code":"x"}]]"#,
    ];

    #[test]
    fn a_body_without_a_google_status_is_kept_as_an_excerpt() {
        let plain = ["null", "3", "-3", "1.5", "true", "\"a\"", "<p>busy</p>"];
        for body in plain.iter().chain(&OTHERS) {
            assert_eq!(read(body), (None, (*body).to_owned(), 0));
        }
        assert_eq!(read(""), (None, String::new(), 0));
        assert_eq!(read("a\r\n\tb"), (None, "a b".to_owned(), 0));
        let (_, shown, _) = read("<p>busy</p>\n".repeat(1_000));
        assert!(shown.starts_with("<p>busy</p> <p>busy</p>"), "{shown}");
        assert_eq!(shown.chars().count(), EXCERPT + 1);
        assert!(shown.ends_with('…'), "{shown}");
    }

    #[test]
    fn a_message_may_have_a_capital() {
        for body in [
            r#"{"Code": "Busy", "Message": "busy"}"#,
            r#"{"Error": {"Code": "Busy", "Message": "busy"}}"#,
            r#"{"Message": "idle", "message": "busy"}"#,
            r#"{"Message": "busy", "message": 3}"#,
        ] {
            assert_eq!(read(body), (None, "busy".to_owned(), 0), "{body}");
        }
    }

    #[test]
    fn a_body_that_is_cut_or_not_valid_tells_only_its_beginning() {
        let whole = r#"{"error": {"status": "ABORTED", "details": [{"@type": "a/google.rpc.RetryInfo", "retryDelay": "7s"}, {"b": 1}], "message": "busy"}}"#;
        assert_eq!(read(whole), (ABORTED, "busy".to_owned(), 2));
        for end in 0..whole.len() {
            let cut = &whole[..end];
            assert_eq!(read(cut), (None, excerpt(cut.as_bytes()), 0), "{end}");
        }
        let wrong = r#"{"error": {"status": "ABORTED", "message": "a" "code": 1}}"#;
        assert_eq!(read(wrong), (None, wrong.to_owned(), 0));
    }

    #[test]
    fn a_code_without_a_name_is_known_by_its_number() {
        let unnamed = r#"503 1|400 14|403 10|200 0|200 17|200 503|200 -1|200 1e99|200 "14""#;
        for (code, replies) in [(Some(GrpcCode::Unavailable), "200 14"), (None, unnamed)] {
            for (status, number) in replies.split('|').filter_map(|it| it.split_once(' ')) {
                let body = format!(r#"{{"error": {{"code": {number}}}}}"#);
                let found = BodyFacts::read(body.as_bytes()).grpc_code(status.parse().unwrap());
                assert_eq!(found, code, "{status} {number}");
            }
        }
    }

    #[test]
    fn the_code_of_another_service_is_found_where_it_stands() {
        let busy = Some("Busy");
        let long = format!(r#"{{"__type": "{}"}}"#, "x".repeat(service::LONGEST + 1));
        for (body, code) in [
            (r#"{"__type": "a#Busy", "message": "m"}"#, busy),
            (r#"{"message": "m", "code": "a#Busy"}"#, busy),
            (r#"{"error": {"message": "m", "code": "a#Busy"}}"#, busy),
            (r#"{"__type": "a#Busy", "error": {"code": 503}}"#, busy),
            ("<Error><Code>Busy</Code>", busy),
            ("<?xml?>\n<Error><Code>Busy</Code><Message/>", busy),
            ("<E><Error><Type/><Code>Busy</Code></Error></E>", busy),
            (
                r#"{"RequestId": "r", "Code": "Busy", "Message": "m"}"#,
                busy,
            ),
            (
                r#"{"Code": "Busy", "code": 7, "Message": "m", "message": 3}"#,
                busy,
            ),
            (r#"{"code": "Busy", "Code": "Idle"}"#, busy),
            (r#"{"Error": {"Code": "Busy", "Message": "m"}}"#, busy),
            (
                r#"{"error": "no", "Error": {"Code": "Busy", "code": 7}}"#,
                busy,
            ),
            (r#"{"error": {"code": "503", "type": "Busy"}}"#, busy),
            (r#"{"object": "error", "code": 503, "type": "Busy"}"#, busy),
            (r#"{"code": "429"}"#, None),
            (r#"{"code": 7}"#, None),
            (r#"{"error": {"code": 7}}"#, None),
            (&long, None),
            ("", None),
            ("<Error><Code>Busy", None),
            ("<Error/>", None),
            ("say <Code>Busy</Code>", None),
            ("<Error><Code></Code></Error>", None),
            ("<Error><Code><b>Busy</b></Code></Error>", None),
        ] {
            let found = BodyFacts::read(body.as_bytes()).service_code;
            assert_eq!(found.as_deref(), code, "{body}");
        }
    }

    fn error_in(body: &[u8]) -> Option<Option<u16>> {
        error_of_success(body, usize::MAX, false).map(|facts| facts.status)
    }

    #[test]
    fn only_a_body_with_nothing_but_an_error_is_an_error() {
        let (open, close) = ("[".repeat(500), "]".repeat(500));
        let deep = format!(r#"{{"error": {{"code": 503, "x": {open}{close}}}}}"#);
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
        for body in OTHERS.into_iter().chain([
            "",
            r#"{"error": {}}"#,
            r#"{"error": {"code": 0, "message": "m"}}"#,
            r#"{"name": "operations/1", "done": true, "error": {"code": 5}}"#,
            r#"{"error": {"code": 5}, "done": true}"#,
            r#"{"error": {"code": 5}} {}"#,
            r#"{"error": {"code": 5}"#,
            r#"[{"error": {"code": 503}}, {"name": "the second"}]"#,
            r#"[{"error": {"code": 503}, "name": "the first"}]"#,
            r#"{"type": "error", "code": "E0308"}"#,
        ]) {
            assert_eq!(error_in(body.as_bytes()), None, "{body}");
        }
        for body in OTHERS {
            let found = error_of_success(body.as_bytes(), usize::MAX, true);
            assert!(found.is_none(), "{body}");
        }
    }

    #[test]
    fn of_a_long_error_in_a_success_the_code_is_read_wherever_it_is() {
        let long = "x".repeat(1_000);
        let message = format!(r#""message": "{long}""#);
        let details = format!(r#""details": [{{"a": "{long}"}}]"#);
        let aborted = r#""status": "ABORTED""#;
        let both = format!(r#""code": 503, {message}, {aborted}"#);
        for (error, status, code) in [
            (format!(r#"{message}, "code": 503"#), Some(503), None),
            (format!("{details}, {aborted}"), None, ABORTED),
            (both, Some(503), ABORTED),
        ] {
            for body in [
                format!(r#"{{"error": {{{error}}}}}"#),
                format!("\u{feff} [ {{ \"error\" : {{{error}}} }} ] "),
            ] {
                for longest in [0, 8, 100, 1_000, 2_000] {
                    let facts = error_of_success(body.as_bytes(), longest, false).unwrap();
                    let is_cut = facts.cut_at.is_some();
                    let codes = (facts.status, facts.grpc_code(200));
                    assert_eq!(codes, (status, code), "{longest}: {body}");
                    assert_eq!(is_cut, longest < 2_000, "{longest}: {body}");
                    assert!(!is_cut || facts.details.is_none(), "{longest}: {body}");
                }
            }
        }
        // A long body without a code is a value, as a short one is.
        let body = format!(r#"{{"error": {{{message}}}}}"#);
        assert!(error_of_success(body.as_bytes(), 100, false).is_none());
    }

    #[test]
    fn an_error_in_xml_is_the_root_of_its_document() {
        let declared = r#"<?xml version="1.0" encoding="UTF-8"?>"#;
        let error = "<Error><Code>SlowDown</Code></Error>";
        let spaced = format!("{declared}\n\n \n{error}");
        let named = "<Error xmlns=\"a\"><Code>SlowDown</Code></Error>";
        for body in [error, &spaced, named] {
            let facts = xml_error_of_success(body.as_bytes(), usize::MAX).expect(body);
            assert_eq!(facts.service_code.as_deref(), Some("SlowDown"));
            assert_eq!(facts.cut_at, None);
        }
        let others = "|<Error|<?xml|<Errors><Code>A</Code></Errors>|{}|<CopyObjectResult/>";
        for body in others.split('|') {
            let found = xml_error_of_success(body.as_bytes(), usize::MAX);
            assert!(found.is_none(), "{body}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(body in prop::collection::vec(any::<u8>(), 0..100), longest in 0usize..100) {
            let facts = BodyFacts::read(&body);
            let _ = (facts.grpc_code(200), facts.details(), facts.status, excerpt(&body));
            let _ = error_of_success(&body, longest, true);
        }

        #[test]
        fn nothing_panics_of_what_is_almost_an_error(
            body in "(\\{|\\}|\\[|\\]|\"error\"|\"code\"|\"status\"|\"details\"|\"message\"|:|,|\"|1| |é){0,40}",
            end in 0usize..100,
        ) {
            let body = &body.as_bytes()[..end.min(body.len())];
            let _ = (BodyFacts::read(body).details(), error_of_success(body, 50, true).is_some());
        }
    }
}
