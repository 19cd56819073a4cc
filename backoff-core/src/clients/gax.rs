//! `Fault` for the error of Google's own clients, version 1 of `google-cloud-gax`, and the conversion
//! of a cut attempt to such an error.

use super::{
    boxed::known_fault,
    http::pushback,
    sources::{chain, is_own_configuration},
};
use crate::{
    call::signal::Stopped,
    facts::{
        fault::{Delivery, Fault, FaultKind, HintSource, TimedOut, made_late, message},
        google::Reasons,
        grpc::GrpcCode,
    },
    hint::{self, Pushback},
};
use core::time::Duration;
use google_cloud_gax_1::error::{Error, rpc::StatusDetails};
use std::{error::Error as _, time::SystemTime};

/// The gRPC code if the service names one, and the HTTP status if there is one: a proxy's error page
/// has only a status, and a gRPC reply has only a code. The hint is the longest of the hints in the
/// headers ([`hint::in_headers`]), in `google.rpc.RetryInfo` and in `grpc-retry-pushback-ms`.
///
/// A `google.rpc.ErrorInfo` says more than the code: a reason of a rate limit, such as `RATE_LIMIT_EXCEEDED`, counts
/// as `RESOURCE_EXHAUSTED`, and a quota for a day is permanent. The reason is the
/// [`service_code`](Fault::service_code).
///
/// No connection, or temporarily unavailable credentials: not sent. Reset, timed out, reply cut:
/// perhaps applied. An `https` URL without TLS, a certificate that is not trusted (rustls, OpenSSL) and a
/// proxy that answers 407 are permanent. All other errors are permanent too: a request that matches no path, or a reply of an unexpected type. With the feature
/// `reqwest-013`, a redirect without a target is permanent too.
///
/// An error that says that a retry policy is exhausted is permanent, like a
/// [`RetryError`](crate::RetryError): the client's own loop has repeated the call until its limit, and
/// a retry around the client does not start that loop again. The status, the gRPC code and the hint
/// come from the error behind it (its [`source`](core::error::Error::source), an `Error` too), for
/// logs and for a function given to [`when`](crate::Policy::when). Only a time limit of gax leaves this
/// mark. An error that ended a loop by its number of attempts has no mark, so a retry around the client
/// repeats the whole call. To retry yourself, let the client try once: `gax::WithPolicy::try_once` of
/// the crate `backoff-cloud`, or `NeverRetry` of gax.
impl Fault for Error {
    fn status(&self) -> Option<u16> {
        cause(self).http_status_code()
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        let error = cause(self);
        let code = GrpcCode::from_name(error.status()?.code.name())?;
        // gax returns `UNKNOWN` if the body names no code that gax knows; then only the status is used.
        let by_name = code.http_status();
        let is_named = code != GrpcCode::Unknown
            || error
                .http_status_code()
                .is_none_or(|status| status == by_name);
        reasons(error).code(is_named.then_some(code))
    }

    fn retry_after(&self) -> Option<Duration> {
        let error = cause(self);
        in_headers(error).max(retry_info(error))
    }

    fn hint_source(&self) -> HintSource {
        let error = cause(self);
        match retry_info(error) > in_headers(error) {
            true => HintSource::RetryInfo,
            false => HintSource::RetryAfter,
        }
    }

    fn unread_hint(&self) -> Option<(&str, &[u8])> {
        let error = cause(self);
        let status = error.http_status_code().unwrap_or_default();
        hint::unread_in_headers(status, error.http_headers()?, SystemTime::now())
    }

    fn must_stop(&self) -> bool {
        let headers = cause(self).http_headers();
        headers.and_then(pushback) == Some(Pushback::Stop)
    }

    fn delivery(&self) -> Option<Delivery> {
        let error = cause(self);
        if error.is_transient_and_before_rpc() {
            return Some(Delivery::NotSent);
        }
        if error.is_timeout() {
            return Some(Delivery::MaybeSent);
        }
        let no_reply = error.is_transport() && error.http_status_code().is_none();
        no_reply.then(|| {
            behind(error)
                .and_then(Fault::delivery)
                .unwrap_or(Delivery::MaybeSent)
        })
    }

    fn kind(&self) -> Option<FaultKind> {
        if self.is_exhausted() {
            return Some(FaultKind::Permanent);
        }
        let error = self;
        // Nothing was sent: no connection, or no token because of one.
        if (error.is_connect() || error.is_authentication()) && is_own_configuration(error) {
            return Some(FaultKind::Permanent);
        }
        let behind = behind(error)
            .and_then(Fault::kind)
            .filter(|_| error.is_io());
        // `self.status()` would be gax's own status, which exists only in a reply of the service.
        let has_status = Fault::status(self).is_some();
        let says_more = has_status || self.grpc_code().is_some() || self.delivery().is_some();
        behind
            .or((!says_more).then_some(FaultKind::Permanent))
            .or_else(|| reasons(error).kind())
    }

    fn service_code(&self) -> Option<&str> {
        let details = &cause(self).status()?.details;
        details.iter().find_map(|detail| match detail {
            StatusDetails::ErrorInfo(info) => Some(&*info.reason).filter(|it| !it.is_empty()),
            _ => None,
        })
    }

    message!();

    made_late!();
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): the error of the client's own
/// timeout, with the [`TimedOut`] as its source.
impl From<TimedOut> for Error {
    fn from(error: TimedOut) -> Self {
        Error::timeout(error)
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): an error that ends the client's own
/// retries, with the [`Stopped`] as its source. gax has no error kind for a call that its caller has
/// cancelled.
impl From<Stopped> for Error {
    fn from(error: Stopped) -> Self {
        Error::exhausted(error)
    }
}

/// The error that made a retry policy give up, or the error itself.
fn cause(error: &Error) -> &Error {
    let mut last = error;
    while last.is_exhausted()
        && let Some(cause) = chain(last).skip(1).find_map(|link| link.downcast_ref())
    {
        last = cause;
    }
    last
}

/// The facts of the transport error below it.
fn behind(error: &Error) -> Option<&dyn Fault> {
    known_fault(error.source()?)
}

/// The longest hint in the headers.
fn in_headers(error: &Error) -> Option<Duration> {
    let headers = error.http_headers();
    let status = error.http_status_code().unwrap_or_default();
    let header = headers.and_then(|headers| hint::in_headers(status, headers, SystemTime::now()));
    let pushback = headers.and_then(pushback).and_then(Pushback::wait);
    header.max(pushback)
}

/// What the details say about limits and quotas.
fn reasons(error: &Error) -> Reasons {
    let details = error.status().into_iter().flat_map(|status| &status.details);
    details.fold(Reasons::default(), |reasons, detail| match detail {
        StatusDetails::ErrorInfo(info) => {
            reasons.and(&info.reason).and(&format!("{:?}", info.metadata))
        }
        StatusDetails::QuotaFailure(failure) => reasons.and(&format!("{failure:?}")),
        _ => reasons,
    })
}

/// The delay of a `google.rpc.RetryInfo`; a negative delay is ignored.
fn retry_info(error: &Error) -> Option<Duration> {
    let details = error.status()?.details.iter();
    let delays = details.filter_map(|detail| match detail {
        StatusDetails::RetryInfo(info) => Duration::try_from(info.retry_delay?).ok(),
        _ => None,
    });
    delays.max()
}

#[cfg(test)]
mod tests {
    use super::{super::rows::*, *};
    use crate::test_error::TestError;
    use google_cloud_gax_1::{
        error::{CredentialsError, rpc::{Code, Status}},
        retry_policy::{AlwaysRetry, RetryPolicy as _, RetryPolicyExt as _},
        retry_state::RetryState,
        throttle_result::ThrottleResult,
    };
    use http_1::HeaderMap;
    use std::io;

    const UNAVAILABLE: TestError = TestError::grpc(GrpcCode::Unavailable);

    fn service(code: Code) -> Error {
        Error::service(Status::default().set_code(code))
    }

    fn answered(code: Code, status: Option<u16>, headers: HeaderMap) -> Error {
        let said = Status::default().set_code(code);
        Error::service_with_http_metadata(said, status, Some(headers))
    }

    #[test]
    fn the_codes_have_the_same_names() {
        for code in GrpcCode::ALL {
            let named = Code::try_from(code.name()).unwrap();
            all_say(TestError::grpc(code), false, [service(named)]);
        }
        all_say(PERMANENT, false, [service(Code::Ok)]);
    }

    #[test]
    fn unknown_is_a_code_only_where_the_service_can_have_said_it() {
        let of = |status| answered(Code::Unknown, status, HeaderMap::new());
        let unknown = TestError::grpc(GrpcCode::Unknown);
        all_say(unknown, false, [of(None)]);
        all_say(TestError { status: Some(500), ..unknown }, false, [of(Some(500))]);
        for status in [400, 409, 429, 503] {
            all_say(TestError::status(status), false, [of(Some(status))]);
        }
        // The page of a proxy.
        for status in [502, 404] {
            let page = Error::http(status, Default::default(), "<html>".into());
            all_say(TestError::status(status), false, [page]);
        }
    }

    #[test]
    fn a_reason_of_google_says_more_than_the_code() {
        let detail = |kind: &str, fields: &str| -> StatusDetails {
            let json = format!(r#"{{"@type": "type.googleapis.com/google.rpc.{kind}", {fields}}}"#);
            serde_json::from_str(&json).expect(&json)
        };
        let info = |reason: &str, limit: &str| {
            let fields = format!(r#""reason": "{reason}", "metadata": {{"quota_limit": "{limit}"}}"#);
            detail("ErrorInfo", &fields)
        };
        let daily = detail("QuotaFailure", r#""violations": [{"description": "Requests per day"}]"#);
        let limit = TestError::grpc(GrpcCode::ResourceExhausted);
        let denied = TestError::grpc(GrpcCode::PermissionDenied);
        for (detail, reason, said) in [
            (info("RATE_LIMIT_EXCEEDED", "ReadsPerMinute"), Some("RATE_LIMIT_EXCEEDED"), limit),
            (info("RATE_LIMIT_EXCEEDED", "ReadsPerDay"), Some("RATE_LIMIT_EXCEEDED"), denied.and_kind(FaultKind::Permanent)),
            (info("SERVICE_DISABLED", ""), Some("SERVICE_DISABLED"), denied),
            (daily, None, denied.and_kind(FaultKind::Permanent)),
        ] {
            let said_by = Status::default().set_code(Code::PermissionDenied).set_details([detail]);
            let error = Error::service(said_by);
            assert_eq!(Fault::service_code(&error), reason);
            all_say(said, false, [error]);
        }
    }

    /// The client repeated the call, so the policy does not repeat it, unless the caller says so.
    #[test]
    fn what_made_a_policy_give_up_is_found_however_deep() {
        let busy = || service(Code::Unavailable);
        // The error that a time limit of gax makes when the throttler refuses.
        let limited = AlwaysRetry.with_time_limit(Duration::ZERO);
        let ThrottleResult::Exhausted(error) = limited.on_throttle(&RetryState::new(true), busy())
        else {
            panic!("the limit is over")
        };
        all_say(UNAVAILABLE, false, [busy()]);
        let twice = Error::exhausted(Error::exhausted(busy()));
        all_say(UNAVAILABLE.and_kind(FaultKind::Permanent), false, [twice, error]);
        all_say(PERMANENT, false, [Error::exhausted("no error")]);
    }

    #[test]
    fn what_happened_before_the_request_was_not_sent() {
        let no_token = |transient| Error::authentication(CredentialsError::from_msg(transient, "no token"));
        all_say(NOT_SENT, true, [no_token(true)]);
        all_say(PERMANENT, false, [no_token(false)]);
        let other = Error::connect(io::Error::other("connection refused"));
        all_say(NOT_SENT, true, [other]);
        let no_key = CredentialsError::from_source(true, untrusted());
        let unable = [Error::connect(untrusted()), Error::authentication(no_key)];
        all_say(PERMANENT.and_delivery(Delivery::NotSent), true, unable);
    }

    #[test]
    fn an_attempt_that_was_cut_keeps_its_reason() {
        let stop = Stopped::new();
        let (late, stopped) = (Error::from(CUT), Error::from(stop));
        assert!(late.is_timeout() && !stopped.is_timeout());
        // The form in which gax wraps its own timeouts.
        let text = "the request exceeded the request deadline the attempt was cut after 1s";
        assert_eq!(late.to_string(), text);
        assert_eq!(stopped.to_string(), "the call was stopped by a signal");
        let stop_of = stopped.source().and_then(|it| it.downcast_ref());
        assert_eq!(stop_of, Some(&stop));
        all_say(MAYBE_SENT, true, [late]);
        all_say(PERMANENT, false, [stopped]);
    }

    #[test]
    fn a_header_is_a_hint_or_the_end() {
        let of = |status, name: &'static str, value: &str| {
            let value = value.parse().unwrap();
            answered(Code::Unavailable, status, HeaderMap::from_iter([(name.parse().unwrap(), value)]))
        };
        let after = |value| of(Some(503), "retry-after", value);
        let pushback = |value| of(None, "grpc-retry-pushback-ms", value);
        let (busy, wait) = (TestError { status: Some(503), ..UNAVAILABLE }, Duration::from_millis(1_500));
        all_say(busy.after(wait), false, [after("1.5")]);
        assert_eq!(after("soon").unread_hint(), Some(("retry-after", &b"soon"[..])));
        all_say(busy, false, [after("soon")]);
        all_say(UNAVAILABLE.after(wait), false, [pushback("1500")]);
        all_say(UNAVAILABLE.asking_to_stop(), false, [pushback("-1")]);
    }
}
