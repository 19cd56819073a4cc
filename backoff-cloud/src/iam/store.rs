//! The trait of clients that read and write allow policies, and the errors of a change.

use super::allow::AllowPolicy;
use backoff_core::{
    __private::Loggable, Delivery, Fault, FaultKind, RetryError, Stopped, TimedOut, UpdateReport,
};
use std::{error, fmt, future::Future};

/// A client that reads and writes allow policies.
///
/// Google's own clients and `Rest` implement it. For any other client, implement it for a type of your own as in
/// the example. Each method makes one request and does not retry it.
///
/// ```
#[doc = include_str!("examples/memory.rs")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let memory = Memory::default();
/// let updated = iam::add(&memory, "projects/p", "roles/viewer", "user:ann@example.com").await?;
/// assert!(updated.is_written());
/// assert_eq!(memory.read().bindings[0].members, ["user:ann@example.com"]);
/// # Ok(()) }
/// ```
pub trait PolicyStore: Sync {
    /// The type of the policies.
    type Policy: AllowPolicy + Clone + Send + Sync + 'static;
    /// The error of a request.
    type Error: Fault + Send + Sync + 'static;

    /// Reads the policy of a resource such as `projects/p`, in version
    /// [`POLICY_VERSION`](super::POLICY_VERSION).
    fn get(&self, resource: &str)
    -> impl Future<Output = Result<Self::Policy, Self::Error>> + Send;

    /// Writes the policy with its etag. Returns the policy that was written, with its new etag. Return a
    /// policy without an etag if the reply does not show whether the policy was written.
    fn set(
        &self,
        resource: &str,
        policy: Self::Policy,
    ) -> impl Future<Output = Result<Self::Policy, Self::Error>> + Send;
}

/// Why a policy was not changed: [`error`](RetryError::error) is the [`Failure`],
/// [`reason`](RetryError::reason) says why there was no further attempt, and [`report`](RetryError::report)
/// has the number of attempts and the time spent.
pub type Error<E> = RetryError<Failure<E>, UpdateReport>;

/// The failure of the last attempt of a change. As a [`Fault`] it has the facts of the client's error; a 409
/// without a gRPC code is a conflict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The client's error.
    Client(E),
    /// The policy that was read has no etag. Writing it would undo the writes of other clients, so nothing
    /// was sent.
    NoEtag {
        /// The resource.
        resource: String,
    },
    /// The reply to a write has no etag, so it does not show whether the policy was written. The change
    /// reads the policy again.
    MaybeWritten {
        /// The resource.
        resource: String,
    },
    /// A request took too long, or the deadline was over.
    TimedOut(TimedOut),
    /// A signal has ended the attempt. Only a retry of your own with this error type gives this
    /// ([`cut_on`](backoff_core::Retrying::cut_on)).
    Stopped(Stopped),
}

impl<E> From<TimedOut> for Failure<E> {
    fn from(error: TimedOut) -> Self {
        Failure::TimedOut(error)
    }
}

impl<E> From<Stopped> for Failure<E> {
    fn from(error: Stopped) -> Self {
        Failure::Stopped(error)
    }
}

impl<E: Fault> Fault for Failure<E> {
    fn late() -> Option<fn(TimedOut) -> Self> {
        Some(Self::from)
    }

    fn inner(&self) -> Option<&dyn Fault> {
        match self {
            Failure::Client(error) => Some(error),
            Failure::TimedOut(error) => Some(error),
            Failure::Stopped(error) => Some(error),
            Failure::NoEtag { .. } | Failure::MaybeWritten { .. } => None,
        }
    }

    fn may_be_written(&self) -> bool {
        self.inner().is_none_or(Fault::may_be_written)
    }

    fn refuses_value(&self) -> bool {
        self.inner().is_some_and(Fault::refuses_value)
    }

    fn delivery(&self) -> Option<Delivery> {
        match self {
            Failure::MaybeWritten { .. } => Some(Delivery::MaybeSent),
            _ => self.inner()?.delivery(),
        }
    }

    /// A 409 that names no code is a conflict: a change creates nothing that could exist already.
    fn kind(&self) -> Option<FaultKind> {
        match self {
            Failure::NoEtag { .. } => Some(FaultKind::Permanent),
            _ => self.inner()?.kind().or_else(|| {
                let is_conflict = self.status() == Some(409) && self.grpc_code().is_none();
                is_conflict.then_some(FaultKind::Conflict)
            }),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Client(error) => Loggable(error).fmt(f),
            Failure::NoEtag { resource } => write!(
                f,
                "the policy of {} has no etag, so it was not written: the write could undo the writes of \
                 other clients",
                Loggable(resource)
            ),
            Failure::MaybeWritten { resource } => write!(
                f,
                "the reply to the write of the policy of {} has no etag, so it does not show whether the \
                 policy was written: read the policy",
                Loggable(resource)
            ),
            Failure::TimedOut(error) => error.fmt(f),
            Failure::Stopped(error) => error.fmt(f),
        }
    }
}

impl<E: error::Error + 'static> error::Error for Failure<E> {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Failure::Client(error) => Some(error),
            Failure::NoEtag { .. } | Failure::MaybeWritten { .. } => None,
            Failure::TimedOut(error) => Some(error),
            Failure::Stopped(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backoff_core::{Policy, Verdict};
    use std::error::Error as _;

    #[test]
    fn an_error_that_can_be_made_from_timed_out_says_so() {
        assert!(Failure::<TimedOut>::late().is_some());
        #[cfg(feature = "http")]
        assert!(crate::http::ApiError::late().is_some());
    }

    #[test]
    fn a_change_that_a_signal_cut_is_not_repeated() {
        let failure = Failure::<TimedOut>::from(Stopped::new());
        assert_eq!(failure, Failure::Stopped(Stopped::new()));
        assert_eq!(Policy::exponential().judge(&failure), Verdict::Permanent);
        assert_eq!(failure.to_string(), "the call was stopped by a signal");
        let source = failure.source();
        assert!(source.is_some_and(|source| source.is::<Stopped>()));
    }
}
