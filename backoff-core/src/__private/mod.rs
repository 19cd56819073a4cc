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
    drive::{
        course::rarely,
        handler::{Handle, Lent, Under},
    },
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
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy.
    pub policy: &'a Policy,
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

/// Before the first attempt. `timed` says that the function asks what time has passed.
#[inline]
pub fn start<C: Clock>(context: &Context<'_>, runtime: &C, timed: bool) -> Course {
    let mut course = Course::new();
    course.start(context.policy, runtime, timed);
    course
}

/// The attempt that is about to begin.
#[inline]
pub fn attempt<C: Clock>(context: &Context<'_>, runtime: &C, course: &Course) -> Attempt {
    course.attempt(context.policy, runtime)
}

/// After an attempt: how long to wait before the next one, or nothing if its outcome is the last.
#[inline]
pub fn step<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    course: &mut Course,
    at: (Stage, bool),
    outcome: &R,
    judge: &mut H,
) -> Option<Duration>
where
    R: Outcome,
    H: Handle<R::Error>,
    C: Clock + Random,
{
    let Some(error) = outcome.error() else {
        course.succeeded(context.policy);
        return None;
    };
    rarely();
    let mut handler = Under {
        inner: Lent { inner: judge },
        runtime,
    };
    let (stage, cut) = at;
    let (policy, name) = (context.policy, context.name);
    let next = course.failed(policy, &mut handler, name, error, stage, cut);
    next.is_wait().then(|| next.wait())
}

/// The wait of an async function.
#[inline]
pub fn sleep<C: Sleep>(runtime: &C, wait: Duration) -> C::Sleep {
    runtime.sleep(wait)
}

/// The wait of a sync function; whether the timer woke after the deadline. If it did, whoever
/// listens is told.
#[inline]
pub fn pause<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
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
    runtime.pause(wait);
    let is_late = course.is_late(context.policy, runtime, false);
    if let Some(error) = last.error().filter(|_| is_late) {
        course.late(judge, context.name, error);
    }
    is_late
}
