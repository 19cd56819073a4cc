//! What a failed attempt tells. Facts only: the policy judges them.

use crate::facts::grpc::GrpcCode;
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
/// An error that wraps another one hands it on, and all that it knows with it:
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
    message = "nothing is known about `{Self}`: derive `Fault` for it, or write `when_any`",
    label = "this error says nothing about itself yet",
    note = "`#[derive(Fault)]`, or `impl Fault for {Self} {{ fn status(&self) -> Option<u16> {{ Some(self.code) }} }}`; \
            an error that wraps another one implements `inner` instead",
    note = "for an error of another crate turn on this crate's feature for it: `anyhow-1`, \
            `reqwest-013`, `tonic-014`, `redis-1`, `gax-1`, …",
    note = "or decide yourself: `.when_any(|error: &{Self}| ..)` on a policy, \
            `when = |error: &{Self}| ..` in the attribute"
)]
pub trait Fault {
    /// The error inside, for a wrapper: whatever the wrapper does not say itself is asked of it.
    fn inner(&self) -> Option<&dyn Fault> {
        None
    }

    /// The HTTP status of the reply, if there was a reply.
    fn status(&self) -> Option<u16> {
        self.inner()?.status()
    }

    /// The gRPC code, from a gRPC reply or from `error.status` of a Google JSON body.
    ///
    /// Where there is one, the HTTP status is not asked: 409 means two things, `ABORTED` and
    /// `ALREADY_EXISTS` only one each.
    fn grpc_code(&self) -> Option<GrpcCode> {
        self.inner()?.grpc_code()
    }

    /// How long the server asks to be left alone: `Retry-After`, `google.rpc.RetryInfo`.
    fn retry_after(&self) -> Option<Duration> {
        self.inner()?.retry_after()
    }

    /// Whether the hint of [`retry_after`](Self::retry_after) is a `google.rpc.RetryInfo`, and not a
    /// header such as `Retry-After`. Hooks, logs and metrics say which one it was; no rule asks.
    fn is_retry_info(&self) -> bool {
        self.inner().is_some_and(|inner| inner.is_retry_info())
    }

    /// Whether the server asked not to be called again, as a negative gRPC pushback does.
    fn must_stop(&self) -> bool {
        self.inner().is_some_and(|inner| inner.must_stop())
    }

    /// For a failure of the transport (refused, reset, timed out): whether the request may have
    /// arrived. `None` for every other failure.
    fn delivery(&self) -> Option<Delivery> {
        self.inner()?.delivery()
    }

    /// Whether the connection that the attempt used is of no more use, so that the next attempt
    /// should open another. Unless an error says more, it is what the [error inside](Self::inner) says, and
    /// without one true for every failure of the transport. A server's reply can say so as well, as a Redis
    /// that has become a replica does. `Reconnect` asks.
    fn must_reconnect(&self) -> bool {
        match self.inner() {
            Some(inner) => inner.must_reconnect(),
            None => self.delivery().is_some(),
        }
    }

    /// The kind, where the error itself knows it. It outranks the codes.
    fn kind(&self) -> Option<FaultKind> {
        self.inner()?.kind()
    }

    /// The text for logs, where the error has one. It is never used as a metric's label.
    fn message(&self) -> Option<&dyn fmt::Display> {
        self.inner()?.message()
    }
}

/// Whether the error says anything by which it can be judged.
#[inline]
pub(crate) fn says_something<F: Fault + ?Sized>(fault: &F) -> bool {
    fault.kind().is_some()
        || fault.grpc_code().is_some()
        || fault.status().is_some()
        || fault.delivery().is_some()
}

macro_rules! forward {
    ($($pointer:ty),+) => {
        $(
            /// What is pointed to says everything.
            impl<F: Fault + ?Sized> Fault for $pointer {
                fn inner(&self) -> Option<&dyn Fault> {
                    (**self).inner()
                }
                fn status(&self) -> Option<u16> {
                    (**self).status()
                }
                fn grpc_code(&self) -> Option<GrpcCode> {
                    (**self).grpc_code()
                }
                fn retry_after(&self) -> Option<Duration> {
                    (**self).retry_after()
                }
                fn is_retry_info(&self) -> bool {
                    (**self).is_retry_info()
                }
                fn must_stop(&self) -> bool {
                    (**self).must_stop()
                }
                fn delivery(&self) -> Option<Delivery> {
                    (**self).delivery()
                }
                fn must_reconnect(&self) -> bool {
                    (**self).must_reconnect()
                }
                fn kind(&self) -> Option<FaultKind> {
                    (**self).kind()
                }
                fn message(&self) -> Option<&dyn fmt::Display> {
                    (**self).message()
                }
            }
        )+
    };
}

forward!(&F);
#[cfg(feature = "std")]
forward!(Box<F>, std::sync::Arc<F>, std::rc::Rc<F>);

/// Whether a request that failed on its way may have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Surely not applied: no name found, connection refused, connect timeout, stream refused.
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

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// It may pass by itself: an overloaded or restarting server, a lost connection.
    Transient,
    /// The caller is too fast for its quota.
    Throttled,
    /// Somebody else changed the same thing meanwhile. Only a new read helps, so it is retried
    /// only where the policy says so ([`Policy::retry_conflicts`](crate::Policy::retry_conflicts)).
    Conflict,
    /// Nothing failed, but what was read is not yet what is awaited: a long-running operation that
    /// is not done. Asking again is no retry, so it costs no budget.
    Pending,
    /// No repetition will cure it.
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
}

/// An attempt that ran longer than its `attempt_timeout`, or than what remained of the call's `timeout`
/// or deadline when the attempt began. The time in the text is that of the attempt, not of the call.
///
/// The error of an operation with an attempt timeout is made from it: `E: From<TimedOut>`. Keep it,
/// and name it as [`Fault::inner`], or a policy cannot see that the attempt may be repeated:
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
    use crate::{judge::Verdict, policy::Policy};

    struct Api;

    impl Fault for Api {
        fn status(&self) -> Option<u16> {
            Some(409)
        }
        fn grpc_code(&self) -> Option<GrpcCode> {
            Some(GrpcCode::Aborted)
        }
        fn retry_after(&self) -> Option<Duration> {
            Some(Duration::from_secs(3))
        }
    }

    struct Wrapper(Option<Api>);

    impl Fault for Wrapper {
        fn inner(&self) -> Option<&dyn Fault> {
            self.0.as_ref().map(|api| api as _)
        }
    }

    #[test]
    fn a_wrapper_says_what_is_inside() {
        let policy = Policy::exponential().on(crate::Codes::ABORTED);
        assert_ne!(policy.judge(&Api), Verdict::Permanent);
        assert_eq!(policy.judge(&Wrapper(Some(Api))), policy.judge(&Api));
        assert_eq!(policy.judge(&Wrapper(None)), Verdict::NothingKnown);
    }

    #[cfg(feature = "std")]
    #[test]
    fn a_pointer_says_what_it_points_to() {
        let policy = Policy::exponential().on(crate::Codes::ABORTED);
        let boxed: Box<dyn Fault> = Box::new(Wrapper(Some(Api)));
        assert_eq!(policy.judge(&boxed), policy.judge(&Api));
        assert_eq!(policy.judge(&std::sync::Arc::new(Api)), policy.judge(&Api));
    }
}
