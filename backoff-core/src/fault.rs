//! What a failed attempt tells. Facts only: the policy judges them.

use crate::GrpcCode;
use core::{fmt, time::Duration};

/// What an error says about the attempt that failed.
///
/// Every method has a default that says "I do not know"; implement those whose answer the error
/// carries. [`Policy`](crate::Policy) judges the facts in the order of [`Policy::judge`].
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
#[diagnostic::on_unimplemented(
    message = "a policy needs to read a status code from `{Self}`: implement `Fault` for it",
    label = "this error says nothing about itself yet",
    note = "`impl Fault for {Self} {{ fn status(&self) -> Option<u16> {{ Some(self.code) }} }}`, \
            or decide yourself with `when`"
)]
pub trait Fault {
    /// The HTTP status of the reply, if there was a reply.
    fn status(&self) -> Option<u16> {
        None
    }

    /// The gRPC code, from a gRPC reply or from `error.status` of a Google JSON body.
    ///
    /// Where there is one, the HTTP status is not asked: 409 means two things, `ABORTED` and
    /// `ALREADY_EXISTS` only one each.
    fn grpc_code(&self) -> Option<GrpcCode> {
        None
    }

    /// How long the server asks to be left alone: `Retry-After`, `google.rpc.RetryInfo`.
    fn retry_after(&self) -> Option<Duration> {
        None
    }

    /// Whether the server asked not to be called again, as a negative gRPC pushback does.
    fn must_stop(&self) -> bool {
        false
    }

    /// For a failure of the transport (refused, reset, timed out): whether the request may have
    /// arrived. `None` for every other failure.
    fn transport(&self) -> Option<Transport> {
        None
    }

    /// The class, where the error itself knows it. It outranks the codes.
    fn class(&self) -> Option<Class> {
        None
    }

    /// The text for logs, where the error has one. It is never used as a metric's label.
    fn message(&self) -> Option<&dyn fmt::Display> {
        None
    }
}

impl<F: Fault + ?Sized> Fault for &F {
    fn status(&self) -> Option<u16> {
        (**self).status()
    }
    fn grpc_code(&self) -> Option<GrpcCode> {
        (**self).grpc_code()
    }
    fn retry_after(&self) -> Option<Duration> {
        (**self).retry_after()
    }
    fn must_stop(&self) -> bool {
        (**self).must_stop()
    }
    fn transport(&self) -> Option<Transport> {
        (**self).transport()
    }
    fn class(&self) -> Option<Class> {
        (**self).class()
    }
    fn message(&self) -> Option<&dyn fmt::Display> {
        (**self).message()
    }
}

/// Whether a request that failed on its way may have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Surely not applied: no name found, connection refused, connect timeout, stream refused.
    NotSent,
    /// Perhaps applied: reset after sending, reply lost, attempt timed out.
    MaybeSent,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// It may pass by itself: an overloaded or restarting server, a lost connection.
    Transient,
    /// The caller is too fast for its quota.
    Throttled,
    /// Somebody else changed the same thing meanwhile. Only a new read helps, so it is retried
    /// only where the policy says so ([`Policy::retry_conflicts`](crate::Policy::retry_conflicts)).
    Conflict,
    /// No repetition will cure it.
    Permanent,
}

/// An attempt that ran longer than its `attempt_timeout`, or than what remained of the deadline.
///
/// The error of an operation with an attempt timeout is made from it: `E: From<TimedOut>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimedOut {
    /// How long the attempt was allowed to run.
    pub after: Duration,
}

impl TimedOut {
    /// An attempt that was cut after this time.
    pub const fn new(after: Duration) -> Self {
        TimedOut { after }
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the attempt was cut after {:?}", self.after)
    }
}

impl core::error::Error for TimedOut {}

/// A failure of the transport; the request may have arrived.
impl Fault for TimedOut {
    fn transport(&self) -> Option<Transport> {
        Some(Transport::MaybeSent)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}
