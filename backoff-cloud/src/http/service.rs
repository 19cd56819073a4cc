//! The code of an error of another service than Google.
//!
//! | service | where | source |
//! |---|---|---|
//! | AWS, JSON | the header `x-amzn-errortype`; in the body `__type`, `code` or `Code`, or `Error.Code` | [restJson1](https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html#operation-error-serialization), [awsJson1.1](https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html#operation-error-serialization) |
//! | AWS, XML: S3, SQS, EC2 | `<Code>` in the body | [restXml](https://smithy.io/2.0/aws/protocols/aws-restxml-protocol.html#operation-error-serialization), [ec2Query](https://smithy.io/2.0/aws/protocols/aws-ec2-query-protocol.html#operation-error-serialization) |
//! | Azure | the header `x-ms-error-code`; in the body `error.code` | [API guidelines](https://github.com/microsoft/api-guidelines/blob/vNext/azure/Guidelines.md#handling-errors) |
//! | Alibaba Cloud | in the body `Code` | [error responses](https://www.alibabacloud.com/help/en/sdk/product-overview/v3-request-structure-and-signature) |
//! | Google's reason | in the body a `google.rpc.ErrorInfo`, or `error.errors[].reason` | [error model](https://cloud.google.com/apis/design/errors) |
//! | OpenAI | in the body `error.code`, or `error.type` where there is no code | [error codes](https://platform.openai.com/docs/guides/error-codes) |
//! | Azure Storage, XML | `<Code>` in the body | [error response](https://learn.microsoft.com/rest/api/storageservices/status-and-error-codes2) |

use super::headers::text;
use crate::services::{azure, openai};
use backoff_core::{
    __private::{aws_code, aws_kind, kind_in},
    FaultKind,
};
use reqwest::header::HeaderMap;

/// Every code of a service is shorter.
pub(super) const LONGEST: usize = 256;

/// The code in the headers.
pub(super) fn in_headers(headers: &HeaderMap) -> Option<String> {
    let mut names = ["x-amzn-errortype", "x-ms-error-code"].into_iter();
    names.find_map(|name| plain(text(headers, name)?))
}

/// A code without its namespace and URL; `None` if the text is not a code.
pub(super) fn plain(code: &str) -> Option<String> {
    let code = aws_code(code.trim());
    let is_code = (1..=LONGEST).contains(&code.len())
        && code
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-'));
    is_code.then(|| code.to_owned())
}

/// The code of an error in XML, anywhere in the document.
pub(super) fn in_xml(body: &str) -> Option<String> {
    if !body.trim_ascii_start().starts_with('<') {
        return None;
    }
    let (_, rest) = body.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    plain(code)
}

/// The kind of a code with this HTTP status. For a failure of the server the status decides, so that a
/// policy which does not retry the status is obeyed. From 500 on, a code for throttling counts only with
/// the statuses that a service sends for throttling: the code beside a 500 may be from another service that
/// the failed one has called.
pub(super) fn kind(code: &str, status: u16) -> Option<FaultKind> {
    let kind = known(code)?;
    let is_its_own = match kind {
        FaultKind::Conflict => true,
        FaultKind::Throttled => status < 500 || status == 503,
        _ => status < 500,
    };
    is_its_own.then_some(kind)
}

/// The kind of the error of a model that has no status of its own: in an event of a stream, or in the body of a 200; `None`
/// also for an error that another attempt does not change. The code is its `code` or its `type`. Gateways write the same
/// one in several ways, so neither the case nor underscores count, nor `Error` and `Exception` at the end: `RateLimitError`
/// is `rate_limit_error`.
///
/// Sources: Anthropic's "Errors" (<https://platform.claude.com/docs/en/api/errors>); OpenAI's "Error codes"
/// (<https://platform.openai.com/docs/guides/error-codes>), and the codes of a response that failed
/// (<https://platform.openai.com/docs/api-reference/responses/object>); Bedrock's `ResponseStream`
/// (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html>); LiteLLM's exceptions
/// (<https://docs.litellm.ai/docs/exception_mapping>); what Mistral, vLLM and Groq send.
pub(super) fn llm_kind(code: &str) -> Option<FaultKind> {
    const THROTTLED: &str = "ratelimit ratelimited ratelimitexceeded requestlimitexceeded toomanyrequests throttling \
                             servicetiercapacityexceeded";
    const TRANSIENT: &str = "overloaded server internalserver internal api apiconnection timeout apitimeout requesttimeout \
                             gatewaytimeout badgateway serviceunavailable unreachablebackend vectorstoretimeout \
                             modeltimeout modelnotready";
    const KINDS: [(FaultKind, &str); 2] = [
        (FaultKind::Throttled, THROTTLED),
        (FaultKind::Transient, TRANSIENT),
    ];
    known(code).or_else(|| {
        let word = code.replace(['_', '-'], "").to_ascii_lowercase();
        let word = word.trim_end_matches("exception");
        kind_in(&KINDS, word.trim_end_matches("error"))
    })
}

/// The kind of a code in the tables of the services. Alibaba Cloud's `Throttling` has the limit behind it, as
/// `Throttling.User` (<https://www.alibabacloud.com/help/en/ecs/developer-reference/api-error-codes>).
fn known(code: &str) -> Option<FaultKind> {
    let of_aws = code.split('.').next().and_then(aws_kind);
    of_aws.or_else(|| azure(code)).or_else(|| openai(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{cells, headers};

    #[test]
    fn the_code_is_read_from_two_headers() {
        let azure = ("x-ms-error-code", "ServerBusy");
        let slow = "aws.api#SlowDown:http://internal.amazon.com/";
        let aws = ("x-amzn-errortype", slow);
        for (given, code) in [
            (&[][..], None),
            (&[azure], Some("ServerBusy")),
            (&[azure, aws], Some("SlowDown")),
        ] {
            assert_eq!(in_headers(&headers(given)).as_deref(), code);
        }
    }

    #[test]
    fn an_invalid_code_is_none() {
        for odd in ["", "#", "a b", "<b>", "a\nb", "Fehler\u{fc}", "a/b"] {
            assert_eq!(plain(odd), None, "{odd:?}");
        }
        assert_eq!(plain(&"x".repeat(LONGEST + 1)), None);
    }

    #[test]
    fn a_failure_of_the_server_is_left_to_its_status() {
        let rows = "
            Transient | 400 RequestTimeout, 409 ConditionalRequestConflict
            Throttled | 503 SlowDown, 503 ServerBusy, 503 BandwidthLimitExceeded, 400 ThrottlingException
            Throttled | 503 slow_down, 429 slow_down, 400 Throttling.User
            Transient | 400 server_is_overloaded
            none      | 503 server_is_overloaded, 500 slow_down
            Conflict  | 400 ConditionalCheckFailedException
            Permanent | 429 insufficient_quota
            none      | 500 InternalError, 500 OperationTimedOut, 403 AccessDenied
            none      | 500 ThrottlingException, 502 ThrottlingException, 504 ThrottlingException
        ";
        for [expected, replies] in cells(rows) {
            for (status, code) in replies.split(", ").filter_map(|it| it.split_once(' ')) {
                let found = kind(code, status.parse().unwrap());
                let found = found.map_or("none".to_owned(), |kind| format!("{kind:?}"));
                assert_eq!(found, expected, "{code} {status}");
            }
        }
    }

    #[test]
    fn an_error_of_a_model_is_known_in_every_spelling() {
        for (kind, codes) in [
            (
                Some(FaultKind::Throttled),
                "rate_limit_error rate_limit_exceeded RateLimitError rate_limited throttling_error ThrottlingException \
                 throttlingException too_many_requests slow_down service_tier_capacity_exceeded Throttling.User",
            ),
            (
                Some(FaultKind::Transient),
                "overloaded_error server_error api_error timeout_error internal_server_error InternalServerError \
                 service_unavailable_error server_is_overloaded ServiceUnavailableError Timeout APIConnectionError \
                 internalServerException serviceUnavailableException modelStreamErrorException modelTimeoutException \
                 unreachable_backend InternalError",
            ),
            (Some(FaultKind::Permanent), "insufficient_quota"),
            (
                None,
                "error Error None null unknown_error 1300 429 tokens requests exception invalid_request_error \
                 authentication_error request_too_large validationException BadRequestError",
            ),
        ] {
            for code in codes.split_whitespace() {
                assert_eq!(llm_kind(code), kind, "{code}");
            }
        }
        assert_eq!(llm_kind(""), None);
    }
}
