//! The reply to a request that succeeded: its status, its headers, its body.

use super::{
    body::{BodyFacts, error_of_success, without_mark, xml_error_of_success},
    empty::Empty,
    error::ApiError,
    headers,
    own::Own,
    service,
};
use backoff_core::FaultKind;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use std::fmt;

/// The reply to a request that succeeded. [`Sending`](super::Sending) returns it unless another form of the
/// body was asked for.
///
/// `Debug` shows no header and no byte of the body.
///
/// ```no_run
/// use backoff_cloud::{http::{self, SendExt as _}, storage};
///
/// # async fn f() -> Result<(), http::ApiError> {
/// let client = reqwest::Client::new();
/// let reply = storage::REQUEST.send(client.get("http://127.0.0.1:8080/a")).await?;
/// assert_eq!((reply.status(), reply.header("etag")), (200, Some("CAE=")));
/// let bytes: Vec<u8> = reply.into_body();
/// # Ok(()) }
/// ```
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Whether HTTP says where the body ends, so that a body that was cut is noticed.
    pub(super) says_end: bool,
    /// How many bytes of the body of an error are read.
    pub(super) error_body: usize,
}

impl Reply {
    /// The HTTP status, from 200 to 299.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// All headers. The `Debug` of the map does not show the values of secret headers such as `Set-Cookie`
    /// and `Location`.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The first value of a header, if it is visible ASCII text. Upper and lower case of the name are the
    /// same.
    pub fn header(&self, name: &str) -> Option<&str> {
        headers::text(&self.headers, name)
    }

    /// The body; empty if there was none.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body alone.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// The body as a text. Bytes that are not UTF-8 are replaced by `U+FFFD`, and a byte order mark is left
    /// out.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(without_mark(&self.body)).into_owned()
    }

    /// The JSON body as a value, as [`http::json`](super::json) reads it. This happens after the last
    /// attempt, so a body that was cut is not requested again. [`Sending::json`](super::Sending::json)
    /// reads the body within each attempt.
    ///
    /// # Errors
    /// [`ApiError`], if the body is an error or not the JSON that was asked for.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        if let Some(facts) = error_of_success(&self.body, self.error_body) {
            return Err(ApiError::in_success(self.status, &self.headers, facts));
        }
        let text = without_mark(&self.body);
        serde_json::from_slice(text).or_else(|error| {
            let empty = match text.trim_ascii() {
                b"" if self.says_end => Some(Empty::Surely),
                b"" => Some(Empty::Perhaps),
                b"{}" => Some(Empty::Object),
                _ => None,
            };
            let value = empty.and_then(Empty::value);
            value.ok_or_else(|| Own::not_json::<T>(&error, text, self.says_end).into())
        })
    }

    /// The error in the body, which may have other fields too.
    pub(crate) fn error_in_body(&self) -> ApiError {
        let facts = BodyFacts::read_within(&self.body, self.error_body);
        ApiError::in_success(self.status, &self.headers, facts)
    }

    /// The reply, unless its body is an error in XML. The error has the status 503 if its code says throttling, or else
    /// 500, as in botocore.
    pub(super) fn without_xml_error(self) -> Result<Self, ApiError> {
        let Some(facts) = xml_error_of_success(&self.body, self.error_body) else {
            return Ok(self);
        };
        let code = facts.service_code.as_deref().unwrap_or_default();
        // Beside a status that leaves the kind open.
        let status = match service::kind(code, 400) {
            Some(FaultKind::Throttled) => 503,
            _ => 500,
        };
        Err(ApiError::in_success(status, &self.headers, facts))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.body.len();
        write!(f, "Reply(HTTP {}, {bytes} bytes)", self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(body: &[u8]) -> Reply {
        let mut headers = HeaderMap::new();
        headers.insert("set-cookie", "SECRET".parse().unwrap());
        Reply {
            status: 201,
            headers: headers::marked(headers),
            body: body.to_vec(),
            says_end: true,
            error_body: 1_000,
        }
    }

    #[test]
    fn a_reply_shows_nothing_of_what_it_holds() {
        let reply = reply(b"SECRET");
        assert_eq!(format!("{reply:?}"), "Reply(HTTP 201, 6 bytes)");
        assert!(!format!("{:?}", reply.headers()).contains("SECRET"));
        assert_eq!(reply.header("Set-Cookie"), Some("SECRET"));
        assert_eq!((reply.status(), reply.headers().len()), (201, 1));
    }

    #[test]
    fn a_body_has_three_forms() {
        let marked = reply(b"\xef\xbb\xbf[1, 2]");
        assert_eq!(marked.text(), "[1, 2]");
        assert_eq!(marked.json::<Vec<u8>>().unwrap(), [1, 2]);
        assert_eq!(marked.into_body().len(), 9);
        assert_eq!(reply(b"a\xff").text(), "a\u{fffd}");
        assert_eq!(reply(b"").json::<Option<u8>>().unwrap(), None);
        let perhaps_cut = Reply {
            says_end: false,
            ..reply(b"")
        };
        assert!(perhaps_cut.json::<Option<u8>>().is_err());
        assert!(perhaps_cut.json::<()>().is_ok());
        assert!(reply(b"{}").json::<()>().is_ok());
        let error = reply(br#"{"error": {"code": 503}}"#).json::<()>();
        assert_eq!(error.unwrap_err().status(), Some(503));
    }
}
