//! Ways to observe a call: a hook for the caller, and `tracing` events if the feature is on.

#[cfg(feature = "tracing")]
use crate::drive::attempt_failure::ErrorType;
use crate::rate::RateChange;
#[cfg(feature = "tracing")]
use crate::runtime::nanos;
use crate::{
    facts::fault::{Fault, FaultKind},
    policy::log_level::LogLevel,
    report::StopReason,
    state::Wait,
    text::{Loggable, Rounded},
};
use core::{fmt, time::Duration};

/// An event between attempts or at the end of a call, as a hook gets it. A call whose first attempt
/// succeeds has no event.
///
/// `elapsed` is the time since before the first attempt if the call has a deadline, a timeout, a report
/// or an [`Attempt`](crate::Attempt), and for every call with the feature `metrics`. Any other call
/// reads no clock before its first attempt: `elapsed` is then `None` at the first failure, and later
/// the time since the first failure.
#[derive(Clone, Copy)]
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
/// text is made safe for logs: one line, cut after 500 characters, without the passwords and queries of
/// URLs.
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
            #[cfg(feature = "rate")]
            Event::RateChanged {
                operation,
                rate,
                change,
            } => f
                .debug_struct("RateChanged")
                .field("operation", operation)
                .field("rate", rate)
                .field("change", change)
                .finish(),
        }
    }
}

/// "attempt 2 failed, next in 1.5s: …" (for an awaited value "attempt 2 not yet, next in 1.5s: …"), "gave up after 3 attempts (deadline): …", or "succeeded after 3
/// attempts". The format of the event is also used for the error: `{event:#}` shows the causes of an
/// `anyhow::Error`. The error is written on one line, cut after 500 characters, without the passwords
/// and queries of URLs.
impl<E: fmt::Display> fmt::Display for Event<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Waiting {
                attempt,
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
                write!(f, "attempt {attempt} {ended}, next in {wait}: ")?;
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
            #[cfg(feature = "rate")]
            Event::RateChanged { change, .. } => change.fmt(f),
        }
    }
}

/// A hook: a closure that is called with every [`Event`].
pub trait Notify<E> {
    /// Whether there is a hook.
    const LISTENS: bool = true;

    /// Called before each wait, when an operation is given up, and when it succeeds after retries.
    fn notify(&mut self, event: &Event<'_, E>);
}

impl<E, F: FnMut(&Event<'_, E>)> Notify<E> for F {
    #[inline]
    fn notify(&mut self, event: &Event<'_, E>) {
        self(event);
    }
}

/// No hook.
impl<E> Notify<E> for () {
    const LISTENS: bool = false;

    #[inline]
    fn notify(&mut self, _event: &Event<'_, E>) {}
}

/// Two hooks, called one after the other.
impl<E, A: Notify<E>, B: Notify<E>> Notify<E> for (A, B) {
    const LISTENS: bool = A::LISTENS || B::LISTENS;

    #[inline]
    fn notify(&mut self, event: &Event<'_, E>) {
        self.0.notify(event);
        self.1.notify(event);
    }
}

/// The data of a log event.
#[cfg_attr(
    not(feature = "tracing"),
    allow(dead_code, reason = "only logs read it")
)]
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) operation: &'static str,
    /// The host that the operation calls.
    pub(crate) host: Option<&'a str>,
    /// The number of the attempt that just ended.
    pub(crate) attempt: u32,
    pub(crate) elapsed: Option<Duration>,
    pub(crate) happened: Happened,
    pub(crate) error_type: &'static str,
    /// What is known about the failure.
    pub(crate) fault: Option<&'a dyn Fault>,
}

/// The step after an attempt.
#[cfg_attr(
    not(feature = "tracing"),
    allow(dead_code, reason = "only logs read it")
)]
#[derive(Clone, Copy)]
pub(crate) enum Happened {
    /// A wait, and the level of its log event. If the value is only not the awaited one yet, nothing failed:
    /// the level counts only where it is lower than `DEBUG`.
    Waits {
        wait: Wait,
        level: LogLevel,
        is_poll: bool,
    },
    /// The end of a call that failed.
    GaveUp {
        reason: StopReason,
        /// Whether the operation ended the last attempt. If not, a timer or a signal cut the attempt, or the call
        /// ended between two attempts or before the first one.
        by_itself: bool,
        /// For how long the last attempt ran on after the deadline.
        late: Option<Duration>,
    },
    Succeeded,
    /// The rate with this name has changed.
    Rate(RateChange, Option<&'static str>),
}

/// Logs the step after an attempt.
#[cfg(feature = "tracing")]
#[inline]
pub(crate) fn log<'a>(record: impl FnOnce() -> Record<'a>) {
    logged(record());
}

/// Writes no log.
#[cfg(not(feature = "tracing"))]
#[inline(always)]
pub(crate) fn log<'a>(_record: impl FnOnce() -> Record<'a>) {}

/// Writes an event whose level is known only at run time.
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

/// The code of a reply, or of a service.
#[cfg(feature = "tracing")]
fn code(fault: &dyn Fault) -> Option<Code<'_>> {
    let code = ErrorType::code(fault).map(Code::Reply);
    code.or_else(|| fault.service_code().map(Code::Service))
}

/// A code for logs.
#[cfg(feature = "tracing")]
enum Code<'a> {
    Reply(ErrorType),
    Service(&'a str),
}

#[cfg(feature = "tracing")]
impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Code::Reply(code) => code.fmt(f),
            Code::Service(code) => f.write_str(code),
        }
    }
}

/// Seconds, rounded to a tenth of a millisecond, and at most 584 years: formatted with `{:?}`, as by the usual
/// subscriber, a number that is smaller or greater has an exponent.
#[cfg(feature = "tracing")]
fn seconds(duration: Duration) -> f64 {
    (nanos(duration).saturating_add(50_000) / 100_000) as f64 / 1e4
}

/// Whether the failure that ended a call is the operation's own answer, for example a 404. If not, something kept
/// the call from being retried, or from having an attempt at all, and the log warns. A call that was logged as
/// waiting gets a warning too.
#[cfg(feature = "tracing")]
fn is_own_answer(reason: StopReason, attempts: u32, by_itself: bool) -> bool {
    reason == StopReason::Permanent && attempts == 1 && by_itself
}

#[cfg(feature = "tracing")]
#[cold]
#[inline(never)]
fn logged(record: Record<'_>) {
    let Record {
        operation,
        host,
        attempt,
        happened,
        error_type,
        ..
    } = record;
    let elapsed = record.elapsed.map(seconds);
    let answer = record.fault.and_then(Fault::service_message);
    let answer = answer.as_ref().map(|answer| answer as &dyn fmt::Display);
    let message = answer.or_else(|| record.fault.and_then(Fault::message));
    let error = message.map(|message| tracing::field::display(Loggable(message)));
    let code = record.fault.and_then(code);
    let code = code
        .as_ref()
        .map(|code| tracing::field::display(Loggable(code)));
    match happened {
        Happened::Waits {
            wait,
            level,
            is_poll,
        } => {
            let (level, text) = match (is_poll, level) {
                (false, level) => (level, "attempt failed, waiting before the next"),
                (true, LogLevel::Off | LogLevel::Trace) => (level, "not yet, asking again"),
                (true, _) => (LogLevel::Debug, "not yet, asking again"),
            };
            let unread = record.fault.and_then(Fault::unread_hint);
            let value = unread.map(|(_, value)| value[..value.len().min(40)].escape_ascii());
            event_at!(
                level,
                operation,
                host,
                attempt,
                delay = seconds(wait.delay),
                source = wait.source.name(),
                unread_header = unread.map(|(name, _)| name),
                unread_hint = value.map(tracing::field::display),
                elapsed,
                code = code.filter(|_| !is_poll),
                error = error.filter(|_| !is_poll),
                "{text}",
            );
        }
        Happened::Rate(change, rate) => {
            tracing::debug!(target: "backoff", operation, host, rate, "{change}")
        }
        Happened::GaveUp {
            reason: StopReason::NothingKnown,
            ..
        } => tracing::warn!(
            target: "backoff",
            operation,
            host,
            attempts = attempt,
            reason = StopReason::NothingKnown.name(),
            elapsed,
            error_type,
            error,
            "not retried, because nothing is known about the error: derive or implement `Fault` for \
             its type, or judge it by `when_any` (in the attribute: `when`)",
        ),
        Happened::GaveUp {
            reason,
            by_itself,
            late,
        } => {
            let is_answer = is_own_answer(reason, attempt, by_itself);
            let text = match reason {
                StopReason::MaybeApplied => {
                    "not repeated, because the attempt may have been applied"
                }
                StopReason::RetryAfter => {
                    "gave up, because the hint asks for a longer wait than the policy allows"
                }
                StopReason::StoppedByServer => {
                    "not repeated, because the server asks not to be called again"
                }
                _ if is_answer => "failed, not retried",
                _ if attempt == 0 => "gave up before the first attempt",
                _ => "gave up",
            };
            let too_late = match late {
                Some(_) => {
                    "; the attempt ended after the deadline: a deadline does not cut an attempt, the `timeout` of an async call does"
                }
                None => "",
            };
            // An attempt that runs on after the deadline makes its caller wait, whatever its answer is.
            let level = match is_answer && late.is_none() {
                true => LogLevel::Debug,
                false => LogLevel::Warn,
            };
            let asked = record.fault.and_then(Fault::retry_after);
            let asked = asked.filter(|_| reason == StopReason::RetryAfter);
            event_at!(
                level,
                operation,
                host,
                attempts = attempt,
                reason = reason.name(),
                elapsed,
                retry_after = asked.map(seconds),
                late = late.map(seconds),
                code,
                error,
                "{text}{too_late}",
            );
        }
        Happened::Succeeded => tracing::info!(
            target: "backoff",
            operation,
            host,
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

    fn gave_up<E: fmt::Display>(attempts: u32, text: &E, reason: StopReason) -> String {
        let event = Event::GaveUp {
            operation: "get",
            elapsed: None,
            attempts,
            failure: Failure::new(Some(text), None),
            reason,
        };
        event.to_string()
    }

    #[test]
    fn an_event_reads_as_a_sentence() {
        let one = Some(1);
        let texts: [&dyn fmt::Display; 2] = [&"busy", &format_args!("{one:?}")];
        for (text, said) in texts.iter().zip(["busy", "Some(1)"]) {
            let event = Event::Waiting {
                operation: "get",
                elapsed: None,
                attempt: 2,
                failure: Failure::new(Some(text), None),
                wait: Wait {
                    delay: Duration::from_millis(1_500),
                    source: WaitSource::Backoff,
                },
            };
            let sentence = format!("attempt 2 failed, next in 1.5s: {said}");
            assert_eq!([event.to_string(), format!("{event:#}")], [&*sentence; 2]);
        }
        let not_yet = crate::drive::consecutive::NotYet::after(0);
        let polls = Event::Waiting {
            operation: "get",
            elapsed: None,
            attempt: 2,
            failure: Failure::new(Some(&not_yet), Some(&not_yet)),
            wait: Wait {
                delay: Duration::from_secs(1),
                source: WaitSource::Backoff,
            },
        };
        assert!(
            polls
                .to_string()
                .starts_with("attempt 2 not yet, next in 1s: ")
        );
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
        let long = gave_up(2, &"a".repeat(10_000), StopReason::Attempts);
        assert_eq!(long.chars().count(), 37 + 501);
    }
}
