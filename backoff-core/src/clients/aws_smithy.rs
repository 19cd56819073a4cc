//! `Fault` for the errors of AWS' SDK for Rust, version 1 of `aws-smithy-runtime-api`, and the
//! conversion of a cut attempt to such an error.

use super::{
    boxed::known_fault,
    sources::{begins_with, chain, is_own_configuration},
};
use crate::{
    call::signal::Stopped,
    facts::{
        aws::aws_kind,
        fault::{Delivery, Fault, FaultKind, TimedOut, made_late, message},
        hint,
    },
};
use aws_smithy_runtime_api_1::{
    client::{
        orchestrator::HttpResponse,
        result::{ConnectorError, SdkError},
    },
    http::Response,
};
use aws_smithy_types_1::{
    error::metadata::{ErrorMetadata, ProvideErrorMetadata},
    retry::{ErrorKind, ProvideErrorKind},
};
use core::{fmt, time::Duration};
use std::{error::Error, time::SystemTime};

/// The error of every operation of every AWS client.
///
/// - **The service has answered**: the code of the reply decides. Throttling has many codes and mostly
///   the status 400 (`ThrottlingException`, `ProvisionedThroughputExceededException`, `SlowDown`);
///   `RequestTimeout` is transient; a condition that does not hold is a [conflict](FaultKind::Conflict)
///   (`ConditionalCheckFailedException`, `TransactionConflictException`, S3's `PreconditionFailed`). If the code does
///   not decide, the service's model decides which errors are retryable, and then the HTTP status. The hint is in
///   `Retry-After`, `x-amz-retry-after` and similar headers.
/// - **No connection**: refused, host name not found, no answer within the connect timeout: not sent. An
///   `https` endpoint without TLS, a certificate that is not trusted (rustls, OpenSSL) and a proxy that
///   answers 407 are permanent.
/// - **The connection broke**: reset, the client's own timeout, a reply that was cut: perhaps applied.
/// - **The request could not be built**: permanent. Any other error is permanent too, for example
///   missing credentials.
///
/// So an operation is retried without a conversion of its error:
///
/// ```
/// use backoff_core::Policy;
/// # use aws_smithy_runtime_api_1::client::{orchestrator::HttpResponse, result::SdkError};
/// # use aws_smithy_types_1::error::ErrorMetadata as PutItemError;
/// # struct Put;
/// # impl Put {
/// #     async fn send(self) -> Result<(), SdkError<PutItemError, HttpResponse>> { Ok(()) }
/// # }
/// # struct Client;
/// # impl Client { fn put_item(&self) -> Put { Put } }
///
/// const POLICY: Policy = Policy::exponential().max_attempts(4);
///
/// # #[cfg(feature = "tokio")]
/// async fn put(client: &Client) -> Result<(), SdkError<PutItemError, HttpResponse>> {
///     POLICY.retry(|| client.put_item().send()).await
/// }
/// ```
///
/// The client retries too: three attempts by default. Two retries multiply, so switch the client's
/// retries off with `RetryConfig::disabled()`, in the client's configuration or with `config_override`
/// for one request. With the client's own retries on, "not sent" describes the last attempt only, so a
/// policy that is not idempotent needs them off. The error of the client's own retries does not say
/// that the request was repeated. The error of a policy inside the client (`aws::inside` of the crate
/// `backoff-cloud`) is permanent, like a [`RetryError`](crate::RetryError).
///
/// For some operations the client makes an idempotency token, and each `send()` makes a new token. So
/// if you retry around the client, each attempt has a different token: set the token yourself once
/// (`.client_request_token(id)`), or use `aws::inside`, whose attempts share one token, or write
/// `idempotent(false)`.
///
/// Behind an `anyhow::Error` or in a `Box<dyn Error>`, the type of an operation's error cannot be
/// guessed, because each operation has its own type. Without the type, these facts are found: that no
/// connection was made or that the connection broke (`ConnectorError`), and the codes that the
/// operation's model leaves out (`ErrorMetadata`). These facts are not found: the codes that have
/// types of their own in the model, the HTTP status, the hints, and the client's timeouts. The key
/// `faults(SdkError<PutItemError>)` of `#[retry]` names the type, and then all facts are known. The
/// error that a client's crate has for all its operations (`aws_sdk_dynamodb::Error`) leaves out the
/// reply and is not a [`Fault`]: convert to it after the retry.
impl<E> Fault for SdkError<E, HttpResponse>
where
    E: ProvideErrorMetadata + ProvideErrorKind + Error + 'static,
{
    fn status(&self) -> Option<u16> {
        let status = self.raw_response()?.status();
        // The status of a cut reply does not say whether the request was applied.
        let is_known = matches!(self, SdkError::ServiceError(_)) || !status.is_success();
        is_known.then(|| status.as_u16())
    }

    fn retry_after(&self) -> Option<Duration> {
        self.raw_response()?.retry_after()
    }

    fn unread_hint(&self) -> Option<(&str, &[u8])> {
        self.raw_response()?.unread_hint()
    }

    fn delivery(&self) -> Option<Delivery> {
        match self {
            SdkError::DispatchFailure(failure) => failure.as_connector_error()?.delivery(),
            SdkError::TimeoutError(_) => Some(Delivery::MaybeSent),
            SdkError::ResponseError(_) if Fault::status(self).is_none() => {
                Some(Delivery::MaybeSent)
            }
            _ => None,
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        let reply = self.raw_response();
        if reply.is_some_and(GivenUp::is_marked) || chain(self).any(<dyn Error>::is::<GivenUp>) {
            return Some(FaultKind::Permanent);
        }
        match self {
            SdkError::ConstructionFailure(_) => Some(FaultKind::Permanent),
            SdkError::DispatchFailure(failure) => Fault::kind(failure.as_connector_error()?),
            SdkError::ServiceError(reply) => {
                let code = ProvideErrorMetadata::code(reply.err());
                let modeled = || reply.err().retryable_error_kind().map(kind);
                code.and_then(aws_kind).or_else(modeled)
            }
            _ => None,
        }
    }

    fn service_code(&self) -> Option<&str> {
        ProvideErrorMetadata::code(self.as_service_error()?)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        // The other kinds only say which part of the client failed.
        let cause: &dyn fmt::Display = chain(self).last()?;
        Some(cause)
    }

    made_late!();
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): the error of the client's own
/// timeout, with the [`TimedOut`] as its source.
impl<E, R> From<TimedOut> for SdkError<E, R> {
    fn from(error: TimedOut) -> Self {
        SdkError::timeout_error(error)
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): the error of a request without a
/// response, with the [`Stopped`] among its sources. The SDK has no error kind for a call that its
/// caller has cancelled.
impl<E, R> From<Stopped> for SdkError<E, R> {
    fn from(error: Stopped) -> Self {
        SdkError::dispatch_failure(ConnectorError::other(error.into(), None))
    }
}

/// The status, and the longest hint in the headers.
impl<B> Fault for Response<B> {
    fn status(&self) -> Option<u16> {
        Some(self.status().as_u16())
    }

    fn retry_after(&self) -> Option<Duration> {
        found(self).0
    }

    fn unread_hint(&self) -> Option<(&str, &[u8])> {
        found(self).1
    }
}

fn found<B>(reply: &Response<B>) -> hint::Found<'_> {
    let headers = || reply.headers().iter();
    let headers = || headers().map(|(name, value)| (name, value.as_bytes()));
    hint::found(reply.status().as_u16(), headers, SystemTime::now())
}

/// The facts of the client's transport error, from which a `DispatchFailure` is made.
impl Fault for ConnectorError {
    fn delivery(&self) -> Option<Delivery> {
        if self.is_user() || is_own_configuration(self) {
            return None;
        }
        if chain(self).any(is_not_opened) {
            return Some(Delivery::NotSent);
        }
        let broke_off =
            self.is_io() || self.is_timeout() || self.as_other() == Some(ErrorKind::TransientError);
        let below = behind(self).and_then(Fault::delivery);
        below.or(broke_off.then_some(Delivery::MaybeSent))
    }

    fn kind(&self) -> Option<FaultKind> {
        let is_given_up = chain(self).any(<dyn Error>::is::<GivenUp>);
        if is_given_up || self.is_user() || is_own_configuration(self) {
            return Some(FaultKind::Permanent);
        }
        match self.delivery() {
            Some(_) => None,
            None => {
                let below = behind(self).and_then(Fault::kind);
                let kind = below.or_else(|| self.as_other().map(kind));
                Some(kind.unwrap_or(FaultKind::Permanent))
            }
        }
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        let cause: &dyn fmt::Display = chain(self).last()?;
        Some(cause)
    }
}

/// The code alone, for an error in a box whose operation does not know the code.
impl Fault for ErrorMetadata {
    fn kind(&self) -> Option<FaultKind> {
        self.code().and_then(aws_kind)
    }

    fn service_code(&self) -> Option<&str> {
        self.code()
    }

    message!();
}

/// Marks the error of a policy inside a client, so that a policy around the client does not start
/// again. The mark is a link of the error's chain, or is on the reply that is the error.
#[derive(Debug)]
pub struct GivenUp(Box<dyn Error + Send + Sync>);

/// The mark.
#[derive(Clone, Copy, Debug)]
struct Mark;

impl GivenUp {
    /// Wraps an error that has no reply.
    pub fn around(error: impl Error + Send + Sync + 'static) -> Box<dyn Error + Send + Sync> {
        Box::new(GivenUp(Box::new(error)))
    }

    /// Marks a reply.
    pub fn mark<B>(reply: &mut Response<B>) {
        reply.add_extension(Mark);
    }

    fn is_marked<B>(reply: &Response<B>) -> bool {
        reply.extension::<Mark>().is_some()
    }
}

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("given up by the policy inside the client")
    }
}

impl Error for GivenUp {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// The kind of an error that the service's model declares retryable.
fn kind(modeled: ErrorKind) -> FaultKind {
    match modeled {
        ErrorKind::ThrottlingError => FaultKind::Throttled,
        _ => FaultKind::Transient,
    }
}

/// Whether there was no connection. The texts of hyper-util's client and of the timeout around its
/// connector decide, because naming their types would add both crates for users of other clients.
fn is_not_opened(link: &(dyn Error + 'static)) -> bool {
    ["client error (Connect)", "HTTP connect timeout"]
        .iter()
        .any(|words| begins_with(link, words))
}

/// The known facts of the errors below it.
fn behind(error: &ConnectorError) -> Option<&dyn Fault> {
    known_fault(error.source()?)
}

#[cfg(test)]
mod tests {
    use super::{super::rows::*, *};
    use crate::test_error::TestError;

    type Failed = SdkError<ErrorMetadata, HttpResponse>;

    fn reply(status: u16, code: Option<&str>) -> Failed {
        let mut error = ErrorMetadata::builder();
        if let Some(code) = code {
            error = error.code(code);
        }
        let status = status.try_into().expect("a status");
        SdkError::service_error(error.build(), HttpResponse::new(status, "".into()))
    }

    #[test]
    fn the_code_outranks_the_status() {
        for (status, code, kind) in [
            (400, Some("com.example#ThrottlingException"), Some(FaultKind::Throttled)),
            (412, Some("PreconditionFailed"), Some(FaultKind::Conflict)),
            (503, Some("Unheard"), None),
            (404, None, None),
        ] {
            let said = TestError { kind, ..TestError::status(status) };
            all_say(said, false, [reply(status, code)]);
        }
    }

    #[test]
    fn the_headers_of_the_reply_are_heard() {
        let hinted = |name: &'static str, value: &'static str| {
            let mut reply = HttpResponse::new(503.try_into().expect("a status"), "".into());
            reply.headers_mut().insert(name, value);
            Failed::service_error(ErrorMetadata::default(), reply)
        };
        let busy = TestError::status(503);
        let waits = busy.after(Duration::from_millis(1_500));
        all_say(waits, false, [hinted("x-amz-retry-after", "1500"), hinted("retry-after", "1.5")]);
        let vague = hinted("x-amz-retry-after", "invalid");
        assert_eq!(vague.unread_hint(), Some(("x-amz-retry-after", &b"invalid"[..])));
        all_say(busy, false, [vague]);
    }

    #[test]
    fn a_connection_is_known_by_what_the_connector_says_and_by_what_is_behind_it() {
        let words = |words: &str| -> Box<dyn Error + Send + Sync> { words.into() };
        let all = |said, must_reconnect, connectors: Vec<ConnectorError>| {
            let errors = connectors.into_iter().map(Failed::dispatch_failure);
            all_say(said, must_reconnect, errors);
        };
        let connecting = words("HTTP connect timeout occurred after 3.1s");
        all(NOT_SENT, true, vec![
            ConnectorError::io(refused().into()),
            ConnectorError::timeout(connecting),
            // Credentials that are temporarily unavailable.
            ConnectorError::other(refused().into(), None),
        ]);
        all(MAYBE_SENT, true, vec![
            ConnectorError::timeout(words("HTTP read timeout occurred after 3.1s")),
            ConnectorError::other(words("cut"), Some(ErrorKind::TransientError)),
        ]);
        all(PERMANENT, false, vec![
            ConnectorError::io(words("invalid URL, scheme is not http")),
            ConnectorError::user(refused().into()),
            ConnectorError::io(untrusted().into()),
            ConnectorError::other(words("no credentials"), None),
        ]);
    }

    #[test]
    fn what_no_repetition_cures_is_permanent_and_keeps_its_text() {
        let stopped = Failed::from(Stopped::new());
        assert!(matches!(stopped, SdkError::DispatchFailure(_)));
        assert!(chain(&stopped).any(|link| link.is::<Stopped>()));
        let unbuilt = Failed::construction_failure("no table");
        let texts = [&stopped, &unbuilt].map(|error| Fault::message(error).expect("a text").to_string());
        assert_eq!(texts, ["the call was stopped by a signal", "no table"]);
        all_say(PERMANENT, false, [stopped, unbuilt]);
    }

    #[test]
    fn what_a_policy_inside_has_given_up_is_permanent_with_its_facts() {
        let around = ConnectorError::io(GivenUp::around(ConnectorError::io(refused().into())));
        let around = Failed::dispatch_failure(around);
        all_say(NOT_SENT.and_kind(FaultKind::Permanent), true, [around]);
        let busy = 503.try_into().expect("a status");
        let mut busy: HttpResponse = Response::new(busy, "".into());
        GivenUp::mark(&mut busy);
        let error = Failed::service_error(ErrorMetadata::default(), busy);
        all_say(PERMANENT_503, false, [error]);
    }

    const PERMANENT_503: TestError = TestError::status(503).and_kind(FaultKind::Permanent);
}
