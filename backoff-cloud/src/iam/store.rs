//! Where allow policies are kept, and what a change of one can fail of.

use super::allow::AllowPolicy;
use backoff_core::{
    __private::Loggable, Delivery, Fault, FaultKind, RetryError, Stopped, TimedOut, UpdateReport,
};
use std::{error, fmt, future::Future};

/// Something that gets and sets allow policies: a client.
///
/// Implemented for Google's own clients and for `Rest`. For any other client, [`store`](super::store)
/// makes one of two closures, and a type of your own takes a few lines; see the example. Each method
/// makes one request, and does not retry it.
///
/// ```
/// use backoff_cloud::{FaultKind, Fault, iam::{self, PlainPolicy, PolicyStore}};
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Memory(Mutex<PlainPolicy>);
///
/// #[derive(Debug)]
/// struct Stale;
/// impl Fault for Stale {
///     fn kind(&self) -> Option<FaultKind> { Some(FaultKind::Conflict) }
/// }
///
/// impl PolicyStore for Memory {
///     type Policy = PlainPolicy;
///     type Error = Stale;
///
///     async fn get(&self, _resource: &str) -> Result<PlainPolicy, Stale> {
///         Ok(self.0.lock().unwrap().clone())
///     }
///
///     async fn set(&self, _resource: &str, mut policy: PlainPolicy) -> Result<PlainPolicy, Stale> {
///         let mut kept = self.0.lock().unwrap();
///         if policy.etag != kept.etag { return Err(Stale) }
///         policy.etag.as_mut().unwrap().push('+'); // each write has a new one
///         *kept = policy;
///         Ok(kept.clone())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let memory = Memory::default();
/// memory.0.lock().unwrap().etag = Some("1".into());
/// let updated = iam::add(&memory, "projects/p", "roles/viewer", "user:ann@example.com").await;
/// assert!(updated.unwrap().is_written());
/// assert_eq!(memory.0.lock().unwrap().bindings[0].members, ["user:ann@example.com"]);
/// # }
/// ```
pub trait PolicyStore {
    /// The policies.
    type Policy: AllowPolicy;
    /// What a request can fail of.
    type Error: Fault;

    /// Reads the policy of a resource such as `projects/p`, in version
    /// [`POLICY_VERSION`](super::POLICY_VERSION).
    fn get(&self, resource: &str)
    -> impl Future<Output = Result<Self::Policy, Self::Error>> + Send;

    /// Writes it, with the etag that it has; gives what was written, with its new etag. A policy
    /// without one stands for a reply that does not say whether it was written.
    fn set(
        &self,
        resource: &str,
        policy: Self::Policy,
    ) -> impl Future<Output = Result<Self::Policy, Self::Error>> + Send;
}

/// Why a policy was not changed, and what was tried: [`error`](RetryError::error) is the
/// [`Failure`], [`reason`](RetryError::reason) says why it was not tried again, and
/// [`report`](RetryError::report) what it took.
pub type Error<E> = RetryError<Failure<E>, UpdateReport>;

/// What a change of a policy failed of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The client's error.
    Client(E),
    /// The policy that was read has no etag, so writing it would undo what others write meanwhile.
    /// Nothing was sent.
    NoEtag {
        /// Whose policy it is.
        resource: String,
    },
    /// The reply to a write shows no policy: it has no etag. Whether the policy was written, only a
    /// read can tell, and so it is read again.
    Doubtful {
        /// Whose policy it is.
        resource: String,
    },
    /// A request took too long, or the deadline was over.
    TimedOut(TimedOut),
    /// A signal has cut the attempt: of a retry of your own that has this error
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
    fn inner(&self) -> Option<&dyn Fault> {
        match self {
            Failure::Client(error) => Some(error),
            Failure::TimedOut(error) => Some(error),
            Failure::Stopped(error) => Some(error),
            Failure::NoEtag { .. } | Failure::Doubtful { .. } => None,
        }
    }

    fn delivery(&self) -> Option<Delivery> {
        match self {
            Failure::Doubtful { .. } => Some(Delivery::MaybeSent),
            _ => self.inner()?.delivery(),
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match self {
            Failure::NoEtag { .. } => Some(FaultKind::Permanent),
            _ => self.inner()?.kind(),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Client(error) => error.fmt(f),
            Failure::NoEtag { resource } => write!(
                f,
                "the policy of {} was read without an etag, and is not written: that would undo what \
                 others write meanwhile",
                Loggable(resource)
            ),
            Failure::Doubtful { resource } => write!(
                f,
                "the reply to the write of the policy of {} has no etag; whether it was written, only \
                 a read can tell",
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
            Failure::NoEtag { .. } | Failure::Doubtful { .. } => None,
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
    fn a_change_that_a_signal_cut_is_not_repeated() {
        let failure = Failure::<TimedOut>::from(Stopped::new());
        assert_eq!(failure, Failure::Stopped(Stopped::new()));
        assert_eq!(Policy::exponential().judge(&failure), Verdict::Permanent);
        assert_eq!(failure.to_string(), "the call was stopped by a signal");
        assert!(
            failure
                .source()
                .is_some_and(|source| source.is::<Stopped>())
        );
    }
}
