//! What a failed attempt says inside a client, where the type of its error is hidden.

use aws_smithy_runtime_api_1::client::{
    interceptors::context::{Error, FinalizerInterceptorContextRef, InterceptorContext},
    orchestrator::OrchestratorError,
    retries::classifiers::{ClassifyRetry as _, RetryAction, RetryReason},
    runtime_components::RuntimeComponents,
};
use aws_smithy_types_1::retry::ErrorKind;
use backoff_core::{Delivery, Fault, FaultKind, known_fault};
use std::{fmt, time::Duration};

/// The name of our interceptor and of our classifier.
pub(super) const NAME: &str = "backoff";

/// A failed attempt in the client's loop, where the type of the error is hidden.
pub(super) struct Failure<'e> {
    error: &'e OrchestratorError<Error>,
    response: Option<&'e dyn Fault>,
    action: RetryAction,
}

impl<'e> Failure<'e> {
    /// The failure of the attempt that is over; `None` after a success.
    pub(super) fn of(
        context: &'e FinalizerInterceptorContextRef<'_>,
        components: &RuntimeComponents,
    ) -> Option<Self> {
        Some(Failure {
            error: context.output_or_error()?.err()?,
            response: context.response().map(|response| response as _),
            action: classify(context.inner(), components),
        })
    }

    /// Whether the client cut the attempt or the whole call.
    pub(super) fn is_timeout(&self) -> bool {
        self.error.is_timeout_error()
    }

    fn known(&self) -> Option<&dyn Fault> {
        known_fault(self.error)
    }

    fn is_cut(&self) -> bool {
        self.error.is_timeout_error() || self.error.is_response_error()
    }
}

impl Fault for Failure<'_> {
    fn status(&self) -> Option<u16> {
        let status = self.response?.status()?;
        // The success status of a reply that was cut does not show that the request was applied.
        let is_known = !self.is_cut() || !(200..300).contains(&status);
        is_known.then_some(status)
    }

    fn retry_after(&self) -> Option<Duration> {
        let asked = match &self.action {
            RetryAction::RetryIndicated(RetryReason::RetryableError { retry_after, .. }) => {
                *retry_after
            }
            _ => None,
        };
        asked.max(self.response.and_then(Fault::retry_after))
    }

    fn unread_hint(&self) -> Option<(&str, &[u8])> {
        self.response?.unread_hint()
    }

    fn delivery(&self) -> Option<Delivery> {
        let cut = self.is_cut() && self.status().is_none();
        let known = self.known().and_then(Fault::delivery);
        known.or(cut.then_some(Delivery::MaybeSent))
    }

    fn kind(&self) -> Option<FaultKind> {
        let of_the_client = match &self.action {
            RetryAction::RetryForbidden => Some(FaultKind::Permanent),
            RetryAction::RetryIndicated(RetryReason::RetryableError { kind, .. }) => match kind {
                ErrorKind::ThrottlingError => Some(FaultKind::Throttled),
                // Transient because of its status or a broken connection: the policy decides.
                ErrorKind::TransientError => {
                    let is_reply = matches!(self.status(), Some(400..500));
                    is_reply.then_some(FaultKind::Transient)
                }
                _ => Some(FaultKind::Transient),
            },
            _ => None,
        };
        let known = of_the_client.or_else(|| self.known()?.kind());
        // Neither a reply nor a request that was sent: the client itself cannot go on.
        let is_own = || self.status().is_none() && self.delivery().is_none();
        known.or_else(|| is_own().then_some(FaultKind::Permanent))
    }

    /// The innermost source, as for the client's own error: the others only name the part that failed.
    fn message(&self) -> Option<&dyn fmt::Display> {
        let error: &dyn std::error::Error = match self.error.as_operation_error() {
            Some(error) => error,
            None => self.error,
        };
        let last = std::iter::successors(Some(error), |error| error.source()).last()?;
        Some(last)
    }
}

/// The verdict of the client's and the user's classifiers, which know the types of the errors.
fn classify(context: &InterceptorContext, components: &RuntimeComponents) -> RetryAction {
    let mut action = RetryAction::NoActionIndicated;
    for classifier in components.retry_classifiers() {
        if classifier.name() == NAME {
            continue;
        }
        match classifier.classify_retry_v2(context, &action) {
            RetryAction::NoActionIndicated => {}
            RetryAction::RetryForbidden => return RetryAction::RetryForbidden,
            other => action = other,
        }
    }
    action
}
