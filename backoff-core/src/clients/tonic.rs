//! `Fault` for the errors of tonic, version 0.14, and the conversion of a cut attempt to a status.
//!
//! Only tonic can make a `transport::Error`, so a cut attempt cannot become one; and a `ConnectError`
//! would say that nothing was sent.

use super::{
    boxed::{Cause, first_known, known_fault},
    sources::is_own_configuration,
};
use crate::{
    call::signal::Stopped,
    facts::{
        fault::{Delivery, Fault, FaultKind, HintSource, TimedOut, made_late, message},
        google::Reasons,
        grpc::GrpcCode,
        not_opened::NotOpened,
    },
    hint::{self, Pushback},
};
use core::{cell::Cell, iter, time::Duration};
use prost_014::Message as _;
use std::{error::Error, sync::Arc};
use tonic_014 as tonic;
use tonic_types_014::pb;

/// The code, except for a call that failed on its way: tonic gives those failures a code too
/// (`Unknown`, `Unavailable`, `Cancelled`), but the code does not come from the server. Only their
/// source shows that they are not a reply, and whether the request was sent.
///
/// The hint is the longer of `google.rpc.RetryInfo` and `grpc-retry-pushback-ms`; a pushback with a
/// negative number [stops the retries](Fault::must_stop).
///
/// A `google.rpc.ErrorInfo` says more than the code: a reason of a rate limit, such as `RATE_LIMIT_EXCEEDED`, counts
/// as `RESOURCE_EXHAUSTED`, and a quota for a day is permanent. The reason is the
/// [`service_code`](Fault::service_code).
///
/// If the timeout of a tonic server passes, the server answers `CANCELLED`, "Timeout expired". The
/// client's own timeout has the same text, and either of them may come first. So that reply counts as
/// `DEADLINE_EXCEEDED`.
///
/// tonic also reports some faulty replies with a code of its own. A reply that ends without a status or
/// in the middle of a message was cut: perhaps applied. A reply that tonic cannot decompress, or that
/// is longer than tonic accepts, is permanent.
impl Fault for tonic::Status {
    /// The innermost of the statuses behind this one, which has no other status behind itself; otherwise the
    /// source, if it says more than the code. So the work for a fact grows with the length of the chain, and
    /// not with a power of it.
    fn inner(&self) -> Option<&dyn Fault> {
        if let Some(innermost) = statuses(self).skip(1).last() {
            return Some(innermost);
        }
        let Some(Source::Other(source)) = source(self) else {
            return None;
        };
        let says_more = || match source.kind() {
            None => false,
            // A permanent source decides only if tonic has no code, or if the call was ended: an
            // interceptor sets a code of its own.
            Some(FaultKind::Permanent) => {
                matches!(self.code(), tonic::Code::Unknown | tonic::Code::Cancelled)
            }
            Some(_) => true,
        };
        let is_answer = source.grpc_code().is_some();
        (is_answer || source.delivery().is_some() || says_more()).then_some(source)
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        if let Some(inner) = self.inner() {
            return inner.grpc_code();
        }
        if is_cut(self) {
            return None;
        }
        if self.code() == tonic::Code::Cancelled && self.message() == LATE {
            return Some(GrpcCode::DeadlineExceeded);
        }
        reasons(self).code(GrpcCode::from_number(self.code() as i32))
    }

    fn retry_after(&self) -> Option<Duration> {
        Some(longest_hint(self)?.0)
    }

    fn hint_source(&self) -> HintSource {
        longest_hint(self).map_or(HintSource::RetryAfter, |(_, source)| source)
    }

    fn delivery(&self) -> Option<Delivery> {
        match self.inner() {
            Some(inner) => inner.delivery(),
            None => is_cut(self).then_some(Delivery::MaybeSent),
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match self.inner() {
            Some(inner) => inner.kind(),
            None if is_unreadable(self) => Some(FaultKind::Permanent),
            None => reasons(self).kind(),
        }
    }

    fn service_code(&self) -> Option<&str> {
        match self.inner() {
            Some(inner) => inner.service_code(),
            None => reason(self),
        }
    }

    fn must_stop(&self) -> bool {
        statuses(self).any(|status| pushback(status) == Some(Pushback::Stop))
            || self.inner().is_some_and(|inner| inner.must_stop())
    }

    message!();

    made_late!();
}

/// The first known error behind a status.
enum Source<'e> {
    /// A status that states a failure.
    Status(&'e tonic::Status),
    Other(&'e dyn Fault),
}

fn source<'e>(status: &'e tonic::Status) -> Option<Source<'e>> {
    let found = Cell::new(None);
    let as_status = |cause: Cause<'e>| {
        let status = cause.find::<tonic::Status>();
        found.set(status.filter(|it| it.code() != tonic::Code::Ok));
        found.get().map(|it| it as &dyn Fault)
    };
    let first = first_known(Cause::new(status.source()?), &as_status)?;
    Some(found.get().map_or(Source::Other(first), Source::Status))
}

/// This status and the statuses behind it, from the outside in.
fn statuses(status: &tonic::Status) -> impl Iterator<Item = &tonic::Status> {
    iter::successors(Some(status), |outer| match source(outer)? {
        Source::Status(inner) => Some(inner),
        Source::Other(_) => None,
    })
}

/// The longest hint of the status and of all that is behind it, and its origin.
fn longest_hint(status: &tonic::Status) -> Option<(Duration, HintSource)> {
    let own = |status| {
        let header = pushback(status).and_then(Pushback::wait);
        [
            retry_info(status).map(|wait| (wait, HintSource::RetryInfo)),
            header.map(|wait| (wait, HintSource::RetryAfter)),
        ]
    };
    let behind = status
        .inner()
        .and_then(|inner| Some((inner.retry_after()?, inner.hint_source())));
    let hints = statuses(status).flat_map(own).flatten().chain(behind);
    hints.max_by_key(|(wait, _)| *wait)
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): `DEADLINE_EXCEEDED`, with the
/// [`TimedOut`] as its source. The source distinguishes it from a server's reply: the code does not
/// come from the server, and the request may have been applied.
impl From<TimedOut> for tonic::Status {
    fn from(error: TimedOut) -> Self {
        with_source(tonic::Status::deadline_exceeded(error.to_string()), error)
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): `CANCELLED`, with the [`Stopped`]
/// as its source.
impl From<Stopped> for tonic::Status {
    fn from(error: Stopped) -> Self {
        with_source(tonic::Status::cancelled(error.to_string()), error)
    }
}

/// For openings that failed with a status: the same status, with the [`NotOpened`] as its source.
impl From<NotOpened<tonic::Status>> for tonic::Status {
    fn from(error: NotOpened<tonic::Status>) -> Self {
        with_source(error.error.clone(), error)
    }
}

/// For channels that were not opened: `UNAVAILABLE`, with the [`NotOpened`] as its source.
impl From<NotOpened<tonic::transport::Error>> for tonic::Status {
    fn from(error: NotOpened<tonic::transport::Error>) -> Self {
        unavailable(error)
    }
}

/// The same for an error that is shared by the callers who waited for the opening.
impl From<NotOpened<Arc<tonic::transport::Error>>> for tonic::Status {
    fn from(error: NotOpened<Arc<tonic::transport::Error>>) -> Self {
        unavailable(error)
    }
}

fn unavailable(error: impl Error + Send + Sync + 'static) -> tonic::Status {
    with_source(tonic::Status::unavailable(error.to_string()), error)
}

fn with_source(
    mut status: tonic::Status,
    source: impl Error + Send + Sync + 'static,
) -> tonic::Status {
    status.set_source(Arc::new(source));
    status
}

/// The text of [`tonic::TimeoutExpired`]. Only this text is sent to the client.
const LATE: &str = "Timeout expired";

/// A stream that ended too early. It has no source, and the text does not come from the server.
fn is_cut(status: &tonic::Status) -> bool {
    let beginning = match status.code() {
        tonic::Code::Unknown => "protocol error: missing grpc-status trailer",
        tonic::Code::Internal => "Unexpected EOF decoding stream",
        _ => return false,
    };
    status.message().starts_with(beginning)
}

/// A message that a retry cannot make readable or shorter. tonic also uses `RESOURCE_EXHAUSTED` for it,
/// which would mean that the server did nothing.
fn is_unreadable(status: &tonic::Status) -> bool {
    let beginnings = [
        "Error decompressing: ",
        "Cannot return body with more than 4GB of data",
    ];
    beginnings.iter().any(|it| status.message().starts_with(it))
}

/// The contents of the details of these types.
fn details(status: &tonic::Status, types: &[&str]) -> Vec<Vec<u8>> {
    let all = pb::Status::decode(status.details()).unwrap_or_default().details;
    let is_one = |url: &str| types.iter().any(|name| url.ends_with(name));
    let found = all.into_iter().filter(|any| is_one(&any.type_url));
    found.map(|any| any.value).collect()
}

/// The reason of a `google.rpc.ErrorInfo`, where it stands in the status, which lends it.
fn reason(status: &tonic::Status) -> Option<&str> {
    let infos = details(status, &["/google.rpc.ErrorInfo"]);
    let reason = pb::ErrorInfo::decode(&**infos.first()?).ok()?.reason;
    if reason.is_empty() {
        return None;
    }
    let all = status.details();
    let at = (0..all.len()).find(|at| all[*at..].starts_with(reason.as_bytes()))?;
    str::from_utf8(&all[at..at + reason.len()]).ok()
}

/// What the details say about limits and quotas.
fn reasons(status: &tonic::Status) -> Reasons {
    let named = Reasons::default().and(reason(status).unwrap_or_default());
    let texts = details(status, &["/google.rpc.ErrorInfo", "/google.rpc.QuotaFailure"]);
    let texts = texts.iter().map(|text| String::from_utf8_lossy(text));
    texts.fold(named, |all, text| all.and(&text))
}

/// The delay of a `google.rpc.RetryInfo` among the details; a negative delay is ignored. (`StatusExt`
/// of tonic-types would panic at the most negative delay: prost-types negates it.)
fn retry_info(status: &tonic::Status) -> Option<Duration> {
    let infos = details(status, &["/google.rpc.RetryInfo"]);
    let delay = pb::RetryInfo::decode(&**infos.first()?).ok()?.retry_delay?;
    let nanos = u32::try_from(delay.nanos).ok()?;
    Duration::from_secs(u64::try_from(delay.seconds).ok()?)
        .checked_add(Duration::from_nanos(nanos.into()))
}

fn pushback(status: &tonic::Status) -> Option<Pushback> {
    let values = status.metadata().get_all(hint::PUSHBACK);
    Pushback::parse(values.iter().map(|value| value.as_bytes()))
}

/// The source decides whether the request was sent; if no source is known, the request may have been
/// sent. An invalid address or user agent is permanent, and so is a connection that your own configuration
/// prevents: an `https` address without TLS, a certificate that is not trusted (rustls, OpenSSL).
impl Fault for tonic::transport::Error {
    fn inner(&self) -> Option<&dyn Fault> {
        known_fault(self.source()?)
    }

    fn delivery(&self) -> Option<Delivery> {
        match self.inner() {
            Some(inner) => inner.delivery(),
            None => (!is_nonsense(self)).then_some(Delivery::MaybeSent),
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match self.inner() {
            Some(inner) => inner.kind(),
            None => is_nonsense(self).then_some(FaultKind::Permanent),
        }
    }

    message!();
}

/// Whether tonic did not even try. An error after a try has a source.
fn is_nonsense(error: &tonic::transport::Error) -> bool {
    let source = error.source();
    source.is_none_or(|source| source.is::<hyper_1::http::uri::InvalidUri>())
}

/// No connection was made: not sent. Permanent if your own configuration is the cause: an `https` address
/// without TLS, a certificate that is not trusted (rustls, OpenSSL). tonic notices a missing TLS only if one of
/// its features for TLS is on.
impl Fault for tonic::ConnectError {
    fn delivery(&self) -> Option<Delivery> {
        Some(Delivery::NotSent)
    }

    fn kind(&self) -> Option<FaultKind> {
        is_own_configuration(self).then_some(FaultKind::Permanent)
    }

    message!();
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): the error of the client's own
/// timeout.
impl From<TimedOut> for tonic::TimeoutExpired {
    fn from(_: TimedOut) -> Self {
        tonic::TimeoutExpired(())
    }
}

/// The client's timeout passed: perhaps applied.
impl Fault for tonic::TimeoutExpired {
    fn delivery(&self) -> Option<Delivery> {
        Some(Delivery::MaybeSent)
    }

    message!();

    made_late!();
}

#[cfg(test)]
mod tests {
    use super::{super::rows::*, *};
    use crate::test_error::TestError;
    use std::io;
    use tonic::{Code, ConnectError, Status, TimeoutExpired};
    use tonic_types_014::{ErrorDetails, StatusExt, pb};

    const UNAVAILABLE: TestError = TestError::grpc(GrpcCode::Unavailable);

    fn with_source(code: Code, source: impl Error + Send + Sync + 'static) -> Status {
        let mut status = Status::new(code, "transport error");
        status.set_source(Arc::new(source));
        status
    }

    fn with_pushback(mut status: Status, ms: &str) -> Status {
        let wait = ms.parse().unwrap();
        status.metadata_mut().insert(hint::PUSHBACK, wait);
        status
    }

    fn no_address() -> tonic::transport::Error {
        tonic::transport::Endpoint::from_shared("not an address").unwrap_err()
    }

    #[test]
    fn a_code_of_the_server_is_the_code() {
        for code in GrpcCode::ALL {
            let status = Status::new(Code::from_i32(code.number()), "said by the server");
            all_say(TestError::grpc(code), false, [status]);
        }
        all_say(UNKNOWN, false, [Status::ok("no failure")]);
        let rubbish = Status::with_details(Code::Unavailable, "", vec![0xff; 40].into());
        all_say(UNAVAILABLE, false, [rubbish]);
        // A timeout of the server gets the code that other servers send.
        let late = Status::cancelled("Timeout expired");
        all_say(TestError::grpc(GrpcCode::DeadlineExceeded), false, [late]);
    }

    #[test]
    fn a_reason_of_google_says_more_than_the_code() {
        let limit = TestError::grpc(GrpcCode::ResourceExhausted);
        let denied = TestError::grpc(GrpcCode::PermissionDenied);
        for (reason, quota, said) in [
            ("RATE_LIMIT_EXCEEDED", "ReadsPerMinute", limit),
            ("RATE_LIMIT_EXCEEDED", "ReadsPerDay", denied.and_kind(FaultKind::Permanent)),
            ("SERVICE_DISABLED", "", denied),
        ] {
            let mut details = ErrorDetails::with_retry_info(None);
            details.set_error_info(reason, "googleapis.com", [("quota_limit".to_owned(), quota.to_owned())]);
            let status = Status::with_error_details(Code::PermissionDenied, "", details);
            assert_eq!(status.service_code(), Some(reason));
            let behind = with_source(Code::Unknown, io::Error::other(status.clone()));
            assert_eq!(behind.service_code(), Some(reason));
            all_say(said, false, [status, behind]);
        }
        let mut details = ErrorDetails::new();
        details.add_quota_failure_violation("project:1", "Requests per day");
        let status = Status::with_error_details(Code::ResourceExhausted, "", details);
        assert_eq!(status.service_code(), None);
        all_say(limit.and_kind(FaultKind::Permanent), false, [status]);
    }

    #[test]
    fn what_was_not_opened_was_not_sent() {
        let unopened = |error| Status::from(not_opened(error));
        let full = unopened(Status::unavailable("the proxy is full"));
        assert_eq!(full.message(), "the proxy is full");
        let said = UNAVAILABLE.and_delivery(Delivery::NotSent).after(PAUSE);
        all_say(said, false, [full]);
        // The error of a channel cannot be cloned, so its openings share it.
        let wrong = Status::from(not_opened(no_address()));
        let shared = Status::from(not_opened(Arc::new(no_address())));
        assert_eq!([wrong.code(), shared.code()], [Code::Unavailable; 2]);
        let said = PERMANENT.and_delivery(Delivery::NotSent).after(PAUSE);
        all_say(said, false, [wrong, shared]);
        all_say(PERMANENT, false, [no_address()]);
    }

    #[test]
    fn the_source_is_asked_before_the_code() {
        let no_connection = with_source(Code::Unavailable, ConnectError(refused().into()));
        all_say(NOT_SENT, true, [no_connection]);
        let unable = [untrusted().into(), "Connecting to HTTPS without TLS enabled".into()];
        let unable = unable.map(|cause| with_source(Code::Unavailable, ConnectError(cause)));
        all_say(PERMANENT.and_delivery(Delivery::NotSent), true, unable);
        all_say(MAYBE_SENT, true, [with_source(Code::Cancelled, TimeoutExpired(()))]);
        // A source that says nothing.
        let no_file = io::Error::from(io::ErrorKind::NotFound);
        let said = TestError::grpc(GrpcCode::Unauthenticated);
        all_say(said, false, [with_source(Code::Unauthenticated, no_file)]);
    }

    #[test]
    fn statuses_behind_one_another_say_what_the_innermost_says() {
        let layered = |inner: Status, layers: u32| {
            (0..layers).fold(inner, |inner, _| with_source(Code::Unknown, io::Error::other(inner)))
        };
        let no_connection = || with_source(Code::Unavailable, ConnectError(refused().into()));
        for layers in [1, 2, 8, 500] {
            let stale = layered(with_pushback(Status::aborted("stale"), "1500"), layers);
            let said = TestError::grpc(GrpcCode::Aborted).after(Duration::from_millis(1_500));
            all_say(said, false, [stale]);
            all_say(NOT_SENT, true, [layered(no_connection(), layers)]);
            let stopped = layered(with_pushback(Status::aborted("stale"), "-1"), layers);
            assert!(layered(stopped, layers).must_stop());
            // A status without a failure.
            let ok = with_source(Code::Unavailable, Status::ok("no failure"));
            all_say(UNAVAILABLE, false, [layered(ok, layers)]);
        }
    }

    /// The code does not come from a server: a policy retries the error whatever its codes are.
    #[test]
    fn an_attempt_that_was_cut_has_no_code_of_a_server() {
        let status = Status::from(CUT);
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(status.message(), "the attempt was cut after 1s");
        all_say(MAYBE_SENT, true, [status]);
        all_say(MAYBE_SENT, true, [TimeoutExpired::from(CUT)]);
        all_say(PERMANENT, false, [Status::from(Stopped::new())]);
    }

    #[test]
    fn the_longer_hint_says_where_it_comes_from() {
        for (info, expected) in [(3, HintSource::RetryInfo), (1, HintSource::RetryAfter)] {
            let details = ErrorDetails::with_retry_info(Some(Duration::from_secs(info)));
            let status = Status::with_error_details(Code::Unavailable, "", details);
            let status = with_pushback(status, "1500");
            assert_eq!(status.hint_source(), expected);
            let behind = with_source(Code::Unknown, io::Error::other(status));
            assert_eq!(behind.hint_source(), expected);
        }
        // tonic's own types would make none of these times.
        let most = Duration::from_secs(i64::MAX as u64);
        for (seconds, expected) in [(-3, None), (i64::MIN, None), (i64::MAX, Some(most))] {
            let mut info = pb::RetryInfo::default();
            info.retry_delay.get_or_insert_default().seconds = seconds;
            let mut said = pb::Status::default();
            said.details.resize_with(1, Default::default);
            said.details[0].type_url = "type.googleapis.com/google.rpc.RetryInfo".to_owned();
            said.details[0].value = info.encode_to_vec();
            let status = Status::with_details(Code::Unavailable, "", said.encode_to_vec().into());
            assert_eq!(status.retry_after(), expected, "{seconds}");
        }
    }

    #[test]
    fn a_reply_that_was_cut_is_perhaps_applied_and_one_that_cannot_be_read_is_permanent() {
        let no_end = "protocol error: missing grpc-status trailer, stream was terminated without a \
                      final status (possible truncation by a proxy or load balancer)";
        let ended = "Unexpected EOF decoding stream.";
        let behind = with_source(Code::Unknown, io::Error::other(Status::unknown(no_end)));
        all_say(MAYBE_SENT, true, [Status::unknown(no_end), Status::internal(ended), behind]);
        // With another code, the text is a server's message about something else.
        all_say(TestError::grpc(GrpcCode::NotFound), false, [Status::not_found(ended)]);
        let too_long = "Error decompressing: size limit, of 4194304 bytes, exceeded while decompressing message|\
                        Cannot return body with more than 4GB of data but got 4294967296 bytes";
        let permanent = TestError::grpc(GrpcCode::ResourceExhausted).and_kind(FaultKind::Permanent);
        all_say(permanent, false, too_long.split('|').map(Status::resource_exhausted));
        let no_gzip = "Error decompressing: invalid gzip header, while receiving response with \
                       status: 200 OK";
        let permanent = permanent.and_grpc(GrpcCode::Internal);
        all_say(permanent, false, [Status::internal(no_gzip)]);
    }
}
