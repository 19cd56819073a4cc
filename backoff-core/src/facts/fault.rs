//! The facts about a failed attempt. The policy judges the facts.

use crate::{
    facts::{
        codes::{self, Codes},
        grpc::GrpcCode,
    },
    text::{Loggable, Rounded},
};
use core::{fmt, time::Duration};

/// The facts that an error states about the failed attempt.
///
/// Every method has a default that means "unknown". Implement the methods whose answer the error knows.
/// [`Policy`](crate::Policy) judges the facts in the order of [`Policy::judge`].
///
/// ```
/// use backoff_core::Fault;
/// use std::time::Duration;
///
/// struct ApiError {
///     code: u16,
///     retry_after: Option<Duration>,
/// }
///
/// impl Fault for ApiError {
///     fn status(&self) -> Option<u16> { Some(self.code) }
///     fn retry_after(&self) -> Option<Duration> { self.retry_after }
/// }
/// ```
///
/// [`Policy::judge`]: crate::Policy::judge
/// An error that wraps another error returns it from `inner`, and so states all facts of the inner
/// error:
///
/// ```
/// # use backoff_core::{Fault, TimedOut};
/// enum MyError {
///     Api(TimedOut), // or the error of your client
///     Config(String),
/// }
///
/// impl Fault for MyError {
///     fn inner(&self) -> Option<&dyn Fault> {
///         match self {
///             MyError::Api(error) => Some(error),
///             MyError::Config(_) => None, // says nothing, so it is permanent
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "nothing is known about `{Self}`: derive `Fault` for it, or decide by a function (`when` in the attribute, `.when_any` on a policy)",
    label = "this error does not implement `Fault`",
    note = "`#[derive(Fault)]`, or `impl Fault for {Self} {{ fn status(&self) -> Option<u16> {{ Some(self.code) }} }}`; \
            an error that wraps another one implements `inner` instead",
    note = "for an error of another crate turn on this crate's feature for it: `anyhow-1`, \
            `reqwest-013`, `tonic-014`, `redis-1`, `gax-1`, …",
    note = "or decide yourself: `.when_any(|error: &{Self}| ..)` on a policy, \
            `when = |error: &{Self}| ..` in the attribute"
)]
pub trait Fault {
    /// The wrapped error, for a wrapper. The wrapped error answers each method that the wrapper does
    /// not implement.
    fn inner(&self) -> Option<&dyn Fault> {
        None
    }

    /// The HTTP status of the reply, if there was a reply.
    fn status(&self) -> Option<u16> {
        self.inner()?.status()
    }

    /// The gRPC code, from a gRPC reply or from `error.status` of a Google JSON body.
    ///
    /// If there is a gRPC code, the HTTP status is not used: the status 409 has two meanings, the codes
    /// `ABORTED` and `ALREADY_EXISTS` have one meaning each.
    fn grpc_code(&self) -> Option<GrpcCode> {
        self.inner()?.grpc_code()
    }

    /// How long the server asks the client to wait: `Retry-After`, `google.rpc.RetryInfo`.
    fn retry_after(&self) -> Option<Duration> {
        self.inner()?.retry_after()
    }

    /// The origin of the hint of [`retry_after`](Self::retry_after). Hooks and logs show the origin; no
    /// rule depends on it.
    fn hint_source(&self) -> HintSource {
        let inner = self.inner();
        inner.map_or(HintSource::RetryAfter, |inner| inner.hint_source())
    }

    /// The name and the value of the first header with a hint that cannot be read; `None` if there is no such header.
    /// The log event of the wait shows both. No rule depends on them, and metrics never use them as a label.
    fn unread_hint(&self) -> Option<(&str, &[u8])> {
        self.inner()?.unread_hint()
    }

    /// Whether the server asked not to be called again, for example by a negative gRPC pushback.
    fn must_stop(&self) -> bool {
        self.inner().is_some_and(|inner| inner.must_stop())
    }

    /// For a failure of the transport (refused, reset, timed out): whether the request may have
    /// arrived. `None` for every other failure.
    fn delivery(&self) -> Option<Delivery> {
        self.inner()?.delivery()
    }

    /// Whether the connection of the attempt is unusable, so that the next attempt should open another
    /// connection. By default, the [inner error](Self::inner) answers; without an inner error, the
    /// answer is `true` for every failure of the transport. A server's reply can say so too, for
    /// example the reply of a Redis server that has become a replica. `Reconnect` calls this method.
    fn must_reconnect(&self) -> bool {
        match self.inner() {
            Some(inner) => inner.must_reconnect(),
            None => self.delivery().is_some(),
        }
    }

    /// The kind, if the error itself knows its kind. The kind takes precedence over the codes.
    fn kind(&self) -> Option<FaultKind> {
        self.inner()?.kind()
    }

    /// The code of a service that has codes of its own, for logs: a SQLSTATE such as `40001`, or
    /// `ThrottlingException`. Logs show it if there is neither a gRPC code nor an HTTP status. No rule
    /// depends on it.
    fn service_code(&self) -> Option<&str> {
        self.inner()?.service_code()
    }

    /// The service's own message, for an error whose text does not show it. Logs show it in place of the
    /// error's text.
    fn service_message(&self) -> Option<&str> {
        self.inner()?.service_message()
    }

    /// The value of a header of the reply, for a rule of [`Policy::throttled_if`](crate::Policy::throttled_if), whose page
    /// has an example. The name is in lower case. `None` if the reply has no such header, or if the error has lost its
    /// headers.
    fn header(&self, name: &str) -> Option<&str> {
        self.inner()?.header(name)
    }

    /// The text for logs, if the error has a text. Metrics never use the text as a label.
    fn message(&self) -> Option<&dyn fmt::Display> {
        self.inner()?.message()
    }

    /// Whether a conditional write that failed with this error may have been applied. A conditional write names the version
    /// that was read, such as an etag, and is refused if somebody has written since.
    ///
    /// By default the other facts answer: a failure of the transport may have been applied unless it was
    /// [`NotSent`](Delivery::NotSent); throttling and conflicts were not applied, and neither was a write that the service
    /// refused with 400, 401, 403, 404, 408, 409, 412, 413, 422, 425 or 449, or with a gRPC code for one of them. Any other failure,
    /// such as a 503 or an error without facts, may have been applied. A wrapper of an error that implements this method
    /// implements it too. For a loop of your own:
    ///
    /// ```
    /// use backoff_core::{Fault, TimedOut};
    /// use std::time::Duration;
    ///
    /// struct Refused(u16);
    /// impl Fault for Refused {
    ///     fn status(&self) -> Option<u16> { Some(self.0) }
    /// }
    ///
    /// assert!(!Refused(412).may_be_written()); // read again, and write again
    /// assert!(Refused(503).may_be_written()); // a proxy may have sent this: look at the next value first
    /// assert!(TimedOut::new(Duration::from_secs(1)).may_be_written());
    /// ```
    fn may_be_written(&self) -> bool {
        !self.refuses_value()
            && is_perhaps_applied(self)
            && !is_refused(&codes::WRITE_REFUSED, self)
    }

    /// Whether a write was refused for its value, so that another value, or a part of the changes, may be accepted.
    ///
    /// By default these are 400, 413 and 422, and the gRPC codes `INVALID_ARGUMENT`, `FAILED_PRECONDITION` and
    /// `OUT_OF_RANGE`. A wrapper of an error that implements this method implements it too.
    fn refuses_value(&self) -> bool {
        is_refused(&codes::VALUE_REFUSED, self)
    }

    /// How the error is made of a call that ends before an attempt, because the breaker is open, or because the time in
    /// the queue of the rate is over. By default no error can be made, so the attempt begins all the same. An error with
    /// `From<TimedOut>` returns `Some(Self::from)`; the derive writes this by itself.
    ///
    /// Only a breaker or a rate that the policy alone names asks for it. [`Retrying::breaker`](crate::Retrying), the keys
    /// `breaker` and `rate`, and limits such as `timeout` need `From<TimedOut>` alone.
    ///
    /// ```
    /// use backoff_core::{Fault, TimedOut};
    ///
    /// struct Failed(TimedOut);
    ///
    /// impl From<TimedOut> for Failed {
    ///     fn from(late: TimedOut) -> Self { Failed(late) }
    /// }
    ///
    /// impl Fault for Failed {
    ///     fn inner(&self) -> Option<&dyn Fault> { Some(&self.0) }
    ///     fn late() -> Option<fn(TimedOut) -> Self> { Some(Self::from) }
    /// }
    /// ```
    fn late() -> Option<fn(TimedOut) -> Self>
    where
        Self: Sized,
    {
        None
    }

    /// A reply with headers gives them to the rate of the attempt that runs on this thread.
    #[doc(hidden)]
    fn observe_quotas(&self) {
        if let Some(inner) = self.inner() {
            inner.observe_quotas();
        }
    }
}

/// Whether the error states any fact that a policy can judge.
#[inline]
pub(crate) fn says_something<F: Fault + ?Sized>(fault: &F) -> bool {
    fault.kind().is_some()
        || fault.grpc_code().is_some()
        || fault.status().is_some()
        || fault.delivery().is_some()
}

/// Whether the attempt may have been applied although it failed.
pub(crate) fn is_perhaps_applied<F: Fault + ?Sized>(fault: &F) -> bool {
    if let Some(transport) = fault.delivery() {
        return transport == Delivery::MaybeSent;
    }
    let says_it_did_nothing = match (fault.kind(), fault.grpc_code(), fault.status()) {
        (Some(kind), _, status) => kind.did_nothing() || matches!(status, Some(409 | 449)),
        (None, Some(code), _) => codes::NOTHING_DONE.contains_grpc(code),
        (None, None, Some(status)) => codes::NOTHING_DONE.contains_status(status),
        (None, None, None) => false,
    };
    !says_it_did_nothing
}

/// Whether a reply refused the request by one of these codes. A failure of the transport has no code.
fn is_refused<F: Fault + ?Sized>(codes: &Codes, fault: &F) -> bool {
    fault.delivery().is_none()
        && matches!(fault.kind(), None | Some(FaultKind::Permanent))
        && match (fault.grpc_code(), fault.status()) {
            (Some(code), _) => codes.contains_grpc(code),
            (None, status) => status.is_some_and(|status| codes.contains_status(status)),
        }
}

/// In an implementation of [`Fault`]: the text of the error is its message.
macro_rules! message {
    () => {
        fn message(&self) -> Option<&dyn core::fmt::Display> {
            Some(self)
        }
    };
}

pub(crate) use message;

/// In an implementation of [`Fault`] for an error with `From<TimedOut>`.
macro_rules! made_late {
    () => {
        #[inline]
        fn late() -> Option<fn($crate::TimedOut) -> Self> {
            Some(Self::from)
        }
    };
}

#[cfg(feature = "std")]
pub(crate) use made_late;

macro_rules! forward {
    ($($pointer:ty),+) => {
        $(forward! { @ $pointer:
            inner() -> Option<&dyn Fault>,
            status() -> Option<u16>,
            grpc_code() -> Option<GrpcCode>,
            retry_after() -> Option<Duration>,
            hint_source() -> HintSource,
            unread_hint() -> Option<(&str, &[u8])>,
            must_stop() -> bool,
            delivery() -> Option<Delivery>,
            must_reconnect() -> bool,
            kind() -> Option<FaultKind>,
            may_be_written() -> bool,
            refuses_value() -> bool,
            service_code() -> Option<&str>,
            service_message() -> Option<&str>,
            header(name) -> Option<&str>,
            message() -> Option<&dyn fmt::Display>,
            observe_quotas() -> (),
        })+
    };
    (@ $pointer:ty: $($answer:ident($($name:ident)?) -> $fact:ty,)+) => {
        /// All answers come from the value behind the pointer.
        impl<F: Fault + ?Sized> Fault for $pointer {
            $(
                fn $answer(&self $(, $name: &str)?) -> $fact {
                    (**self).$answer($($name)?)
                }
            )+
        }
    };
}

forward!(&F);
#[cfg(feature = "std")]
forward!(Box<F>, std::sync::Arc<F>, std::rc::Rc<F>);

/// Whether a request that failed on its way may have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Surely not applied: host name not found, connection refused, connect timeout, stream refused.
    NotSent,
    /// Perhaps applied: reset after sending, reply lost, attempt timed out.
    MaybeSent,
}

impl Delivery {
    /// A short name for logs and labels: `"not_sent"`, `"maybe_sent"`.
    pub const fn name(self) -> &'static str {
        match self {
            Delivery::NotSent => "not_sent",
            Delivery::MaybeSent => "maybe_sent",
        }
    }
}

/// The origin of a [hint](Fault::retry_after).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HintSource {
    /// The server, by `Retry-After`, a gRPC pushback, or in another way.
    RetryAfter,
    /// The server, by a `google.rpc.RetryInfo`.
    RetryInfo,
    /// The client: no connection is opened before this time is over, see
    /// [`NotOpened`](crate::NotOpened).
    Pause,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The failure may pass without a change: an overloaded or restarting server, a lost connection.
    Transient,
    /// The caller sends more than its quota allows.
    Throttled,
    /// Another writer changed the same resource meanwhile. Only a new read helps, so a conflict is
    /// retried only if the policy says so
    /// ([`Policy::retry_conflicts`](crate::Policy::retry_conflicts)).
    Conflict,
    /// Nothing failed, but the value is not yet the expected one, for example a long-running operation
    /// that is not done. The next call is a poll and not a retry, so it costs no budget.
    Pending,
    /// The error is not retryable.
    Permanent,
}

impl FaultKind {
    /// A short name for logs and labels: `"transient"`, `"throttled"`.
    pub const fn name(self) -> &'static str {
        match self {
            FaultKind::Transient => "transient",
            FaultKind::Throttled => "throttled",
            FaultKind::Conflict => "conflict",
            FaultKind::Pending => "pending",
            FaultKind::Permanent => "permanent",
        }
    }

    /// Whether a failure of this kind means that the server did nothing.
    pub(crate) const fn did_nothing(self) -> bool {
        matches!(
            self,
            FaultKind::Throttled | FaultKind::Conflict | FaultKind::Pending
        )
    }
}

/// The error of an attempt that ran longer than its `attempt_timeout`, or longer than the rest of the
/// call's `timeout` or deadline at the start of the attempt. The text shows the time limit of the
/// attempt, not of the call.
///
/// An operation with an attempt timeout needs `E: From<TimedOut>` for its error type. Keep the
/// `TimedOut` in the error and return it from [`Fault::inner`]. Otherwise a policy cannot see that the
/// attempt may be repeated:
///
/// ```
/// use backoff_core::{Fault, TimedOut};
///
/// enum MyError {
///     TimedOut(TimedOut),
/// }
///
/// impl From<TimedOut> for MyError {
///     fn from(error: TimedOut) -> Self { MyError::TimedOut(error) }
/// }
///
/// impl Fault for MyError {
///     fn inner(&self) -> Option<&dyn Fault> {
///         match self { MyError::TimedOut(error) => Some(error) }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimedOut {
    /// How long the attempt was allowed to run, or to wait for its turn; zero if a breaker ended the call.
    pub after: Duration,
    cause: Cause,
}

/// What ended the attempt, or the call before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Cut,
    /// The call waited for its turn at the rate with this name, so nothing was sent.
    #[cfg_attr(
        not(feature = "rate"),
        allow(dead_code, reason = "only a rate has a queue")
    )]
    Queue(Option<&'static str>),
    /// The breaker with this name was open, so nothing was sent. The HTTP status of the failure that opened it; zero if it
    /// had none.
    Breaker(u16, Option<&'static str>),
}

impl TimedOut {
    /// An attempt that was cut after this time.
    pub const fn new(after: Duration) -> Self {
        TimedOut {
            after,
            cause: Cause::Cut,
        }
    }

    /// A call whose breaker is open, because of a failure with this HTTP status; zero if it had none.
    pub(crate) const fn by_breaker(status: u16, name: Option<&'static str>) -> Self {
        TimedOut {
            after: Duration::ZERO,
            cause: Cause::Breaker(status, name),
        }
    }

    /// Whether the breaker of the call was open, so that no attempt was made. The text of the error has the
    /// name of the breaker, and the HTTP status of the failure that opened the breaker, if it had one.
    ///
    /// ```
    /// use backoff_core::TimedOut;
    /// use std::time::Duration;
    ///
    /// assert!(!TimedOut::new(Duration::from_secs(1)).is_by_breaker());
    /// ```
    #[cfg_attr(not(feature = "breaker"), doc(hidden))]
    pub const fn is_by_breaker(&self) -> bool {
        matches!(self.cause, Cause::Breaker(..))
    }

    /// A call that waited so long for its turn in the queue of its [`Rate`](crate::Policy).
    #[cfg(feature = "rate")]
    pub(crate) const fn in_queue(after: Duration, name: Option<&'static str>) -> Self {
        TimedOut {
            after,
            cause: Cause::Queue(name),
        }
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = Rounded(self.after);
        match self.cause {
            Cause::Cut => write!(f, "the attempt was cut after {after}"),
            Cause::Queue(name) => {
                write!(f, "the call waited {after} for its turn")?;
                name.map_or(Ok(()), |name| write!(f, " at the rate {}", Loggable(name)))
            }
            Cause::Breaker(status, name) => {
                f.write_str("no attempt was made, because the breaker ")?;
                if let Some(name) = name {
                    write!(f, "{} ", Loggable(name))?;
                }
                f.write_str("is open")?;
                match status {
                    0 => Ok(()),
                    _ => write!(f, " after a failure with the status {status}"),
                }
            }
        }
    }
}

impl core::error::Error for TimedOut {}

/// A failure of the transport. The request may have arrived, unless no attempt was made.
impl Fault for TimedOut {
    fn delivery(&self) -> Option<Delivery> {
        Some(match self.cause {
            Cause::Cut => Delivery::MaybeSent,
            Cause::Queue(_) | Cause::Breaker(..) => Delivery::NotSent,
        })
    }

    made_late!();

    message!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge::Verdict, policy::Policy, test_error::TestError};

    const API: TestError = TestError::status(409)
        .and_grpc(GrpcCode::Aborted)
        .after(Duration::from_secs(3));

    struct Wrapper(Option<TestError>);

    impl Fault for Wrapper {
        fn inner(&self) -> Option<&dyn Fault> {
            self.0.as_ref().map(|api| api as _)
        }
    }

    #[test]
    fn a_wrapper_says_what_is_inside() {
        let policy = Policy::exponential().on(crate::Codes::ABORTED);
        assert_ne!(policy.judge(&API), Verdict::Permanent);
        assert_eq!(policy.judge(&Wrapper(Some(API))), policy.judge(&API));
        assert_eq!(policy.judge(&Wrapper(None)), Verdict::NothingKnown);
    }

    /// Rows: the error, whether a conditional write may have been applied, and whether its value was refused.
    #[test]
    fn an_error_says_whether_a_conditional_write_was_applied_and_whether_its_value_was_refused() {
        use FaultKind::{Conflict, Pending, Permanent, Throttled, Transient};
        let status = TestError::status;
        let code = |code| status(500).and_grpc(code);
        let kind = TestError::kind;
        let rows = [400, 413, 422]
            .map(|refused| (status(refused), false, true))
            .into_iter()
            .chain(
                [401, 403, 404, 408, 409, 412, 425, 429, 449].map(|it| (status(it), false, false)),
            )
            .chain([402, 418, 500, 502, 503, 504].map(|it| (status(it), true, false)))
            .chain([
                (code(GrpcCode::InvalidArgument), false, true),
                (code(GrpcCode::FailedPrecondition), false, true),
                (code(GrpcCode::OutOfRange), false, true),
                (code(GrpcCode::NotFound), false, false),
                (code(GrpcCode::Unauthenticated), false, false),
                (code(GrpcCode::Aborted), false, false),
                (code(GrpcCode::Unavailable), true, false),
                (code(GrpcCode::Internal), true, false),
                // The code outranks the status.
                (status(400).and_grpc(GrpcCode::Unavailable), true, false),
                (kind(Conflict), false, false),
                (kind(Throttled), false, false),
                (kind(Pending), false, false),
                (kind(Transient), true, false),
                (kind(Permanent), true, false),
                (status(422).and_kind(Permanent), false, true),
                (status(422).and_kind(Transient), true, false),
                (TestError::LOST, true, false),
                (TestError::REFUSED, false, false),
                (status(400).and_delivery(Delivery::MaybeSent), true, false),
                (TestError::UNKNOWN, true, false),
            ]);
        for (error, may_be_written, refuses_value) in rows {
            let facts = (error.may_be_written(), error.refuses_value());
            assert_eq!(facts, (may_be_written, refuses_value), "{error:?}");
            let outer = Wrapper(Some(error));
            assert_eq!((outer.may_be_written(), outer.refuses_value()), facts);
        }
    }

    #[cfg(feature = "std")]
    #[test]
    fn a_pointer_says_what_it_points_to() {
        let policy = Policy::exponential().on(crate::Codes::ABORTED);
        let boxed: Box<dyn Fault> = Box::new(Wrapper(Some(API)));
        assert_eq!(policy.judge(&boxed), policy.judge(&API));
        assert_eq!(policy.judge(&std::sync::Arc::new(API)), policy.judge(&API));
    }
}
