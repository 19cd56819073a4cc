//! The work after each attempt, in this order: the judge, the rate and the breaker, the rules, the operation, the decision,
//! the event.
//! The code is compiled once for all closures with the same types of values, errors, settings and runtimes.

use super::{
    before::{End, WaitState},
    erased::{Call, Ended, ErasedCall, Outcome, rules_of},
    events::Limits,
    operation::{AnyOperation, Failed, JudgedFailure},
    plan::Plan,
    setting::Setting,
    settings::until,
    signal::Signal,
    write_outcome::{Remembered, WriteOutcome},
};
#[cfg(feature = "metrics")]
use crate::event::metrics;
use crate::{
    facts::fault::{Fault, FaultKind},
    judge::{self, Verdict, kind_of},
    rate::RateReply,
    report::StopReason,
    runtime::{Clock, Random, Sleep, nanos},
    stage::{EndedBy, Stage},
    state::{Decision, RetryState},
};
use core::{pin::Pin, time::Duration};

impl<P: Plan, S, R: Clock + Random> Call<P, S, R> {
    /// The value of the call, or what [`ErasedCall::decide`] decides about.
    #[inline]
    pub(super) fn value<'c, T, E>(
        &'c mut self,
        operation: AnyOperation<'c, E>,
        outcome: Outcome<T, E>,
    ) -> Result<T, Outcome<T, E>>
    where
        S: Setting<T, E>,
    {
        let (plan, settings) = (&self.guard.plan, &mut self.settings);
        let is_refused = |value: &T| until::is_retried(plan.policy(), S::answer(value));
        let value = outcome.map_err(Err)?;
        if let Some(failed) = settings.conflict(&value) {
            return Err(Err(failed));
        }
        let value = settings.check(value, is_refused).map_err(Err)?;
        if S::ANSWERS && S::answer(&value).is_some() {
            return Err(Ok(value));
        }
        if S::ANSWERS && self.guard.state.retry.is_in_flight() {
            let _runs = self.guard.runs();
            S::observe(&value);
        }
        self.erased(operation).succeeded(None);
        Ok(value)
    }

    /// After an attempt that has not succeeded: begins the wait that follows, or returns the outcome of the call.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_wait<'c, T, E, G>(
        &'c mut self,
        operation: AnyOperation<'c, E>,
        last: Outcome<T, E>,
        mut wait: Pin<&mut WaitState<R::Sleep>>,
        signal: Pin<&mut G>,
    ) -> Ended<T, E>
    where
        S: Setting<T, E>,
        R: Sleep,
        G: Signal<T, E>,
    {
        let mut call = self.erased(operation);
        let (time, last) = match call.decide(last) {
            Ok(next) => next,
            Err(ended) => return Some(ended),
        };
        call.keep(signal, last);
        let sleep = call.runtime.sleep(time);
        wait.set(WaitState::Until { sleep });
        None
    }
}

impl<T, E, S: Setting<T, E>, R: Clock + Random> ErasedCall<'_, T, E, S, R> {
    /// After an attempt that has not succeeded: the wait that follows, or the outcome of the call.
    #[inline]
    pub(super) fn decide(
        &mut self,
        last: Outcome<T, E>,
    ) -> Result<(Duration, Outcome<T, E>), Result<T, E>> {
        let wait = match &last {
            Ok(value) => S::answer(value).and_then(|fault| self.answered(fault)),
            Err(failed) => self
                .failed(&failed.error, failed.stage, failed.ended_by)
                .wait_if_any(),
        };
        match wait {
            Some(wait) => Ok((wait, last)),
            None => Err(last.map_err(|failed| self.final_error(failed.error))),
        }
    }

    /// An attempt failed: judges the error, and decides on the next step.
    #[inline(always)]
    pub(crate) fn failed(&mut self, error: &E, stage: Stage, ended_by: EndedBy) -> Decision {
        let policy = self.plan.policy();
        let verdict = match ended_by == EndedBy::Operation && stage.is_judged() {
            true => self.settings.judge(policy, stage, error),
            false => Some(policy.rule_unjudged(stage)),
        };
        let failure = JudgedFailure {
            error: Some(error),
            fault: self.settings.fault(error),
            stage,
            ended_by,
            verdict: verdict.unwrap_or(Verdict::NothingKnown),
        };
        match ended_by {
            EndedBy::Signal => self.end_without_retry(failure),
            EndedBy::Operation | EndedBy::Clock => self.decided(failure),
        }
    }

    /// A value that has a fault: judges the value by the policy's codes, and decides as about an error. Returns the wait
    /// before the next attempt, and nothing if the call returns the value.
    #[inline]
    pub(crate) fn answered(&mut self, fault: &dyn Fault) -> Option<Duration> {
        let verdict = self.plan.policy().rule(Stage::Whole, fault);
        if verdict.is_permanent() {
            self.succeeded(Some(fault));
            return None;
        }
        let failure = JudgedFailure {
            error: None,
            fault: Some(fault),
            stage: Stage::Whole,
            ended_by: EndedBy::Operation,
            verdict,
        };
        self.decided(failure).wait_if_any()
    }

    /// The decision about a judged failure.
    #[inline(always)]
    pub(crate) fn decided(&mut self, mut failure: JudgedFailure<'_, E>) -> Decision {
        self.settings.failed(failure.stage);
        let has_number = self.state.retry.epoch().is_some();
        if self.state.retry.is_in_flight() {
            self.replied_with(&JudgedFailure { ..failure });
        }
        let mut rules = rules_of(self.plan, &*self.settings);
        rules.shared.rate = rules.shared.rate.filter(|_| has_number);
        let mut writes = WriteOutcome::Known;
        if let Some(memory) = &mut self.operation.memory {
            // A copy, so that the failure needs no memory without this.
            let failed = JudgedFailure { ..failure };
            match memory.failed(&failed, rules.policy, self.runtime) {
                Remembered::Nothing => {}
                Remembered::UsedUp => rules.is_unrepeatable = true,
                Remembered::Writes(outcome, pace) => {
                    writes = outcome;
                    failure.verdict = writes.corrected(failure.stage, failure.verdict);
                    rules.keep_pace(pace);
                }
            }
        }
        let (retry, runtime) = (&mut self.state.retry, self.runtime);
        let (now, random) = (|| runtime.now(), || runtime.random());
        let next = retry.decide(&rules, failure.verdict, now, random);
        let next = writes.concluded(in_tests(next, retry));
        #[cfg(feature = "metrics")]
        metrics::level(rules.shared.budget);
        let limits = Limits {
            deadline: rules.deadline,
            attempts: rules.attempts,
            cuts: rules.cuts,
        };
        self.emit_failure(&failure, next, limits, has_number);
        next
    }

    /// A signal ended the attempt. The attempt counts.
    #[inline]
    pub(crate) fn end_without_retry(&mut self, failure: JudgedFailure<'_, E>) -> Decision {
        let JudgedFailure { stage, verdict, .. } = failure;
        self.settings.failed(stage);
        self.state.retry.ended();
        self.plan.give_back(self.state);
        if let Some(memory) = &mut self.operation.memory {
            let _ = memory.failed(
                &JudgedFailure { ..failure },
                self.plan.policy(),
                self.runtime,
            );
        }
        let writes = self.write_outcome();
        let reason = match writes.corrected(stage, verdict) {
            Verdict::MaybeApplied => StopReason::MaybeApplied,
            _ => StopReason::Stopped,
        };
        let next = writes.concluded(Decision::Stop(reason));
        let at = (Some(stage), failure.ended_by);
        self.emit_end((failure.error, failure.fault), at, next);
        next
    }

    /// The call ends between two attempts, with the last error, or with the last value, which has this fault. The
    /// tokens of a wait go back before hooks are called, and not only when the call is
    /// dropped, because its future may be kept.
    #[cold]
    #[inline(never)]
    pub(crate) fn end(&mut self, error: Option<&E>, value: Option<&dyn Fault>, end: End) {
        self.plan.give_back(self.state);
        let (ended_by, reason) = match end {
            End::Late => (EndedBy::Operation, StopReason::Deadline),
            End::Expired => (EndedBy::Clock, StopReason::Deadline),
            End::Queued => (EndedBy::Clock, StopReason::Rate),
            End::Refused => (EndedBy::Operation, StopReason::Breaker),
            End::Stopped => (EndedBy::Signal, StopReason::Stopped),
            End::GivenUp(reason) => (EndedBy::Operation, reason),
        };
        let fault = error.map_or(value, |error| self.settings.fault(error));
        let next = self.write_outcome().concluded(Decision::Stop(reason));
        self.emit_end((error, fault), (None, ended_by), next);
    }

    /// An attempt succeeded, perhaps with a value that has this fault and is not retried.
    #[inline(always)]
    pub(crate) fn succeeded(&mut self, value: Option<&dyn Fault>) {
        // Before any hook, which may panic.
        self.state.return_tokens(self.plan.shared().budget);
        if self.state.retry.is_in_flight() {
            // A value with a fault is one that the policy does not retry.
            let failure = value.and_then(|value| judge::unretried(Some(value)));
            self.replied(reply_to(value), failure, value);
        }
        self.emit_success();
    }

    /// The rate and the breaker get the failure of the attempt that they count.
    #[cold]
    #[inline(never)]
    fn replied_with(&mut self, failure: &JudgedFailure<'_, E>) {
        let (verdict, fault) = (failure.verdict, failure.fault);
        if failure.ended_by != EndedBy::Operation {
            let kind = match self.is_late() {
                true => FaultKind::Permanent,
                false => FaultKind::Transient,
            };
            return self.replied(None, Some(kind), fault);
        }
        let kind = match verdict {
            Verdict::Retry { kind, .. } => Some(kind),
            // The policy would retry the failure if it were idempotent.
            Verdict::MaybeApplied => Some(fault.map_or(FaultKind::Transient, kind_of)),
            _ => judge::unretried(fault),
        };
        let reply = match verdict.retried() {
            Some(FaultKind::Throttled) => Some(RateReply::Refused {
                hint: verdict.hint(),
            }),
            _ => reply_to(fault),
        };
        self.replied(reply, kind, fault);
    }

    /// The call ends between two attempts, with an error that the library has made.
    #[cold]
    pub(super) fn end_with_error(&mut self, error: E, end: End) -> E {
        self.end(Some(&error), None, end);
        self.final_error(error)
    }

    /// The error of a call that no attempt follows: this one, or the one that the operation has kept.
    #[inline]
    fn final_error(&mut self, error: E) -> E {
        let memory = self.operation.memory.as_mut();
        memory.and_then(|memory| memory.kept()).unwrap_or(error)
    }

    /// Whether a write of an update may have been applied.
    #[inline]
    fn write_outcome(&self) -> WriteOutcome {
        let memory = self.operation.memory.as_ref();
        memory.map_or(WriteOutcome::Known, |memory| memory.write_outcome())
    }

    /// The call ends between two attempts with what ended the last attempt: a response unchanged, or an error.
    #[cold]
    pub(super) fn end_with(&mut self, last: Outcome<T, E>, end: End) -> Result<T, E> {
        match last {
            Ok(value) => {
                self.end(None, S::answer(&value), end);
                Ok(value)
            }
            Err(failed) => Err(self.end_with_error(failed.error, end)),
        }
    }

    /// A wait follows. The operation, the signal or a report may keep what ended the attempt. If none does, this is
    /// dropped.
    #[inline]
    pub(super) fn keep<G: Signal<T, E>>(&mut self, signal: Pin<&mut G>, last: Outcome<T, E>) {
        let last = match last {
            Ok(value) => Ok(value),
            Err(failed) => {
                let kept = match &mut self.operation.memory {
                    Some(memory) => memory.keep(failed.error),
                    None => Some(failed.error),
                };
                let Some(error) = kept else { return };
                Err(Failed { error, ..failed })
            }
        };
        if G::IS_ONE {
            signal.keep(last);
        } else if let Err(failed) = last {
            let _ = self.settings.keep(failed);
        } else {
            // An earlier failure is no longer the last one.
            let _ = self.settings.kept();
        }
    }
}

/// The reply for the rate after an attempt whose outcome has this fault, whether the policy retries it or not; nothing if
/// the server did not reply.
pub(crate) fn reply_to(fault: Option<&dyn Fault>) -> Option<RateReply> {
    let Some(fault) = fault else {
        return Some(RateReply::Admitted);
    };
    let hint = || nanos(fault.retry_after().unwrap_or_default());
    match kind_of(fault) {
        FaultKind::Throttled => Some(RateReply::Refused { hint: hint() }),
        _ => fault.delivery().is_none().then_some(RateReply::Admitted),
    }
}

/// The next step in a test that has made retries instant, or has switched them off.
#[cfg(feature = "testing")]
pub(super) fn in_tests(next: Decision, retry: &mut RetryState) -> Decision {
    crate::testing::adjusted(next, retry)
}

/// Without the feature `testing`, no test changes the next step.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub(super) fn in_tests(next: Decision, _: &mut RetryState) -> Decision {
    next
}
