//! The steps of a loop that a macro writes: begin, judge, wait.

use super::outcome::Outcome;
use crate::drive::context::Context;
use crate::{
    drive::{
        call_info::CallInfo,
        call_state::{CallEnd, CallState, rarely},
        handler::Handler,
        plan::{Guard, Pays},
        settings::Settings,
        write_outcome::WriteOutcome,
    },
    facts::fault::Fault,
    judge::{Stage, is_success},
    observe::Failure,
    rate::Reply,
    runtime::{BlockingSleep, Clock, Random, Sleep},
    state::{Attempt, Decision},
};
use core::time::Duration;

/// The state before the first attempt. `timed` says that the function asks for the elapsed time.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub fn start<C: Clock>(context: &Context<'_>, runtime: &C, state: &mut CallState, timed: bool) {
    state.start(context, runtime, timed);
}

/// The attempt after the wait begins.
#[inline]
pub fn begins<P: Pays>(guard: &mut Guard<P>) {
    guard.begins();
}

/// The attempt that is about to begin.
#[inline]
pub fn attempt<C: Clock>(
    context: &Context<'_>,
    runtime: &C,
    state: &CallState,
    info: &CallInfo,
) -> Attempt {
    state.attempt(context, runtime, info)
}

/// The values that the call remembers for its attempts.
#[inline]
pub fn call_info<R: Random>(runtime: &R) -> CallInfo {
    CallInfo::new(runtime)
}

/// The same settings; whether an attempt may have been applied is remembered.
#[inline]
pub fn with_info<J, N, D, X, L, C>(
    info: &mut CallInfo,
    settings: Settings<J, N, D, X, L, C>,
) -> Settings<J, N, D, X, L, C, &mut CallInfo> {
    settings.watch(|()| info)
}

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
    H: Handler<R::Error>,
    C: Clock + Random,
{
    if let Some(error) = outcome.error() {
        rarely();
        let next = state.failed(context, settings, runtime, error, stage, ());
        return next.is_wait().then(|| next.wait());
    }
    let refused = value.filter(|value| !is_success(*value));
    let next = refused.and_then(|value| {
        state.answered::<R::Error, _, _, _>(context, settings, runtime, value, ())
    });
    if next.is_none() {
        // Of a constant policy, the compiler knows this.
        if context.rate().is_some() {
            let reply = Reply::to(refused);
            state.replied::<R::Error, _, _>(reply, context, settings, runtime);
        }
        state.succeeded::<R::Error, _, _>(context, settings, runtime);
    }
    next.filter(|next| next.is_wait()).map(Decision::wait)
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
    max_wait: Option<Duration>,
    last: &R,
    value: Option<&dyn Fault>,
    settings: &mut H,
) -> bool
where
    R: Outcome,
    H: Handler<R::Error>,
    C: Clock + BlockingSleep,
{
    runtime.sleep_blocking(wait);
    let is_late = state.is_late(context, runtime);
    let turn = match context.rate() {
        Some(rate) if !is_late => {
            let max_wait = max_wait.or(Some(Duration::MAX));
            state.enters_blocking(rate, max_wait, &|| false, context, runtime)
        }
        _ => Ok(()),
    };
    if is_late || turn.is_err() {
        rarely();
        let error = last.error();
        let fault = error.map_or(value, |error| settings.fault(error));
        let failure = Failure::new(error, fault);
        let end = match turn {
            Ok(()) => CallEnd::late(failure, WriteOutcome::Known),
            Err(_) => CallEnd::too_long(failure, WriteOutcome::Known),
        };
        state.ended(context, settings, runtime, end);
        return true;
    }
    false
}
