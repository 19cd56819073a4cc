//! `Fault` for the error of Google's own clients, version 1 of `google-cloud-gax`, and the conversion
//! of a cut attempt to such an error.

use super::{
    boxed::{Cause, first_known},
    http::pushback,
    sources::{chain, is_untrusted_certificate},
};
use crate::{
    drive::stopping::Stopped,
    facts::{
        fault::{Delivery, Fault, FaultKind, TimedOut},
        grpc::GrpcCode,
    },
    hint::{self, Pushback},
};
use core::{fmt, time::Duration};
use google_cloud_gax_1::error::{Error, rpc::StatusDetails};
use std::{error::Error as _, time::SystemTime};

/// The gRPC code if the service names one, and the HTTP status if there is one: a proxy's error page
/// has only a status, and a gRPC reply has only a code. The hint is the longest of the hints in the
/// headers ([`hint::in_headers`]), in `google.rpc.RetryInfo` and in `grpc-retry-pushback-ms`.
///
/// No connection, or temporarily unavailable credentials: not sent. Reset, timed out, reply cut:
/// perhaps applied. A certificate that is not trusted (rustls) is permanent. All other errors are
/// permanent too: a request that matches no path, or a reply of an unexpected type. With the feature
/// `reqwest-013`, a redirect without a target is permanent too.
///
/// An error that says that a retry policy is exhausted is permanent, like a
/// [`RetryError`](crate::RetryError): the client's own loop has repeated the call until its limit, and
/// a retry around the client does not start that loop again. The status, the gRPC code and the hint
/// come from the error behind it (its [`source`](core::error::Error::source), an [`Error`] too), for
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
        is_named.then_some(code)
    }

    fn retry_after(&self) -> Option<Duration> {
        let error = cause(self);
        in_headers(error).max(retry_info(error))
    }

    fn is_retry_info(&self) -> bool {
        let error = cause(self);
        retry_info(error) > in_headers(error)
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
        if error.is_connect() && is_untrusted_certificate(error) {
            return Some(FaultKind::Permanent);
        }
        let behind = behind(error)
            .and_then(Fault::kind)
            .filter(|_| error.is_io());
        // `self.status()` would be gax's own status, which exists only in a reply of the service.
        let has_status = Fault::status(self).is_some();
        let says_more = has_status || self.grpc_code().is_some() || self.delivery().is_some();
        behind.or((!says_more).then_some(FaultKind::Permanent))
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
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
    first_known(Cause::new(error.source()?), &|_| None)
}

/// The longest hint in the headers.
fn in_headers(error: &Error) -> Option<Duration> {
    let headers = error.http_headers();
    let header = headers.and_then(|headers| hint::in_headers(headers, SystemTime::now()));
    let pushback = headers.and_then(pushback).and_then(Pushback::wait);
    header.max(pushback)
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
    use super::*;
    use crate::{judge::Verdict, policy::Policy};
    use google_cloud_gax_1::{
        error::rpc::{Code, Status},
        retry_policy::{AlwaysRetry, RetryPolicy as _, RetryPolicyExt as _},
        retry_state::RetryState,
        throttle_result::ThrottleResult,
    };
    use http_1::HeaderMap;
    use std::io;

    const POLICY: Policy = Policy::exponential().on(crate::codes![429, 500..=504]);

    fn service(code: Code, status: Option<u16>, headers: HeaderMap) -> Error {
        let said = Status::default().set_code(code);
        Error::service_with_http_metadata(said, status, Some(headers))
    }

    #[test]
    fn the_codes_have_the_same_names() {
        for code in GrpcCode::ALL {
            let named = Code::try_from(code.name()).unwrap();
            let error = Error::service(Status::default().set_code(named));
            assert_eq!(error.grpc_code(), Some(code));
        }
        let ok = Error::service(Status::default().set_code(Code::Ok));
        assert_eq!(ok.grpc_code(), None);
    }

    #[test]
    fn unknown_is_a_code_only_where_the_service_can_have_said_it() {
        let of = |status| service(Code::Unknown, status, HeaderMap::new()).grpc_code();
        assert_eq!(of(None), Some(GrpcCode::Unknown));
        assert_eq!(of(Some(500)), Some(GrpcCode::Unknown));
        for status in [400, 409, 429, 503] {
            assert_eq!(of(Some(status)), None, "{status}");
        }
    }

    #[test]
    fn what_made_a_policy_give_up_is_found_however_deep() {
        let busy = || Error::service(Status::default().set_code(Code::Unavailable));
        let twice = Error::exhausted(Error::exhausted(busy()));
        assert_eq!(twice.grpc_code(), Some(GrpcCode::Unavailable));
        // The error that a time limit of gax makes when the throttler refuses.
        let limited = AlwaysRetry.with_time_limit(Duration::ZERO);
        let ThrottleResult::Exhausted(error) = limited.on_throttle(&RetryState::new(true), busy())
        else {
            panic!("the limit is over")
        };
        assert_eq!(error.grpc_code(), Some(GrpcCode::Unavailable));
        // The client repeated the call, so the policy does not repeat it, unless the caller says so.
        assert_ne!(POLICY.judge(&busy()), Verdict::Permanent);
        for exhausted in [twice, error, Error::exhausted("no error")] {
            assert_eq!(POLICY.judge(&exhausted), Verdict::Permanent);
        }
    }

    #[test]
    fn credentials_that_are_not_to_be_had_now_were_needed_before_the_request() {
        use google_cloud_gax_1::error::CredentialsError;
        let of = |transient| {
            let error = CredentialsError::from_msg(transient, "no token");
            Error::authentication(error).delivery()
        };
        assert_eq!(of(true), Some(Delivery::NotSent));
        assert_eq!(of(false), None);
    }

    #[test]
    fn an_attempt_that_was_cut_timed_out() {
        let cut = TimedOut::new(Duration::from_secs(1));
        let error = Error::from(cut);
        assert!(error.is_timeout());
        // The form in which gax wraps its own timeouts.
        let text = "the request exceeded the request deadline the attempt was cut after 1s";
        assert_eq!(error.to_string(), text);
        let source = error.source().and_then(|it| it.downcast_ref());
        assert_eq!(source, Some(&cut));
        assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
        assert_eq!((error.grpc_code(), Fault::status(&error)), (None, None));
        assert_eq!(Fault::kind(&error), None);
        assert_eq!(POLICY.judge(&error), Verdict::from(true));
        let careful = POLICY.idempotent(false);
        assert_eq!(careful.judge(&error), Verdict::MaybeApplied);
    }

    #[test]
    fn an_attempt_that_a_signal_cut_is_permanent() {
        let error = Error::from(Stopped::new());
        assert_eq!(error.to_string(), "the call was stopped by a signal");
        let source = error.source().and_then(|it| it.downcast_ref());
        assert_eq!(source, Some(&Stopped::new()));
        assert!(!error.is_timeout());
        assert_eq!((error.grpc_code(), Fault::status(&error)), (None, None));
        assert_eq!(POLICY.judge(&error), Verdict::Permanent);
    }

    #[test]
    fn the_page_of_a_proxy_is_judged_by_its_status() {
        for (status, verdict) in [(502, Verdict::from(true)), (404, Verdict::Permanent)] {
            let page = Error::http(status, Default::default(), "<html>".into());
            assert_eq!(Fault::status(&page), Some(status));
            assert_eq!(Fault::kind(&page), None);
            assert_eq!(Policy::exponential().judge(&page), verdict);
        }
    }

    #[test]
    fn a_pushback_is_a_hint_or_the_end() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-retry-pushback-ms", value.parse().unwrap());
            service(Code::Unavailable, None, headers)
        };
        assert_eq!(of("1500").retry_after(), Some(Duration::from_millis(1_500)));
        assert_eq!(POLICY.judge(&of("-1")), Verdict::StoppedByServer);
    }

    #[test]
    fn a_certificate_that_is_not_trusted_is_permanent() {
        let untrusted = || io::Error::other("invalid peer certificate: UnknownIssuer");
        let refused = Error::connect(untrusted());
        assert_eq!(refused.delivery(), Some(Delivery::NotSent));
        assert_eq!(POLICY.judge(&refused), Verdict::Permanent);
        // Any other text means that a connection failed.
        let other = Error::connect(io::Error::other("connection refused"));
        assert_ne!(POLICY.judge(&other), Verdict::Permanent);
    }
}
