//! Values that count as failures: a value that is not yet the awaited one, and a reply that reports a
//! conflict.

use super::attempt::{
    At, Call, Failed, Operation, Plain, Reports, Run, WithAttempt, failures_inside, reports_inside,
};
use crate::{
    facts::fault::{Fault, FaultKind},
    judge::Stage,
    report::{Measures, Updated},
    runtime::{Clock, Random},
    state::Overrides,
};
use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// An operation that is repeated until its value is the awaited one. Made by
/// [`Retrying::until`](crate::Retrying::until) and [`Blocking::until`](crate::Blocking::until).
#[derive(Clone, Copy, Debug)]
pub struct Until<O, F> {
    pub(super) operation: O,
    pub(super) is_done: F,
}

/// The value, or a failure in place of a value that is not yet the awaited one.
#[inline]
pub(crate) fn awaited<T, E: From<NotYet>>(
    value: T,
    is_done: impl FnOnce(&T) -> bool,
) -> Result<T, Failed<E>> {
    if is_done(&value) {
        Ok(value)
    } else {
        Err(Failed::at(Stage::Pending, NotYet::after(0).into()))
    }
}

/// A read-modify-write whose write can report a conflict in its reply. Made by
/// [`Retrying::conflict_if`](crate::Retrying::conflict_if).
#[derive(Clone, Copy)]
pub struct ConflictIf<O, F> {
    pub(super) operation: O,
    pub(super) is_conflict: F,
}

impl<O, F> ConflictIf<O, F> {
    #[inline]
    fn checked<V, W, E: From<Conflict>>(
        &mut self,
        updated: Updated<V, W>,
    ) -> Result<Updated<V, W>, Failed<E>>
    where
        F: FnMut(&W) -> bool,
    {
        match &updated {
            Updated::Written(reply) if (self.is_conflict)(reply) => {
                Err(Failed::at(Stage::Conflict, Conflict.into()))
            }
            _ => Ok(updated),
        }
    }
}

impl<O: fmt::Debug, F> fmt::Debug for ConflictIf<O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConflictIf").field(&self.operation).finish()
    }
}

/// An operation whose values are judged as errors are. Made by
/// [`Retrying::responses`](crate::Retrying::responses) and
/// [`Blocking::responses`](crate::Blocking::responses).
#[derive(Clone, Copy, Debug)]
pub struct Responses<O> {
    pub(super) operation: O,
}

/// An operation whose values can be judged as errors are.
///
/// The innermost operation judges the values, so `responses` may be written before or after the other
/// rules of a call.
pub trait Responding {
    /// The operation whose values are judged.
    type Responses;

    /// The same operation with its values judged.
    fn responses(self) -> Self::Responses;
}

impl<F> Responding for Plain<F> {
    type Responses = Responses<Self>;

    fn responses(self) -> Self::Responses {
        Responses { operation: self }
    }
}

impl<F> Responding for WithAttempt<F> {
    type Responses = Responses<Self>;

    fn responses(self) -> Self::Responses {
        Responses { operation: self }
    }
}

impl<O> Responding for Responses<O> {
    type Responses = Self;

    fn responses(self) -> Self {
        self
    }
}

impl<O: Responding, F> Responding for Until<O, F> {
    type Responses = Until<O::Responses, F>;

    fn responses(self) -> Self::Responses {
        Until {
            operation: self.operation.responses(),
            is_done: self.is_done,
        }
    }
}

reports_inside!(<O, F> Until<O, F>, <O, F> ConflictIf<O, F>, <O> Responses<O>);

/// The methods that an async wrapper passes on to the operation inside.
macro_rules! inside {
    () => {
        type Error = O::Error;
        type Running = O::Running;
        const CUT: bool = O::CUT;

        #[inline]
        fn begin(&mut self, run: &Run<'_, R>) -> O::Running
        where
            R: Clock + Random,
        {
            self.operation.begin(run)
        }

        #[inline]
        fn stage(running: Pin<&O::Running>) -> Stage {
            O::stage(running)
        }

        #[inline]
        fn overrides(&self) -> Option<Overrides<'static>> {
            self.operation.overrides()
        }

        #[inline]
        fn expired() -> Option<O::Error> {
            O::expired()
        }

        #[inline]
        fn kept(&mut self) -> Option<O::Error> {
            self.operation.kept()
        }

        failures_inside!();
    };
}

/// The methods that a blocking wrapper passes on to the operation inside.
macro_rules! called_inside {
    () => {
        type Error = O::Error;

        #[inline]
        fn overrides(&self) -> Option<Overrides<'static>> {
            self.operation.overrides()
        }

        failures_inside!();
    };
}

impl<R, O, F> Operation<R> for Until<O, F>
where
    O: Operation<R>,
    O::Error: From<NotYet>,
    F: FnMut(&O::Value) -> bool,
{
    type Value = O::Value;
    inside!();

    #[inline]
    fn fault(value: &O::Value) -> Option<&dyn Fault> {
        O::fault(value)
    }

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut O::Running>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<O::Value, Failed<O::Error>>>
    where
        R: Clock,
    {
        let outcome = ready!(self.operation.poll(running, run, cx));
        Poll::Ready(outcome.and_then(|value| awaited(value, &mut self.is_done)))
    }
}

impl<R, O> Operation<R> for Responses<O>
where
    O: Operation<R, Value: Fault>,
{
    type Value = O::Value;
    inside!();

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut O::Running>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<O::Value, Failed<O::Error>>>
    where
        R: Clock,
    {
        self.operation.poll(running, run, cx)
    }

    #[inline]
    fn fault(value: &O::Value) -> Option<&dyn Fault> {
        Some(value)
    }
}

impl<O: Call<Value: Fault>> Call for Responses<O> {
    type Value = O::Value;
    called_inside!();

    #[inline]
    fn call<R: Clock + Random>(&mut self, run: &Run<'_, R>) -> Result<O::Value, Failed<O::Error>> {
        self.operation.call(run)
    }

    #[inline]
    fn fault(value: &O::Value) -> Option<&dyn Fault> {
        Some(value)
    }
}

impl<R, O, F, V, W> Operation<R> for ConflictIf<O, F>
where
    O: Operation<R, Value = Updated<V, W>>,
    O::Error: From<Conflict>,
    F: FnMut(&W) -> bool,
{
    type Value = Updated<V, W>;
    inside!();

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut O::Running>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Updated<V, W>, Failed<O::Error>>>
    where
        R: Clock,
    {
        let outcome = ready!(self.operation.poll(running, run, cx));
        Poll::Ready(outcome.and_then(|updated| self.checked(updated)))
    }
}

impl<O, F> Call for Until<O, F>
where
    O: Call,
    O::Error: From<NotYet>,
    F: FnMut(&O::Value) -> bool,
{
    type Value = O::Value;
    called_inside!();

    #[inline]
    fn fault(value: &O::Value) -> Option<&dyn Fault> {
        O::fault(value)
    }

    #[inline]
    fn call<R: Clock + Random>(&mut self, run: &Run<'_, R>) -> Result<O::Value, Failed<O::Error>> {
        let value = self.operation.call(run)?;
        awaited(value, &mut self.is_done)
    }
}

impl<O, F, V, W> Call for ConflictIf<O, F>
where
    O: Call<Value = Updated<V, W>>,
    O::Error: From<Conflict>,
    F: FnMut(&W) -> bool,
{
    type Value = Updated<V, W>;
    called_inside!();

    #[inline]
    fn call<R: Clock + Random>(
        &mut self,
        run: &Run<'_, R>,
    ) -> Result<Updated<V, W>, Failed<O::Error>> {
        let updated = self.operation.call(run)?;
        self.checked(updated)
    }
}

/// The awaited value has not come, and attempts or time are used up: the error of an operation that was
/// repeated [until](crate::Retrying::until) its value is the awaited one.
///
/// If several awaited values [in a row](crate::Retrying::consecutive) are required, this is also the
/// error of an awaited value after which more must follow: see [`consecutive`](Self::consecutive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotYet {
    consecutive: u32,
}

impl NotYet {
    /// The error after so many awaited values in a row.
    #[inline]
    pub(crate) const fn after(consecutive: u32) -> Self {
        NotYet { consecutive }
    }

    /// How many awaited values came in a row, including the last value. 0 if the last value was not an
    /// awaited one.
    ///
    /// ```
    /// use backoff_core::{NotYet, Policy};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let too_few: Result<bool, NotYet> = Policy::exponential()
    ///     .max_attempts(2)
    ///     .retry(|| std::future::ready(Ok(true)))
    ///     .until(|visible| *visible)
    ///     .consecutive(3)
    ///     .await;
    /// assert_eq!(too_few.unwrap_err().consecutive(), 2);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[inline]
    #[must_use]
    pub const fn consecutive(self) -> u32 {
        self.consecutive
    }
}

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.consecutive {
            0 => f.write_str("what is awaited has not come yet"),
            1 => f.write_str("what is awaited has come once, and must come again"),
            times => write!(
                f,
                "what is awaited has come {times} times in a row, and must come again"
            ),
        }
    }
}

impl core::error::Error for NotYet {}

impl Fault for NotYet {
    fn kind(&self) -> Option<FaultKind> {
        Some(FaultKind::Pending)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

/// Another writer was faster in every attempt: the error of an update whose conflicts are replies and
/// not errors ([`Retrying::conflict_if`](crate::Retrying::conflict_if)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict;

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("somebody else has changed it meanwhile")
    }
}

impl core::error::Error for Conflict {}

impl Fault for Conflict {
    fn kind(&self) -> Option<FaultKind> {
        Some(FaultKind::Conflict)
    }

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}
