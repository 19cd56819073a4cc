//! The log: one event of `tracing` for each step after an attempt.

use super::attempt_event::{AttemptEvent, ErrorType, Step};
use crate::{
    facts::fault::{Fault, FaultKind},
    judge::Verdict,
    policy::log_level::LogLevel,
    report::{StopReason, of_earlier},
    runtime::nanos,
    text::{Loggable, is_secret},
};
use core::{fmt, time::Duration};

/// Writes an event whose level is known only at run time.
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
fn code(fault: &dyn Fault) -> Option<Code<'_>> {
    let code = ErrorType::code(fault).map(Code::Reply);
    code.or_else(|| fault.service_code().map(Code::Service))
}

/// A code for logs.
enum Code<'a> {
    Reply(ErrorType),
    Service(&'a str),
}

impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Code::Reply(code) => code.fmt(f),
            Code::Service(code) if is_secret(code) => f.write_str("…"),
            Code::Service(code) => f.write_str(code),
        }
    }
}

/// The value of a header for logs: the first 40 characters, of which those outside printable ASCII are escaped.
struct Unread<'a>(&'a [u8]);

impl fmt::Display for Unread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.40}", Loggable(self.0.escape_ascii()))
    }
}

/// Seconds, rounded to a tenth of a millisecond, and at most 584 years: formatted with `{:?}`, as by the usual
/// subscriber, a number that is smaller or greater has an exponent.
fn seconds(duration: Duration) -> f64 {
    (nanos(duration).saturating_add(50_000) / 100_000) as f64 / 1e4
}

/// Whether the failure that ended a call is the operation's own answer, for example a 404. If not, something kept
/// the call from being retried, or from having an attempt at all, and the log warns. A call that was logged as
/// waiting gets a warning too.
fn is_own_answer(reason: StopReason, attempts: u32, by_itself: bool) -> bool {
    reason == StopReason::Permanent && attempts == 1 && by_itself
}

/// Logs the step after an attempt.
#[cold]
#[inline(never)]
pub(crate) fn log(event: &AttemptEvent<'_>) {
    let operation = event.operation();
    let AttemptEvent {
        host,
        attempt,
        type_name: error_type,
        late,
        by,
        ..
    } = *event;
    let elapsed = event.elapsed.map(seconds);
    let answer = event.fault.and_then(Fault::service_message);
    let answer = answer.as_ref().map(|answer| answer as &dyn fmt::Display);
    let message = answer.or_else(|| event.fault.and_then(Fault::message));
    let error = message.map(|message| tracing::field::display(Loggable(message)));
    let code = event.fault.and_then(code);
    let code = code
        .as_ref()
        .map(|code| tracing::field::display(Loggable(code)));
    match event.step {
        Step::Waits(wait) => {
            // A value that is only not the awaited one yet is no failure: the policy's level counts only where it is
            // lower than `DEBUG`.
            let is_poll = event.verdict.and_then(Verdict::retried) == Some(FaultKind::Pending);
            let level = event.policy.log_waits;
            let (level, text) = match (is_poll, level) {
                (false, level) => (level, "attempt failed, waiting before the next"),
                (true, LogLevel::Off | LogLevel::Trace) => (level, "not yet, asking again"),
                (true, _) => (LogLevel::Debug, "not yet, asking again"),
            };
            let unread = event.fault.and_then(Fault::unread_hint);
            event_at!(
                level,
                operation,
                host,
                attempt,
                delay = seconds(wait.delay),
                source = wait.source.name(),
                unread_header = unread.map(|(name, _)| name),
                unread_hint = unread.map(|(_, value)| tracing::field::display(Unread(value))),
                elapsed,
                code = code.filter(|_| !is_poll),
                error = error.filter(|_| !is_poll),
                "{text}",
            );
        }
        Step::Rate(change) => {
            tracing::debug!(target: "backoff", operation, host, rate = by, "{change}")
        }
        Step::GaveUp(StopReason::NothingKnown) => tracing::warn!(
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
        Step::GaveUp(reason) => {
            let is_answer = is_own_answer(reason, attempt, event.is_by_itself());
            let text = match reason {
                // The policy is for requests that the library sees.
                StopReason::MaybeApplied if event.policy.by_method && host.is_none() => {
                    "not repeated, because the attempt may have been applied, and no request says whether it may be \
                     made twice: take `plain_http::IDEMPOTENT` for a call that may"
                }
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
            let earlier = of_earlier(event.maybe_applied, reason);
            // An attempt that runs on after the deadline makes its caller wait, whatever its answer is.
            // The breaker counts the calls that it refuses, and warns of them together.
            let level = match reason {
                StopReason::Breaker => LogLevel::Debug,
                _ if is_answer && late.is_none() => LogLevel::Debug,
                _ => LogLevel::Warn,
            };
            let asked = event.fault.and_then(Fault::retry_after);
            let asked = asked.filter(|_| reason == StopReason::RetryAfter);
            let by = |which| by.filter(|_| reason == which);
            event_at!(
                level,
                operation,
                host,
                attempts = attempt,
                reason = reason.name(),
                budget = by(StopReason::Budget),
                rate = by(StopReason::Rate),
                breaker = by(StopReason::Breaker),
                elapsed,
                retry_after = asked.map(seconds),
                late = late.map(seconds),
                code,
                error,
                "{text}{earlier}{too_late}",
            );
        }
        Step::Succeeded => tracing::info!(
            target: "backoff",
            operation,
            host,
            attempts = attempt,
            elapsed,
            "succeeded after retries",
        ),
    }
}
