//! Operations that can be attempted several times, async and blocking.

use super::{
    call_info::CallInfo, call_state::CallState, context::Context as CallContext,
    opaque::named_in_debug, write_outcome::WriteOutcome,
};
use crate::{
    facts::fault::FaultKind,
    judge::Stage,
    policy::Policy,
    report::{Measures, Report},
    runtime::{Clock, Random, Sleep, timer_of},
    state::{Attempt, Overrides},
};
use core::{
    fmt,
    future::{Future, Ready, ready},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// The information that an attempt can ask for about its call.
#[derive(Debug)]
pub struct Run<'r, R> {
    pub(crate) context: &'r CallContext<'r>,
    pub(crate) state: &'r CallState,
    pub(crate) runtime: &'r R,
}

impl<R: Random> Run<'_, R> {
    /// What the call remembers for its attempts, before the first one. Draws the id of the call.
    pub fn info(&self) -> CallInfo {
        CallInfo::new(self.runtime)
    }
}

impl<R: Clock> Run<'_, R> {
    /// The number of this attempt, the time that remains for it, and what the call remembers for it. Reads
    /// the clock if the call is timed.
    #[inline]
    pub fn attempt(&self, info: &CallInfo) -> Attempt {
        self.state.attempt(self.context, self.runtime, info)
    }

    /// The time that remains. Reads the clock if the call is timed.
    #[inline]
    pub(crate) fn remaining(&self) -> Duration {
        self.state.remaining(self.context, self.runtime)
    }

    /// The time of an attempt (`limit`, or the rest of the deadline if that is shorter), and its timer.
    #[inline]
    pub(crate) fn timer(&self, limit: Duration) -> (Duration, Option<R::Sleep>)
    where
        R: Sleep,
    {
        timer_of(self.runtime, limit.min(self.remaining()))
    }

    /// Whether the time of an attempt that can be cut is over. Reads the clock only if attempts are cut.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        Overrides::cut_at_deadline(self.context.overrides.as_ref()) && self.remaining().is_zero()
    }
}

/// An attempt failed.
#[derive(Clone, Copy, Debug)]
pub struct Failed<E> {
    /// The error.
    pub error: E,
    /// The part of the attempt that failed.
    pub stage: Stage,
}

impl<E> Failed<E> {
    #[inline]
    pub(crate) const fn at(stage: Stage, error: E) -> Self {
        Failed { error, stage }
    }

    /// The attempt failed as a whole.
    #[inline]
    pub const fn whole(error: E) -> Self {
        Self::at(Stage::Whole, error)
    }
}

/// The policy under which an attempt failed, and the clock.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) clock: &'a dyn Clock,
    /// The kind of the failure, for an operation that is [`JUDGED`](Operation::JUDGED): a conflict only if
    /// another writer has written first.
    pub(crate) kind: FaultKind,
}

impl fmt::Debug for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("At").finish_non_exhaustive()
    }
}

/// An operation that can be begun again and again.
///
/// Implemented for the arguments of [`Policy::retry`], [`Policy::retry_with`], [`Policy::update`] and
/// their blocking forms, and for the requests of a layer of tower. The operation polls its own attempts,
/// because an update calls its closures in the middle of an attempt. A blocking attempt is ready at its
/// first poll.
pub trait Operation {
    /// The value of a success.
    type Value;
    /// The error of a failure.
    type Error;
    /// A running attempt.
    type Running;
    /// The type of the report.
    type Report;
    /// Whether the operation asks how much time has passed.
    const TIMED: bool = false;
    /// Whether the operation gives its attempts an [`Attempt`].
    const WANTS_INFO: bool = false;
    /// Whether the operation needs the judge's verdict about a failure.
    const JUDGED: bool = false;

    /// The name of the operation in logs and metrics, or the name of its type: see
    /// `Context::operation`. It must have few values, because it is a label.
    fn name(&self) -> &'static str;

    /// The host that the operation calls, a field of log events. Only the async loop asks for it, and not
    /// for a success at the first attempt.
    #[inline]
    fn host(&self) -> Option<&str> {
        None
    }

    /// Makes the report of a call.
    fn report(&self, measures: Measures) -> Self::Report;

    /// The values that the call remembers for its attempts, once the first one has begun.
    #[inline]
    fn info(&mut self) -> Option<&mut CallInfo> {
        None
    }

    /// Begins an attempt.
    fn begin<R: Clock + Random>(&mut self, run: &Run<'_, R>) -> Self::Running;

    /// Drives an attempt.
    fn poll<R: Clock>(
        &mut self,
        running: Pin<&mut Self::Running>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::Value, Failed<Self::Error>>>;

    /// The part of the attempt that is running.
    #[inline]
    fn stage(running: Pin<&Self::Running>) -> Stage {
        let _ = running;
        Stage::Whole
    }

    /// The operation's rules that the policy does not contain.
    #[inline]
    fn overrides(&self) -> Option<Overrides<'static>> {
        None
    }

    /// Whether a write of an update may have been applied.
    #[inline]
    fn write_outcome(&self) -> WriteOutcome {
        WriteOutcome::Known
    }

    /// An attempt failed, and the next step is not decided yet.
    #[inline]
    fn failed(&mut self, error: &Self::Error, stage: Stage, at: At<'_>) {
        let _ = (error, stage, at);
    }

    /// A wait follows after this error, which the operation may keep.
    #[inline]
    fn keep(&mut self, error: Self::Error) -> Option<Self::Error> {
        Some(error)
    }

    /// Returns the error that [`keep`](Self::keep) stored, because no attempt follows.
    #[inline]
    fn kept(&mut self) -> Option<Self::Error> {
        None
    }

    /// No attempt follows this error. Returns the error of the call.
    #[inline]
    fn last_word(&mut self, error: Self::Error) -> Self::Error {
        error
    }
}

/// A closure of the caller with these arguments, a tuple. [`Awaits`] and [`Blocks`] make async and blocking
/// closures the same.
pub trait Closure<Arguments> {
    /// The value of a success.
    type Value;
    /// The error of a failure.
    type Error;
    /// A call of the closure.
    type Running: Future<Output = Result<Self::Value, Self::Error>>;

    /// The name of the closure's type.
    fn name() -> &'static str;

    /// Calls the closure.
    fn call(&mut self, arguments: Arguments) -> Self::Running;
}

/// A closure that returns a future.
#[derive(Clone, Copy)]
pub struct Awaits<F>(pub(super) F);

/// A closure that blocks its thread.
#[derive(Clone, Copy)]
pub struct Blocks<F>(pub(super) F);

/// The closures with each number of arguments.
macro_rules! closures {
    ($($argument:ident)?) => {
        impl<$($argument,)? F, Fut, T, E> Closure<($($argument,)?)> for Awaits<F>
        where
            F: FnMut($($argument)?) -> Fut,
            Fut: Future<Output = Result<T, E>>,
        {
            type Value = T;
            type Error = E;
            type Running = Fut;

            #[inline]
            fn name() -> &'static str {
                core::any::type_name::<F>()
            }

            #[inline]
            #[allow(non_snake_case, reason = "an argument is named as its type")]
            fn call(&mut self, ($($argument,)?): ($($argument,)?)) -> Fut {
                (self.0)($($argument)?)
            }
        }

        impl<$($argument,)? F, T, E> Closure<($($argument,)?)> for Blocks<F>
        where
            F: FnMut($($argument)?) -> Result<T, E>,
        {
            type Value = T;
            type Error = E;
            type Running = Ready<Result<T, E>>;

            #[inline]
            fn name() -> &'static str {
                core::any::type_name::<F>()
            }

            #[inline]
            #[allow(non_snake_case, reason = "an argument is named as its type")]
            fn call(&mut self, ($($argument,)?): ($($argument,)?)) -> Ready<Result<T, E>> {
                ready((self.0)($($argument)?))
            }
        }
    };
}

closures!();
closures!(A);

/// An operation without arguments: `|| client.get(url)`.
#[derive(Clone, Copy)]
pub struct Plain<C>(pub(super) C);

impl<C: Closure<()>> Operation for Plain<C> {
    type Value = C::Value;
    type Error = C::Error;
    type Running = C::Running;
    type Report = Report;

    #[inline]
    fn name(&self) -> &'static str {
        C::name()
    }

    fn report(&self, measures: Measures) -> Report {
        measures.into()
    }

    #[inline]
    fn begin<R: Clock + Random>(&mut self, _run: &Run<'_, R>) -> C::Running {
        self.0.call(())
    }

    #[inline]
    fn poll<R: Clock>(
        &mut self,
        running: Pin<&mut C::Running>,
        _run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<C::Value, Failed<C::Error>>> {
        running.poll(cx).map_err(Failed::whole)
    }
}

/// An operation that takes the `Attempt`: `|attempt| client.get(url)`.
#[derive(Clone, Copy)]
pub struct WithAttempt<C> {
    closure: C,
    /// Made when the first attempt begins.
    info: Option<CallInfo>,
}

impl<C> WithAttempt<C> {
    pub(super) const fn new(closure: C) -> Self {
        WithAttempt {
            closure,
            info: None,
        }
    }
}

impl<C: Closure<(Attempt,)>> Operation for WithAttempt<C> {
    type Value = C::Value;
    type Error = C::Error;
    type Running = C::Running;
    type Report = Report;
    const TIMED: bool = true;
    const WANTS_INFO: bool = true;

    #[inline]
    fn name(&self) -> &'static str {
        C::name()
    }

    #[inline]
    fn info(&mut self) -> Option<&mut CallInfo> {
        self.info.as_mut()
    }

    fn report(&self, measures: Measures) -> Report {
        measures.into()
    }

    #[inline]
    fn begin<R: Clock + Random>(&mut self, run: &Run<'_, R>) -> C::Running {
        let info = self.info.get_or_insert_with(|| CallInfo::new(run.runtime));
        self.closure.call((run.attempt(info),))
    }

    #[inline]
    fn poll<R: Clock>(
        &mut self,
        running: Pin<&mut C::Running>,
        _run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<C::Value, Failed<C::Error>>> {
        running.poll(cx).map_err(Failed::whole)
    }
}

named_in_debug!(Awaits, Blocks, Plain, WithAttempt);
