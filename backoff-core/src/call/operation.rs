//! Operations that can be attempted several times, async and blocking.

use super::{
    call_state::{CallInfo, CallState},
    write_outcome::{Remembered, WriteOutcome},
};
use crate::{
    facts::fault::Fault,
    judge::Verdict,
    policy::Policy,
    report::{Measures, Report},
    runtime::{Clock, Random},
    stage::{EndedBy, Stage},
    state::{Attempt, Rules},
};
use core::{
    any::type_name,
    future::{Future, Ready, ready},
    pin::Pin,
    task::{Context, Poll},
};

/// What an attempt can ask about its call.
#[doc(hidden)]
pub struct Run<'r> {
    pub(crate) rules: Rules<'r>,
    pub(crate) state: &'r CallState,
    pub(crate) clock: &'r dyn Clock,
    pub(crate) random: &'r dyn Random,
    /// The attempt begins its second request.
    pub(crate) is_hedge: bool,
}

/// A call with outcomes of these types, as its attempts see it.
#[doc(hidden)]
pub trait CallOf<T, E> {
    /// What the attempt can ask.
    fn run(&self) -> Run<'_>;
}

impl Run<'_> {
    /// The number of this attempt, the time that remains for it, and what the call remembers for it. Draws the id of the
    /// call before the first attempt, and reads the clock if the call is timed.
    #[inline]
    pub fn attempt(&self, info: &mut Option<CallInfo>) -> Attempt {
        let info = info.get_or_insert_with(|| CallInfo::new(self.random));
        let mut attempt = self.state.attempt(&self.rules, self.clock, info);
        attempt.is_hedge = self.is_hedge;
        attempt
    }

    /// Whether the time of an attempt that can be cut is over. Reads the clock only if attempts are cut.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.rules.cuts && self.state.remaining(&self.rules, self.clock).is_zero()
    }
}

/// An attempt that ended with an error, and where.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Failed<E> {
    /// The error.
    pub error: E,
    /// The part of the attempt that failed.
    pub stage: Stage,
    /// Why the attempt ended.
    pub(crate) ended_by: EndedBy,
}

impl<E> Failed<E> {
    #[inline]
    pub(crate) const fn at(stage: Stage, error: E) -> Self {
        Failed {
            error,
            stage,
            ended_by: EndedBy::Operation,
        }
    }
}

/// The attempt failed as a whole.
impl<E> From<E> for Failed<E> {
    #[inline]
    fn from(error: E) -> Self {
        Self::at(Stage::Whole, error)
    }
}

/// A [`Failed`] attempt, and how it was judged.
#[doc(hidden)]
pub struct JudgedFailure<'a, E> {
    /// The error; `None` if a value counts as the failure.
    pub(crate) error: Option<&'a E>,
    pub(crate) fault: Option<&'a dyn Fault>,
    pub(crate) stage: Stage,
    pub(crate) ended_by: EndedBy,
    pub(crate) verdict: Verdict,
}

impl<E> JudgedFailure<'_, E> {
    /// Whether the attempt may have been applied.
    pub(crate) fn may_be_applied(&self) -> bool {
        self.verdict
            .may_be_applied(self.stage, self.ended_by, self.fault)
    }
}

/// The part of an operation that gets its failures. This trait is used as an object, so that the code after a failure
/// is compiled once for each error type, and not for each closure.
#[doc(hidden)]
pub trait Memory<E> {
    /// The host that the operation calls, a field of log events.
    fn host(&self) -> Option<&str> {
        None
    }

    /// An attempt of this policy failed, and the next step is not decided yet.
    fn failed(
        &mut self,
        failure: &JudgedFailure<'_, E>,
        policy: &Policy,
        clock: &dyn Clock,
    ) -> Remembered<'_>;

    /// Whether a write of an update may have been applied.
    fn write_outcome(&self) -> WriteOutcome {
        WriteOutcome::Known
    }

    /// A wait follows after this error, which the operation may keep.
    fn keep(&mut self, error: E) -> Option<E> {
        Some(error)
    }

    /// Returns the error that [`keep`](Self::keep) stored, because no attempt follows.
    fn kept(&mut self) -> Option<E> {
        None
    }
}

/// An operation without its type, so that the code of a call is compiled once for all operations.
#[doc(hidden)]
pub struct AnyOperation<'o, E> {
    /// The name of the operation in logs and metrics, or the name of its type. It must have few values, because it
    /// is a label.
    pub name: &'static str,
    /// The part that gets the failures; most operations have none.
    pub memory: Option<&'o mut dyn Memory<E>>,
}

impl<E> AnyOperation<'_, E> {
    /// An operation of this name that remembers nothing.
    pub(crate) const fn named(name: &'static str) -> Self {
        AnyOperation { name, memory: None }
    }
}

/// What the call remembers for the `Attempt`s that it is given.
impl<E> Memory<E> for Option<CallInfo> {
    fn failed(
        &mut self,
        failure: &JudgedFailure<'_, E>,
        _policy: &Policy,
        _clock: &dyn Clock,
    ) -> Remembered<'_> {
        if let Some(info) = self {
            info.maybe_applied |= failure.may_be_applied();
        }
        Remembered::Nothing
    }
}

/// An operation that can be begun again and again.
///
/// Implemented for the arguments of [`Policy::retry`], [`Policy::retry_with`], [`Policy::update`] and
/// their blocking forms, and for the requests of a layer of tower. The operation polls its own attempts,
/// because an update calls its closures in the middle of an attempt. A blocking attempt is ready at its
/// first poll.
#[doc(hidden)]
pub trait Operation {
    /// The value of a success.
    type Value;
    /// The error of a failure.
    type Error;
    /// A running attempt.
    type Running;
    /// The type of the report.
    type Report: From<Measures>;
    /// Whether the operation asks how much time has passed.
    const TIMED: bool = false;

    /// The number of writes of a read-modify-write.
    fn writes(&self) -> u32 {
        0
    }

    /// Whether the request of the running attempt may be sent once more at the same time: it only reads, and has a copy.
    #[inline]
    fn may_run_twice(&self) -> bool {
        true
    }

    /// The operation without its type.
    fn erased(&mut self) -> AnyOperation<'_, Self::Error>;

    /// Begins an attempt.
    fn begin(&mut self, call: &impl CallOf<Self::Value, Self::Error>) -> Self::Running;

    /// Polls an attempt.
    fn poll(
        &mut self,
        running: Pin<&mut Self::Running>,
        call: &impl CallOf<Self::Value, Self::Error>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::Value, Failed<Self::Error>>>;

    /// The part of the attempt that is running.
    #[inline]
    fn stage(_running: Pin<&Self::Running>) -> Stage {
        Stage::Whole
    }
}

/// A closure of the caller with these arguments, a tuple. [`Awaits`] and [`Blocks`] make async and blocking
/// closures the same.
#[doc(hidden)]
pub trait Closure<Arguments> {
    /// The value of a success.
    type Value;
    /// The error of a failure.
    type Error;
    /// A call of the closure.
    type Running: Future<Output = Result<Self::Value, Self::Error>>;
    /// The type of the closure, whose name is the name of the operation.
    type Function;

    /// Calls the closure.
    fn call(&mut self, arguments: Arguments) -> Self::Running;
}

/// A closure that returns a future.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Awaits<F>(pub(super) F);

/// A closure that blocks its thread.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Blocks<F>(pub(super) F);

/// The closures with each number of arguments.
macro_rules! closures {
    ($($argument:ident: $Argument:ident)?) => {
        impl<$($Argument,)? F, Fut, T, E> Closure<($($Argument,)?)> for Awaits<F>
        where
            F: FnMut($($Argument)?) -> Fut,
            Fut: Future<Output = Result<T, E>>,
        {
            type Value = T;
            type Error = E;
            type Running = Fut;
            type Function = F;

            #[inline]
            fn call(&mut self, ($($argument,)?): ($($Argument,)?)) -> Fut {
                (self.0)($($argument)?)
            }
        }

        impl<$($Argument,)? F, T, E> Closure<($($Argument,)?)> for Blocks<F>
        where
            F: FnMut($($Argument)?) -> Result<T, E>,
        {
            type Value = T;
            type Error = E;
            type Running = Ready<Result<T, E>>;
            type Function = F;

            #[inline]
            fn call(&mut self, ($($argument,)?): ($($Argument,)?)) -> Ready<Result<T, E>> {
                ready((self.0)($($argument)?))
            }
        }
    };
}

closures!();
closures!(argument: A);

/// An operation without arguments: `|| client.get(url)`.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Plain<C>(pub(super) C);

impl<C: Closure<()>> Operation for Plain<C> {
    type Value = C::Value;
    type Error = C::Error;
    type Running = C::Running;
    type Report = Report;

    #[inline]
    fn erased(&mut self) -> AnyOperation<'_, C::Error> {
        AnyOperation::named(type_name::<C::Function>())
    }

    #[inline]
    fn begin(&mut self, _call: &impl CallOf<C::Value, C::Error>) -> C::Running {
        self.0.call(())
    }

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut C::Running>,
        _call: &impl CallOf<C::Value, C::Error>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<C::Value, Failed<C::Error>>> {
        running.poll(cx).map_err(Failed::from)
    }
}

/// An operation that takes the `Attempt`: `|attempt| client.get(url)`.
#[derive(Clone, Copy)]
#[doc(hidden)]
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

    #[inline]
    fn erased(&mut self) -> AnyOperation<'_, C::Error> {
        AnyOperation {
            name: type_name::<C::Function>(),
            memory: Some(&mut self.info),
        }
    }

    #[inline]
    fn begin(&mut self, call: &impl CallOf<C::Value, C::Error>) -> C::Running {
        self.closure.call((call.run().attempt(&mut self.info),))
    }

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut C::Running>,
        _call: &impl CallOf<C::Value, C::Error>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<C::Value, Failed<C::Error>>> {
        running.poll(cx).map_err(Failed::from)
    }
}

/// An async operation whose attempt is one request: no read-modify-write.
#[doc(hidden)]
pub trait RunsTwice: Operation {}

impl<F> RunsTwice for Plain<Awaits<F>> where Self: Operation {}
impl<F> RunsTwice for WithAttempt<Awaits<F>> where Self: Operation {}
