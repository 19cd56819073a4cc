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
    /// Whether an error beside other fields counts, although the body can be read as a value.
    pub(super) finds_errors: bool,
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

    /// The JSON body as a value, as [`Sending::json`](super::Sending::json) of the same request reads it. This happens
    /// after the last attempt, so a body that was cut, or has an error, is not requested again. `Sending::json` reads the
    /// body within each attempt.
    ///
    /// # Errors
    /// [`ApiError`], if the body is an error or not the JSON that was asked for.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        self.without_error(self.finds_errors)?;
        let text = without_mark(&self.body);
        serde_json::from_slice(text).or_else(|error| {
            self.without_error(true)?;
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

    /// The error in the body as an error, if the body has nothing else or, with `beside`, whatever stands beside it.
    pub(super) fn without_error(&self, beside: bool) -> Result<(), ApiError> {
        let error = error_of_success(&self.body, self.error_body, beside);
        error.map_or(Ok(()), |facts| Err(self.error(facts)))
    }

    /// The error in the body, which may have other fields too.
    pub(crate) fn error_in_body(&self) -> ApiError {
        self.error(BodyFacts::read_within(&self.body, self.error_body, false))
    }

    fn error(&self, facts: BodyFacts) -> ApiError {
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
    use crate::{
        openai,
        reply::{cells, retries as is_retried},
    };
    use backoff_core::Verdict;

    fn reply(body: &[u8]) -> Reply {
        let mut headers = HeaderMap::new();
        headers.insert("set-cookie", "SECRET".parse().unwrap());
        Reply {
            status: 201,
            headers: headers::marked(headers),
            body: body.to_vec(),
            says_end: true,
            error_body: 1_000,
            finds_errors: false,
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

    #[derive(Debug, serde::Deserialize)]
    struct Chat {
        #[serde(rename = "choices")]
        _choices: Vec<u8>,
    }

    /// Rows: the kind, the status of the error, and the body of a 200 that a gateway or a service sends.
    #[test]
    fn an_error_inside_a_200_has_the_kind_of_its_code() {
        let rows = r#"
            OpenRouter
            Transient | 524 | {"error":{"message":"Provider returned error","code":524},"user_id":"u"}
            Throttled | 429 | {"error":{"message":"m","code":429,"metadata":{"raw":"r"}},"user_id":"u"}
            Transient | 502 | {"id":"g","choices":null,"error":{"code":502,"message":"m"}}
            Permanent | 402 | {"error":{"message":"Insufficient credits","code":402},"user_id":"u"}
            LiteLLM
            Throttled | 429 | {"error":{"message":"m","type":"throttling_error","param":null,"code":"429"},"id":1}
            Transient | 503 | {"error":{"message":"m","type":"None","param":"None","code":"503"}}
            Permanent | 400 | {"error":{"message":"m","type":"invalid_request_error","param":null,"code":"400"}}
            vLLM
            Transient | 500 | {"object":"error","message":"m","type":"InternalServerError","param":null,"code":500}
            Permanent | 400 | {"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}
            Mistral
            Transient | 200 | {"object":"error","message":"m","type":"unreachable_backend","param":null,"code":"1100"}
            Throttled | 200 | {"object":"error","message":"m","type":"rate_limited","param":null,"code":"1300"}
            Permanent | 200 | {"object":"error","message":"m","type":"invalid_request_error","code":null}
            Azure
            Throttled | 429 | {"error":{"code":"429","message":"m"},"id":"a"}
            Transient | 200 | {"error":{"code":"InternalServerError","message":"m"},"id":"a"}
            Permanent | 200 | {"error":{"code":"DeploymentNotFound","message":"m"},"id":"a"}
            Anthropic and Bedrock
            Transient | 200 | {"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}
            Throttled | 200 | {"type":"error","error":{"type":"rate_limit_error","message":"m"}}
            Permanent | 200 | {"type":"error","error":{"type":"authentication_error","message":"m"}}
            Permanent | 200 | {"type":"error","error":{"type":"billing_error","message":"m"}}
            Throttled | 200 | {"type":"error","error":{"type":"throttlingException","message":"m"}}
            Transient | 200 | {"type":"error","error":{"type":"modelStreamErrorException","message":"m"}}
            OpenAI
            Transient | 200 | {"id":"r","status":"failed","error":{"code":"server_error","message":"m"},"output":[]}
            Throttled | 200 | {"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"m"}}
            Transient | 200 | {"error":{"message":"m","code":null,"type":"server_error"}}
            Transient | 200 | {"error":{"message":"m","code":"server_is_overloaded","type":"service_unavailable_error"}}
            Permanent | 200 | {"error":{"message":"m","code":"insufficient_quota","type":"insufficient_quota"}}
            Permanent | 429 | {"error":{"message":"m","code":429,"type":"insufficient_quota"},"a":1}
            Groq and Together
            Throttled | 200 | {"error":{"message":"m","type":"tokens","code":"rate_limit_exceeded"},"x_groq":{"id":"r"}}
            Transient | 200 | {"id":"o","error":{"message":"m","type":"server_error","param":null,"code":null}}
            Google
            Transient | 503 | [{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]
            Throttled | 429 | [{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]
            Permanent | 200 | {"name":"operations/1","done":true,"error":{"code":5,"message":"m"}}
            AWS
            Throttled | 200 | {"Error":{"Code":"Throttling","Message":"m","Type":"Sender"},"RequestId":"r"}
        "#;
        let rows: Vec<_> = rows.lines().filter(|row| row.contains('|')).collect();
        for [kind, status, body] in cells(&rows.join("\n")) {
            let policy = openai::REQUEST;
            let errors = [
                reply(body.as_bytes()).without_error(true),
                reply(body.as_bytes()).json::<Chat>().map(drop),
            ];
            for error in errors {
                let error = error.expect_err(body);
                let judged = match policy.judge(&error) {
                    Verdict::Retry { kind, .. } => kind,
                    _ => FaultKind::Permanent,
                };
                assert_eq!(format!("{judged:?}"), kind, "{body}");
                // The reply has the status 201.
                let expected = status.replace("200", "201");
                assert_eq!(
                    error.status().map(|it| it.to_string()),
                    Some(expected),
                    "{body}"
                );
                // A request that must not be made twice is repeated only if nothing was done.
                let again = is_retried(&policy.idempotent(false), &error);
                assert_eq!(again, judged == FaultKind::Throttled, "{body}");
            }
        }
    }

    #[test]
    fn a_value_with_an_empty_error_is_a_value() {
        for body in [
            r#"{"error":null,"choices":[]}"#,
            r#"{"error":"none","id":1,"choices":[]}"#,
            r#"{"error":{"message":"","type":"","param":"","code":null},"choices":[]}"#,
            r#"{"error":{"code":0},"choices":[]}"#,
            r#"{"error":{"message":"m"},"choices":[]}"#,
            r#"{"errors":[{"code":503}],"choices":[]}"#,
            r#"{"object":"response","code":503,"choices":[]}"#,
        ] {
            reply(body.as_bytes()).without_error(true).expect(body);
            reply(body.as_bytes()).json::<Chat>().expect(body);
        }
        // A value that can be read and has an error is a value, unless the function of a service has sent the request.
        let both = br#"{"choices":[],"error":{"code":503}}"#;
        reply(both).json::<Chat>().expect("a value");
        let sent_by_a_service = Reply {
            finds_errors: true,
            ..reply(both)
        };
        for error in [
            reply(both).without_error(true).unwrap_err(),
            sent_by_a_service.json::<Chat>().unwrap_err(),
        ] {
            assert_eq!(error.status(), Some(503));
        }
        // What stands beside a long error is not shown.
        let long = format!(
            r#"{{"key":"SECRET","error":{{"code":503,"message":"{}"}}}}"#,
            "m".repeat(2_000)
        );
        let error = reply(long.as_bytes()).json::<Chat>().unwrap_err();
        let text = "HTTP 503, but its body was cut: it is longer than 1000 bytes";
        assert_eq!((error.to_string().as_str(), error.excerpt()), (text, None));
    }
}
