//! `Fault` for the responses and statuses of the crate `http`, version 1: for hyper, axum, tower, and
//! all other crates that use its types.
//!
//! An attempt that is [cut](crate::Retrying::attempt_timeout) cannot become a response, because a
//! response means that a server has answered. Use an error of your own that has a variant for
//! [`TimedOut`](crate::TimedOut), or for [`Stopped`](crate::Stopped) if a
//! [signal](crate::Retrying::cut_on) cuts the attempt.

use crate::{
    facts::{
        fault::{Fault, message},
        grpc::GrpcCode,
    },
    hint::{self, Pushback},
    runtime::date,
};
use core::time::Duration;
use http_1 as http;

/// The status alone; the hints are in the headers of the response.
///
/// ```
/// use backoff_core::{Policy, Verdict};
/// # use http_1 as http;
///
/// let policy = Policy::exponential();
/// assert_ne!(policy.judge(&http::StatusCode::SERVICE_UNAVAILABLE), Verdict::Permanent);
/// assert_eq!(policy.judge(&http::StatusCode::NOT_FOUND), Verdict::Permanent);
/// ```
impl Fault for http::StatusCode {
    fn status(&self) -> Option<u16> {
        Some(self.as_u16())
    }

    message!();
}

/// The status, the longest hint in the headers ([`hint::in_headers`]), and the gRPC code and pushback
/// of a gRPC reply without a body. So a response that is not a success can be the error of an operation
/// without a conversion. Its body is not read.
///
/// ```
/// use backoff_core::{Fault, Policy, Verdict};
/// use std::time::Duration;
/// # use http_1 as http;
///
/// fn check(response: http::Response<String>) -> Result<String, http::Response<String>> {
///     if response.status().is_success() { Ok(response.into_body()) } else { Err(response) }
/// }
///
/// let busy = http::Response::builder().status(429).header("retry-after", "7");
/// let error = check(busy.body("not now".to_owned()).unwrap()).unwrap_err();
/// assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
/// assert!(matches!(Policy::exponential().judge(&error), Verdict::Retry { .. }));
/// ```
impl<B> Fault for http::Response<B> {
    #[cfg(feature = "rate")]
    fn observe_quotas(&self) {
        crate::rate::observe_reply(self.headers());
    }

    fn status(&self) -> Option<u16> {
        Some(self.status().as_u16())
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        static STATUS: http::HeaderName = http::HeaderName::from_static("grpc-status");
        if self.headers().is_empty() {
            return None;
        }
        let number = self.headers().get(&STATUS)?.to_str().ok()?;
        GrpcCode::from_number(number.parse().ok()?)
    }

    fn retry_after(&self) -> Option<Duration> {
        if self.headers().is_empty() {
            return None;
        }
        let status = self.status().as_u16();
        let header = hint::in_headers(status, self.headers(), date());
        header.max(pushback(self.headers()).and_then(Pushback::wait))
    }

    fn unread_hint(&self) -> Option<(&str, &[u8])> {
        hint::unread_in_headers(self.status().as_u16(), self.headers(), date())
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    fn must_stop(&self) -> bool {
        pushback(self.headers()) == Some(Pushback::Stop)
    }
}

pub(super) fn pushback(headers: &http::HeaderMap) -> Option<Pushback> {
    static NAME: http::HeaderName = http::HeaderName::from_static(hint::PUSHBACK);
    let values = headers.get_all(&NAME);
    Pushback::parse(values.iter().map(http::HeaderValue::as_bytes))
}

#[cfg(test)]
mod tests {
    use super::{super::rows::*, *};
    use crate::test_error::TestError;

    fn response(status: u16, headers: &[(&'static str, &str)]) -> http::Response<()> {
        let mut response = http::Response::new(());
        *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
        for (name, value) in headers {
            response.headers_mut().append(*name, value.parse().unwrap());
        }
        response
    }

    #[test]
    fn headers_say_a_grpc_code_a_wait_or_the_end() {
        let (ok, busy) = (TestError::status(200), TestError::status(503));
        let coded = |value| response(200, &[("grpc-status", value)]);
        all_say(ok.and_grpc(GrpcCode::Aborted), false, [coded("10")]);
        all_say(ok, false, ["0", "17", "-1", "", "ten"].map(coded));
        let pushback = |value| ("grpc-retry-pushback-ms", value);
        let waits = response(503, &[pushback("1500")]);
        all_say(busy.after(Duration::from_millis(1_500)), false, [waits]);
        let quota = [("x-ratelimit-remaining", "0.0"), ("x-ratelimit-reset", "7.5")];
        let limited = TestError::status(429).after(Duration::from_millis(7_500));
        all_say(limited, false, [response(429, &quota)]);
        let vague = response(503, &[("retry-after", "soon")]);
        assert_eq!(vague.unread_hint(), Some(("retry-after", &b"soon"[..])));
        all_say(busy, false, [vague]);
        let stops = [&[pushback("-1")][..], &[pushback("1"); 2]];
        all_say(busy.asking_to_stop(), false, stops.map(|headers| response(503, headers)));
    }
}
