//! What can be watched from outside: a hook for the caller, `tracing` events behind its feature.

use crate::{
    facts::fault::Fault, policy::log_level::LogLevel, report::StopReason, state::Wait,
    text::Loggable,
};
use core::{fmt, time::Duration};

/// What happens between attempts and at the end of a call, as a hook sees it. A call whose first attempt
/// succeeds has no event.
///
/// `elapsed` counts from before the first attempt where the call has a deadline, a timeout, a report or
/// an [`Attempt`](crate::Attempt), and everywhere with the feature `metrics`. Any other call reads no clock before its first attempt: it counts from
/// the first failure, where it is `None`.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a, E> {
    /// An attempt failed; the next one follows after the wait.
    #[non_exhaustive]
    Waiting {
        /// What the log calls the operation: the path of the function or closure, the `name` of the
        /// attribute, or that of a [`Resuming`](crate::Resuming::name).
        operation: &'static str,
        /// The number of the attempt that failed, from 1.
        attempt: u32,
        /// How it failed.
        failure: Failure<'a, E>,
        /// The wait, and who asked for it.
        wait: Wait,
        /// The time that has passed, if it was measured.
        elapsed: Option<Duration>,
    },
    /// An attempt failed; it was the last.
    #[non_exhaustive]
    GaveUp {
        /// What the log calls the operation.
        operation: &'static str,
        /// How many attempts were made.
        attempts: u32,
        /// How the last one failed.
        failure: Failure<'a, E>,
        /// Why no further attempt is made.
        reason: StopReason,
        /// The time that has passed, if it was measured.
        elapsed: Option<Duration>,
    },
    /// An attempt succeeded after at least one that failed.
    #[non_exhaustive]
    Succeeded {
        /// What the log calls the operation.
        operation: &'static str,
        /// How many attempts were made, the successful one included.
        attempts: u32,
        /// The time that has passed, if it was measured.
        elapsed: Option<Duration>,
    },
}

impl<'a, E> Event<'a, E> {
    /// What the log calls the operation.
    pub const fn operation(&self) -> &'static str {
        match self {
            Event::Waiting { operation, .. }
            | Event::GaveUp { operation, .. }
            | Event::Succeeded { operation, .. } => operation,
        }
    }

    /// How the attempt failed; nothing where it succeeded.
    pub const fn failure(&self) -> Option<Failure<'a, E>> {
        match self {
            Event::Waiting { failure, .. } | Event::GaveUp { failure, .. } => Some(*failure),
            Event::Succeeded { .. } => None,
        }
    }

    /// The error, unless the attempt succeeded or a value counts as the failure
    /// ([`Retrying::responses`]).
    ///
    /// [`Retrying::responses`]: crate::Retrying::responses
    pub const fn error(&self) -> Option<&'a E> {
        match self.failure() {
            Some(failure) => failure.error,
            None => None,
        }
    }

    /// What is known of the failure, if something is.
    pub const fn fault(&self) -> Option<&'a dyn Fault> {
        match self.failure() {
            Some(failure) => failure.fault,
            None => None,
        }
    }
}

/// A failure as a hook sees it: an error, or a value that counts as one.
pub struct Failure<'a, E> {
    error: Option<&'a E>,
    fault: Option<&'a dyn Fault>,
}

impl<E> Clone for Failure<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Failure<'_, E> {}

impl<'a, E> Failure<'a, E> {
    #[inline]
    pub(crate) const fn new(error: Option<&'a E>, fault: Option<&'a dyn Fault>) -> Self {
        Failure { error, fault }
    }

    /// The error, unless a value counts as the failure.
    pub const fn error(&self) -> Option<&'a E> {
        self.error
    }

    /// What is known of the failure, if something is.
    pub const fn fault(&self) -> Option<&'a dyn Fault> {
        self.fault
    }
}

/// The error; of a value that counts as a failure, its text or its status. A text is shown as a log
/// may show it: on one line, cut after 500 characters, and without the passwords and queries of URLs.
impl<E: fmt::Display> fmt::Display for Failure<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(error) = self.error {
            return Loggable(error).fmt(f);
        }
        let fault = self.fault;
        match fault.map(|fault| (fault.message(), fault.status())) {
            Some((Some(text), _)) => Loggable(text).fmt(f),
            Some((None, Some(status))) => write!(f, "status {status}"),
            _ => f.write_str("the value counts as a failure"),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for Failure<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.fault.and_then(Fault::status);
        f.debug_struct("Failure")
            .field("error", &self.error)
            .field("status", &status)
            .finish()
    }
}

impl<E: fmt::Debug> fmt::Debug for Event<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Waiting {
                operation,
                attempt,
                failure,
                wait,
                elapsed,
            } => f
                .debug_struct("Waiting")
                .field("operation", operation)
                .field("attempt", attempt)
                .field("failure", failure)
                .field("wait", wait)
                .field("elapsed", elapsed)
                .finish(),
            Event::GaveUp {
                operation,
                attempts,
                failure,
                reason,
                elapsed,
            } => f
                .debug_struct("GaveUp")
                .field("operation", operation)
                .field("attempts", attempts)
                .field("failure", failure)
                .field("reason", reason)
                .field("elapsed", elapsed)
                .finish(),
            Event::Succeeded {
                operation,
                attempts,
                elapsed,
            } => f
                .debug_struct("Succeeded")
                .field("operation", operation)
                .field("attempts", attempts)
                .field("elapsed", elapsed)
                .finish(),
        }
    }
}

/// "attempt 2 failed, next in 1.5s: …", "gave up after 3 attempts (deadline): …", or "succeeded after 3
/// attempts". The error is written as the event is: `{event:#}` shows the causes of an `anyhow::Error`.
/// It stays on one line, is cut after 500 characters, and shows no password and no query of a URL.
impl<E: fmt::Display> fmt::Display for Event<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Waiting {
                attempt,
                failure,
                wait,
                ..
            } => {
                write!(f, "attempt {attempt} failed, next in {:.1?}: ", wait.delay)?;
                failure.fmt(f)
            }
            Event::GaveUp {
                attempts,
                failure,
                reason,
                ..
            } => {
                let s = if *attempts == 1 { "" } else { "s" };
                write!(
                    f,
                    "gave up after {attempts} attempt{s} ({}): ",
                    reason.name()
                )?;
                failure.fmt(f)
            }
            Event::Succeeded { attempts, .. } => write!(f, "succeeded after {attempts} attempts"),
        }
    }
}

/// A hook, which is called with every [`Event`]: a closure.
pub trait Notify<E> {
    /// Called before each wait, when an operation is given up, and when it succeeds after retries.
    fn notify(&mut self, event: &Event<'_, E>);
}

impl<E, F: FnMut(&Event<'_, E>)> Notify<E> for F {
    #[inline]
    fn notify(&mut self, event: &Event<'_, E>) {
        self(event);
    }
}

/// What the log is told.
#[cfg_attr(
    not(feature = "tracing"),
    allow(dead_code, reason = "only logs read it")
)]
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) operation: &'static str,
    /// The number of the attempt that ended just now.
    pub(crate) attempt: u32,
    pub(crate) elapsed: Option<Duration>,
    pub(crate) happened: Happened,
    pub(crate) error_type: &'static str,
    pub(crate) error: Option<&'a dyn fmt::Display>,
}

/// What follows after an attempt.
#[cfg_attr(
    not(feature = "tracing"),
    allow(dead_code, reason = "only logs read it")
)]
#[derive(Clone, Copy)]
pub(crate) enum Happened {
    /// A wait, which is logged at this level.
    Waits(Wait, LogLevel),
    GaveUp(StopReason),
    Succeeded,
}

/// Logs what follows after an attempt.
#[cfg(feature = "tracing")]
#[inline]
pub(crate) fn log<'a>(record: impl FnOnce() -> Record<'a>) {
    logged(record());
}

/// Nobody logs.
#[cfg(not(feature = "tracing"))]
#[inline(always)]
pub(crate) fn log<'a>(_record: impl FnOnce() -> Record<'a>) {}

/// An event of a level that is known only when the program runs.
#[cfg(feature = "tracing")]
macro_rules! event_at {
    ($level:expr, $($fields:tt)+) => {
        match $level {
            LogLevel::Off => {}
            LogLevel::Error => tracing::error!(target: "backoff", $($fields)+),
            LogLevel::Warn => tracing::warn!(target: "backoff", $($fields)+),
            LogLevel::Info => tracing::info!(target: "backoff", $($fields)+),
            LogLevel::Debug => tracing::debug!(target: "backoff", $($fields)+),
            LogLevel::Trace => tracing::trace!(target: "backoff", $($fields)+),
        }
    };
}

/// Whole microseconds, as seconds: nobody reads more digits.
#[cfg(feature = "tracing")]
fn seconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e6
}

#[cfg(feature = "tracing")]
#[cold]
#[inline(never)]
fn logged(record: Record<'_>) {
    let Record {
        operation,
        attempt,
        happened,
        error_type,
        ..
    } = record;
    let elapsed = record.elapsed.map(seconds);
    let error = record
        .error
        .map(|error| tracing::field::display(Loggable(error)));
    match happened {
        Happened::Waits(wait, level) => event_at!(
            level,
            operation,
            attempt,
            delay = seconds(wait.delay),
            source = wait.source.name(),
            elapsed,
            error,
            "attempt failed, waiting before the next",
        ),
        Happened::GaveUp(StopReason::NothingKnown) => tracing::warn!(
            target: "backoff",
            operation,
            attempts = attempt,
            reason = StopReason::NothingKnown.name(),
            elapsed,
            error_type,
            error,
            "not retried, because nothing is known about the error: derive or implement `Fault` for \
             its type, or judge it by `when_any` (in the attribute: `when`)",
        ),
        // An error that is no concern of a retry is an ordinary answer: a 404, say.
        Happened::GaveUp(reason) if attempt <= 1 => tracing::debug!(
            target: "backoff",
            operation,
            attempts = attempt,
            reason = reason.name(),
            elapsed,
            error,
            "failed, not retried",
        ),
        Happened::GaveUp(reason) => tracing::warn!(
            target: "backoff",
            operation,
            attempts = attempt,
            reason = reason.name(),
            elapsed,
            error,
            "gave up",
        ),
        Happened::Succeeded => tracing::info!(
            target: "backoff",
            operation,
            attempts = attempt,
            elapsed,
            "succeeded after retries",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::WaitSource;
    use core::time::Duration;

    #[test]
    fn an_event_reads_as_a_sentence() {
        let wait = Wait {
            delay: Duration::from_millis(1_500),
            source: WaitSource::Backoff,
        };
        let event = Event::Waiting {
            operation: "get",
            elapsed: None,
            attempt: 2,
            failure: Failure::new(Some(&"busy"), None),
            wait,
        };
        assert_eq!(event.to_string(), "attempt 2 failed, next in 1.5s: busy");
        let one = Some(1);
        let shown = format_args!("{one:?}");
        let event = Event::Waiting {
            operation: "get",
            elapsed: None,
            attempt: 2,
            failure: Failure::new(Some(&shown), None),
            wait,
        };
        assert_eq!(
            format!("{event:#}"),
            "attempt 2 failed, next in 1.5s: Some(1)"
        );
        let event = Event::GaveUp {
            operation: "get",
            elapsed: None,
            attempts: 1,
            failure: Failure::new(Some(&"gone"), None),
            reason: StopReason::Permanent,
        };
        assert_eq!(
            event.to_string(),
            "gave up after 1 attempt (permanent): gone"
        );
        let event: Event<'_, &str> = Event::Succeeded {
            operation: "get",
            attempts: 3,
            elapsed: None,
        };
        assert_eq!(event.to_string(), "succeeded after 3 attempts");
        assert!(event.failure().is_none() && event.error().is_none() && event.fault().is_none());
    }

    #[test]
    fn an_event_stays_on_one_line_and_tells_no_secrets() {
        let text = "no reply\r\n2026 INFO forged (http://ann:pw@example.com/a?key=1) \u{1b}[2J";
        let event = Event::GaveUp {
            operation: "get",
            elapsed: None,
            attempts: 2,
            failure: Failure::new(Some(&text), None),
            reason: StopReason::Attempts,
        };
        assert_eq!(
            event.to_string(),
            "gave up after 2 attempts (attempts): no reply 2026 INFO forged \
             (http://…@example.com/a?…) \\u{1b}[2J"
        );
        let long = "a".repeat(10_000);
        let event = Event::GaveUp {
            operation: "get",
            elapsed: None,
            attempts: 2,
            failure: Failure::new(Some(&long), None),
            reason: StopReason::Attempts,
        };
        assert_eq!(event.to_string().chars().count(), 37 + 501);
    }
}
