//! The event that a hook gets.

use super::attempt_event::{AttemptEvent, Step};
#[cfg(feature = "rate")]
use crate::rate::RateChange;
use crate::{
    facts::fault::{Fault, FaultKind},
    report::StopReason,
    state::Wait,
    text::{Loggable, Rounded},
};
use core::{fmt, time::Duration};

/// An event between attempts or at the end of a call, as a hook gets it. A call whose first attempt
/// succeeds has no event.
///
/// `elapsed` is the time since before the first attempt if the call has a deadline, a timeout, a report
/// or an [`Attempt`](crate::Attempt), and while a recorder gets [metrics](crate::telemetry). Any other call
/// reads no clock before its first attempt: `elapsed` is then `None` at the first failure, and later
/// the time since the first failure.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a, E> {
    /// An attempt failed; the next attempt follows after the wait.
    #[non_exhaustive]
    Waiting {
        /// The [name of the operation](crate::telemetry#the-name-of-an-operation), as in the log and in
        /// metrics.
        operation: &'static str,
        /// The number of the attempt that failed, from 1.
        attempt: u32,
        /// The highest number of attempts. `None` if only the time is limited.
        max_attempts: Option<u32>,
        /// How much of the `deadline` or the `timeout` is left, from the end of the attempt. `None` without a limit, and for
        /// the first failure of a call whose time is not measured.
        remaining: Option<Duration>,
        /// The failure.
        failure: Failure<'a, E>,
        /// The wait and its origin. If the next attempt waits for its turn at a [rate](crate::Policy), `delay` is
        /// how long that is expected to take, together with the wait before.
        wait: Wait,
        /// The time that has passed, if it was measured.
        elapsed: Option<Duration>,
    },
    /// The last attempt failed.
    #[non_exhaustive]
    GaveUp {
        /// The name of the operation in the log.
        operation: &'static str,
        /// The number of attempts made.
        attempts: u32,
        /// The failure of the last attempt.
        failure: Failure<'a, E>,
        /// Why no further attempt is made.
        reason: StopReason,
        /// The name of the budget, the rate or the breaker that ended the call, if it has one.
        by: Option<&'static str>,
        /// The time that has passed, if it was measured.
        elapsed: Option<Duration>,
    },
    /// An attempt succeeded after at least one failed attempt.
    #[non_exhaustive]
    Succeeded {
        /// The name of the operation in the log.
        operation: &'static str,
        /// The number of attempts made, the successful attempt included.
        attempts: u32,
        /// The time that has passed, if it was measured.
        elapsed: Option<Duration>,
    },
    /// The reply to an attempt of this call has changed the rate of the call. A reply to the first attempt can do
    /// this too.
    #[cfg(feature = "rate")]
    #[non_exhaustive]
    RateChanged {
        /// The name of the operation in the log.
        operation: &'static str,
        /// The name of the rate, if it has one.
        rate: Option<&'static str>,
        /// The change.
        change: RateChange,
    },
}

impl<'a, E> Event<'a, E> {
    /// The event for a hook.
    pub(crate) fn of(event: &AttemptEvent<'a>, error: Option<&'a E>) -> Self {
        let operation = event.operation();
        let AttemptEvent {
            attempt,
            elapsed,
            most_attempts,
            remaining,
            by,
            ..
        } = *event;
        let failure = Failure::new(error, event.fault);
        match event.step {
            Step::Waits(wait) => Event::Waiting {
                operation,
                attempt,
                max_attempts: Some(most_attempts).filter(|it| *it < u32::MAX),
                remaining,
                failure,
                wait,
                elapsed,
            },
            Step::GaveUp(reason) => Event::GaveUp {
                operation,
                attempts: attempt,
                failure,
                reason,
                by,
                elapsed,
            },
            Step::Succeeded => Event::Succeeded {
                operation,
                attempts: attempt,
                elapsed,
            },
            #[cfg(feature = "rate")]
            Step::Rate(change) => Event::RateChanged {
                operation,
                rate: by,
                change,
            },
            #[cfg(not(feature = "rate"))]
            Step::Rate(change) => match change {},
        }
    }

    /// The name of the operation in the log.
    pub const fn operation(&self) -> &'static str {
        match self {
            Event::Waiting { operation, .. }
            | Event::GaveUp { operation, .. }
            | Event::Succeeded { operation, .. } => operation,
            #[cfg(feature = "rate")]
            Event::RateChanged { operation, .. } => operation,
        }
    }

    /// The failure of the attempt; `None` if the attempt succeeded.
    pub const fn failure(&self) -> Option<Failure<'a, E>> {
        match self {
            Event::Waiting { failure, .. } | Event::GaveUp { failure, .. } => Some(*failure),
            Event::Succeeded { .. } => None,
            #[cfg(feature = "rate")]
            Event::RateChanged { .. } => None,
        }
    }

    /// The error; `None` if the attempt succeeded or if a value counts as the failure
    /// ([`Retrying::responses`]).
    ///
    /// [`Retrying::responses`]: crate::Retrying::responses
    pub const fn error(&self) -> Option<&'a E> {
        match self.failure() {
            Some(failure) => failure.error,
            None => None,
        }
    }

    /// The known facts of the failure, if there are any.
    pub const fn fault(&self) -> Option<&'a dyn Fault> {
        match self.failure() {
            Some(failure) => failure.fault,
            None => None,
        }
    }
}

/// A failure as a hook gets it: an error, or a value that counts as a failure.
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

    /// The error; `None` if a value counts as the failure.
    pub const fn error(&self) -> Option<&'a E> {
        self.error
    }

    /// The known facts of the failure, if there are any.
    pub const fn fault(&self) -> Option<&'a dyn Fault> {
        self.fault
    }
}

/// Writes the error, or the [message of its service](Fault::service_message). For a value that counts as a failure, writes the value's text or its status. The
/// text is made safe for logs: one line, cut after 500 characters, [without secrets](crate::telemetry#secrets).
impl<E: fmt::Display> fmt::Display for Failure<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = self.fault;
        if let Some(answer) = fault.and_then(Fault::service_message) {
            return Loggable(answer).fmt(f);
        }
        if let Some(error) = self.error {
            return Loggable(error).fmt(f);
        }
        match fault.map(|fault| (fault.message(), fault.status())) {
            Some((Some(text), _)) => Loggable(text).fmt(f),
            Some((None, Some(status))) => write!(f, "status {status}"),
            _ => f.write_str("the value counts as a failure"),
        }
    }
}

/// The `Debug` of the error on one line, cut, and without secrets.
impl<E: fmt::Debug> fmt::Debug for Failure<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.fault.and_then(Fault::status);
        f.debug_struct("Failure")
            .field("error", &self.error.map(Loggable))
            .field("status", &status)
            .finish()
    }
}

/// "attempt 2 of 5 failed, next in 1.5s: …" (for an awaited value "attempt 2 of 5 not yet, next in 1.5s: …"), "gave up after 3
/// attempts (deadline): …", "gave up after 1 attempt (budget billing): …", or "succeeded after 3 attempts". The format of the event is also used for the error: `{event:#}` shows the causes of an
/// `anyhow::Error`. The error is written on one line, cut after 500 characters,
/// [without secrets](crate::telemetry#secrets).
impl<E: fmt::Display> fmt::Display for Event<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Waiting {
                attempt,
                max_attempts,
                failure,
                wait,
                ..
            } => {
                let kind = failure.fault.and_then(Fault::kind);
                let ended = match kind {
                    Some(FaultKind::Pending) => "not yet",
                    _ => "failed",
                };
                let wait = Rounded(wait.delay);
                write!(f, "attempt {attempt} ")?;
                if let Some(most) = max_attempts {
                    write!(f, "of {most} ")?;
                }
                write!(f, "{ended}, next in {wait}: ")?;
                failure.fmt(f)
            }
            Event::GaveUp {
                attempts,
                failure,
                reason,
                by,
                ..
            } => {
                let s = if *attempts == 1 { "" } else { "s" };
                write!(f, "gave up after {attempts} attempt{s} ({}", reason.name())?;
                if let Some(name) = by {
                    write!(f, " {}", Loggable(name))?;
                }
                f.write_str("): ")?;
                failure.fmt(f)
            }
            Event::Succeeded { attempts, .. } => write!(f, "succeeded after {attempts} attempts"),
            #[cfg(feature = "rate")]
            Event::RateChanged { change, .. } => change.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::WaitSource;
    use core::time::Duration;

    fn gave_up<E: fmt::Display>(attempts: u32, text: &E, reason: StopReason) -> String {
        let event = Event::GaveUp {
            operation: "get",
            elapsed: None,
            attempts,
            failure: Failure::new(Some(text), None),
            reason,
            by: None,
        };
        event.to_string()
    }

    fn waiting<E: fmt::Display>(text: &E, fault: Option<&dyn Fault>) -> String {
        let event = Event::Waiting {
            operation: "get",
            elapsed: None,
            attempt: 2,
            max_attempts: Some(5),
            remaining: None,
            failure: Failure::new(Some(text), fault),
            wait: Wait {
                delay: Duration::from_millis(1_500),
                source: WaitSource::Backoff,
            },
        };
        assert_eq!(event.to_string(), format!("{event:#}"));
        event.to_string()
    }

    #[test]
    fn an_event_reads_as_a_sentence() {
        let one = Some(1);
        let said = "attempt 2 of 5 failed, next in 1.5s: ";
        assert_eq!(waiting(&"busy", None), format!("{said}busy"));
        let shown = waiting(&format_args!("{one:?}"), None);
        assert_eq!(shown, format!("{said}Some(1)"));
        let not_yet = crate::NotYet::after(0);
        let polls = waiting(&not_yet, Some(&not_yet));
        assert!(polls.starts_with("attempt 2 of 5 not yet, next in 1.5s: "));
        let said = gave_up(1, &"gone", StopReason::Permanent);
        assert_eq!(said, "gave up after 1 attempt (permanent): gone");
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
        assert_eq!(
            gave_up(2, &text, StopReason::Attempts),
            "gave up after 2 attempts (attempts): no reply 2026 INFO forged \
             (http://…@example.com/a?…) \\u{1b}[2J"
        );
        let failure = Failure::new(Some(&text), None);
        let shown = format!("{failure:?}");
        assert!(shown.contains("http://…@example.com/a?…"), "{shown}");
        let long = gave_up(2, &"a".repeat(10_000), StopReason::Attempts);
        assert_eq!(long.chars().count(), 37 + 501);
    }
}
