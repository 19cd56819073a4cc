//! The records that a call keeps of its attempts: the numbers of a report, and the facts that attempts ask for.

use super::{attempt_failure::AttemptFailure, call_info::CallInfo};
use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage},
    report::{Measures, Reporting, RetryError, StopReason},
    runtime::nanos,
    state::Decision,
};
use core::time::Duration;

/// Writes down how the attempts of a call end, for errors of the type `E`.
pub trait Watch<E> {
    /// Whether the time that has passed is asked for.
    const MEASURES: bool = false;
    /// Whether [`judged`](Self::judged) is called.
    const WANTS_RULINGS: bool = false;

    /// An attempt failed at this stage. The judge gave this ruling, and `fault` holds the failure's facts.
    #[inline]
    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
        let _ = (stage, ruling, fault);
    }

    /// An attempt ended; `failure` says how it failed, if it failed.
    #[inline]
    fn ended(&mut self, failure: Option<AttemptFailure<'_>>) {
        let _ = failure;
    }

    /// An attempt begins when so much time of the call has passed.
    #[inline]
    fn rested(&mut self, elapsed: Duration) {
        let _ = elapsed;
    }

    /// An attempt failed, or the call ended between two attempts. `next` is the next step, and `elapsed` the time
    /// of the call that has passed.
    #[inline]
    fn measure(
        &mut self,
        attempt_failure: AttemptFailure<'_>,
        is_conflict: bool,
        next: Decision,
        elapsed: impl FnOnce() -> Duration,
    ) {
        let _ = (attempt_failure, is_conflict, next, elapsed);
    }

    /// The loop continues after this error. Only a report keeps the error.
    #[inline]
    fn keep(&mut self, error: E, stage: Stage) {
        let _ = (error, stage);
    }
}

impl<E> Watch<E> for () {}

/// The call remembers whether an attempt may have been applied.
impl<E> Watch<E> for &mut CallInfo {
    const WANTS_RULINGS: bool = true;

    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
        self.remember(stage, ruling, fault);
    }
}

/// Counts the numbers of a report, and keeps the last real error. Made by
/// [`Retrying::reported`](super::future::Retrying::reported).
#[derive(Clone, Copy, Debug)]
pub struct Measured<E> {
    /// The time in which no attempt ran, in nanoseconds. While the call waits, the time at which the wait began is
    /// subtracted, so that one field does for both.
    slept: i64,
    /// The server's hint with the last failure, in nanoseconds; zero is none.
    hint: u64,
    conflicts: u32,
    reason: Option<StopReason>,
    last: Option<E>,
}

impl<E> Measured<E> {
    pub(crate) const fn new() -> Self {
        Measured {
            slept: 0,
            hint: 0,
            conflicts: 0,
            reason: None,
            last: None,
        }
    }

    /// Whether the call was given up.
    pub(crate) const fn gave_up(&self) -> bool {
        self.reason.is_some()
    }

    /// The outcome of a call with its report. If the returned error only stands for an attempt that was cut,
    /// the last real error is kept, too.
    pub(crate) fn reporting<T, P>(
        &mut self,
        outcome: Result<T, E>,
        report: P,
    ) -> Reporting<T, E, P> {
        match outcome {
            Ok(value) => Ok((value, report)),
            Err(error) => {
                let reason = self.reason.unwrap_or(StopReason::Permanent);
                let hint = (self.hint > 0).then(|| Duration::from_nanos(self.hint));
                Err(RetryError::new(error, reason, report)
                    .with_last(self.last.take())
                    .with_hint(hint))
            }
        }
    }

    /// The counts.
    pub(crate) fn measures(&self) -> Measures {
        Measures {
            slept: Duration::from_nanos(self.slept.max(0).cast_unsigned()),
            conflicts: self.conflicts,
            ..Measures::default()
        }
    }
}

impl<E> Watch<E> for Measured<E> {
    const MEASURES: bool = true;
    const WANTS_RULINGS: bool = true;

    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
        self.hint = match (ruling.asked(), fault) {
            (0, Some(fault)) if stage.is_judged() => fault.retry_after().map_or(0, nanos),
            (hint, _) => hint,
        };
    }

    fn rested(&mut self, elapsed: Duration) {
        // A clock may go back.
        let slept = self.slept.wrapping_add(nanos(elapsed).cast_signed());
        self.slept = slept.max(0);
    }

    fn measure(
        &mut self,
        attempt_failure: AttemptFailure<'_>,
        is_conflict: bool,
        next: Decision,
        elapsed: impl FnOnce() -> Duration,
    ) {
        if !attempt_failure.is_of_an_attempt() {
            Watch::<E>::rested(self, elapsed());
        } else if next.is_wait() {
            self.slept = self.slept.wrapping_sub(nanos(elapsed()).cast_signed());
        }
        if !attempt_failure.stage().is_cut() {
            self.last = None;
        }
        self.conflicts = self.conflicts.saturating_add(is_conflict.into());
        self.reason = next.reason();
    }

    fn keep(&mut self, error: E, stage: Stage) {
        if !stage.is_cut() {
            self.last = Some(error);
        }
    }
}
