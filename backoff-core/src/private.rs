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
    judge::{Informed, Known},
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
    /// Wait this long, then call again; this was the last outcome.
    Wait(Duration, R),
}

/// An error whose facts are looked for: see [`via`].
#[derive(Debug)]
pub struct Facts<'e, E>(pub &'e E);

/// `(&Facts(error)).known()` finds the facts of a `Fault`, and none of any other type: a method for
/// `Facts` itself is tried before one for a reference to it.
pub mod via {
    use super::Facts;
    use crate::{Fault, judge::Known};

    /// For an error that is a `Fault`.
    pub trait ViaFault<'e> {
        /// All it tells.
        fn known(&self) -> Known<'e>;
    }

    impl<'e, E: Fault> ViaFault<'e> for Facts<'e, E> {
        fn known(&self) -> Known<'e> {
            Known::of(self.0)
        }
    }

    /// For any other error.
    pub trait ViaNothing<'e> {
        /// Nothing.
        fn known(&self) -> Known<'e>;
    }

    impl<'e, E> ViaNothing<'e> for &Facts<'e, E> {
        fn known(&self) -> Known<'e> {
            Known::default()
        }
    }
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
pub fn step_any<R, C, K>(
    policy: &Policy,
    retry: &mut Retry,
    name: &'static str,
    runtime: &C,
    outcome: R,
    known: K,
) -> Step<R>
where
    R: Outcome,
    C: Clock + Random,
    K: Fn(&R::Error) -> Known<'_>,
{
    judged(
        policy,
        retry,
        name,
        runtime,
        outcome,
        Informed(EveryError, known),
    )
}

/// After an attempt, judged by the user's function.
#[inline]
pub fn step_when<R, C, F, V, K>(
    policy: &Policy,
    retry: &mut Retry,
    name: &'static str,
    runtime: &C,
    outcome: R,
    judge: F,
    known: K,
) -> Step<R>
where
    R: Outcome,
    C: Clock + Random,
    F: Fn(&R::Error) -> V,
    V: Into<Verdict>,
    K: Fn(&R::Error) -> Known<'_>,
{
    judged(
        policy,
        retry,
        name,
        runtime,
        outcome,
        Informed(When(judge), known),
    )
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
    match decide(policy, retry, name, runtime, error, &judge) {
        Decision::Wait(wait) => Step::Wait(wait.delay, outcome),
        Decision::Stop(_) => Step::Done(outcome),
    }
}

/// Apart, so that what a success needs is small enough to be inlined.
#[cold]
#[inline(never)]
fn decide<E, C, J>(
    policy: &Policy,
    retry: &mut Retry,
    name: &'static str,
    runtime: &C,
    error: &E,
    judge: &J,
) -> Decision
where
    C: Clock + Random,
    J: Judge<E>,
{
    let decide = |policy: &Policy, retry: &mut Retry, verdict| {
        retry.failed(policy, verdict, || runtime.now(), || runtime.random())
    };
    drive::conclude(policy, retry, judge, decide, &mut Silent, name, error)
}

/// Whether the timer of a sync function woke after the deadline.
#[inline]
pub fn is_too_late<C: Clock>(policy: &Policy, retry: &Retry, runtime: &C) -> bool {
    retry.is_too_late(policy, || runtime.now())
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
    let limit = retry.attempt(policy, || runtime.now()).bounded(limit);
    drive::Timed::new(Some(attempt).filter(|_| !limit.is_zero()), limit, runtime)
}
