//! What the macros expand to: a few lines around the course of a call. Hidden: it changes without
//! notice.

pub use crate::{
    drive::course::Course,
    judge::Stage,
    policy::Policy,
    runtime::{ASYNC, AsyncRuntime, BLOCKING, BlockingRuntime},
};
pub use core::{option::Option, result::Result, time::Duration};

#[cfg(feature = "macros")]
pub use backoff_macros::__retry_block;

#[cfg(feature = "std")]
pub use crate::clients::boxed::know;
pub use awaited::*;
pub use cut::*;
pub use facts::*;
pub use judges::{by_codes, every, found, notified, or, when};
pub use keys::Keys;
pub use timer::*;

use crate::{
    drive::handler::{Handle, Lent, Under},
    runtime::{Clock, Pause, Random, Sleep},
    state::Attempt,
};

mod awaited;
mod cut;
mod facts;
mod judges;
mod keys;
mod timer;

/// What is the same for all attempts of an annotated function: a constant, where its policy is one.
#[derive(Debug)]
pub struct Context<'a, C> {
    /// The policy.
    pub policy: &'a Policy,
    /// Clock, timer and random numbers.
    pub runtime: C,
    /// The name in logs.
    pub name: &'static str,
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

/// Before the first attempt. `timed` says that the function asks what time has passed.
#[inline]
pub fn start<C: Clock>(context: &Context<'_, C>, timed: bool) -> Course {
    let mut course = Course::new();
    course.start(context.policy, &context.runtime, timed);
    course
}

/// The attempt that is about to begin.
#[inline]
pub fn attempt<C: Clock>(context: &Context<'_, C>, course: &Course) -> Attempt {
    course.attempt(context.policy, &context.runtime)
}

/// After an attempt.
#[inline]
pub fn step<C, R, H>(
    context: &Context<'_, C>,
    course: &mut Course,
    stage: Stage,
    cut: bool,
    outcome: R,
    judge: &mut H,
) -> Step<R>
where
    R: Outcome,
    H: Handle<R::Error>,
    C: Clock + Random,
{
    let Some(error) = outcome.error() else {
        course.succeeded(context.policy);
        return Step::Done(outcome);
    };
    let mut handler = Under {
        inner: Lent { inner: judge },
        runtime: &context.runtime,
    };
    let next = course.failed(
        context.policy,
        &mut handler,
        context.name,
        error,
        stage,
        cut,
    );
    match next.reason() {
        None => Step::Wait(Duration::from_nanos(next.delay()), outcome),
        Some(_) => Step::Done(outcome),
    }
}

/// The wait of an async function.
#[inline]
pub fn sleep<C: Sleep>(context: &Context<'_, C>, wait: Duration) -> C::Sleep {
    context.runtime.sleep(wait)
}

/// The wait of a sync function; whether the timer woke after the deadline. If it did, whoever
/// listens is told.
#[inline]
pub fn pause<C, R, H>(
    context: &Context<'_, C>,
    course: &Course,
    wait: Duration,
    last: &R,
    judge: &mut H,
) -> bool
where
    R: Outcome,
    H: Handle<R::Error>,
    C: Clock + Pause,
{
    context.runtime.pause(wait);
    let is_late = course.is_late(context.policy, &context.runtime, false);
    if let Some(error) = last.error().filter(|_| is_late) {
        course.late(judge, context.name, error);
    }
    is_late
}
