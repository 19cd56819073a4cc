//! What can be watched from outside: a hook for the caller, `tracing` events behind its feature.

#[cfg(feature = "tracing")]
use crate::state::WaitSource;
use crate::{
    facts::fault::Fault,
    report::StopReason,
    state::{Decision, Wait},
    text::Loggable,
};
use core::fmt;

/// What happens between attempts, as a hook sees it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a, E> {
    /// An attempt failed; the next one follows after the wait.
    #[non_exhaustive]
    Waiting {
        /// The number of the attempt that failed, from 1.
        attempt: u32,
        /// How it failed.
        failure: Failure<'a, E>,
        /// The wait, and who asked for it.
        wait: Wait,
    },
    /// An attempt failed; it was the last.
    #[non_exhaustive]
    GaveUp {
        /// How many attempts were made.
        attempts: u32,
        /// How the last one failed.
        failure: Failure<'a, E>,
        /// Why no further attempt is made.
        reason: StopReason,
    },
}

impl<'a, E> Event<'a, E> {
    /// How the attempt failed.
    pub const fn failure(&self) -> Failure<'a, E> {
        match self {
            Event::Waiting { failure, .. } | Event::GaveUp { failure, .. } => *failure,
        }
    }

    /// The error, unless a value counts as the failure ([`Retrying::responses`]).
    ///
    /// [`Retrying::responses`]: crate::Retrying::responses
    pub const fn error(&self) -> Option<&'a E> {
        self.failure().error
    }

    /// What is known of the failure, if something is.
    pub const fn fault(&self) -> Option<&'a dyn Fault> {
        self.failure().fault
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
                attempt,
                failure,
                wait,
            } => f
                .debug_struct("Waiting")
                .field("attempt", attempt)
                .field("failure", failure)
                .field("wait", wait)
                .finish(),
            Event::GaveUp {
                attempts,
                failure,
                reason,
            } => f
                .debug_struct("GaveUp")
                .field("attempts", attempts)
                .field("failure", failure)
                .field("reason", reason)
                .finish(),
        }
    }
}

/// "attempt 2 failed, next in 1.5s: …", or "gave up after 3 attempts (deadline): …". The error is
/// written as the event is: `{event:#}` shows the causes of an `anyhow::Error`. It stays on one line,
/// is cut after 500 characters, and shows no password and no query of a URL.
impl<E: fmt::Display> fmt::Display for Event<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Waiting {
                attempt,
                failure,
                wait,
            } => {
                write!(f, "attempt {attempt} failed, next in {:.1?}: ", wait.delay)?;
                failure.fmt(f)
            }
            Event::GaveUp {
                attempts,
                failure,
                reason,
            } => {
                let s = if *attempts == 1 { "" } else { "s" };
                write!(
                    f,
                    "gave up after {attempts} attempt{s} ({}): ",
                    reason.name()
                )?;
                failure.fmt(f)
            }
        }
    }
}

/// A hook, which is called with every [`Event`]: a closure.
pub trait Notify<E> {
    /// Called before each wait and when an operation is given up.
    fn notify(&mut self, event: &Event<'_, E>);
}

impl<E, F: FnMut(&Event<'_, E>)> Notify<E> for F {
    #[inline]
    fn notify(&mut self, event: &Event<'_, E>) {
        self(event);
    }
}

/// An operation as the log names it.
#[cfg_attr(
    not(feature = "tracing"),
    allow(dead_code, reason = "only logs read it")
)]
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) operation: &'a str,
    pub(crate) attempt: u32,
    pub(crate) error_type: &'static str,
    pub(crate) error: Option<&'a dyn fmt::Display>,
}

/// Logs what follows after a failed attempt.
#[cfg(feature = "tracing")]
#[inline]
pub(crate) fn log<'a>(decision: Decision, failure: impl FnOnce() -> Record<'a>) {
    logged(decision, failure());
}

/// Nobody logs.
#[cfg(not(feature = "tracing"))]
#[inline(always)]
pub(crate) fn log<'a>(_decision: Decision, _failure: impl FnOnce() -> Record<'a>) {}

#[cfg(feature = "tracing")]
#[cold]
#[inline(never)]
fn logged(decision: Decision, failure: Record<'_>) {
    let Record {
        operation,
        attempt,
        error_type,
        error,
    } = failure;
    let error = error.map(|error| tracing::field::display(Loggable(error)));
    match decision {
        Decision::Stop(StopReason::NothingKnown) => tracing::warn!(
            operation,
            attempts = attempt,
            reason = StopReason::NothingKnown.name(),
            error_type,
            error,
            "not retried, because nothing is known about the error: derive or implement `Fault` for \
             its type, or judge it by `when_any` (in the attribute: `when`)",
        ),
        Decision::Wait(wait) => tracing::debug!(
            operation,
            attempt,
            delay = wait.delay.as_secs_f64(),
            source = match wait.source {
                WaitSource::Backoff => "backoff",
                WaitSource::RetryAfter => "retry_after",
            },
            error,
            "attempt failed, waiting before the next",
        ),
        Decision::Stop(reason) => tracing::warn!(
            operation,
            attempts = attempt,
            reason = reason.name(),
            error,
            "gave up",
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
            attempt: 2,
            failure: Failure::new(Some(&"busy"), None),
            wait,
        };
        assert_eq!(event.to_string(), "attempt 2 failed, next in 1.5s: busy");
        let one = Some(1);
        let shown = format_args!("{one:?}");
        let event = Event::Waiting {
            attempt: 2,
            failure: Failure::new(Some(&shown), None),
            wait,
        };
        assert_eq!(
            format!("{event:#}"),
            "attempt 2 failed, next in 1.5s: Some(1)"
        );
        let event = Event::GaveUp {
            attempts: 1,
            failure: Failure::new(Some(&"gone"), None),
            reason: StopReason::Permanent,
        };
        assert_eq!(
            event.to_string(),
            "gave up after 1 attempt (permanent): gone"
        );
    }

    #[test]
    fn an_event_stays_on_one_line_and_tells_no_secrets() {
        let text = "no reply\r\n2026 INFO forged (http://ann:pw@example.com/a?key=1) \u{1b}[2J";
        let event = Event::GaveUp {
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
            attempts: 2,
            failure: Failure::new(Some(&long), None),
            reason: StopReason::Attempts,
        };
        assert_eq!(event.to_string().chars().count(), 37 + 501);
    }
}
