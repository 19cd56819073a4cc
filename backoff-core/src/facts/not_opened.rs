//! A failure to open a connection.

use super::fault::{Delivery, Fault, HintSource, says_something};
use crate::text::Loggable;
use core::{error::Error, fmt, time::Duration};

/// Says that no connection was opened, so that no part of the operation was sent.
///
/// A client's error does not say so: a handshake that timed out looks like a command that timed out,
/// and a command may have been applied. If the policy is not [idempotent](crate::Policy::idempotent),
/// such an error would end the operation, although nothing has been done yet. So wrap the error of
/// opening in `NotOpened`. The operation is then safe to repeat, whatever the inner error says about
/// that. The inner error still decides whether it is retryable:
///
/// ```
/// use backoff_core::{Fault, NotOpened, Policy, TimedOut, Verdict};
/// use std::time::Duration;
///
/// let handshake = TimedOut::new(Duration::from_secs(1));
/// let careful = Policy::exponential().idempotent(false);
/// assert_eq!(careful.judge(&handshake), Verdict::MaybeApplied);
/// assert_eq!(careful.judge(&NotOpened::new(handshake)), Verdict::from(true));
/// ```
///
/// `Reconnect` wraps each error of opening in a `NotOpened`, and converts the `NotOpened` to the error
/// of the operation: `E: From<NotOpened<OpenError>>`. The features `redis-1`, `sqlx-08`, `sqlx-09` and
/// `tonic-014` implement this conversion for `redis::RedisError`, `sqlx::Error` and `tonic::Status`.
/// The standard library's `io::Error` has the conversion too, and `anyhow::Error` and
/// `Box<dyn Error + Send + Sync>` accept `NotOpened` like any error. An error type of your own keeps
/// the `NotOpened` and returns it from [`Fault::inner`]:
///
/// ```
/// use backoff_core::{Fault, NotOpened, TimedOut};
///
/// #[derive(Debug)]
/// enum MyError {
///     NotOpened(NotOpened<TimedOut>), // of the error of opening
///     Config(String),
/// }
///
/// impl From<NotOpened<TimedOut>> for MyError {
///     fn from(error: NotOpened<TimedOut>) -> Self { MyError::NotOpened(error) }
/// }
///
/// impl Fault for MyError {
///     fn inner(&self) -> Option<&dyn Fault> {
///         match self {
///             MyError::NotOpened(error) => Some(error),
///             MyError::Config(_) => None,
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotOpened<E> {
    /// Why no connection was opened.
    pub error: E,
    /// How long no connection will be opened, if known. [`Fault::retry_after`] returns this time,
    /// unless the inner error asks for a longer time.
    pub pause: Option<Duration>,
}

impl<E> NotOpened<E> {
    /// No connection was opened because of this error. The length of a pause is not known.
    pub const fn new(error: E) -> Self {
        NotOpened { error, pause: None }
    }
}

/// The text of the error, on one line, cut, and [without secrets](crate::telemetry#secrets).
impl<E: fmt::Display> fmt::Display for NotOpened<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no connection was opened: {}", Loggable(&self.error))
    }
}

impl<E: Error + 'static> Error for NotOpened<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

impl<E: Fault> Fault for NotOpened<E> {
    fn inner(&self) -> Option<&dyn Fault> {
        Some(&self.error)
    }

    fn retry_after(&self) -> Option<Duration> {
        self.pause.max(self.error.retry_after())
    }

    fn hint_source(&self) -> HintSource {
        match self.pause {
            Some(_) if self.pause >= self.error.retry_after() => HintSource::Pause,
            _ => self.error.hint_source(),
        }
    }

    // Only for an error with known facts. An error without facts stays permanent.
    fn delivery(&self) -> Option<Delivery> {
        says_something(&self.error).then_some(Delivery::NotSent)
    }
}

/// The error of an operation on a connection of `Reconnect`. Implemented for every error that
/// implements `From<NotOpened<Opening>>`.
#[diagnostic::on_unimplemented(
    message = "`Reconnect::with` needs `From<NotOpened<{Opening}>>` for `{Self}`",
    label = "`{Self}` cannot be made from `NotOpened<{Opening}>`",
    note = "`impl From<NotOpened<{Opening}>> for {Self} {{ fn from(error: NotOpened<{Opening}>) -> Self {{ .. }} }}`, or a variant with `#[from] NotOpened<{Opening}>`",
    note = "keep the `NotOpened` and let `Fault::inner` return it (`#[fault(forward)]`): it says that nothing was sent, and how long no connection will be opened",
    note = "for an error of another crate, write an error of your own around it"
)]
#[cfg(feature = "reconnect")]
pub trait FromNotOpened<Opening> {
    /// Converts the error of opening.
    fn from_not_opened(error: NotOpened<Opening>) -> Self;
}

#[cfg(feature = "reconnect")]
impl<Opening, E: From<NotOpened<Opening>>> FromNotOpened<Opening> for E {
    fn from_not_opened(error: NotOpened<Opening>) -> Self {
        error.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{facts::grpc::GrpcCode, judge::Verdict, policy::Policy, test_error::TestError};

    const UNAVAILABLE: TestError = TestError::grpc(GrpcCode::Unavailable);

    #[test]
    fn what_was_not_opened_is_safe_to_repeat_and_no_more_than_that() {
        let careful = Policy::exponential().idempotent(false);
        assert_eq!(careful.judge(&UNAVAILABLE), Verdict::MaybeApplied);
        let denied = TestError::grpc(GrpcCode::PermissionDenied);
        for (error, verdict) in [
            (UNAVAILABLE, Verdict::from(true)),
            (denied, Verdict::Permanent),
            (TestError::UNKNOWN, Verdict::NothingKnown),
        ] {
            assert_eq!(careful.judge(&NotOpened::new(error)), verdict, "{error}");
        }
    }

    #[test]
    fn the_longer_one_of_the_pause_and_the_servers_hint_is_the_hint() {
        let [second, two] = [1, 2].map(|seconds| Some(Duration::from_secs(seconds)));
        let servers = HintSource::RetryInfo;
        for (pause, hint, expected, source) in [
            (None, None, None, servers),
            (second, None, second, HintSource::Pause),
            (None, second, second, servers),
            (second, second, second, HintSource::Pause),
            (second, two, two, servers),
            (two, second, two, HintSource::Pause),
        ] {
            let error = TestError {
                hint,
                ..UNAVAILABLE.hinted_by(servers)
            };
            let refused = NotOpened { error, pause };
            assert_eq!(refused.retry_after(), expected);
            assert_eq!(refused.hint_source(), source, "{refused:?}");
        }
    }
}
