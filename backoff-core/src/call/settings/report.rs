//! The numbers of a report.

use crate::{
    call::{
        call_state::CallInfo,
        operation::Failed,
        setting::{Setting, surrounds_nothing},
    },
    event::attempt_event::{AttemptEvent, Step},
    report::{Measures, Reporting, RetryError, StopReason},
    runtime::nanos,
    stage::EndedBy,
};
use core::time::Duration;

/// Counts the numbers of a report, and keeps the last real error. Made by
/// [`Retrying::reported`](crate::Retrying::reported).
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Measured<E> {
    /// The time in which no attempt ran, in nanoseconds. While the call waits, the time at which the wait began is
    /// subtracted, so that one field does for both.
    slept: i64,
    /// The server's hint with the last failure, in nanoseconds; zero is none.
    hint: u64,
    attempts: u32,
    conflicts: u32,
    elapsed: Duration,
    maybe_applied: bool,
    reason: Option<StopReason>,
    /// The name of what ended the call.
    by: Option<&'static str>,
    last: Option<E>,
}

impl<E> Measured<E> {
    pub(crate) const fn new() -> Self {
        Measured {
            slept: 0,
            hint: 0,
            attempts: 0,
            conflicts: 0,
            elapsed: Duration::ZERO,
            maybe_applied: false,
            reason: None,
            by: None,
            last: None,
        }
    }

    /// The outcome of a call with its report. If the returned error only stands for an attempt that was cut,
    /// the last real error is kept, too.
    pub(crate) fn reporting<T, P: From<Measures>>(
        &mut self,
        outcome: Result<T, E>,
        writes: u32,
    ) -> Reporting<T, E, P> {
        // A value that was given up is one of the failures.
        let report = P::from(Measures {
            attempts: self.attempts,
            writes,
            conflicts: self.conflicts,
            elapsed: self.elapsed,
            slept: Duration::from_nanos(self.slept.max(0).cast_unsigned()),
            maybe_applied: self.maybe_applied,
        });
        match outcome {
            Ok(value) => Ok((value, report)),
            Err(error) => {
                let reason = self.reason.unwrap_or(StopReason::Permanent);
                Err(RetryError {
                    by: self.by,
                    last: self.last.take(),
                    retry_after: (self.hint > 0).then(|| Duration::from_nanos(self.hint)),
                    maybe_applied: self.maybe_applied,
                    ..RetryError::new(error, reason, report)
                })
            }
        }
    }

    /// An attempt begins, or the call ends, so long after the start.
    fn rested(&mut self, elapsed: Duration) {
        // A clock may go back.
        let slept = self.slept.wrapping_add(nanos(elapsed).cast_signed());
        self.slept = slept.max(0);
    }
}

surrounds_nothing!(Measured<E>: E);
surrounds_nothing!(&mut CallInfo);

impl<T, E> Setting<T, E> for Measured<E> {
    const MEASURES: bool = true;
    const TIMED: bool = true;
    fn begins(&mut self, _operation: &'static str, _failures: u32, elapsed: Duration) {
        self.rested(elapsed);
    }

    fn ended(&mut self, event: &AttemptEvent<'_>) {
        let elapsed = event.elapsed.unwrap_or_default();
        (self.attempts, self.elapsed, self.reason) = (event.attempt, elapsed, None);
        match event.step {
            Step::Waits(_) => {
                self.slept = self.slept.wrapping_sub(nanos(elapsed).cast_signed());
            }
            Step::GaveUp(reason) => (self.reason, self.by) = (Some(reason), event.by),
            _ => return,
        }
        match event.is_of_an_attempt() {
            true => self.maybe_applied = event.maybe_applied,
            false => self.rested(elapsed),
        }
        if event.is_by_itself() {
            self.last = None;
        }
        if let Some(verdict) = event.verdict {
            self.conflicts = self.conflicts.saturating_add(verdict.is_conflict().into());
            self.hint = match (verdict.hint(), event.fault) {
                (0, Some(fault)) if event.is_judged() => fault.retry_after().map_or(0, nanos),
                (hint, _) => hint,
            };
        }
    }

    fn keep(&mut self, failed: Failed<E>) -> Option<Failed<E>> {
        if failed.ended_by != EndedBy::Operation {
            return Some(failed);
        }
        self.last = Some(failed.error);
        None
    }

    fn kept(&mut self) -> Option<Failed<E>> {
        self.last.take().map(Failed::from)
    }
}

/// The call remembers whether an attempt may have been applied.
impl<T, E> Setting<T, E> for &mut CallInfo {
    const MEASURES: bool = true;
    fn ended(&mut self, event: &AttemptEvent<'_>) {
        self.maybe_applied |= event.may_be_applied();
    }
}

/// Keeps the last failure during a wait, because the breaker may end the call after the wait. Made by `Retrying::breaker`.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Kept<E>(pub(crate) Option<Failed<E>>);

surrounds_nothing!(Kept<E>: E);

impl<T, E> Setting<T, E> for Kept<E> {
    fn keep(&mut self, failed: Failed<E>) -> Option<Failed<E>> {
        self.0 = Some(failed);
        None
    }

    fn kept(&mut self) -> Option<Failed<E>> {
        self.0.take()
    }
}
