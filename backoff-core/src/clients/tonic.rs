//! `Fault` for the errors of tonic, version 0.14, and the conversion of a cut attempt to a status.
//!
//! Only tonic can make a `transport::Error`, so a cut attempt cannot become one; and a `ConnectError`
//! would say that nothing was sent.

use super::{
    boxed::{Cause, first_known},
    sources::{begins_with, is_untrusted_certificate},
};
use crate::{
    drive::stopping::Stopped,
    facts::{
        fault::{Delivery, Fault, FaultKind, TimedOut},
        grpc::GrpcCode,
        not_opened::NotOpened,
    },
    hint::{self, Pushback},
};
use core::{fmt, time::Duration};
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
/// If the timeout of a tonic server passes, the server answers `CANCELLED`, "Timeout expired". The
/// client's own timeout has the same text, and either of them may come first. So that reply counts as
/// `DEADLINE_EXCEEDED`.
///
/// tonic also reports some faulty replies with a code of its own. A reply that ends without a status or
/// in the middle of a message was cut: perhaps applied. A reply that tonic cannot decompress, or that
/// is longer than tonic accepts, is permanent.
impl Fault for tonic::Status {
    fn inner(&self) -> Option<&dyn Fault> {
        let source = first_known(Cause::new(self.source()?), &|_| None)?;
        let is_answer = source.grpc_code().is_some();
        // A permanent source decides only if tonic has no code, or if the call was ended: an
        // interceptor sets a code of its own.
        let says_more = match source.kind() {
            None => false,
            Some(FaultKind::Permanent) => {
                matches!(self.code(), tonic::Code::Unknown | tonic::Code::Cancelled)
            }
            Some(_) => true,
        };
        let failed_on_its_way = source.delivery().is_some() || says_more;
        (is_answer || failed_on_its_way).then_some(source)
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
        GrpcCode::from_number(self.code() as i32)
    }

    fn retry_after(&self) -> Option<Duration> {
        let own = retry_info(self).max(pushback(self).and_then(Pushback::wait));
        own.max(self.inner().and_then(Fault::retry_after))
    }

    fn is_retry_info(&self) -> bool {
        let (info, header) = (retry_info(self), pushback(self).and_then(Pushback::wait));
        match self.inner() {
            Some(inner) if inner.retry_after() > info.max(header) => inner.is_retry_info(),
            _ => info > header,
        }
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
            None => is_unreadable(self).then_some(FaultKind::Permanent),
        }
    }

    fn must_stop(&self) -> bool {
        let inner = self.inner().is_some_and(|inner| inner.must_stop());
        inner || pushback(self) == Some(Pushback::Stop)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): `DEADLINE_EXCEEDED`, with the
/// [`TimedOut`] as its source. The source distinguishes it from a server's reply: the code does not
/// come from the server, and the request may have been applied.
impl From<TimedOut> for tonic::Status {
    fn from(error: TimedOut) -> Self {
        let mut status = tonic::Status::deadline_exceeded(error.to_string());
        status.set_source(Arc::new(error));
        status
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): `CANCELLED`, with the [`Stopped`]
/// as its source.
impl From<Stopped> for tonic::Status {
    fn from(error: Stopped) -> Self {
        let mut status = tonic::Status::cancelled(error.to_string());
        status.set_source(Arc::new(error));
        status
    }
}

/// For openings that failed with a status: the same status, with the [`NotOpened`] as its source.
impl From<NotOpened<tonic::Status>> for tonic::Status {
    fn from(error: NotOpened<tonic::Status>) -> Self {
        let mut status = error.error.clone();
        status.set_source(Arc::new(error));
        status
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
    let mut status = tonic::Status::unavailable(error.to_string());
    status.set_source(Arc::new(error));
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
    begins_with(status.message(), beginning)
}

/// A message that a retry cannot make readable or shorter. tonic also uses `RESOURCE_EXHAUSTED` for it,
/// which would mean that the server did nothing.
fn is_unreadable(status: &tonic::Status) -> bool {
    let beginnings = [
        "Error decompressing: ",
        "Cannot return body with more than 4GB of data",
    ];
    let is_local = |it: &&str| begins_with(status.message(), it);
    beginnings.iter().any(is_local)
}

/// The delay of a `google.rpc.RetryInfo` among the details; a negative delay is ignored. (`StatusExt`
/// of tonic-types would panic at the most negative delay: prost-types negates it.)
fn retry_info(status: &tonic::Status) -> Option<Duration> {
    let details = pb::Status::decode(status.details()).ok()?.details;
    let is_retry_info = |url: &str| url.ends_with("/google.rpc.RetryInfo");
    let found = details.iter().find(|any| is_retry_info(&any.type_url))?;
    let delay = pb::RetryInfo::decode(&*found.value).ok()?.retry_delay?;
    let nanos = u32::try_from(delay.nanos).ok()?;
    Duration::from_secs(u64::try_from(delay.seconds).ok()?)
        .checked_add(Duration::from_nanos(nanos.into()))
}

fn pushback(status: &tonic::Status) -> Option<Pushback> {
    let values = status.metadata().get_all(hint::PUSHBACK);
    Pushback::parse(values.iter().map(|value| value.as_bytes()))
}

/// The source decides whether the request was sent; if no source is known, the request may have been
/// sent. An invalid address or user agent is permanent, and so is a certificate that is not trusted
/// (rustls).
impl Fault for tonic::transport::Error {
    fn inner(&self) -> Option<&dyn Fault> {
        first_known(Cause::new(self.source()?), &|_| None)
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

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

/// Whether tonic did not even try. An error after a try has a source.
fn is_nonsense(error: &tonic::transport::Error) -> bool {
    let source = error.source();
    source.is_none_or(|source| source.is::<hyper_1::http::uri::InvalidUri>())
}

/// No connection was made: not sent. Permanent if the server's certificate is not trusted (rustls).
impl Fault for tonic::ConnectError {
    fn delivery(&self) -> Option<Delivery> {
        Some(Delivery::NotSent)
    }

    fn kind(&self) -> Option<FaultKind> {
        is_untrusted_certificate(self).then_some(FaultKind::Permanent)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
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

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{codes, facts::codes::Codes, judge::Verdict, policy::Policy};
    use std::io;
    use tonic::{Code, ConnectError, Status, TimeoutExpired};
    use tonic_types_014::{ErrorDetails, StatusExt};

    fn with_source(code: Code, source: impl Error + Send + Sync + 'static) -> Status {
        let mut status = Status::new(code, "transport error");
        status.set_source(Arc::new(source));
        status
    }

    #[test]
    fn an_attempt_that_a_signal_cut_is_not_repeated() {
        let policy = Policy::exponential().on(codes![Codes::CANCELLED]);
        let error = Status::from(Stopped::new());
        assert_eq!(policy.judge(&error), Verdict::Permanent);
        assert!(policy.judge(&Status::cancelled("by the server")) != Verdict::Permanent);
    }

    #[test]
    fn what_was_not_opened_was_not_sent() {
        let pause = Some(Duration::from_millis(20));
        let careful = Policy::exponential().on(codes![503]).idempotent(false);
        let error = Status::unavailable("the proxy is full");
        assert_eq!(careful.judge(&error), Verdict::MaybeApplied);
        let not_opened = Status::from(NotOpened { error, pause });
        assert_eq!(not_opened.message(), "the proxy is full");
        assert_eq!(careful.judge(&not_opened), Verdict::from(true).after(pause));
        let error = Status::permission_denied("no");
        let denied = Status::from(NotOpened { error, pause });
        assert_eq!(careful.judge(&denied), Verdict::Permanent);
    }

    #[test]
    fn a_channel_that_was_not_opened_is_unavailable() {
        let pause = Some(Duration::from_millis(20));
        let careful = Policy::exponential().on(codes![503]).idempotent(false);
        let wrong = tonic::transport::Endpoint::from_shared("not an address").unwrap_err();
        let denied = Status::from(NotOpened {
            error: wrong,
            pause,
        });
        assert_eq!(denied.code(), Code::Unavailable);
        assert_eq!(careful.judge(&denied), Verdict::Permanent);
    }

    #[test]
    fn a_code_of_the_server_is_the_code() {
        for code in GrpcCode::ALL {
            let status = Status::new(Code::from_i32(code.number()), "said by the server");
            assert_eq!(status.grpc_code(), Some(code));
            assert_eq!((status.delivery(), status.kind()), (None, None));
        }
        assert_eq!(Status::ok("no failure").grpc_code(), None);
    }

    #[test]
    fn the_source_is_asked_before_the_code() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let no_connection = with_source(Code::Unavailable, ConnectError(refused().into()));
        assert_eq!(no_connection.delivery(), Some(Delivery::NotSent));
        assert_eq!(no_connection.grpc_code(), None);
        let late = with_source(Code::Cancelled, TimeoutExpired(()));
        assert_eq!(late.delivery(), Some(Delivery::MaybeSent));
        assert_eq!(late.grpc_code(), None);
    }

    #[test]
    fn an_attempt_that_was_cut_exceeded_its_deadline() {
        let cut = TimedOut::new(Duration::from_secs(1));
        let status = Status::from(cut);
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(status.message(), "the attempt was cut after 1s");
        let source = status.source().and_then(|it| it.downcast_ref());
        assert_eq!(source, Some(&cut));
        let late = TimeoutExpired::from(cut);
        // This code does not come from a server: a policy retries the error whatever its codes are.
        let policy = Policy::exponential().on(Codes::UNAVAILABLE);
        for fault in [&status as &dyn Fault, &late] {
            assert_eq!(fault.delivery(), Some(Delivery::MaybeSent));
            assert_eq!((fault.grpc_code(), fault.kind()), (None, None));
            assert_eq!(policy.judge(fault), Verdict::from(true));
            let careful = policy.idempotent(false);
            assert_eq!(careful.judge(fault), Verdict::MaybeApplied);
        }
    }

    #[test]
    fn the_longer_hint_says_where_it_comes_from() {
        let of = |info: u64, pushback: &str| {
            let details = ErrorDetails::with_retry_info(Some(Duration::from_secs(info)));
            let mut status = Status::with_error_details(Code::Unavailable, "", details);
            let wait = pushback.parse().unwrap();
            status.metadata_mut().insert(hint::PUSHBACK, wait);
            status
        };
        for (status, expected) in [(of(3, "1500"), true), (of(1, "1500"), false)] {
            assert_eq!(status.is_retry_info(), expected);
            let behind = with_source(Code::Unknown, io::Error::other(status));
            assert_eq!(behind.is_retry_info(), expected);
        }
    }

    #[test]
    fn a_status_behind_another_error_is_found() {
        let mut stale = Status::aborted("stale");
        let wait = "1500".parse().unwrap();
        stale.metadata_mut().insert(hint::PUSHBACK, wait);
        let status = with_source(Code::Unknown, io::Error::other(stale));
        assert_eq!(status.grpc_code(), Some(GrpcCode::Aborted));
        assert_eq!(status.retry_after(), Some(Duration::from_millis(1_500)));
        assert_eq!(status.delivery(), None);
    }

    #[test]
    fn a_source_that_says_nothing_leaves_the_word_to_the_code() {
        let no_file = io::Error::from(io::ErrorKind::NotFound);
        let status = with_source(Code::Unauthenticated, no_file);
        assert_eq!(status.grpc_code(), Some(GrpcCode::Unauthenticated));
        assert_eq!(status.delivery(), None);
    }

    #[test]
    fn a_timeout_of_the_server_is_what_other_servers_call_it() {
        let late = Status::cancelled("Timeout expired");
        assert_eq!(late.grpc_code(), Some(GrpcCode::DeadlineExceeded));
        let cancelled = Status::cancelled("by the caller");
        assert_eq!(cancelled.grpc_code(), Some(GrpcCode::Cancelled));
    }

    #[test]
    fn a_reply_that_was_cut_is_perhaps_applied() {
        let no_end = "protocol error: missing grpc-status trailer, stream was terminated without a \
                      final status (possible truncation by a proxy or load balancer)";
        for cut in [
            Status::unknown(no_end),
            Status::internal("Unexpected EOF decoding stream."),
            with_source(Code::Unknown, io::Error::other(Status::unknown(no_end))),
        ] {
            assert_eq!(cut.delivery(), Some(Delivery::MaybeSent), "{cut}");
            assert_eq!((cut.grpc_code(), cut.kind()), (None, None), "{cut}");
        }
        // With another code, the text is a server's message about something else.
        let said = Status::not_found("Unexpected EOF decoding stream.");
        assert_eq!(said.grpc_code(), Some(GrpcCode::NotFound));
        assert_eq!(said.delivery(), None);
    }

    #[test]
    fn a_message_that_cannot_be_read_is_permanent() {
        let policy = Policy::exponential().on(codes![Codes::RESOURCE_EXHAUSTED, Codes::INTERNAL]);
        for unreadable in [
            Status::resource_exhausted(
                "Error decompressing: size limit, of 4194304 bytes, exceeded while decompressing \
                 message",
            ),
            Status::internal(
                "Error decompressing: invalid gzip header, while receiving response with status: \
                 200 OK",
            ),
            Status::resource_exhausted(
                "Cannot return body with more than 4GB of data but got 4294967296 bytes",
            ),
        ] {
            for policy in [policy, policy.idempotent(false)] {
                let verdict = policy.judge(&unreadable);
                assert_eq!(verdict, Verdict::Permanent, "{unreadable}");
            }
        }
        let throttled = Status::resource_exhausted("slow down");
        assert_ne!(policy.judge(&throttled), Verdict::Permanent);
    }

    #[test]
    fn a_certificate_that_is_not_trusted_is_permanent() {
        let refused = io::Error::other("invalid peer certificate: UnknownIssuer");
        let status = with_source(Code::Unavailable, ConnectError(refused.into()));
        assert_eq!(status.kind(), Some(FaultKind::Permanent));
        let policy = Policy::exponential().on(Codes::UNAVAILABLE);
        assert_eq!(policy.judge(&status), Verdict::Permanent);
    }

    #[test]
    fn an_address_that_makes_no_sense_is_permanent() {
        let error = tonic::transport::Endpoint::from_shared("no address").unwrap_err();
        assert_eq!(Policy::exponential().judge(&error), Verdict::Permanent);
    }

    #[test]
    fn details_that_are_no_details_are_ignored() {
        let rubbish = Status::with_details(Code::Unavailable, "", vec![0xff; 40].into());
        assert_eq!(rubbish.retry_after(), None);
        assert_eq!(rubbish.grpc_code(), Some(GrpcCode::Unavailable));
    }
}
