//! What the macros expand to. Hidden: it changes without notice.

pub use crate::{
    Policy, Retry,
    time::{AsyncRuntime, BlockingRuntime},
};
pub use core::{option::Option, result::Result, time::Duration};

#[cfg(feature = "macros")]
pub use backoff_macros::__retry_block;

pub use crate::Silent;
#[cfg(feature = "std")]
pub use crate::clients::boxed::know;
pub use awaited::*;
pub use cut::*;
pub use facts::*;
pub use judges::known_fault;
pub use keys::Keys;

use crate::{
    Attempt, ByPolicy, Clock, Decision, Event, EveryError, Fault, Judge, Notify, Pause, Random,
    Sleep, StopReason, Verdict, drive,
    judge::{Informed, Known},
};
use core::future::Future;
use judges::{Found, Or, Said};

#[path = "private/awaited.rs"]
mod awaited;
#[path = "private/cut.rs"]
mod cut;
#[path = "private/facts.rs"]
mod facts;
#[path = "private/judges.rs"]
mod judges;
#[path = "private/keys.rs"]
mod keys;

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

/// What runs a function that brings its own timer.
#[cfg(feature = "tokio")]
pub type OwnClock = AsyncRuntime;
/// What runs a function that brings its own timer.
#[cfg(not(feature = "tokio"))]
pub type OwnClock = BlockingRuntime;

/// A runtime whose timer is the user's, by the key `sleep`.
#[derive(Debug)]
pub struct OwnTimer<F, C>(F, C);

/// The timer of an async function.
#[inline]
pub fn sleep_by<F, Fut>(sleep: F) -> OwnTimer<F, OwnClock>
where
    F: Fn(Duration) -> Fut,
    Fut: Future<Output = ()>,
{
    OwnTimer(sleep, OwnClock::default())
}

/// The timer of a sync function.
#[inline]
pub fn pause_by<F: Fn(Duration)>(pause: F) -> OwnTimer<F, OwnClock> {
    OwnTimer(pause, OwnClock::default())
}

impl<F, C: Clock> Clock for OwnTimer<F, C> {
    #[inline]
    fn now(&self) -> Duration {
        self.1.now()
    }
}

impl<F, C: Random> Random for OwnTimer<F, C> {
    #[inline]
    fn random(&self) -> u64 {
        self.1.random()
    }
}

impl<F, C, Fut> Sleep for OwnTimer<F, C>
where
    F: Fn(Duration) -> Fut,
    Fut: Future<Output = ()>,
{
    type Sleep = Fut;

    #[inline]
    fn sleep(&self, wait: Duration) -> Fut {
        (self.0)(wait)
    }
}

impl<F: Fn(Duration), C> Pause for OwnTimer<F, C> {
    fn pause(&self, wait: Duration) {
        (self.0)(wait);
    }
}

/// What an annotated function returns.
#[diagnostic::on_unimplemented(
    message = "`#[retry]` needs a function that returns `Result`",
    label = "`{Self}` does not say whether the attempt failed",
    note = "write `-> Result<T, E>`",
    note = "a function whose return type is another name for a boxed future ends with `Box::pin(async move {{ .. }})`"
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

/// Types the user's hook by the outcome it will be told of.
#[inline]
pub fn hook<R, N>(_outcome: &R, hook: N) -> N
where
    R: Outcome,
    N: FnMut(&Event<'_, R::Error>),
{
    hook
}

/// Before the first attempt.
#[inline]
pub fn start<C: Clock>(policy: &Policy, runtime: &C) -> Retry {
    Retry::start(policy, || runtime.now())
}

/// Before the first attempt of a function that asks which attempt it is, and so what time has passed.
#[inline]
pub fn start_timed<C: Clock>(_policy: &Policy, runtime: &C) -> Retry {
    Retry::start_at(runtime.now())
}

/// The attempt that is about to begin.
#[inline]
pub fn attempt<C: Clock>(policy: &Policy, retry: &Retry, runtime: &C) -> Attempt {
    retry.attempt(policy, || runtime.now())
}

/// After an attempt, judged by the policy's codes.
#[inline]
pub fn step<R, C, N>(
    policy: &Policy,
    retry: impl Counted,
    name: &'static str,
    runtime: &C,
    notify: N,
    outcome: R,
) -> Step<R>
where
    R: Outcome,
    R::Error: Fault,
    C: Clock + Random,
    N: Notify<R::Error>,
{
    judged(policy, retry, name, runtime, notify, outcome, ByPolicy)
}

/// After an attempt; every error is retried. What is known comes by a function pointer, so that
/// this is not compiled anew for each annotated function.
#[inline]
pub fn step_any<R, C, N>(
    policy: &Policy,
    retry: impl Counted,
    name: &'static str,
    runtime: &C,
    notify: N,
    outcome: R,
    known: fn(&R::Error) -> Known<'_>,
) -> Step<R>
where
    R: Outcome,
    C: Clock + Random,
    N: Notify<R::Error>,
{
    judged(
        policy,
        retry,
        name,
        runtime,
        notify,
        outcome,
        Informed(EveryError, known),
    )
}

/// After an attempt, judged by the user's function.
#[expect(clippy::too_many_arguments, reason = "only the macro writes the call")]
#[inline]
pub fn step_when<R, C, N, F, V>(
    policy: &Policy,
    retry: impl Counted,
    name: &'static str,
    runtime: &C,
    notify: N,
    outcome: R,
    judge: F,
    known: fn(&R::Error) -> Known<'_>,
) -> Step<R>
where
    R: Outcome,
    F: Fn(&R::Error) -> V,
    V: Into<Verdict>,
    C: Clock + Random,
    N: Notify<R::Error>,
{
    // Asked here, so that what follows is not compiled anew for each closure.
    let asked = outcome.error().filter(|_| retry.is_judged());
    let said = asked.map(|error| judge(error).into());
    let said = Said(said.unwrap_or(Verdict::Permanent));
    judged(
        policy,
        retry,
        name,
        runtime,
        notify,
        outcome,
        Informed(said, known),
    )
}

/// After an attempt, judged by the user's patterns, then by the policy's codes.
#[inline]
pub fn step_or<R, C, N, F>(
    policy: &Policy,
    retry: impl Counted,
    name: &'static str,
    runtime: &C,
    notify: N,
    outcome: R,
    matches: F,
) -> Step<R>
where
    R: Outcome,
    R::Error: Fault,
    F: Fn(&R::Error) -> bool,
    C: Clock + Random,
    N: Notify<R::Error>,
{
    let asked = outcome.error().filter(|_| retry.is_judged());
    let matched = Or(asked.is_some_and(matches));
    judged(policy, retry, name, runtime, notify, outcome, matched)
}

/// After an attempt, judged by the policy's codes, which it reads from what is found.
#[inline]
pub fn step_found<R, C, N>(
    policy: &Policy,
    retry: impl Counted,
    name: &'static str,
    runtime: &C,
    notify: N,
    outcome: R,
    find: fn(&R::Error) -> Option<&dyn Fault>,
) -> Step<R>
where
    R: Outcome,
    C: Clock + Random,
    N: Notify<R::Error>,
{
    judged(policy, retry, name, runtime, notify, outcome, Found(find))
}

#[inline]
fn judged<R, C, N, J>(
    policy: &Policy,
    mut retry: impl Counted,
    name: &'static str,
    runtime: &C,
    notify: N,
    outcome: R,
    judge: J,
) -> Step<R>
where
    R: Outcome,
    C: Clock + Random,
    N: Notify<R::Error>,
    J: Judge<R::Error>,
{
    let Some(error) = outcome.error() else {
        retry.count().succeeded(policy);
        return Step::Done(outcome);
    };
    match decide(policy, retry, name, runtime, notify, error, &judge) {
        Decision::Wait(wait) => Step::Wait(wait.delay, outcome),
        Decision::Stop(_) => Step::Done(outcome),
    }
}

/// Apart, so that what a success needs is small enough to be inlined.
#[cold]
#[inline(never)]
fn decide<E, C, N, J>(
    policy: &Policy,
    mut retry: impl Counted,
    name: &'static str,
    runtime: &C,
    mut notify: N,
    error: &E,
    judge: &J,
) -> Decision
where
    C: Clock + Random,
    N: Notify<E>,
    J: Judge<E>,
{
    let (is_late, is_pending) = (retry.is_late(), retry.is_pending());
    let decide = |policy: &Policy, retry: &mut Retry, verdict| {
        if is_late {
            return Decision::Stop(StopReason::Deadline);
        }
        let verdict = if is_pending {
            Verdict::PENDING
        } else {
            verdict
        };
        retry.failed(policy, verdict, || runtime.now(), || runtime.random())
    };
    let count = retry.count();
    drive::conclude(policy, count, judge, decide, &mut notify, name, error)
}

/// Whether the timer of a sync function woke after the deadline; if so, whoever listens is told.
#[inline]
pub fn is_too_late<R, C, N>(
    policy: &Policy,
    retry: &Retry,
    name: &str,
    runtime: &C,
    mut notify: N,
    last: &R,
    known: fn(&R::Error) -> Known<'_>,
) -> bool
where
    R: Outcome,
    C: Clock,
    N: Notify<R::Error>,
{
    let is_too_late = retry.is_too_late(policy, || runtime.now());
    if let Some(error) = last.error().filter(|_| is_too_late) {
        let decision = Decision::Stop(StopReason::Deadline);
        let judge = Informed(EveryError, known);
        drive::tell(decision, retry.failures(), &judge, &mut notify, name, error);
    }
    is_too_late
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
