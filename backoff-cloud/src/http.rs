//! A `reqwest::Response` as a value, or as an error that keeps what the server said.
//!
//! `Response::error_for_status` drops the headers and the body, and with them `Retry-After` and
//! Google's `error.status`. [`json`] keeps them:
//!
//! ```no_run
//! use backoff_cloud::{http, memorystore};
//!
//! # async fn f() -> Result<(), http::ApiError> {
//! let client = reqwest::Client::new();
//! let instance: serde_json::Value = memorystore::REQUEST
//!     .retry(async || http::json(client.get("http://127.0.0.1:8080/v1/x").send().await?).await)
//!     .await?;
//! # Ok(()) }
//! ```

use backoff_core::{Conflict, Delivery, Fault, FaultKind, GrpcCode, NotYet, TimedOut, hint};
use reqwest::{
    Response, Version,
    header::{CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    error::Error,
    fmt,
    sync::Once,
    time::{Duration, SystemTime},
};

/// How much of a body that is no `google.rpc.Status` an error keeps.
const EXCERPT: usize = 200;

/// The reply's JSON body as a value, if its status is a success; otherwise what the server said.
///
/// Some servers, and proxies before them, answer 200 and put the error into the body. A body that
/// is nothing but a `google.rpc.Status` in `error` is that error, with the status that its `code`
/// names. (A finished long-running operation has an `error` too, but other fields beside it: it is
/// a value.)
///
/// # Errors
/// [`ApiError`]: an HTTP status of 300 or above, a reply that was cut or did not arrive, or a body
/// that is an error or not the JSON asked for. The last is permanent, for the server did answer,
/// unless the body ends too early and nothing said where it ends. So is an empty body: for a reply
/// without one there is [`success`].
pub async fn json<T: DeserializeOwned>(response: Response) -> Result<T, ApiError> {
    let status = response.status().as_u16();
    let retry_after = hint::in_headers(response.headers(), SystemTime::now());
    let is_whole = says_where_it_ends(&response);
    let body = success(response).await?;
    if let Some(code) = error_of_success(&body) {
        let status = status_of(code).unwrap_or(status);
        return Err(ApiError::reply(status, retry_after, &body));
    }
    serde_json::from_slice(&body).map_err(|error| {
        ApiError::of(Kind::Json {
            error,
            excerpt: excerpt(&body),
            is_whole,
        })
    })
}

/// Whether a body that ends too early would have been noticed. Only in HTTP/1 there are bodies that
/// end where the connection ends.
fn says_where_it_ends(response: &Response) -> bool {
    let headers = response.headers();
    response.version() > Version::HTTP_11
        || response.status() == 204
        || headers.contains_key(CONTENT_LENGTH)
        || headers.contains_key(TRANSFER_ENCODING)
}

/// The reply's body, if its status is a success; otherwise what the server said.
///
/// # Errors
/// [`ApiError`]: an HTTP status of 300 or above, or a reply that was cut or did not arrive.
pub async fn success(response: Response) -> Result<Vec<u8>, ApiError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response.bytes().await?.into());
    }
    let headers = response.headers().clone();
    let (status, now) = (status.as_u16(), SystemTime::now());
    Err(match response.bytes().await {
        Ok(body) => ApiError::new(status, &headers, &body, now),
        Err(error) => {
            let retry_after = hint::in_headers(&headers, now);
            ApiError::of(Kind::Cut {
                status,
                retry_after,
                error,
            })
        }
    })
}

/// What a request to an HTTP/JSON service failed of, with all that the server said about it.
///
/// As a [`Fault`] it tells the HTTP status, the code of a Google error body, and the longest of the
/// hints in its [headers](hint::in_headers) and `google.rpc.RetryInfo`.
///
/// ```
/// use backoff_cloud::{Fault, GrpcCode, http::ApiError};
/// use std::time::{Duration, SystemTime};
///
/// let mut headers = reqwest::header::HeaderMap::new();
/// headers.insert("retry-after", "3".parse().unwrap());
/// let body = br#"{"error": {"code": 409, "status": "ABORTED", "message": "try again"}}"#;
/// let error = ApiError::new(409, &headers, body, SystemTime::now());
/// assert_eq!((error.status(), error.grpc_code()), (Some(409), Some(GrpcCode::Aborted)));
/// assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
/// assert_eq!(error.to_string(), "HTTP 409 ABORTED: try again");
/// ```
#[derive(Debug)]
pub struct ApiError(Box<Kind>);

#[derive(Debug)]
enum Kind {
    Reply(Reply),
    Json {
        error: serde_json::Error,
        excerpt: String,
        /// Whether HTTP says where the body ends.
        is_whole: bool,
    },
    /// An error whose body did not arrive whole: what it would have said is not known, so the
    /// status alone must not decide. Half a 409 may be a conflict or not.
    Cut {
        status: u16,
        retry_after: Option<Duration>,
        error: reqwest::Error,
    },
    Delivery(reqwest::Error),
    TimedOut(TimedOut),
    NotYet(NotYet),
    /// A reply that was a conflict without being an error.
    Conflict(Conflict),
}

#[derive(Debug)]
struct Reply {
    status: u16,
    retry_after: Option<Duration>,
    code: Option<GrpcCode>,
    message: String,
    details: Vec<Value>,
}

impl ApiError {
    /// Makes its type known first, so that it is found behind an `anyhow::Error` or in a box.
    fn of(kind: Kind) -> Self {
        static KNOWN: Once = Once::new();
        KNOWN.call_once(backoff_core::__private::know::<ApiError>);
        ApiError(Box::new(kind))
    }

    /// What a reply with these parts says. `now` is the wall clock that an HTTP date in
    /// `Retry-After` is compared with. A body that is no `google.rpc.Status` is kept as an excerpt.
    pub fn new(status: u16, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Self {
        Self::reply(status, hint::in_headers(headers, now), body)
    }

    fn reply(http_status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let (code, message, details) = match google_status(body) {
            Some(mut status) => (
                named_code(&status, http_status),
                status["message"].as_str().unwrap_or_default().to_owned(),
                match status["details"].take() {
                    Value::Array(details) => details,
                    _ => Vec::new(),
                },
            ),
            None => (None, excerpt(body), Vec::new()),
        };
        let retry_after = retry_after.max(details.iter().find_map(retry_info));
        ApiError::of(Kind::Reply(Reply {
            status: http_status,
            retry_after,
            code,
            message,
            details,
        }))
    }

    /// The HTTP status, if there was a whole reply that said so.
    pub fn status(&self) -> Option<u16> {
        match &*self.0 {
            Kind::Reply(reply) => Some(reply.status),
            Kind::Delivery(error) => error.status().map(|status| status.as_u16()),
            Kind::Json { .. }
            | Kind::Cut { .. }
            | Kind::TimedOut(_)
            | Kind::NotYet(_)
            | Kind::Conflict(_) => None,
        }
    }

    /// The code that Google's error body names.
    pub fn grpc_code(&self) -> Option<GrpcCode> {
        self.as_reply()?.code
    }

    /// The details of Google's error body, each an object with an `@type`; empty without one.
    pub fn details(&self) -> &[Value] {
        self.as_reply().map_or(&[], |reply| &reply.details)
    }

    fn is_cut_json(&self) -> bool {
        matches!(&*self.0, Kind::Json { error, is_whole: false, .. } if error.is_eof())
    }

    fn as_reply(&self) -> Option<&Reply> {
        match &*self.0 {
            Kind::Reply(reply) => Some(reply),
            _ => None,
        }
    }
}

impl Fault for ApiError {
    fn status(&self) -> Option<u16> {
        self.status()
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        self.grpc_code()
    }

    fn retry_after(&self) -> Option<Duration> {
        match &*self.0 {
            Kind::Reply(Reply { retry_after, .. }) | Kind::Cut { retry_after, .. } => *retry_after,
            Kind::Json { .. }
            | Kind::Delivery(_)
            | Kind::TimedOut(_)
            | Kind::NotYet(_)
            | Kind::Conflict(_) => None,
        }
    }

    fn delivery(&self) -> Option<Delivery> {
        match &*self.0 {
            Kind::Delivery(error) => error.delivery(),
            Kind::Cut { .. } => Some(Delivery::MaybeSent),
            Kind::TimedOut(error) => error.delivery(),
            // A body without a length that ends in the middle looks whole to HTTP.
            Kind::Json { .. } if self.is_cut_json() => Some(Delivery::MaybeSent),
            Kind::Json { .. } => None,
            Kind::Reply(_) | Kind::NotYet(_) | Kind::Conflict(_) => None,
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match &*self.0 {
            Kind::Delivery(error) => error.kind(),
            Kind::Conflict(error) => error.kind(),
            Kind::Json { .. } => (!self.is_cut_json()).then_some(FaultKind::Permanent),
            Kind::NotYet(error) => error.kind(),
            Kind::Reply(_) | Kind::Cut { .. } | Kind::TimedOut(_) => None,
        }
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

impl From<reqwest::Error> for ApiError {
    fn from(error: reqwest::Error) -> Self {
        ApiError::of(Kind::Delivery(error))
    }
}

impl From<TimedOut> for ApiError {
    fn from(error: TimedOut) -> Self {
        ApiError::of(Kind::TimedOut(error))
    }
}

impl From<NotYet> for ApiError {
    fn from(error: NotYet) -> Self {
        ApiError::of(Kind::NotYet(error))
    }
}

/// For a reply that says that somebody else was faster, without being an error:
/// [`conflict_if`](backoff_core::Retrying::conflict_if).
impl From<Conflict> for ApiError {
    fn from(error: Conflict) -> Self {
        ApiError::of(Kind::Conflict(error))
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Reply(Reply {
                status,
                code,
                message,
                ..
            }) => {
                write!(f, "HTTP {status}")?;
                if let Some(code) = code {
                    write!(f, " {code}")?;
                }
                if !message.is_empty() {
                    write!(f, ": {message}")?;
                }
                Ok(())
            }
            Kind::Json { error, excerpt, .. } => {
                write!(
                    f,
                    "the reply is not the JSON that was asked for: {error}: {excerpt}"
                )
            }
            Kind::Cut { status, error, .. } => {
                write!(f, "HTTP {status}, but its body was cut: ")?;
                with_causes(f, error)
            }
            Kind::Delivery(error) => with_causes(f, error),
            Kind::TimedOut(error) => error.fmt(f),
            Kind::Conflict(error) => error.fmt(f),
            Kind::NotYet(error) => error.fmt(f),
        }
    }
}

impl Error for ApiError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &*self.0 {
            Kind::Reply(_) => None,
            Kind::Json { error, .. } => Some(error),
            Kind::Cut { error, .. } | Kind::Delivery(error) => Some(error),
            Kind::TimedOut(error) => Some(error),
            Kind::NotYet(error) => Some(error),
            Kind::Conflict(error) => Some(error),
        }
    }
}

/// reqwest leaves the cause to the source, and the cause is what helps.
fn with_causes(f: &mut fmt::Formatter<'_>, error: &reqwest::Error) -> fmt::Result {
    write!(f, "{error}")?;
    let mut source = error.source();
    while let Some(cause) = source {
        write!(f, ": {cause}")?;
        source = cause.source();
    }
    Ok(())
}

/// The `google.rpc.Status` that the HTTP/JSON services wrap in `error`; streaming ones send a list
/// of such. Field by field, so that an odd one does not hide the others.
fn google_status(body: &[u8]) -> Option<Value> {
    let mut body = serde_json::from_slice::<Value>(body).ok()?;
    let wrapped = if body.is_array() {
        body.get_mut(0)?
    } else {
        &mut body
    };
    wrapped
        .get_mut("error")
        .filter(|error| error.is_object())
        .map(Value::take)
}

/// The code of a `google.rpc.Status`: by its name, or, where the HTTP status is a success and so
/// says nothing of the error, by its number. (Beside an HTTP status of its own, Google writes that
/// status there, and others a number that only they know.)
fn named_code(status: &Value, http_status: u16) -> Option<GrpcCode> {
    let name = status["status"].as_str().and_then(GrpcCode::from_name);
    let number = || match http_status {
        200..300 => i32::try_from(status["code"].as_i64()?).ok(),
        _ => None,
    };
    name.or_else(|| GrpcCode::from_number(number()?))
}

/// The HTTP status that the `code` of an error in a body is, if it is one of a failure.
pub(crate) fn status_of(code: i64) -> Option<u16> {
    let status = u16::try_from(code).ok()?;
    (400..600).contains(&status).then_some(status)
}

/// The `code` of a body that has an error and nothing else, though its status is a success; 0 if
/// it has none. Any other body is left at its first field.
fn error_of_success(body: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct OnlyError {
        error: serde_json::Map<String, Value>,
    }
    // A struct would take a list for its fields in their order.
    let OnlyError { error } = match body.trim_ascii_start().first()? {
        b'{' => serde_json::from_slice(body).ok()?,
        _ => serde_json::from_slice(body)
            .map(|[only]: [_; 1]| only)
            .ok()?,
    };
    let code = error.get("code").and_then(Value::as_i64);
    let is_named = error.get("status").is_some_and(Value::is_string);
    code.or(is_named.then_some(0))
}

/// The delay of a `google.rpc.RetryInfo` among the details.
fn retry_info(detail: &Value) -> Option<Duration> {
    let kind = detail.get("@type")?.as_str()?;
    if !kind.ends_with("/google.rpc.RetryInfo") {
        return None;
    }
    hint::retry_delay(detail.get("retryDelay")?.as_str()?)
}

/// The beginning of a body for people to read, on one line.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * EXCERPT)]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Verdict, iam};

    fn error(status: u16, body: &str) -> ApiError {
        ApiError::new(
            status,
            &HeaderMap::new(),
            body.as_bytes(),
            SystemTime::UNIX_EPOCH,
        )
    }

    fn is_retried(policy: Policy, error: &ApiError) -> bool {
        matches!(policy.judge(error), Verdict::Retry { .. })
    }

    #[test]
    fn the_two_kinds_of_409() {
        let of = |code| {
            error(
                409,
                &format!(r#"{{"error": {{"code": 409, "status": "{code}"}}}}"#),
            )
        };
        assert!(is_retried(iam::READ_MODIFY_WRITE, &of("ABORTED")));
        let exists = of("ALREADY_EXISTS");
        assert_eq!(exists.grpc_code(), Some(GrpcCode::AlreadyExists));
        assert!(!is_retried(iam::READ_MODIFY_WRITE, &exists));
    }

    #[test]
    fn an_odd_field_does_not_hide_the_code() {
        for body in [
            r#"{"error": {"status": "ABORTED", "details": null, "message": null}}"#,
            r#"{"error": {"status": "ABORTED", "details": {}, "message": 3, "code": "x"}}"#,
            r#"[{"error": {"status": "ABORTED"}}]"#,
        ] {
            assert_eq!(
                error(409, body).grpc_code(),
                Some(GrpcCode::Aborted),
                "{body}"
            );
        }
    }

    #[test]
    fn what_is_no_google_status_is_kept_as_an_excerpt() {
        for body in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"error": "no"}"#,
            r#"{"error": null}"#,
            "\u{0}",
        ] {
            assert_eq!(error(503, body).grpc_code(), None, "{body}");
        }
        let long = "<p>busy</p>\n".repeat(1_000);
        let shown = error(502, &long).to_string();
        assert!(
            shown.starts_with("HTTP 502: <p>busy</p> <p>busy</p>"),
            "{shown}"
        );
        assert!(shown.len() < 250 && shown.ends_with('…'), "{shown}");
    }

    #[test]
    fn a_code_without_a_name_is_known_by_its_number() {
        let numbered = error(200, r#"{"error": {"code": 14}}"#);
        assert_eq!(numbered.grpc_code(), Some(GrpcCode::Unavailable));
        for (status, code) in [(503, "1"), (400, "14"), (403, "10")] {
            let own = error(status, &format!(r#"{{"error": {{"code": {code}}}}}"#));
            assert_eq!(own.grpc_code(), None, "{status} {code}");
        }
        for code in ["0", "17", "503", "-1", "1e99", "\"14\""] {
            let other = error(200, &format!(r#"{{"error": {{"code": {code}}}}}"#));
            assert_eq!(other.grpc_code(), None, "{code}");
        }
    }

    #[test]
    fn only_a_body_that_is_nothing_but_an_error_is_one() {
        for body in [
            r#"{"error": {"code": 503, "message": "busy"}}"#,
            r#"{"error": {"status": "ABORTED", "code": 503, "details": [{}]}}"#,
            r#"[{"error": {"code": 503}}]"#,
        ] {
            assert_eq!(error_of_success(body.as_bytes()), Some(503), "{body}");
        }
        let unnumbered = br#"{"error": {"status": "ABORTED"}}"#;
        assert_eq!(error_of_success(unnumbered), Some(0));
        for body in [
            "",
            "{}",
            "[]",
            r#"{"error": {}}"#,
            r#"{"error": null}"#,
            r#"{"error": "no"}"#,
            r#"{"error": [503, "ABORTED"]}"#,
            r#"[{"code": 503}]"#,
            r#"{"name": "operations/1", "done": true, "error": {"code": 5}}"#,
            r#"{"error": {"code": 5}, "done": true}"#,
            r#"[{"error": {"code": 503}}, {"name": "the second"}]"#,
        ] {
            assert_eq!(error_of_success(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn the_longest_hint_counts() {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "2".parse().unwrap());
        headers.insert("retry-after-ms", "2500".parse().unwrap());
        let info = r#"{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}"#;
        let body = format!(r#"{{"error": {{"details": [{{}}, {info}]}}}}"#);
        let error = ApiError::new(429, &headers, body.as_bytes(), SystemTime::UNIX_EPOCH);
        assert_eq!(error.retry_after(), Some(Duration::from_millis(2_500)));
    }
}
