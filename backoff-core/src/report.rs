//! How a call ended.

use crate::{
    facts::fault::{Fault, FaultKind},
    text::{Loggable, Rounded},
};
use core::{error::Error, fmt, time::Duration};

/// Why no further attempt was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The error is not retryable.
    Permanent,
    /// Nothing is known about the error, so no rule applies to it. Derive or implement
    /// [`Fault`](trait@crate::Fault) for the error type, or decide with
    /// [`when_any`](crate::Policy::when_any).
    NothingKnown,
    /// The server asked not to be called again.
    StoppedByServer,
    /// The attempt may have been applied and must not be applied twice, because the policy is not
    /// [idempotent](crate::Policy::idempotent), or because the change of an
    /// [update](crate::Policy::update) cannot recognise its own effect.
    MaybeApplied,
    /// All attempts are used up.
    Attempts,
    /// The next wait would have ended after the deadline, or a timer woke after it.
    Deadline,
    /// The server asked for a longer pause than the deadline or `max_retry_after` allows.
    RetryAfter,
    /// The budget of the policy or of the call has no tokens left.
    Budget,
    /// The turn of the call in the queue of its [`Rate`](crate::Policy) would have come after the deadline, or
    /// the call waited there as long as its limits allow.
    Rate,
    /// The breaker of the policy or of the call is open, because too many attempts have failed.
    Breaker,
    /// The highest number of callers already wait for the resource (`combine::Combining::at_most`).
    Full,
    /// A signal ended the call ([`Retrying::stop_on`](crate::Retrying::stop_on) and others), or the caller of a combined
    /// change has left.
    Stopped,
    /// The request cannot be sent again, because its body could not be copied (feature `tower`).
    Unrepeatable,
    /// Retries are switched off for a test (`testing::off`).
    SwitchedOff,
}

impl StopReason {
    /// Whether the same call would be useless later too. A queue or another outer loop needs this: if the call for a
    /// message ended with a final reason, do not deliver the message again, but keep it for people.
    ///
    /// | | reasons |
    /// |---|---|
    /// | final | `Permanent`, `NothingKnown`, `MaybeApplied`, `StoppedByServer` |
    /// | not final | `Attempts`, `Deadline`, `RetryAfter`, `Budget`, `Rate`, `Breaker`, `Full`, `Stopped`, `Unrepeatable`, `SwitchedOff` |
    ///
    /// After `MaybeApplied` the call may have done its work: find out before you call again. After a reason
    /// that is not final, wait before you call again, at least for
    /// [`RetryError::last_retry_after`] and longer each time: a queue that delivers a message at once is a
    /// retry without backoff.
    ///
    /// ```
    /// use backoff_core::{Policy, StopReason, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "std")] {
    /// let policy = Policy::exponential().max_attempts(1);
    /// let sent = policy.blocking(|| Err::<(), _>(TimedOut::new(Duration::ZERO))).reported().call();
    /// let gave_up = sent.unwrap_err();
    /// assert!(!gave_up.reason.is_final()); // back into the queue
    /// assert!(StopReason::Permanent.is_final()); // never again
    /// # }
    /// ```
    pub const fn is_final(self) -> bool {
        match self {
            StopReason::Permanent
            | StopReason::NothingKnown
            | StopReason::MaybeApplied
            | StopReason::StoppedByServer => true,
            StopReason::Attempts
            | StopReason::Deadline
            | StopReason::RetryAfter
            | StopReason::Budget
            | StopReason::Rate
            | StopReason::Breaker
            | StopReason::Full
            | StopReason::Stopped
            | StopReason::Unrepeatable
            | StopReason::SwitchedOff => false,
        }
    }

    /// A short name for logs and labels: `"permanent"`, `"deadline"`.
    pub const fn name(self) -> &'static str {
        match self {
            StopReason::Permanent => "permanent",
            StopReason::NothingKnown => "nothing_known",
            StopReason::StoppedByServer => "stopped_by_server",
            StopReason::MaybeApplied => "maybe_applied",
            StopReason::Attempts => "attempts",
            StopReason::Deadline => "deadline",
            StopReason::RetryAfter => "retry_after",
            StopReason::Budget => "budget",
            StopReason::Rate => "rate",
            StopReason::Breaker => "breaker",
            StopReason::Full => "full",
            StopReason::Stopped => "stopped",
            StopReason::Unrepeatable => "unrepeatable",
            StopReason::SwitchedOff => "switched_off",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Permanent => "the error is not retryable",
            StopReason::NothingKnown => "nothing is known about the error",
            StopReason::StoppedByServer => "the server asked not to be called again",
            StopReason::MaybeApplied => {
                "the attempt may have been applied, and must not be applied twice"
            }
            StopReason::Attempts => "all attempts are used up",
            StopReason::Deadline => "the deadline leaves no time for another attempt",
            StopReason::RetryAfter => "the server asks for a longer pause than is allowed",
            StopReason::Budget => "the budget for retries is used up",
            StopReason::Rate => "the turn of the call at the rate of the service comes too late",
            StopReason::Breaker => "the breaker is open, because too many attempts have failed",
            StopReason::Full => "too many callers wait for the resource",
            StopReason::Stopped => "a signal has ended the call",
            StopReason::Unrepeatable => {
                "the request cannot be sent again, because it cannot be copied"
            }
            StopReason::SwitchedOff => "retries are switched off",
        })
    }
}

/// The number of attempts and the time that a call took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The number of calls of the operation.
    pub attempts: u32,
    /// The time from before the first attempt to after the last attempt.
    pub elapsed: Duration,
    /// The part of `elapsed` in which no attempt ran: the waits between attempts as long as they lasted, and
    /// the time in the queue of a rate, also before the first attempt.
    pub slept: Duration,
    /// Whether an attempt before the last one failed, and may have been applied: its reply was lost, or its failure leaves
    /// that open. Then a `404` or a `412` of the last attempt may be the effect of an earlier one.
    pub maybe_applied: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report {
            attempts,
            elapsed,
            slept,
            ..
        } = self;
        let s = if *attempts == 1 { "" } else { "s" };
        write!(f, "{attempts} attempt{s} ")?;
        write_times(f, *elapsed, *slept)
    }
}

/// "in 4.25s, of which 3s waiting", or "in 4.25s, without a wait".
fn write_times(f: &mut fmt::Formatter<'_>, elapsed: Duration, slept: Duration) -> fmt::Result {
    write!(f, "in {}, ", Rounded(elapsed))?;
    match slept.is_zero() {
        true => f.write_str("without a wait"),
        false => write!(f, "of which {} waiting", Rounded(slept)),
    }
}

/// The attempts and the time of a call: the numbers from which every report is made.
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct Measures {
    pub(crate) attempts: u32,
    pub(crate) writes: u32,
    pub(crate) conflicts: u32,
    pub(crate) elapsed: Duration,
    pub(crate) slept: Duration,
    pub(crate) maybe_applied: bool,
}

impl From<Measures> for Report {
    fn from(measures: Measures) -> Self {
        Report {
            attempts: measures.attempts,
            elapsed: measures.elapsed,
            slept: measures.slept,
            maybe_applied: measures.maybe_applied,
        }
    }
}

/// The result of a read-modify-write ([`Policy::update`](crate::Policy::update)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated<V, W> {
    /// The change decided that the value it read needs no change, so the last attempt did not write.
    /// After a write whose reply was lost, this result shows that the write arrived.
    Unchanged(V),
    /// The value was written; the field is the reply of the write.
    Written(W),
}

impl<V, W> Updated<V, W> {
    /// Whether the last attempt wrote the value. `false` after a lost reply does not mean that nothing was written: see
    /// [`Unchanged`](Self::Unchanged).
    pub const fn is_written(&self) -> bool {
        matches!(self, Updated::Written(_))
    }
}

impl<V> Updated<V, V> {
    /// The current value, read or just written. Available if a write returns the same type as a read.
    pub fn into_inner(self) -> V {
        match self {
            Updated::Unchanged(value) | Updated::Written(value) => value,
        }
    }
}

/// The numbers of reads, writes and conflicts, and the time, of a read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateReport {
    /// How often the read-modify-write began; each attempt begins with a read.
    pub attempts: u32,
    /// The number of reads.
    pub reads: u32,
    /// The number of writes.
    pub writes: u32,
    /// The number of attempts that failed because another writer was faster.
    pub conflicts: u32,
    /// The time from before the first read to after the last step.
    pub elapsed: Duration,
    /// The part of `elapsed` in which no attempt ran, as in [`Report::slept`].
    pub slept: Duration,
    /// Whether an attempt before the last one may have been applied, as in [`Report::maybe_applied`].
    pub maybe_applied: bool,
}

impl From<Measures> for UpdateReport {
    /// Each attempt begins with a read.
    fn from(measures: Measures) -> Self {
        UpdateReport {
            attempts: measures.attempts,
            reads: measures.attempts,
            writes: measures.writes,
            conflicts: measures.conflicts,
            elapsed: measures.elapsed,
            slept: measures.slept,
            maybe_applied: measures.maybe_applied,
        }
    }
}

/// "3 attempts (3 reads, 2 writes, 1 conflict) in 4.25s, of which 3s waiting".
impl fmt::Display for UpdateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: u32| if n == 1 { "" } else { "s" };
        let UpdateReport {
            attempts,
            reads,
            writes,
            conflicts,
            elapsed,
            slept,
            ..
        } = *self;
        let (a, r, w, c) = (
            plural(attempts),
            plural(reads),
            plural(writes),
            plural(conflicts),
        );
        write!(
            f,
            "{attempts} attempt{a} ({reads} read{r}, {writes} write{w}, {conflicts} conflict{c}) "
        )?;
        write_times(f, elapsed, slept)
    }
}

/// What a text says of an earlier attempt, if the call ends for this reason.
pub(crate) const fn of_earlier(maybe_applied: bool, reason: StopReason) -> &'static str {
    match reason {
        StopReason::Permanent if maybe_applied => "; an earlier attempt may have been applied",
        _ => "",
    }
}

/// The last error of an operation that was given up, with the reason and a report of the attempts.
///
/// A `RetryError` is itself a permanent [`Fault`]: if a policy or its codes decide, a retry around a
/// retry does not multiply the attempts. Its source is the operation's error. An outer
/// loop that is not a retry of this library, such as a queue, asks [`StopReason::is_final`] and
/// [`last_retry_after`](Self::last_retry_after).
///
/// ```
/// use backoff_core::{Policy, StopReason, TimedOut};
/// use std::time::Duration;
///
/// # #[cfg(feature = "std")] {
/// let cut = || Err::<(), _>(TimedOut::new(Duration::from_secs(1)));
/// let gave_up = Policy::exponential().max_attempts(1).blocking(cut).reported().call().unwrap_err();
/// assert_eq!((gave_up.reason, gave_up.report.attempts), (StopReason::Attempts, 1));
/// assert!(gave_up.to_string().starts_with("gave up after 1 attempt in "));
/// assert_eq!(gave_up.into_error(), TimedOut::new(Duration::from_secs(1)));
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RetryError<E, R = Report> {
    /// The operation's last error.
    pub error: E,
    /// Why no further attempt was made.
    pub reason: StopReason,
    /// The name of the budget, the rate or the breaker that ended the call, if it has one.
    pub by: Option<&'static str>,
    /// The number of attempts and the time.
    pub report: R,
    /// The operation's last own error, if `error` only says that an attempt was cut or did not begin
    /// because its time was over. `None` if the operation returned no error before.
    pub last: Option<E>,
    pub(crate) retry_after: Option<Duration>,
    /// Whether an attempt before the last one may have been applied.
    pub(crate) maybe_applied: bool,
}

/// Return types of a call that include a report.
pub type Reporting<T, E, R> = Result<(T, R), RetryError<E, R>>;

impl<E, R> RetryError<E, R> {
    pub(crate) const fn new(error: E, reason: StopReason, report: R) -> Self {
        RetryError {
            error,
            reason,
            by: None,
            report,
            last: None,
            retry_after: None,
            maybe_applied: false,
        }
    }

    /// The server's hint in the last failure, from the error or from the [`Verdict`](crate::Verdict) of a function: a
    /// queue should not deliver the message again before this time is over. `None` if the last failure had no hint, or if
    /// the last attempt was cut.
    ///
    /// As a [`Fault`] this error has no hint, because a retry around this call should make no further attempts.
    ///
    /// ```
    /// use backoff_core::{Policy, StopReason, Verdict};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "std")] {
    /// let half_an_hour = Some(Duration::from_secs(1_800));
    /// let gave_up = Policy::exponential()
    ///     .when_any(|_: &&str| Verdict::from(true).after(half_an_hour))
    ///     .blocking(|| Err::<(), _>("too many mails"))
    ///     .reported()
    ///     .call()
    ///     .unwrap_err();
    /// assert_eq!(gave_up.reason, StopReason::RetryAfter);
    /// assert_eq!(gave_up.last_retry_after(), half_an_hour);
    /// # }
    /// ```
    pub const fn last_retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The operation's last error.
    pub fn into_error(self) -> E {
        self.error
    }
}

/// The report, the reason, and the text of the error. If the error is not retryable, and an earlier attempt may have been
/// applied, the text says so. The text of the error is the same as in `tracing` events: one line, cut after 500
/// characters, [without secrets](crate::telemetry#secrets).
impl<E: fmt::Display, R: fmt::Display> fmt::Display for RetryError<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RetryError {
            error,
            reason,
            report,
            ..
        } = self;
        let error = Loggable(error);
        let earlier = of_earlier(self.maybe_applied, *reason);
        write!(f, "gave up after {report}: {reason}")?;
        if let Some(name) = self.by {
            write!(f, " ({})", Loggable(name))?;
        }
        write!(f, "{earlier}: {error}")
    }
}

/// The fields. The `Debug` of an error is written like its text: on one line, cut, and without secrets.
impl<E: fmt::Debug, R: fmt::Debug> fmt::Debug for RetryError<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryError")
            .field("error", &Loggable(&self.error))
            .field("reason", &self.reason)
            .field("by", &self.by)
            .field("report", &self.report)
            .field("last", &self.last.as_ref().map(Loggable))
            .field("retry_after", &self.retry_after)
            .finish()
    }
}

impl<E, R> Error for RetryError<E, R>
where
    E: Error + 'static,
    R: fmt::Debug + fmt::Display,
{
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

impl<E: Fault, R> Fault for RetryError<E, R> {
    fn kind(&self) -> Option<FaultKind> {
        Some(FaultKind::Permanent)
    }

    fn must_reconnect(&self) -> bool {
        self.error.must_reconnect()
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        self.error.message()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{facts::fault::TimedOut, judge::Verdict, policy::Policy};

    fn error() -> RetryError<TimedOut> {
        let report = Report {
            attempts: 3,
            elapsed: Duration::from_millis(4_250),
            slept: Duration::from_secs(3),
            maybe_applied: false,
        };
        let cut = TimedOut::new(Duration::from_secs(1));
        RetryError::new(cut, StopReason::Attempts, report)
    }

    #[test]
    fn says_what_was_tried_and_why_it_stopped() {
        let error = error();
        let said = "gave up after 3 attempts in 4.25s, of which 3s waiting: all attempts are used \
                    up: the attempt was cut after 1s";
        assert_eq!(error.to_string(), said);
        assert!(error.source().is_some_and(|source| source.is::<TimedOut>()));
        let report = Report {
            attempts: 1,
            elapsed: Duration::from_millis(20),
            slept: Duration::ZERO,
            maybe_applied: false,
        };
        assert_eq!(report.to_string(), "1 attempt in 20ms, without a wait");
        // For a retry around it.
        assert_eq!(Policy::exponential().judge(&error), Verdict::Permanent);
    }

    #[test]
    fn the_text_of_the_error_can_stand_in_a_log() {
        let RetryError { reason, report, .. } = error();
        let text = "no\nhttps://ann:pw@a.b/?key=1";
        let error = RetryError::new(text, reason, report);
        let shown = error.to_string();
        assert!(shown.ends_with(": no https://…@a.b/?…"), "{shown}");
        let last = Some(text);
        let shown = format!("{:?}", RetryError { last, ..error });
        assert_eq!(
            shown.matches(r#""no\nhttps://…@a.b/?…""#).count(),
            2,
            "{shown}"
        );
    }
}
