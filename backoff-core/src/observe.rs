//! What can be watched from outside: a hook for the caller, `tracing` events behind its feature.

#[cfg(feature = "tracing")]
use crate::state::WaitSource;
use crate::{
    report::StopReason,
    state::{Decision, Wait},
};
use core::fmt;

/// What happens between attempts, as a hook sees it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a, E> {
    /// An attempt failed; the next one follows after the wait.
    #[non_exhaustive]
    Waiting {
        /// The number of the attempt that failed, from 1.
        attempt: u32,
        /// Its error.
        error: &'a E,
        /// The wait, and who asked for it.
        wait: Wait,
    },
    /// An attempt failed; it was the last.
    #[non_exhaustive]
    GaveUp {
        /// How many attempts were made.
        attempts: u32,
        /// The error that is handed back.
        error: &'a E,
        /// Why no further attempt is made.
        reason: StopReason,
    },
}

/// "attempt 2 failed, next in 1.5s: …", or "gave up after 3 attempts (deadline): …". The error is
/// written as the event is: `{event:#}` shows the causes of an `anyhow::Error`.
impl<E: fmt::Display> fmt::Display for Event<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Waiting {
                attempt,
                error,
                wait,
            } => {
                write!(f, "attempt {attempt} failed, next in {:.1?}: ", wait.delay)?;
                error.fmt(f)
            }
            Event::GaveUp {
                attempts,
                error,
                reason,
            } => {
                let s = if *attempts == 1 { "" } else { "s" };
                write!(
                    f,
                    "gave up after {attempts} attempt{s} ({}): ",
                    reason.name()
                )?;
                error.fmt(f)
            }
        }
    }
}

/// Something that is told of every [`Event`]: a closure, or [`Silent`].
pub trait Notify<E> {
    /// Called before each wait and when an operation is given up.
    fn notify(&mut self, event: &Event<'_, E>);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl<E> Notify<E> for Silent {
    #[inline]
    fn notify(&mut self, _event: &Event<'_, E>) {}
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
pub(crate) struct Failure<'a> {
    pub(crate) operation: &'a str,
    pub(crate) attempt: u32,
    pub(crate) error_type: &'static str,
    pub(crate) error: Option<&'a dyn fmt::Display>,
}

/// Logs what follows after a failed attempt.
#[cfg(feature = "tracing")]
#[inline]
pub(crate) fn log<'a>(decision: Decision, failure: impl FnOnce() -> Failure<'a>) {
    logged(decision, failure());
}

/// Nobody logs.
#[cfg(not(feature = "tracing"))]
#[inline(always)]
pub(crate) fn log<'a>(_decision: Decision, _failure: impl FnOnce() -> Failure<'a>) {}

#[cfg(feature = "tracing")]
#[cold]
#[inline(never)]
fn logged(decision: Decision, failure: Failure<'_>) {
    let Failure {
        operation,
        attempt,
        error_type,
        error,
    } = failure;
    match decision {
        Decision::Stop(StopReason::NothingKnown) => tracing::warn!(
            operation,
            attempts = attempt,
            reason = StopReason::NothingKnown.name(),
            error_type,
            error = error.map(tracing::field::display),
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
            error = error.map(tracing::field::display),
            "attempt failed, waiting before the next",
        ),
        Decision::Stop(reason) => tracing::warn!(
            operation,
            attempts = attempt,
            reason = reason.name(),
            error = error.map(tracing::field::display),
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
            error: &"busy",
            wait,
        };
        assert_eq!(event.to_string(), "attempt 2 failed, next in 1.5s: busy");
        let event = Event::Waiting {
            attempt: 2,
            error: &format_args!("{:?}", Some(1)),
            wait,
        };
        assert_eq!(
            format!("{event:#}"),
            "attempt 2 failed, next in 1.5s: Some(1)"
        );
        let event = Event::GaveUp {
            attempts: 1,
            error: &"gone",
            reason: StopReason::Permanent,
        };
        assert_eq!(
            event.to_string(),
            "gave up after 1 attempt (permanent): gone"
        );
    }
}
