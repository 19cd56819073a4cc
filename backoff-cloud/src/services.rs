//! The codes of services other than Google, with their sources. `http` asks for them; a module of a service shows its own
//! table as its function `kind`.

use backoff_core::{__private::kind_in, Codes, FaultKind, codes};

/// The statuses after which OpenAI's and Anthropic's clients repeat a request.
pub(crate) const LLM_RETRIED: Codes = codes![408, 409, 429, 500..=599];

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
    const USED_UP: &str = "insufficient_quota billing_hard_limit_reached credit_balance_exhausted \
        organization_spend_limit_exceeded project_spend_limit_exceeded organization_usage_limit_exceeded";
    const KINDS: [(FaultKind, &str); 3] = [
        (FaultKind::Throttled, "slow_down"),
        (FaultKind::Transient, "server_is_overloaded"),
        (FaultKind::Permanent, USED_UP),
    ];
    kind_in(&KINDS, code)
}

/// The codes of a signature that the service calls too old or too young, because a clock is wrong or because the request
/// waited too long. The list is that of the SDK for JavaScript
/// (<https://github.com/smithy-lang/smithy-typescript/blob/main/packages/service-error-classification/src/constants.ts>).
#[cfg(feature = "http")]
pub(crate) const STALE_SIGNATURE: &str = "AuthFailure InvalidSignatureException RequestExpired RequestInTheFuture \
                                          RequestTimeTooSkewed SignatureDoesNotMatch";
