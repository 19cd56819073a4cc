//! What a request to an HTTP/JSON service failed of.

#[cfg(test)]
mod tests;
mod text;

use super::{
    body::{Said, excerpt, excerpt_of},
    headers, service,
};
use backoff_core::{
    Conflict, Delivery, Fault, FaultKind, GrpcCode, NotYet, Stopped, TimedOut, hint,
};
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::{
    error::Error,
    fmt,
    sync::Once,
    time::{Duration, SystemTime},
};

/// How many bytes of the body of an error are read, unless something else is said.
pub(super) const ERROR_BODY: usize = 64 << 10;

/// What a request to an HTTP/JSON service failed of, with all that the server said about it.
///
/// As a [`Fault`] it tells the HTTP status, the code of a Google error body, and the longest of the
/// hints in its [headers](hint::in_headers) and `google.rpc.RetryInfo`. An error whose body was cut
/// (the connection was lost, the body did not end in time, or it is too long) tells its status, the
/// hint of its headers, and what the body said before the cut.
///
/// ```
/// use backoff_cloud::{Fault, GrpcCode, http::ApiError};
/// use std::time::{Duration, SystemTime};
///
/// let mut headers = reqwest::header::HeaderMap::new();
/// headers.insert("retry-after", "3".parse().unwrap());
/// let body = br#"{"error": {"code": 409, "status": "ABORTED", "message": "try again"}}"#;
/// let error = ApiError::new(409, &headers, body, SystemTime::now());
/// assert_eq!((error.status(), error.grpc_code()), (Some(409), Some(GrpcCode::Aborted)));
/// assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
/// assert_eq!(error.to_string(), "HTTP 409 ABORTED: try again");
/// ```
pub struct ApiError(Box<Kind>);

enum Kind {
    Reply(Reply),
    Json {
        /// The beginning of what the parser says: it repeats whole texts of the server.
        problem: String,
        excerpt: String,
        /// Whether it ends too early, and HTTP does not say where it ends.
        is_cut: bool,
    },
    /// The body of a success is longer than this.
    TooLong(usize),
    /// The body of a success did not go on within this time.
    Stalled(Duration),
    /// Nothing was sent, for this reason.
    NotSent(String),
    /// An error of reqwest, in any version.
    Delivery(Box<dyn Lost>),
    TimedOut(TimedOut),
    NotYet(NotYet),
    Stopped(Stopped),
    /// A reply that was a conflict without being an error.
    Conflict(Conflict),
}

/// An error of a client that says what it means for a retry.
trait Lost: Error + Fault + Send + Sync {}

impl<E: Error + Fault + Send + Sync> Lost for E {}

struct Reply {
    status: u16,
    headers: HeaderMap,
    retry_after: Option<Duration>,
    /// Whether the body asks for that pause, and not the headers.
    is_retry_info: bool,
    code: Option<GrpcCode>,
    service_code: Option<String>,
    message: String,
    details: Vec<Value>,
    cut: Option<Cut>,
    /// Whether it answers a request that reqwest made because of a redirect.
    is_elsewhere: bool,
}

/// What the head of a reply says beside its status.
pub(super) struct Head {
    headers: HeaderMap,
    retry_after: Option<Duration>,
    service_code: Option<String>,
}

impl Head {
    /// `now` is the wall clock that a date is compared with where the reply has none.
    pub(super) fn of(headers: &HeaderMap, now: SystemTime) -> Self {
        Head {
            headers: headers::kept(headers),
            retry_after: hint::in_headers(headers, now),
            service_code: service::in_headers(headers),
        }
    }
}

/// Why the body of an error was not read to its end.
pub(super) enum Cut {
    Lost(reqwest::Error),
    /// It did not end within this time.
    Stalled(Duration),
    /// It is longer than this.
    TooLong(usize),
}

impl ApiError {
    /// Makes its type known first, so that the core finds it behind an `anyhow::Error` or in a box.
    fn of(kind: Kind) -> Self {
        static KNOWN: Once = Once::new();
        KNOWN.call_once(backoff_core::__private::know::<ApiError>);
        ApiError(Box::new(kind))
    }

    /// What a reply with these parts says. `now` is the wall clock that an HTTP date in
    /// `Retry-After` is compared with where the reply has no `Date`. A body that is no
    /// `google.rpc.Status` is kept as an excerpt. Of the body, the first 64 KiB are read; what is
    /// longer counts as cut.
    pub fn new(status: u16, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Self {
        let read = body.len().min(ERROR_BODY);
        let cut = (read < body.len()).then_some(Cut::TooLong(read));
        let said = Said::read(&body[..read]);
        Self::reply(status, Head::of(headers, now), said, cut)
    }

    pub(super) fn reply(status: u16, head: Head, mut said: Said, cut: Option<Cut>) -> Self {
        let code = said.grpc_code(status);
        let service_code = head.service_code.or_else(|| said.take_service_code());
        let of_body = said.retry_after();
        let is_retry_info = of_body > head.retry_after;
        let retry_after = head.retry_after.max(of_body);
        let (message, details) = said.into_parts();
        ApiError::of(Kind::Reply(Reply {
            status,
            headers: head.headers,
            retry_after,
            is_retry_info,
            code,
            service_code,
            message,
            details,
            cut,
            is_elsewhere: false,
        }))
    }

    /// This error as the answer of another URL than the one that was asked for: the request itself was
    /// answered by a redirect, and may have been applied.
    pub(super) fn elsewhere(mut self) -> Self {
        if let Kind::Reply(reply) = &mut *self.0 {
            reply.is_elsewhere = true;
        }
        self
    }

    /// The error in the body of a success, of which the first `read` bytes were read, and whether something
    /// was left out. The error has the status that its code names; that of the reply, if it names none.
    pub(super) fn in_success(
        status: u16,
        head: Head,
        (said, is_cut): (Said, bool),
        read: usize,
    ) -> Self {
        let status = said.status().unwrap_or(status);
        Self::reply(status, head, said, is_cut.then_some(Cut::TooLong(read)))
    }

    /// A success whose body is not the JSON that was asked for. `is_whole` says whether HTTP says
    /// where the body ends.
    pub(super) fn not_json(error: serde_json::Error, body: &[u8], is_whole: bool) -> Self {
        ApiError::of(Kind::Json {
            problem: excerpt_of(&error.to_string()),
            excerpt: excerpt(body),
            is_cut: error.is_eof() && !is_whole,
        })
    }

    /// A success whose body is longer than `limit`.
    pub(super) fn too_long(limit: usize) -> Self {
        ApiError::of(Kind::TooLong(limit))
    }

    /// A success whose body did not go on within this time.
    pub(super) fn stalled(time: Duration) -> Self {
        ApiError::of(Kind::Stalled(time))
    }

    /// A request that was refused before anything was sent, and why.
    pub(crate) fn not_sent(reason: String) -> Self {
        ApiError::of(Kind::NotSent(reason))
    }

    /// The HTTP status of an error, also where its body was cut.
    pub fn status(&self) -> Option<u16> {
        match &*self.0 {
            Kind::Reply(reply) => Some(reply.status),
            Kind::Delivery(error) => error.status(),
            Kind::Json { .. }
            | Kind::TooLong(_)
            | Kind::Stalled(_)
            | Kind::NotSent(_)
            | Kind::TimedOut(_)
            | Kind::NotYet(_)
            | Kind::Stopped(_)
            | Kind::Conflict(_) => None,
        }
    }

    /// The code that Google's error body names. A 409 whose body was cut before it named one counts as
    /// `ABORTED`: Google sends a 409 with that code or with `ALREADY_EXISTS`, and only another attempt,
    /// which begins with a read where conflicts are retried, can tell which it is.
    pub fn grpc_code(&self) -> Option<GrpcCode> {
        let reply = self.as_reply()?;
        let is_half_a_conflict = reply.status == 409 && reply.cut.is_some();
        reply
            .code
            .or(is_half_a_conflict.then_some(GrpcCode::Aborted))
    }

    /// The code by which another service than Google names its error, without what stands around it: the
    /// headers `x-amzn-errortype` and `x-ms-error-code`; in a JSON body `__type`, `code` and
    /// `error.code`, if they are texts; in an XML body `<Code>`.
    ///
    /// [`dynamodb::kind`](crate::dynamodb::kind), which knows what [`aws::kind`](crate::aws::kind) does,
    /// and [`azure::kind`](crate::azure::kind) say what it means, so that an AWS' `ThrottlingException`
    /// with the status 400 is throttled. A code for a failure of the server, such as `InternalError`,
    /// is left to its status from 500 on, and so is a code for throttling unless the status is 503: beside
    /// a 500 it may be the code of another service, which the failed server has asked. Where Google's error
    /// body names a code, that one decides.
    ///
    /// ```
    /// use backoff_cloud::{Fault, FaultKind, http::ApiError};
    /// use std::time::SystemTime;
    ///
    /// let body = br#"{"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException"}"#;
    /// let error = ApiError::new(400, &Default::default(), body, SystemTime::now());
    /// assert_eq!(error.service_code(), Some("ThrottlingException"));
    /// assert_eq!(error.kind(), Some(FaultKind::Throttled));
    /// ```
    pub fn service_code(&self) -> Option<&str> {
        self.as_reply()?.service_code.as_deref()
    }

    /// The headers of an error's reply, as far as they fit into 16 KiB; `None` where no reply is the error.
    /// A header that is too long for the room that is left is passed over. The `Debug` of the map does not show
    /// the values of `Set-Cookie`, `Location` and other headers that give power to whoever reads them.
    ///
    /// ```
    /// use backoff_cloud::http::ApiError;
    /// use std::time::SystemTime;
    ///
    /// let mut headers = reqwest::header::HeaderMap::new();
    /// headers.insert("range", "bytes=0-262143".parse().unwrap());
    /// let resume = ApiError::new(308, &headers, b"", SystemTime::now());
    /// assert_eq!(resume.headers().unwrap().len(), 1);
    /// assert_eq!(resume.header("Range"), Some("bytes=0-262143"));
    /// ```
    pub fn headers(&self) -> Option<&HeaderMap> {
        Some(&self.as_reply()?.headers)
    }

    /// The first value of one of the [`headers`](Self::headers), if it is visible ASCII text. The name
    /// may be written in upper or lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        headers::text(self.headers()?, name)
    }

    /// The details of Google's error body, each an object with an `@type`; empty without one.
    pub fn details(&self) -> &[Value] {
        self.as_reply().map_or(&[], |reply| &reply.details)
    }

    /// Whether it is a success of which the body shows nothing: it is not the JSON that was asked for,
    /// or too long.
    pub(crate) fn is_unreadable(&self) -> bool {
        match &*self.0 {
            Kind::Json { is_cut, .. } => !is_cut,
            Kind::TooLong(_) => true,
            _ => false,
        }
    }

    fn as_reply(&self) -> Option<&Reply> {
        match &*self.0 {
            Kind::Reply(reply) => Some(reply),
            _ => None,
        }
    }
}

impl Fault for ApiError {
    fn status(&self) -> Option<u16> {
        self.status()
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        self.grpc_code()
    }

    fn retry_after(&self) -> Option<Duration> {
        match &*self.0 {
            Kind::Reply(reply) => reply.retry_after,
            Kind::Json { .. }
            | Kind::TooLong(_)
            | Kind::Stalled(_)
            | Kind::NotSent(_)
            | Kind::Delivery(_)
            | Kind::TimedOut(_)
            | Kind::NotYet(_)
            | Kind::Stopped(_)
            | Kind::Conflict(_) => None,
        }
    }

    fn is_retry_info(&self) -> bool {
        matches!(&*self.0, Kind::Reply(reply) if reply.is_retry_info)
    }

    fn delivery(&self) -> Option<Delivery> {
        match &*self.0 {
            Kind::Delivery(error) => error.delivery(),
            Kind::NotSent(_) => Some(Delivery::NotSent),
            Kind::Stalled(_) => Some(Delivery::MaybeSent),
            Kind::TimedOut(error) => error.delivery(),
            // A body without a length that ends in the middle looks whole to HTTP.
            Kind::Json { is_cut, .. } => is_cut.then_some(Delivery::MaybeSent),
            Kind::Reply(reply) => reply.is_elsewhere.then_some(Delivery::MaybeSent),
            Kind::TooLong(_) | Kind::NotYet(_) | Kind::Stopped(_) | Kind::Conflict(_) => None,
        }
    }

    /// A reply has come, so its connection is in order.
    fn must_reconnect(&self) -> bool {
        self.as_reply().is_none() && self.delivery().is_some()
    }

    fn kind(&self) -> Option<FaultKind> {
        match &*self.0 {
            Kind::Delivery(error) => error.kind(),
            Kind::Conflict(error) => error.kind(),
            Kind::Json { is_cut, .. } => (!is_cut).then_some(FaultKind::Permanent),
            Kind::TooLong(_) | Kind::NotSent(_) => Some(FaultKind::Permanent),
            Kind::NotYet(error) => error.kind(),
            Kind::Stopped(error) => error.kind(),
            // A gRPC code decides, where there is one.
            Kind::Reply(reply) if self.grpc_code().is_none() => {
                service::kind(reply.service_code.as_deref()?, reply.status)
            }
            Kind::Reply(_) | Kind::Stalled(_) | Kind::TimedOut(_) => None,
        }
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

/// Of the URL in it, the user, the password, the query and the fragment are removed, so that no log of
/// the error or of its sources shows them.
impl From<reqwest::Error> for ApiError {
    fn from(mut error: reqwest::Error) -> Self {
        error.url_mut().map(without_secrets);
        ApiError::of(Kind::Delivery(Box::new(error)))
    }
}

/// As of reqwest 0.13.
#[cfg(feature = "reqwest-012")]
impl From<reqwest_012::Error> for ApiError {
    fn from(mut error: reqwest_012::Error) -> Self {
        error.url_mut().map(without_secrets);
        ApiError::of(Kind::Delivery(Box::new(error)))
    }
}

impl From<reqwest::Error> for Cut {
    fn from(mut error: reqwest::Error) -> Self {
        error.url_mut().map(without_secrets);
        Cut::Lost(error)
    }
}

fn without_secrets(url: &mut reqwest::Url) {
    url.set_query(None);
    url.set_fragment(None);
    // These fail where a URL can have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

impl From<TimedOut> for ApiError {
    fn from(error: TimedOut) -> Self {
        ApiError::of(Kind::TimedOut(error))
    }
}

/// For attempts that a signal has [cut](backoff_core::Retrying::cut_on).
impl From<Stopped> for ApiError {
    fn from(error: Stopped) -> Self {
        ApiError::of(Kind::Stopped(error))
    }
}

impl From<NotYet> for ApiError {
    fn from(error: NotYet) -> Self {
        ApiError::of(Kind::NotYet(error))
    }
}

/// For a reply that says that somebody else was faster, without being an error:
/// [`conflict_if`](backoff_core::Retrying::conflict_if).
impl From<Conflict> for ApiError {
    fn from(error: Conflict) -> Self {
        ApiError::of(Kind::Conflict(error))
    }
}
