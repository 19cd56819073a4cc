//! The codes of services other than Google, which `http` and the modules of the services ask. The public functions
//! `kind` of `aws`, `azure` and `openai` have the sources.

#[cfg(feature = "http")]
use backoff_core::__private::aws_kind;
use backoff_core::{__private::kind_in, FaultKind};

/// The tables of codes.
#[cfg(feature = "http")]
pub(crate) const KINDS: [fn(&str) -> Option<FaultKind>; 3] = [aws_kind, azure, openai];

pub(crate) fn azure(code: &str) -> Option<FaultKind> {
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

/// The codes of a used-up quota of money or of use.
pub(crate) fn openai(code: &str) -> Option<FaultKind> {
    const USED_UP: &str = "insufficient_quota billing_hard_limit_reached credit_balance_exhausted \
        organization_spend_limit_exceeded project_spend_limit_exceeded organization_usage_limit_exceeded";
    kind_in(&[(FaultKind::Permanent, USED_UP)], code)
}

/// The codes of a signature that the service calls too old or too young, because a clock is wrong or because the request
/// waited too long. The list is that of the SDK for JavaScript
/// (<https://github.com/smithy-lang/smithy-typescript/blob/main/packages/service-error-classification/src/constants.ts>).
#[cfg(feature = "http")]
pub(crate) const STALE_SIGNATURE: &str = "AuthFailure InvalidSignatureException RequestExpired RequestInTheFuture \
                                          RequestTimeTooSkewed SignatureDoesNotMatch";
