//! The steps of a loop that a macro writes: begin, judge, wait.

use super::{context::Context, ending::Ending, outcome::Outcome};
use crate::{
    call::{
        before::End,
        call_state::{CallInfo, CallState},
        erased::ErasedCall,
        operation::AnyOperation,
        plan::{CallPlan, Guard},
        setting::Setting,
    },
    facts::fault::Fault,
    judge::is_success,
    runtime::{BlockingSleep, Clock, Random, Sleep},
    state::Attempt,
};
use core::time::Duration;

/// The attempt after the wait begins, or the call asks its rate first.
#[inline]
pub fn begins<P: CallPlan>(guard: &mut Guard<P>) {
    let shared = guard.plan.shared();
    if shared.budget.is_some() && !shared.needs_admission() {
        guard.state.retry.begins();
    }
}

/// The attempt that is about to begin.
#[inline]
pub fn attempt<C: Clock>(
    context: &Context<'_>,
    runtime: &C,
    state: &CallState,
    info: &CallInfo,
) -> Attempt {
    state.attempt(&context.rules(), runtime, info)
}

/// The values that the call remembers for its attempts.
#[inline]
pub fn call_info<R: Random>(runtime: &R) -> CallInfo {
    CallInfo::new(runtime)
}

/// The call of an annotated function. Such an operation has no memory of its own.
#[inline(always)]
fn erased<'c, E, C, H>(
    context: &'c Context<'_>,
    runtime: &'c C,
    state: &'c mut CallState,
    settings: &'c mut H,
) -> ErasedCall<'c, (), E, H, C> {
    let operation = AnyOperation::named(context.operation);
    ErasedCall::new(context, operation, state, settings, runtime)
}

/// After an attempt: returns the wait before the next one, or nothing if this outcome is the last.
#[inline]
pub fn step<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    ending: Ending,
    outcome: &R,
    value: Option<&dyn Fault>,
    settings: &mut H,
) -> Option<Duration>
where
    R: Outcome,
    H: Setting<(), R::Error>,
    C: Clock + Random,
{
    if let Some(error) = outcome.error() {
        return failed(context, runtime, state, ending, error, settings);
    }
    if let Some(value) = value.filter(|value| !is_success(*value)) {
        return erased(context, runtime, state, settings).answered(value);
    }
    erased(context, runtime, state, settings).succeeded(value);
    None
}

/// After a failed attempt, or a failed wait for one.
#[cold]
#[inline(never)]
pub(super) fn failed<E, C, H>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    ending: Ending,
    error: &E,
    settings: &mut H,
) -> Option<Duration>
where
    H: Setting<(), E>,
    C: Clock + Random,
{
    let mut call = erased(context, runtime, state, settings);
    match ending.of_attempt() {
        Ok((stage, ended_by)) => call.failed(error, stage, ended_by).wait_if_any(),
        Err(end) => {
            call.end(Some(error), None, end);
            None
        }
    }
}

/// The call ends between two attempts with this outcome, or before the first one: hooks and logs get this.
#[cold]
pub fn ended<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    outcome: &R,
    value: Option<&dyn Fault>,
    settings: &mut H,
    end: End,
) where
    R: Outcome,
    H: Setting<(), R::Error>,
    C: Clock + Random,
{
    let error = outcome.error();
    erased(context, runtime, state, settings).end(error, value, end);
}

/// The wait of an async function.
#[inline]
#[track_caller]
pub fn sleep<C: Sleep>(runtime: &C, wait: Duration) -> C::Sleep {
    runtime.sleep(wait)
}

/// The wait of a sync function, and the wait for its turn. Returns whether the call ends then, because the timer
/// woke or the turn came after the deadline; hooks and logs get this.
#[inline]
#[expect(
    clippy::too_many_arguments,
    reason = "each is a value of the written code"
)]
pub fn pause<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    wait: Duration,
    max_queue_time: Option<Duration>,
    last: &R,
    value: Option<&dyn Fault>,
    settings: &mut H,
) -> bool
where
    R: Outcome,
    H: Setting<(), R::Error>,
    C: Clock + BlockingSleep + Random,
{
    runtime.sleep_blocking(wait);
    let mut rules = context.rules();
    rules.max_queue_time = max_queue_time.or(Some(Duration::MAX));
    let end = if state.retry.is_late(&rules, || runtime.now()) {
        End::Late
    } else {
        match state.begin_blocking(context, &rules, &|| false, runtime) {
            Ok(()) => return false,
            Err(left) => left.end(),
        }
    };
    ended(context, runtime, state, last, value, settings, end);
    true
}
