//! The events of a call: for hooks, logs, metrics and reports.

use super::{
    call_state::CallState,
    erased::ErasedCall,
    operation::{AnyOperation, JudgedFailure},
    plan::CallPlan,
    setting::Setting,
};
use crate::{
    event::{
        attempt_event::{AttemptEvent, Step, with_source},
        log,
    },
    facts::fault::{Fault, FaultKind},
    policy::NEVER,
    rate::RateReply,
    report::StopReason,
    runtime::{Clock, Random, left_out, shared_now},
    stage::{EndedBy, Stage},
    state::Decision,
};
use core::time::Duration;

impl<T, E, S: Setting<T, E>, R: Clock + Random> ErasedCall<'_, T, E, S, R> {
    /// Whether a hook or the log gets each failure.
    const LISTENS: bool = S::LISTENS || cfg!(feature = "tracing");

    /// An attempt succeeded. Hooks and logs get a success after retries.
    #[inline(always)]
    pub(super) fn emit_success(&mut self) {
        let has_listener = Self::LISTENS && self.state.retry.failures() > 0;
        if S::MEASURES || has_listener || self.state.is_recorded() {
            self.emit_success_to(has_listener);
        }
    }

    #[cold]
    #[inline(never)]
    fn emit_success_to(&mut self, has_listener: bool) {
        let retry = &self.state.retry;
        let reads = S::TIMED || has_listener || self.state.is_recorded();
        let now = (reads && retry.is_timed()).then(|| self.runtime.now());
        let step = Step::Succeeded;
        let event = AttemptEvent {
            attempt: retry.failures().saturating_add(1),
            elapsed: now.map(|now| retry.elapsed(|| now)),
            stage: Some(Stage::Whole),
            ..attempt_event(self.plan, &self.operation, self.state, None, step)
        };
        emit(self.state, self.settings, &event, None, now, has_listener);
    }

    /// The time for an event of a failure; nothing if nobody gets the event.
    #[inline(always)]
    fn time_of_event(&self) -> Option<Option<Duration>> {
        let reads = S::TIMED || Self::LISTENS || self.state.is_recorded();
        (S::MEASURES || reads).then(|| reads.then(|| self.runtime.now()))
    }

    /// An attempt ended with a failure. An attempt may pass `deadline`. The next attempt waits in the queue of the rate, if
    /// this one had a number at the rate.
    #[inline(always)]
    pub(super) fn emit_failure(
        &mut self,
        failure: &JudgedFailure<'_, E>,
        next: Decision,
        rules: Limits,
        has_number: bool,
    ) {
        let Some(now) = self.time_of_event() else {
            return;
        };
        let elapsed = now.and_then(|now| self.state.retry.elapsed_from_now_on(now));
        let Limits {
            deadline,
            attempts,
            cuts,
        } = rules;
        let end = Duration::from_nanos(deadline);
        // Without `cuts`, an attempt may run on after the deadline.
        let late = match (elapsed, next) {
            (Some(elapsed), Decision::Stop(_))
                if !cuts && failure.ended_by == EndedBy::Operation =>
            {
                elapsed.checked_sub(end)
            }
            _ => None,
        };
        let left = |elapsed| end.saturating_sub(elapsed);
        let shared = self.plan.shared();
        // The call is not in the queue yet.
        let next = match (shared.rate.filter(|_| has_number), now) {
            (Some(rate), Some(now)) if next.is_wait() => {
                next.lasting(rate.turn_after(next.wait(), shared.tokens, now))
            }
            _ => next,
        };
        let step = with_source(next, failure.fault).into();
        count(self.plan, step, now);
        let event = AttemptEvent {
            elapsed,
            stage: Some(failure.stage),
            ended_by: failure.ended_by,
            verdict: Some(failure.verdict),
            late: late.filter(|late| !late.is_zero()),
            most_attempts: attempts,
            remaining: elapsed.filter(|_| deadline != NEVER).map(left),
            by: name_of_limit(self.plan, step),
            ..attempt_event(self.plan, &self.operation, self.state, failure.fault, step)
        };
        if failure.may_be_applied() {
            self.state.retry.remember_applied();
        }
        let (state, settings) = (&mut *self.state, &mut *self.settings);
        emit(state, settings, &event, failure.error, now, Self::LISTENS);
    }

    /// The call ended: a signal cut an attempt at this stage, or no further attempt began.
    #[cold]
    pub(super) fn emit_end(
        &mut self,
        (error, fault): (Option<&E>, Option<&dyn Fault>),
        (stage, ended_by): (Option<Stage>, EndedBy),
        next: Decision,
    ) {
        let Some(now) = self.time_of_event() else {
            return;
        };
        let step = next.into();
        count(self.plan, step, now);
        let event = AttemptEvent {
            elapsed: now.and_then(|now| self.state.retry.measured(|| now)),
            stage,
            ended_by,
            by: name_of_limit(self.plan, step),
            ..attempt_event(self.plan, &self.operation, self.state, fault, step)
        };
        let (state, settings) = (&mut *self.state, &mut *self.settings);
        emit(state, settings, &event, error, now, Self::LISTENS);
    }

    /// The attempt that the rate or the breaker counts has ended with this reply; with none if the server did not reply.
    /// For the breaker, the attempt has failed so, or has succeeded. A change of the rate is an event.
    #[cold]
    #[inline(never)]
    pub(crate) fn replied(
        &mut self,
        reply: Option<RateReply>,
        failure: Option<FaultKind>,
        fault: Option<&dyn Fault>,
    ) {
        let runtime = self.runtime;
        let now = || shared_now(runtime);
        let changed = self.plan.ended(self.state, reply, failure, fault, now);
        if let Some(change) = changed {
            let step = Step::Rate(change);
            let event = AttemptEvent {
                by: name_of_limit(self.plan, step),
                ..attempt_event(self.plan, &self.operation, self.state, None, step)
            };
            log::log(&event);
            self.settings.notify(&event, None);
        }
    }
}

/// Metrics and reports get the event, and hooks and the log if there is a listener.
fn emit<T, E, S: Setting<T, E>>(
    state: &mut CallState,
    settings: &mut S,
    event: &AttemptEvent<'_>,
    error: Option<&E>,
    now: Option<Duration>,
    has_listener: bool,
) {
    #[cfg(feature = "metrics")]
    state.metrics.record(event, now.unwrap_or_default());
    let _ = (state, now);
    settings.ended(event);
    if has_listener {
        log::log(event);
        settings.notify(event, error);
    }
}

/// The limits of a call, for its events.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) deadline: u64,
    pub(super) attempts: u32,
    /// Whether attempts are cut at the deadline.
    pub(super) cuts: bool,
}

/// The name of the budget, the rate or the breaker that ended the call, or of the rate that has changed.
fn name_of_limit(plan: &dyn CallPlan, step: Step) -> Option<&'static str> {
    let shared = plan.shared();
    match step {
        Step::GaveUp(StopReason::Budget) => shared.budget?.label(),
        Step::GaveUp(StopReason::Rate) | Step::Rate(_) => shared.rate?.label(),
        Step::GaveUp(StopReason::Breaker) => shared.breaker?.label(),
        _ => None,
    }
}

/// A breaker counts the calls that it ends.
fn count(plan: &dyn CallPlan, step: Step, now: Option<Duration>) {
    if let (Step::GaveUp(StopReason::Breaker), Some(now)) = (step, now)
        && let Some(breaker) = plan.shared().breaker
    {
        breaker.ended_a_call(now.saturating_add(left_out()));
    }
}

fn attempt_event<'t, E>(
    plan: &'t dyn CallPlan,
    operation: &'t AnyOperation<'_, E>,
    state: &CallState,
    fault: Option<&'t dyn Fault>,
    step: Step,
) -> AttemptEvent<'t> {
    AttemptEvent {
        name: plan.operation().unwrap_or(operation.name),
        host: operation.memory.as_ref().and_then(|memory| memory.host()),
        policy: plan.policy(),
        attempt: state.retry.failures(),
        elapsed: None,
        fault,
        stage: None,
        ended_by: EndedBy::Operation,
        verdict: None,
        late: None,
        maybe_applied: state.retry.maybe_applied(),
        most_attempts: plan.policy().attempts(),
        remaining: None,
        by: None,
        type_name: core::any::type_name::<E>(),
        step,
    }
}
