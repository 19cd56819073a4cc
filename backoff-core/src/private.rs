//! What the macros expand to. Hidden: it changes without notice.

pub use crate::{
    Policy, Retry,
    time::{AsyncRuntime, BlockingRuntime},
};
pub use core::{option::Option, result::Result, time::Duration};

#[cfg(feature = "macros")]
pub use backoff_macros::__retry_block;

use crate::{
    ByPolicy, Clock, Decision, EveryError, Fault, Judge, Pause, Random, Silent, Sleep, TimedOut,
    Verdict, When, drive,
};

/// The runtime of annotated async functions.
#[cfg(feature = "tokio")]
pub const ASYNC: AsyncRuntime = crate::Tokio;
/// The runtime of annotated async functions.
#[cfg(not(feature = "tokio"))]
pub const ASYNC: AsyncRuntime = crate::NoRuntime;

/// The runtime of annotated sync functions.
#[cfg(feature = "std")]
pub const SYNC: BlockingRuntime = crate::Std;
/// The runtime of annotated sync functions.
#[cfg(not(feature = "std"))]
pub const SYNC: BlockingRuntime = crate::NoRuntime;

/// What an annotated function returns.
#[diagnostic::on_unimplemented(
    message = "`#[retry]` needs a function that returns `Result`",
    label = "`{Self}` does not say whether the attempt failed",
    note = "write `-> Result<T, E>`"
)]
pub trait Outcome {
    /// What a failure gives.
    type Error;

    /// The error, if it is one.
    fn error(&self) -> Option<&Self::Error>;
}

impl<T, E> Outcome for Result<T, E> {
    type Error = E;

    #[inline]
    fn error(&self) -> Option<&E> {
        self.as_ref().err()
    }
}

/// What to do next.
#[derive(Debug)]
pub enum Step<R> {
    /// Return this.
    Done(R),
    /// Wait this long, then call again.
    Wait(Duration),
}

/// Before the first attempt.
#[inline]
pub fn start<C: Clock>(policy: &Policy, runtime: &C) -> Retry {
    Retry::start(policy, || runtime.now())
}

/// After an attempt, judged by the policy's codes.
#[inline]
pub fn step<R, C>(
    policy: &Policy,
    retry: &mut Retry,
    name: &'static str,
    runtime: &C,
    outcome: R,
) -> Step<R>
where
    R: Outcome,
    R::Error: Fault,
    C: Clock + Random,
{
    judged(policy, retry, name, runtime, outcome, ByPolicy)
}

/// After an attempt; every error is retried.
#[inline]
pub fn step_any<R, C>(
    policy: &Policy,
    retry: &mut Retry,
    name: &'static str,
    runtime: &C,
    outcome: R,
) -> Step<R>
where
    R: Outcome,
    C: Clock + Random,
{
    judged(policy, retry, name, runtime, outcome, EveryError)
}

/// After an attempt, judged by the user's function.
#[inline]
pub fn step_when<R, C, F, V>(
    policy: &Policy,
    retry: &mut Retry,
    name: &'static str,
    runtime: &C,
    outcome: R,
    judge: F,
) -> Step<R>
where
    R: Outcome,
    C: Clock + Random,
    F: Fn(&R::Error) -> V,
    V: Into<Verdict>,
{
    judged(policy, retry, name, runtime, outcome, When(judge))
}

#[inline]
fn judged<R, C, J>(
    policy: &Policy,
    retry: &mut Retry,
    name: &'static str,
    runtime: &C,
    outcome: R,
    judge: J,
) -> Step<R>
where
    R: Outcome,
    C: Clock + Random,
    J: Judge<R::Error>,
{
    let Some(error) = outcome.error() else {
        retry.succeeded(policy);
        return Step::Done(outcome);
    };
    match drive::conclude(
        policy,
        retry,
        &judge,
        &drive::OfPolicy,
        &mut Silent,
        runtime,
        name,
        error,
    ) {
        Decision::Wait(wait) => Step::Wait(wait.delay),
        Decision::Stop(_) => Step::Done(outcome),
    }
}

/// The wait of an async function.
#[inline]
pub fn sleep<C: Sleep>(runtime: &C, wait: Duration) -> C::Sleep {
    runtime.sleep(wait)
}

/// The wait of a sync function.
#[inline]
pub fn pause<C: Pause>(runtime: &C, wait: Duration) {
    runtime.pause(wait);
}

/// One attempt, cut after `limit` or when the deadline is over.
#[inline]
pub fn timed<C, A, T, E>(
    policy: &Policy,
    retry: &Retry,
    runtime: &C,
    limit: Duration,
    attempt: A,
) -> drive::Timed<A, C::Sleep>
where
    C: Clock + Sleep,
    A: Future<Output = Result<T, E>>,
    E: From<TimedOut>,
{
    let remaining = retry.attempt(policy, || runtime.now()).remaining();
    drive::Timed::new(attempt, limit.min(remaining), runtime)
}
