//! The reply to a call, if it is not the real one.

use axum::http::HeaderValue;
use backoff_cloud::GrpcCode;
use serde_json::json;

use crate::operation::Failure;

/// What happens to one call: the real reply, or one fault.
///
/// Used in scripts ([`Emulator::script`](crate::Emulator::script)) and, with a rate, in
/// [`Faults`](crate::Faults).
///
/// Most faults happen before the call is carried out, so a write with such a fault is not applied. With
/// [`applied`](Self::applied) the write is applied first, and then the fault happens.
///
/// ```
/// use emulator::Reply;
///
/// let busy = Reply::status(429).retry_after("2").retry_info("1.5s");
/// let proxy = Reply::status(502).html();
/// let applied_but_unknown = Reply::reset().applied();
/// let never = Reply::stall();
/// # let _ = (busy, proxy, applied_but_unknown, never);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub(crate) fault: Mishap,
    pub(crate) applied: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mishap {
    None,
    Status(StatusReply),
    Stall,
    Reset,
    Cut,
    FailedOperation(GrpcCode, String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatusReply {
    pub(crate) code: u16,
    pub(crate) retry_after: Option<HeaderValue>,
    retry_info: Option<String>,
    pub(crate) html: bool,
}

impl Reply {
    fn new(fault: Mishap) -> Self {
        Self {
            fault,
            applied: false,
        }
    }

    /// The real reply. In a script it lets a call through, whatever the rates and the rate limit are.
    #[must_use]
    pub fn pass() -> Self {
        Self::new(Mishap::None)
    }

    /// Answers with this HTTP status and Google's JSON error body for it, instead of the real reply.
    ///
    /// # Panics
    ///
    /// If `code` is not within `200..=599`: any other status does not end an HTTP exchange.
    #[must_use]
    #[track_caller]
    pub fn status(code: u16) -> Self {
        assert!((200..=599).contains(&code), "{code} ends no exchange");
        Self::new(Mishap::Status(StatusReply {
            code,
            retry_after: None,
            retry_info: None,
            html: false,
        }))
    }

    /// Sends nothing and leaves the connection open, until the client closes it.
    #[must_use]
    pub fn stall() -> Self {
        Self::new(Mishap::Stall)
    }

    /// Resets the TCP connection (with an RST) before any byte of a reply.
    #[must_use]
    pub fn reset() -> Self {
        Self::new(Mishap::Reset)
    }

    /// Sends the head and half of the body of the real reply, then breaks the connection, so that the
    /// client gets fewer bytes than `Content-Length` says. A write is applied.
    #[must_use]
    pub fn cut() -> Self {
        Self::new(Mishap::Cut)
    }

    /// The real reply, but the operation that the call starts ends with this error after its time. An
    /// instance that was being created is then missing, and an instance that was being deleted still
    /// exists.
    ///
    /// For a call that starts no operation this is the same as [`pass`](Self::pass).
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// use backoff_cloud::GrpcCode;
    /// use emulator::{Call, Emulator, Reply};
    ///
    /// let emulator = Emulator::start()?;
    /// let full = Reply::failed_operation(GrpcCode::ResourceExhausted, "The zone is full.");
    /// emulator.script(Call::CreateInstance, [full]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn failed_operation(code: GrpcCode, message: impl Into<String>) -> Self {
        Self::new(Mishap::FailedOperation(code, message.into()))
    }

    /// Carries the call out before the fault happens: a write is applied although its client gets no
    /// success.
    ///
    /// This has no effect on [`pass`](Self::pass), [`failed_operation`](Self::failed_operation) and
    /// [`cut`](Self::cut), because these always carry the call out. A
    /// status, a stall or a reset hides the result of the call, also a conflict.
    #[must_use]
    pub fn applied(mut self) -> Self {
        self.applied = true;
        self
    }

    /// Adds a `Retry-After` header with this text. The text is sent unchanged: seconds, an HTTP date, or an
    /// invalid value.
    ///
    /// # Panics
    ///
    /// If this is not a [`status`](Self::status) reply, or `value` has control characters, which no header
    /// can carry.
    #[must_use]
    #[track_caller]
    pub fn retry_after(mut self, value: impl AsRef<str>) -> Self {
        let value = value.as_ref();
        let Ok(header) = HeaderValue::from_bytes(value.as_bytes()) else {
            panic!("Retry-After {value:?} cannot be sent: leave out the control characters");
        };
        self.status_mut().retry_after = Some(header);
        self
    }

    /// Adds a `google.rpc.RetryInfo` detail with this `retryDelay` to the error body. The text is sent
    /// unchanged; Google's own form is seconds with an `s`, such as `"3.5s"`.
    ///
    /// An [`html`](Self::html) body cannot contain it.
    ///
    /// # Panics
    ///
    /// If this is not a [`status`](Self::status) reply.
    #[must_use]
    #[track_caller]
    pub fn retry_info(mut self, delay: impl Into<String>) -> Self {
        self.status_mut().retry_info = Some(delay.into());
        self
    }

    /// Sends an HTML page as the body instead of Google's JSON, as a proxy would.
    ///
    /// # Panics
    ///
    /// If this is not a [`status`](Self::status) reply.
    #[must_use]
    #[track_caller]
    pub fn html(mut self) -> Self {
        self.status_mut().html = true;
        self
    }

    #[track_caller]
    fn status_mut(&mut self) -> &mut StatusReply {
        match &mut self.fault {
            Mishap::Status(status) => status,
            other => panic!("{other:?} has no head and body of its own: use Reply::status(503)"),
        }
    }

    /// Whether the client of an applied write does not get the result.
    pub(crate) fn hides_result(&self) -> bool {
        !matches!(self.fault, Mishap::None | Mishap::FailedOperation(..))
    }

    /// The error with which an operation that the call starts is to end, if it is to fail.
    pub(crate) fn operation_failure(&self) -> Option<Failure> {
        match &self.fault {
            Mishap::FailedOperation(code, message) => Some((*code, message.clone())),
            _ => None,
        }
    }
}

impl StatusReply {
    pub(crate) fn body(&self) -> String {
        let Self { code, .. } = self;
        if self.html {
            return format!("<!DOCTYPE html>\n<html><body><h1>Error {code}</h1></body></html>\n");
        }
        let message = format!("A test made the emulator answer this call with {code}.");
        error_body(*code, named(*code), &message, self.retry_info.as_deref())
    }
}

/// Google's JSON for an error.
pub(crate) fn error_body(
    status: u16,
    code: GrpcCode,
    message: &str,
    retry_delay: Option<&str>,
) -> String {
    let mut error = json!({"code": status, "message": message, "status": code.name()});
    if let Some(delay) = retry_delay {
        error["details"] = json!([{
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": delay,
        }]);
    }
    json!({ "error": error }).to_string()
}

/// The code that Google sends with an HTTP status.
fn named(status: u16) -> GrpcCode {
    match status {
        400 => GrpcCode::InvalidArgument,
        401 => GrpcCode::Unauthenticated,
        403 => GrpcCode::PermissionDenied,
        404 => GrpcCode::NotFound,
        408 | 504 => GrpcCode::DeadlineExceeded,
        409 => GrpcCode::Aborted,
        429 => GrpcCode::ResourceExhausted,
        499 => GrpcCode::Cancelled,
        500 => GrpcCode::Internal,
        501 => GrpcCode::Unimplemented,
        502 | 503 => GrpcCode::Unavailable,
        _ => GrpcCode::Unknown,
    }
}
