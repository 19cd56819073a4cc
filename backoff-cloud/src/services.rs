//! The codes of services other than Google, with their sources. `http` asks for them; a module of a service shows its own
//! table as its function `kind`.

use backoff_core::{
    __private::{aws_kind, kind_in},
    FaultKind,
};

/// The tables of codes.
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "`http` asks"))]
pub(crate) const KINDS: [fn(&str) -> Option<FaultKind>; 4] = [aws_kind, azure, openai, alibaba];

/// The kind of an Azure error by its code: throttled, transient, or `None` for any other code, so that the
/// status decides. The code is in the header `x-ms-error-code` and in `error.code` of the body. For
/// [`Fault::kind`](crate::Fault::kind) of your own error; `http::ApiError` (feature `http`) calls it by itself.
///
/// ```
/// use backoff_cloud::{FaultKind, azure};
///
/// assert_eq!(azure::kind("ServerBusy"), Some(FaultKind::Throttled));
/// assert_eq!(azure::kind("OperationTimedOut"), Some(FaultKind::Transient));
/// assert_eq!(azure::kind("BlobNotFound"), None);
/// ```
///
/// `ServerBusy` says that the server takes no requests at present, or that the account sends too many.
/// After `OperationTimedOut` and `InternalError` the request may have been applied. The other transient codes come with
/// a 409: a resource of the same name is being deleted, which takes half a minute or more, or another operation on the
/// resource is running.
///
/// Sources: <https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes> and the pages of codes of
/// blobs, queues, tables and files beside it; <https://learn.microsoft.com/rest/api/storagerp/srp_error_codes_common>
/// (`TooManyRequests`, `StorageAccountOperationInProgress`);
/// <https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors>
/// (`AnotherOperationInProgress`).
pub fn azure(code: &str) -> Option<FaultKind> {
    const KINDS: [(FaultKind, &str); 2] = [
        (FaultKind::Throttled, "ServerBusy TooManyRequests"),
        (
            FaultKind::Transient,
            "OperationTimedOut InternalError ContainerBeingDeleted QueueBeingDeleted TableBeingDeleted \
             ShareBeingDeleted AnotherOperationInProgress StorageAccountOperationInProgress",
        ),
    ];
    kind_in(&KINDS, code)
}

/// The kind of an error by its `code` (or its `type`, where the code is missing): permanent, if a quota of money or
/// of use is used up; throttled after `slow_down`; transient after `server_is_overloaded`; `None` for any other code, so
/// that the status decides. For [`Fault::kind`](crate::Fault::kind) of your own error; `http::ApiError` (feature `http`)
/// calls it by itself.
///
/// ```
/// use backoff_cloud::{FaultKind, openai};
///
/// assert_eq!(openai::kind("insufficient_quota"), Some(FaultKind::Permanent));
/// assert_eq!(openai::kind("slow_down"), Some(FaultKind::Throttled)); // a 503
/// assert_eq!(openai::kind("rate_limit_exceeded"), None); // a 429, which is retried
/// ```
pub fn openai(code: &str) -> Option<FaultKind> {
    const KINDS: [(FaultKind, &str); 3] = [
        (FaultKind::Throttled, "slow_down"),
        (FaultKind::Transient, "server_is_overloaded"),
        (
            FaultKind::Permanent,
            "insufficient_quota billing_hard_limit_reached credit_balance_exhausted \
             organization_spend_limit_exceeded project_spend_limit_exceeded organization_usage_limit_exceeded",
        ),
    ];
    kind_in(&KINDS, code)
}

/// Alibaba Cloud's `Throttling` has the limit behind it: `Throttling.User`, `Throttling.Api`. Source:
/// <https://www.alibabacloud.com/help/en/ecs/developer-reference/api-error-codes>.
fn alibaba(code: &str) -> Option<FaultKind> {
    code.starts_with("Throttling.")
        .then_some(FaultKind::Throttled)
}

/// The kind of the error of a model that has no status of its own: in an event of a stream, or in the body of a 200.
/// The code is its `code` or its `type`. Gateways write the same one in several ways, so neither the case nor
/// underscores count, nor `Error` and `Exception` at the end: `RateLimitError` is `rate_limit_error`.
///
/// Sources: Anthropic's "Errors" (<https://platform.claude.com/docs/en/api/errors>); OpenAI's "Error codes"
/// (<https://platform.openai.com/docs/guides/error-codes>), and the codes of a response that failed
/// (<https://platform.openai.com/docs/api-reference/responses/object>); Bedrock's `ResponseStream`
/// (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html>); LiteLLM's exceptions
/// (<https://docs.litellm.ai/docs/exception_mapping>); what Mistral, vLLM and Groq send.
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "`http` asks"))]
pub(crate) fn llm_kind(code: &str) -> Option<FaultKind> {
    const LLM_KINDS: [(FaultKind, &str); 3] = [
        (
            FaultKind::Throttled,
            "ratelimit ratelimited ratelimitexceeded requestlimitexceeded toomanyrequests throttling slowdown \
             servicetiercapacityexceeded",
        ),
        (
            FaultKind::Transient,
            "overloaded server serverisoverloaded internalserver internal api apiconnection timeout apitimeout \
             requesttimeout gatewaytimeout badgateway serviceunavailable unreachablebackend vectorstoretimeout \
             modelstream modeltimeout modelnotready",
        ),
        (
            FaultKind::Permanent,
            "invalidrequest badrequest validation unprocessableentity requesttoolarge contextlengthexceeded \
             invalidprompt contentfilter contentpolicyviolation authentication invalidapikey permission \
             permissiondenied accessdenied notfound modelnotfound billing",
        ),
    ];
    let known = KINDS.into_iter().find_map(|kind| kind(code));
    known.or_else(|| {
        let mut word = code.replace(['_', '-'], "");
        word.make_ascii_lowercase();
        let word = word.strip_suffix("exception").unwrap_or(&word);
        kind_in(&LLM_KINDS, word.strip_suffix("error").unwrap_or(word))
    })
}

/// The codes of a signature that the service calls too old or too young, because a clock is wrong or because the request
/// waited too long. The list is that of the SDK for JavaScript
/// (<https://github.com/smithy-lang/smithy-typescript/blob/main/packages/service-error-classification/src/constants.ts>).
#[cfg(feature = "http")]
pub(crate) const STALE_SIGNATURE: &str = "AuthFailure InvalidSignatureException RequestExpired RequestInTheFuture \
                                          RequestTimeTooSkewed SignatureDoesNotMatch";

#[cfg(test)]
mod tests {
    use super::*;

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
            (
                Some(FaultKind::Permanent),
                "invalid_request_error authentication_error billing_error permission_error not_found_error \
                 request_too_large insufficient_quota validationException BadRequestError context_length_exceeded",
            ),
            (
                None,
                "error Error None null unknown_error 1300 429 tokens requests exception",
            ),
        ] {
            for code in codes.split_whitespace() {
                assert_eq!(llm_kind(code), kind, "{code}");
            }
        }
        assert_eq!(llm_kind(""), None);
    }
}
