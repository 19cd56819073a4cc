//! The error of a request to an HTTP/JSON service.

#[cfg(test)]
mod tests;
mod text;

use super::{body::BodyFacts, headers, own::Own, service};
use crate::{github, services::STALE_SIGNATURE};
use backoff_core::{
    __private::Reasons, Conflict, Delivery, Fault, FaultKind, GrpcCode, HintSource, NotYet,
    Stopped, TimedOut, hint,
};
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::{
    error::Error,
    fmt,
    sync::Once,
    time::{Duration, SystemTime},
};

/// How many bytes of the body of an error are read, unless the caller sets another limit.
pub(super) const ERROR_BODY: usize = 64 << 10;

/// The error of a request to an HTTP/JSON service, with everything that the server said about it.
///
/// As a [`Fault`] it has the HTTP status, the code of a Google error body, and the longest hint of its
/// [headers](hint::in_headers), of `google.rpc.RetryInfo` and of the `details.retryAfterSeconds` of Kubernetes. The
/// header `x-should-retry`, or `stripe-should-retry`, counts more than the status: after `false` the call ends, and
/// after `true` the failure is transient, or throttled if the status is 429. A 409 with the code
/// `idempotency_key_in_use` is transient too: the server still works on an earlier request with the same key.
///
/// An error whose body was cut (the connection was lost, the body took too long, or the body is too long) or is not
/// valid JSON has its status and the hint of its headers, and shows the beginning of the body.
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

#[expect(clippy::large_enum_variant, reason = "an `ApiError` is a box")]
enum Kind {
    Reply(Reply),
    Own(Own),
    /// An error of reqwest, of any version, or of this library.
    Other(Box<dyn Other>),
}

/// An error that has its own facts for a retry.
trait Other: Error + Fault + Send + Sync {}

impl<E: Error + Fault + Send + Sync> Other for E {}

struct Reply {
    status: u16,
    head: Head,
    facts: BodyFacts,
    cut: Option<Cut>,
    /// Whether the request may have been applied, whatever the status says.
    is_maybe_sent: bool,
}

impl Reply {
    /// The gRPC code that the body names.
    fn code(&self) -> Option<GrpcCode> {
        self.facts.grpc_code(self.status)
    }
}

/// The parts of a reply's head beside the status. What the head does not say may come from the body.
pub(super) struct Head {
    headers: HeaderMap,
    /// The longest hint, but for that of a `google.rpc.RetryInfo`.
    retry_after: Option<Duration>,
    /// The value of the header `x-should-retry` or `stripe-should-retry`; `true` too if the server still works on an
    /// earlier attempt.
    asks: Option<bool>,
    service_code: Option<String>,
}

impl Head {
    /// `now` is the wall clock. A date is compared with it if the reply has no `Date` or has an `Age`.
    pub(super) fn of(status: u16, headers: &HeaderMap, now: SystemTime) -> Self {
        let asks = |name| headers::text(headers, name)?.parse().ok();
        Head {
            headers: headers::kept(headers),
            retry_after: hint::in_headers(status, headers, now),
            asks: asks("x-should-retry").or_else(|| asks("stripe-should-retry")),
            service_code: service::in_headers(headers),
        }
    }
}

/// Why the body of an error was not read to its end.
pub(super) enum Cut {
    Lost(reqwest::Error),
    /// The body took longer than this time.
    Stalled(Duration),
    /// The body is longer than this limit.
    TooLong(usize),
}

impl ApiError {
    /// Registers the type of the error, so that the core finds it inside an `anyhow::Error` or a box.
    fn of(kind: Kind) -> Self {
        static KNOWN: Once = Once::new();
        KNOWN.call_once(backoff_core::__private::register::<ApiError>);
        ApiError(Box::new(kind))
    }

    fn other(error: impl Other + 'static) -> Self {
        ApiError::of(Kind::Other(Box::new(error)))
    }

    /// Makes the error of a reply from its parts. `now` is the wall clock; an HTTP date in `Retry-After` is
    /// compared with it if the reply has no `Date` or has an `Age`. A body that is not a `google.rpc.Status` is
    /// kept as an excerpt. The first 64 KiB of the body are read; a longer body counts as cut.
    pub fn new(status: u16, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Self {
        let read = body.len().min(ERROR_BODY);
        let cut = (read < body.len()).then_some(Cut::TooLong(read));
        let facts = BodyFacts::read(&body[..read]);
        Self::reply(status, Head::of(status, headers, now), facts, cut)
    }

    pub(super) fn reply(
        status: u16,
        mut head: Head,
        mut facts: BodyFacts,
        cut: Option<Cut>,
    ) -> Self {
        head.retry_after = head.retry_after.max(facts.hint);
        head.service_code = head.service_code.or(facts.service_code.take());
        // The server still works on an earlier request with this key.
        if status == 409 && head.service_code.as_deref() == Some("idempotency_key_in_use") {
            head.asks.get_or_insert(true);
        }
        // The reason may be that of another service, which the failed one has called.
        if status >= 500 {
            facts.reasons = Reasons::default();
        }
        ApiError::of(Kind::Reply(Reply {
            status,
            head,
            facts,
            cut,
            is_maybe_sent: false,
        }))
    }

    /// The error in the stream of a success. It has the status that its code names, or else the usual one of its kind.
    pub(super) fn in_stream(mut facts: BodyFacts, kind: FaultKind) -> Self {
        facts.stream_kind = Some(kind);
        let usual = match kind {
            FaultKind::Throttled => 429,
            FaultKind::Transient => 500,
            _ => 400,
        };
        ApiError::in_success(usual, &HeaderMap::new(), facts).maybe_sent()
    }

    /// Whether the service calls the signature of the request too old, or too young.
    pub(super) fn has_stale_signature(&self) -> bool {
        let mut codes = STALE_SIGNATURE.split(' ');
        codes.any(|code| self.service_code() == Some(code))
    }

    /// Whether the reply names no gRPC code. Of a reply whose body was cut, nothing is known.
    pub(super) fn names_no_code(&self) -> bool {
        matches!(&*self.0, Kind::Reply(reply) if reply.code().is_none())
    }

    /// Marks a reply that the next attempt can change, unless the server says that the next attempt cannot.
    pub(super) fn passing(mut self) -> Self {
        if let Kind::Reply(reply) = &mut *self.0 {
            reply.head.asks.get_or_insert(true);
        }
        self
    }

    /// Marks this error as one that does not show whether the request was applied: it is the reply of another URL, because
    /// the request itself was answered by a redirect, or it stands in the stream of a success.
    pub(super) fn maybe_sent(mut self) -> Self {
        if let Kind::Reply(reply) = &mut *self.0 {
            reply.is_maybe_sent = true;
        }
        self
    }

    /// The error in the body of a success. The error has the status that its code names, or the status of the
    /// reply if the code names none.
    pub(super) fn in_success(status: u16, headers: &HeaderMap, facts: BodyFacts) -> Self {
        let status = facts.status.unwrap_or(status);
        let head = Head::of(status, headers, SystemTime::now());
        let cut = facts.cut_at.map(Cut::TooLong);
        Self::reply(status, head, facts, cut)
    }

    /// A request that was refused before it was sent, and the reason.
    pub(crate) fn not_sent(reason: String) -> Self {
        Own::not_sent(reason).into()
    }

    /// A failure while the body of a success arrived.
    pub(super) fn of_body(mut error: reqwest::Error) -> Self {
        // The error is not one of the transport: a layer of the program around the client refuses the body.
        if error.delivery().is_none() {
            return error.into();
        }
        error.url_mut().map(without_secrets);
        Own::ended_early(Some(error)).into()
    }

    /// The error of a stream that ended in order, but without the last message of its protocol, such as the
    /// `response.completed` of OpenAI, or of a watch that the server closed. The error is transient, with
    /// [`Delivery::MaybeSent`].
    ///
    /// ```
    /// use backoff_cloud::{Verdict, http::ApiError, openai};
    ///
    /// let error = ApiError::ended_early();
    /// assert!(matches!(openai::REQUEST.judge(&error), Verdict::Retry { .. }));
    /// assert_eq!(error.to_string(), "the body of the reply ended too early");
    /// ```
    pub fn ended_early() -> Self {
        Own::ended_early(None).into()
    }

    /// The HTTP status of an error, also if its body was cut.
    pub fn status(&self) -> Option<u16> {
        match &*self.0 {
            Kind::Reply(reply) => Some(reply.status),
            Kind::Other(error) => error.status(),
            _ => None,
        }
    }

    /// The code in Google's error body.
    ///
    /// - A reason of a rate limit, such as `rateLimitExceeded` or `RATE_LIMIT_EXCEEDED`, counts as
    ///   `RESOURCE_EXHAUSTED`: many services send it with 403 and `PERMISSION_DENIED`. So a policy repeats it where it
    ///   repeats a 429.
    /// - A 409 whose body was cut counts as `ABORTED`: Google sends a 409 with this code or with `ALREADY_EXISTS`, and
    ///   only another attempt can show which one it is. Where conflicts are retried, that attempt begins with a read.
    ///
    /// ```
    /// use backoff_cloud::{GrpcCode, http::ApiError};
    /// use std::time::SystemTime;
    ///
    /// let body = br#"{"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "Slower",
    ///     "errors": [{"domain": "usageLimits", "reason": "userRateLimitExceeded"}]}}"#;
    /// let error = ApiError::new(403, &Default::default(), body, SystemTime::now());
    /// assert_eq!(error.grpc_code(), Some(GrpcCode::ResourceExhausted));
    /// assert_eq!(error.service_code(), Some("userRateLimitExceeded"));
    /// ```
    pub fn grpc_code(&self) -> Option<GrpcCode> {
        let reply = self.as_reply()?;
        let is_half_a_conflict = reply.status == 409 && reply.cut.is_some();
        let code = reply.facts.reasons.code(reply.code());
        code.or(is_half_a_conflict.then_some(GrpcCode::Aborted))
    }

    /// The code of another service than Google, without namespace and URL. The first of these that is there:
    ///
    /// - the headers `x-amzn-errortype` and `x-ms-error-code`;
    /// - `__type`, `code` and `error.code` of a JSON body, if they are texts and no HTTP status (AWS and Alibaba write
    ///   `Code` and `Error.Code`);
    /// - `<Code>` of an XML body;
    /// - Google's reason: in a `google.rpc.ErrorInfo` of the details, or `error.errors[].reason`;
    /// - `error.type`, as OpenAI sends it.
    ///
    /// [`dynamodb::kind`](crate::dynamodb::kind), which is [`aws::kind`](crate::aws::kind), and
    /// [`azure::kind`](crate::azure::kind) give the kind of the code. So an AWS `ThrottlingException` with
    /// the status 400 is throttled. From the status 500 on, the status decides instead of a code for a
    /// failure of the server, such as `InternalError`. It also decides instead of a code for throttling,
    /// unless the status is 503: beside a 500 the code may be from another service that the failed server
    /// has called. A code in Google's error body comes before all of these.
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
        self.as_reply()?.head.service_code.as_deref()
    }

    /// The headers of the reply, at most 16 KiB of them; `None` if the error is not a reply. A header that
    /// does not fit is left out. The `Debug` of the map does not show the values of secret headers such as
    /// `Set-Cookie` and `Location`.
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
        Some(&self.as_reply()?.head.headers)
    }

    /// The first value of one of the [`headers`](Self::headers), if it is visible ASCII text. Upper and
    /// lower case of the name are the same.
    pub fn header(&self, name: &str) -> Option<&str> {
        headers::text(self.headers()?, name)
    }

    /// The details of Google's error body, each an object with an `@type`; empty if there are none. Each call
    /// parses the details anew. The values may take a hundred times the memory of the body.
    pub fn details(&self) -> Vec<Value> {
        self.as_reply()
            .map_or_else(Vec::new, |reply| reply.facts.details())
    }

    /// For a success whose body is not the JSON that was asked for, the parser's message and the first 200
    /// characters of the body, as one line. `None` for every other error.
    ///
    /// The body of a success may contain a password or a token, so neither `Display` nor `Debug` nor a log of this
    /// library shows the excerpt.
    ///
    /// ```no_run
    /// # use backoff_cloud::{http::{self, SendExt as _}, memorystore};
    /// # async fn f(client: reqwest::Client, url: &str) -> Result<(), http::ApiError> {
    /// let instance = memorystore::REQUEST.send(client.get(url)).json::<Vec<String>>().await;
    /// if let Some(excerpt) = instance.as_ref().err().and_then(|error| error.excerpt()) {
    ///     println!("on this machine alone: {excerpt}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn excerpt(&self) -> Option<&str> {
        match &*self.0 {
            Kind::Own(own) => own.excerpt.as_deref(),
            _ => None,
        }
    }

    /// Whether the reply is a success whose body cannot be shown: it is not the JSON that was asked for, or
    /// it is too long.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(&*self.0, Kind::Own(own) if own.delivery.is_none())
    }

    fn as_reply(&self) -> Option<&Reply> {
        match &*self.0 {
            Kind::Reply(reply) => Some(reply),
            _ => None,
        }
    }
}

impl Fault for ApiError {
    fn late() -> Option<fn(TimedOut) -> Self> {
        Some(Self::from)
    }

    fn status(&self) -> Option<u16> {
        self.status()
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        self.grpc_code()
    }

    fn retry_after(&self) -> Option<Duration> {
        let reply = self.as_reply()?;
        reply.head.retry_after.max(reply.facts.retry_info)
    }

    fn hint_source(&self) -> HintSource {
        match self.as_reply() {
            Some(reply) if reply.facts.retry_info > reply.head.retry_after => HintSource::RetryInfo,
            _ => HintSource::RetryAfter,
        }
    }

    fn unread_hint(&self) -> Option<(&str, &[u8])> {
        let reply = self.as_reply()?;
        hint::unread_in_headers(reply.status, &reply.head.headers, SystemTime::now())
    }

    fn service_code(&self) -> Option<&str> {
        self.service_code()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.header(name)
    }

    /// The header `x-should-retry: false` of OpenAI, Anthropic and others, and Stripe's `stripe-should-retry`.
    fn must_stop(&self) -> bool {
        self.as_reply()
            .is_some_and(|reply| reply.head.asks == Some(false))
    }

    fn delivery(&self) -> Option<Delivery> {
        match &*self.0 {
            Kind::Other(error) => error.delivery(),
            Kind::Own(own) => own.delivery,
            Kind::Reply(reply) if reply.is_maybe_sent => Some(Delivery::MaybeSent),
            Kind::Reply(_) => self.has_stale_signature().then_some(Delivery::NotSent),
        }
    }

    /// A reply has arrived, so the connection works.
    fn must_reconnect(&self) -> bool {
        self.as_reply().is_none() && self.delivery().is_some()
    }

    fn kind(&self) -> Option<FaultKind> {
        match &*self.0 {
            Kind::Other(error) => error.kind(),
            Kind::Own(own) => own.kind(),
            Kind::Reply(reply) if reply.facts.stream_kind.is_some() => reply.facts.stream_kind,
            Kind::Reply(reply) if reply.head.asks == Some(true) => Some(match reply.status {
                429 => FaultKind::Throttled,
                _ => FaultKind::Transient,
            }),
            Kind::Reply(reply) => {
                let by_reason = reply.facts.reasons.kind();
                // A gRPC code decides if there is one.
                if by_reason.is_some() || self.grpc_code().is_some() {
                    return by_reason;
                }
                let header = |name: &str| self.header(name);
                match header("x-github-request-id") {
                    Some(_) => github::kind(reply.status, header, &reply.facts.message),
                    None => {
                        let by_code = service::kind(self.service_code()?, reply.status);
                        // The status of a success says nothing about the error in its body.
                        by_code.or(reply.facts.llm_kind.filter(|_| reply.status < 300))
                    }
                }
            }
        }
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

impl From<Own> for ApiError {
    fn from(own: Own) -> Self {
        ApiError::of(Kind::Own(own))
    }
}

/// Removes the user, the password, the query and the fragment of the URL in the error, so that no log of
/// the error or of its sources shows them.
impl From<reqwest::Error> for ApiError {
    fn from(mut error: reqwest::Error) -> Self {
        error.url_mut().map(without_secrets);
        ApiError::other(error)
    }
}

/// The same as for reqwest 0.13, for reqwest 0.12.
#[cfg(feature = "reqwest-012")]
impl From<reqwest_012::Error> for ApiError {
    fn from(mut error: reqwest_012::Error) -> Self {
        error.url_mut().map(without_secrets);
        ApiError::other(error)
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
    as_sent(url);
}

/// Removes what a client does not send: the fragment, the user and the password.
pub(super) fn as_sent(url: &mut reqwest::Url) {
    url.set_fragment(None);
    // These calls fail if the URL can have neither a user nor a password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

impl From<TimedOut> for ApiError {
    fn from(error: TimedOut) -> Self {
        ApiError::other(error)
    }
}

/// For attempts that a signal [ends](backoff_core::Retrying::cut_on).
impl From<Stopped> for ApiError {
    fn from(error: Stopped) -> Self {
        ApiError::other(error)
    }
}

impl From<NotYet> for ApiError {
    fn from(error: NotYet) -> Self {
        ApiError::other(error)
    }
}

/// For a reply that is not an error but says that another client was faster:
/// [`conflict_if`](backoff_core::Retrying::conflict_if).
impl From<Conflict> for ApiError {
    fn from(error: Conflict) -> Self {
        ApiError::other(error)
    }
}
