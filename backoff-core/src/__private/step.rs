//! The steps of a loop that a macro writes: begin, judge, wait.

use super::{
    context::{Context, Function},
    outcome::Outcome,
};
use crate::{
    call::{
        call_info::CallInfo,
        call_state::CallState,
        parts::{End, Parts},
        plan::{CallPlan, Guard},
        setting::Setting,
        settings::until::ConsecutiveCount,
    },
    facts::fault::Fault,
    judge::{Stage, is_success},
    runtime::{BlockingSleep, Clock, Random, Sleep},
    state::Attempt,
};
use core::time::Duration;

/// The attempt after the wait begins, or the call asks its rate first.
#[inline]
pub fn begins<P: CallPlan>(guard: &mut Guard<P>) {
    if guard.plan.budget().is_some() && !guard.plan.has_gate() {
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

/// The same settings; whether an attempt may have been applied is remembered.
#[inline]
pub fn with_info<S>(info: &mut CallInfo, settings: S) -> (S, &mut CallInfo) {
    (settings, info)
}

/// The same settings; awaited values in a row decide about the next wait.
#[inline]
pub fn counted<S>(row: &ConsecutiveCount, settings: S) -> (S, &ConsecutiveCount) {
    (settings, row)
}

/// Tells the compiler that this path is rarely taken, so that the path of a success keeps the registers.
#[cold]
#[inline]
fn rarely() {}

/// After an attempt: returns the wait before the next one, or nothing if this outcome is the last.
#[inline]
pub fn step<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    stage: Stage,
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
        rarely();
        return failed(context, runtime, state, stage, error, settings);
    }
    if let Some(value) = value.filter(|value| !is_success(*value)) {
        return Parts::new(context, &mut Function, state, settings, runtime).answered(value);
    }
    Parts::new(context, &mut Function, state, settings, runtime).succeeded(value);
    None
}

/// After a failed attempt, or a failed wait for one.
#[cold]
#[inline(never)]
fn failed<E, C, H>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    stage: Stage,
    error: &E,
    settings: &mut H,
) -> Option<Duration>
where
    H: Setting<(), E>,
    C: Clock + Random,
{
    let function = &mut Function;
    let mut parts = Parts::new(context, function, state, settings, runtime);
    let end = match stage {
        Stage::Late => End::Expired,
        Stage::Queued => End::Queued,
        Stage::Refused => End::Refused,
        _ => {
            let next = parts.failed(error, stage, false);
            return next.is_wait().then(|| next.wait());
        }
    };
    parts.ends(Some(error), None, end);
    None
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
    C: Clock,
{
    let error = outcome.error();
    Parts::new(context, &mut Function, state, settings, runtime).ends(error, value, end);
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
    C: Clock + BlockingSleep,
{
    runtime.sleep_blocking(wait);
    let mut rules = context.rules();
    rules.max_queue_time = max_queue_time.or(Some(Duration::MAX));
    let end = if state.retry.is_late(&rules, || runtime.now()) {
        End::Late
    } else {
        match state.enters_blocking(context, &rules, &|| false, runtime) {
            Ok(()) => return false,
            Err(left) => left.end(),
        }
    };
    ended(context, runtime, state, last, value, settings, end);
    true
}
