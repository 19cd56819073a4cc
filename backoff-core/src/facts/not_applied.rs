//! A failure after which the caller knows that nothing was applied.

use super::fault::{Delivery, Fault, says_something};
use crate::text::Loggable;
use core::{error::Error, fmt};

/// Says that nothing of the operation was applied, although the inner error does not say so.
///
/// If a policy is not [idempotent](crate::Policy::idempotent), an attempt that may have been applied is
/// not repeated. Often the error cannot tell: a broken connection looks the same before and after the
/// decisive step. But the code around the error knows which step failed. For example, if the connection
/// breaks before `COMMIT` is sent, the server rolls the transaction back. Wrap such an error in
/// `NotApplied`:
///
#[cfg_attr(all(feature = "macros", feature = "std"), doc = "```")]
#[cfg_attr(not(all(feature = "macros", feature = "std")), doc = "```ignore")]
/// use backoff_core::{Fault, NotApplied, Policy, TimedOut};
/// # use std::cell::Cell;
///
/// #[derive(Debug, Fault)]
/// enum MyError {
///     /// Before `COMMIT`.
///     #[fault(forward)]
///     Statement(NotApplied<TimedOut>), // or the error of your client
///     /// The reply to `COMMIT` is missing.
///     #[fault(forward)]
///     Commit(TimedOut),
/// }
/// # struct Transaction;
/// # impl Transaction {
/// #     fn insert(&self, attempt: u32) -> Result<(), TimedOut> {
/// #         if attempt < 3 { Err(TimedOut::new(Default::default())) } else { Ok(()) }
/// #     }
/// #     fn commit(self) -> Result<(), TimedOut> { Err(TimedOut::new(Default::default())) }
/// # }
/// # fn begin() -> Transaction { Transaction }
///
/// const ONCE: Policy = Policy::exponential().base(std::time::Duration::from_millis(1)).idempotent(false);
///
/// let mut attempts = 0;
/// let outcome = ONCE.retry_blocking(|| {
///     attempts += 1;
///     let transaction = begin();
///     # let sql = attempts;
///     transaction.insert(sql).map_err(|error| MyError::Statement(NotApplied(error)))?;
///     transaction.commit().map_err(MyError::Commit)
/// });
/// // Two inserts failed, and were repeated. The commit that failed was not.
/// assert!(matches!(outcome, Err(MyError::Commit(_))));
/// assert_eq!(attempts, 3);
/// ```
///
/// The wrapper adds only this fact. The kind, codes and hint of the inner error decide whether it is
/// retried at all. If nothing is known about the inner error, nothing is known about the wrapper. There
/// is no `From<E>`, so that no `?` says "nothing was applied" by accident.
///
/// An attempt that is [cut](crate::Retrying::attempt_timeout) counts as perhaps applied, whatever error
/// the time-out is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NotApplied<E>(
    /// Why the operation failed.
    pub E,
);

impl<E> NotApplied<E> {
    /// The error inside.
    pub fn into_inner(self) -> E {
        self.0
    }
}

/// The text of the error, on one line, cut, and [without secrets](crate::telemetry#secrets).
impl<E: fmt::Display> fmt::Display for NotApplied<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing was applied: {}", Loggable(&self.0))
    }
}

impl<E: Error + 'static> Error for NotApplied<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl<E: Fault> Fault for NotApplied<E> {
    fn inner(&self) -> Option<&dyn Fault> {
        Some(&self.0)
    }

    /// [`Delivery::NotSent`] if the inner error states any fact that a policy can judge. "Not sent" is
    /// the fact that means "surely not applied".
    fn delivery(&self) -> Option<Delivery> {
        says_something(&self.0).then_some(Delivery::NotSent)
    }

    /// The inner error answers: the fact "not applied" says nothing about the connection.
    fn must_reconnect(&self) -> bool {
        self.0.must_reconnect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{facts::fault::TimedOut, test_error::TestError};
    use core::time::Duration;

    #[test]
    fn the_error_inside_is_its_source_and_can_be_taken_out() {
        let cut = TimedOut::new(Duration::from_secs(1));
        let error = NotApplied(cut);
        let text = "nothing was applied: the attempt was cut after 1s";
        assert_eq!(error.to_string(), text);
        let source = error.source().and_then(|it| it.downcast_ref());
        assert_eq!(source, Some(&cut));
        // A connection is opened anew only where the error asks for it.
        assert!(error.must_reconnect() && !NotApplied(TestError::status(503)).must_reconnect());
        assert_eq!(error.into_inner(), cut);
    }
}
