//! Operations that can be attempted several times.

use super::{course::Course, ending::Ending, recall::Recall, write_outcome::WriteOutcome};
use crate::{
    facts::fault::Fault,
    judge::Stage,
    policy::Policy,
    report::{Measures, Report},
    runtime::{Clock, Random},
    state::{Attempt, LimitSource, Overrides},
};
use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// The information that an attempt can ask for about its call.
#[derive(Debug)]
pub struct Run<'r, R> {
    pub(crate) policy: &'r Policy,
    pub(crate) overrides: Option<&'r Overrides<'r>>,
    pub(crate) course: &'r Course,
    pub(crate) runtime: &'r R,
}

impl<R: Clock> Run<'_, R> {
    /// The number of this attempt, the time that remains for it, and what the call remembers for it. Reads
    /// the clock if the call is timed.
    #[inline]
    pub fn attempt(&self, recall: &Recall) -> Attempt {
        self.course
            .attempt(self.policy, self.overrides, self.runtime, recall)
    }

    /// The time that remains. Reads the clock if the call is timed.
    #[inline]
    pub(crate) fn remaining(&self) -> Duration {
        self.course
            .remaining(self.policy, self.overrides, self.runtime)
    }

    /// Whether the time of an attempt that can be cut is over. Reads the clock only if attempts are cut.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.overrides.cut_at_deadline() && self.remaining().is_zero()
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

    #[inline]
    pub(crate) const fn whole(error: E) -> Self {
        Self::at(Stage::Whole, error)
    }
}

/// The policy under which an attempt failed, and the clock.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) clock: &'a dyn Clock,
    /// The judge says that another writer has written first. Set only for an operation that is
    /// [`JUDGED`](Operation::JUDGED).
    pub(crate) is_lost_race: bool,
}

impl fmt::Debug for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("At").finish_non_exhaustive()
    }
}

/// The name of an operation and its report.
pub trait Reports {
    /// The type of the report.
    type Report;
    /// Whether the operation asks how much time has passed.
    const TIMED: bool = false;
    /// Whether the operation gives its attempts an [`Attempt`].
    const RECALLS: bool = false;

    /// The name of the operation in logs.
    fn name() -> &'static str;

    /// The values that the call remembers for its attempts, once the first one has begun.
    #[inline]
    fn recall(&mut self) -> Option<&mut Recall> {
        None
    }

    /// Makes the report of a call.
    fn report(&self, measures: Measures) -> Self::Report;
}

/// A wrapper has the name and the report of the operation inside.
macro_rules! reports_inside {
    ($(<$($parameter:ident),+> $wrapper:ty),+ $(,)?) => {
        $(
            impl<$($parameter),+> Reports for $wrapper
            where
                O: Reports,
            {
                type Report = O::Report;
                const TIMED: bool = O::TIMED;
                const RECALLS: bool = O::RECALLS;

                #[inline]
                fn name() -> &'static str {
                    O::name()
                }

                #[inline]
                fn recall(&mut self) -> Option<&mut crate::drive::recall::Recall> {
                    self.operation.recall()
                }

                fn report(&self, measures: Measures) -> O::Report {
                    self.operation.report(measures)
                }
            }
        )+
    };
}

/// The methods that a wrapper passes on to the operation inside after a failed attempt.
macro_rules! failures_inside {
    () => {
        crate::drive::attempt::kept_inside!();
        crate::drive::attempt::failed_inside!();

        #[inline]
        fn ended(&mut self, failure: Option<crate::drive::ending::Ending<'_>>) {
            self.operation.ended(failure);
        }
    };
}

/// The method that a wrapper passes on to the operation inside before a failure is judged.
macro_rules! failed_inside {
    () => {
        #[inline]
        fn failed(&mut self, error: &Self::Error, stage: Stage, at: At<'_>) {
            self.operation.failed(error, stage, at);
        }
    };
}

/// The methods that a wrapper passes on to the operation inside, if the wrapper handles failures
/// itself.
macro_rules! kept_inside {
    () => {
        const JUDGED: bool = O::JUDGED;

        #[inline]
        fn write_outcome(&self) -> crate::drive::write_outcome::WriteOutcome {
            self.operation.write_outcome()
        }

        #[inline]
        fn keep(&mut self, error: Self::Error) -> Option<Self::Error> {
            self.operation.keep(error)
        }

        #[inline]
        fn last_word(&mut self, error: Self::Error) -> Self::Error {
            self.operation.last_word(error)
        }
    };
}

pub(super) use {failed_inside, failures_inside, kept_inside, reports_inside};

/// An async operation that can be begun again and again, under a runtime `R`.
///
/// Implemented for the arguments of [`Policy::retry`], [`Policy::retry_with`] and [`Policy::update`].
/// The operation polls its own attempts, because an update calls its closures in the middle of an
/// attempt.
pub trait Operation<R>: Reports {
    /// The value of a success.
    type Value;
    /// The error of a failure.
    type Error;
    /// A running attempt.
    type Running;
    /// Whether attempts are cut at the deadline.
    const CUT: bool = false;
    /// Whether the operation needs the judge's verdict about a failure.
    const JUDGED: bool = false;

    /// Begins an attempt.
    fn begin(&mut self, run: &Run<'_, R>) -> Self::Running
    where
        R: Clock + Random;

    /// Drives an attempt.
    fn poll(
        &mut self,
        running: Pin<&mut Self::Running>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::Value, Failed<Self::Error>>>
    where
        R: Clock;

    /// The part of the attempt that is running.
    #[inline]
    fn stage(running: Pin<&Self::Running>) -> Stage {
        let _ = running;
        Stage::Whole
    }

    /// The operation's rules that the policy does not contain: a time limit, and whether attempts are cut.
    #[inline]
    fn overrides(&self) -> Option<Overrides<'static>> {
        None
    }

    /// The facts of a value, if values are judged as errors are.
    #[inline]
    fn fault(value: &Self::Value) -> Option<&dyn Fault> {
        let _ = value;
        None
    }

    /// The error of a call that has no time for another attempt, if attempts are cut.
    #[inline]
    fn expired() -> Option<Self::Error> {
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

    /// An attempt has ended and was judged. `failure` says how the attempt failed, if it failed.
    #[inline]
    fn ended(&mut self, failure: Option<Ending<'_>>) {
        let _ = failure;
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

/// A blocking operation that can be called again and again.
///
/// Implemented for the arguments of [`Policy::blocking`], [`Policy::blocking_with`] and
/// [`Policy::blocking_update`].
pub trait Call: Reports {
    /// The value of a success.
    type Value;
    /// The error of a failure.
    type Error;
    /// As [`Operation::JUDGED`].
    const JUDGED: bool = false;

    /// Makes an attempt.
    ///
    /// # Errors
    /// The operation's own error.
    fn call<R: Clock + Random>(
        &mut self,
        run: &Run<'_, R>,
    ) -> Result<Self::Value, Failed<Self::Error>>;

    /// The facts of a value, if values are judged as errors are.
    #[inline]
    fn fault(value: &Self::Value) -> Option<&dyn Fault> {
        let _ = value;
        None
    }

    /// The operation's rules that the policy does not contain.
    #[inline]
    fn overrides(&self) -> Option<Overrides<'static>> {
        None
    }

    /// As [`Operation::write_outcome`].
    #[inline]
    fn write_outcome(&self) -> WriteOutcome {
        WriteOutcome::Known
    }

    /// As [`Operation::failed`].
    #[inline]
    fn failed(&mut self, error: &Self::Error, stage: Stage, at: At<'_>) {
        let _ = (error, stage, at);
    }

    /// As [`Operation::ended`].
    #[inline]
    fn ended(&mut self, failure: Option<Ending<'_>>) {
        let _ = failure;
    }

    /// As [`Operation::keep`].
    #[inline]
    fn keep(&mut self, error: Self::Error) -> Option<Self::Error> {
        Some(error)
    }

    /// As [`Operation::last_word`].
    #[inline]
    fn last_word(&mut self, error: Self::Error) -> Self::Error {
        error
    }
}

/// An operation without arguments: `|| client.get(url)`.
#[derive(Clone, Copy, Debug)]
pub struct Plain<F>(pub(super) F);

/// The name of an operation in logs and metrics: the path of the function or closure. The type of a boxed
/// closure says nothing about the operation, in several hundred characters.
#[inline]
fn path_of<F>() -> &'static str {
    let path = core::any::type_name::<F>();
    if path.starts_with("alloc::boxed::Box<dyn ") {
        "boxed closure"
    } else {
        path
    }
}

impl<F> Reports for Plain<F> {
    type Report = Report;

    #[inline]
    fn name() -> &'static str {
        path_of::<F>()
    }

    fn report(&self, measures: Measures) -> Report {
        measures.into()
    }
}

impl<R, F, Fut, T, E> Operation<R> for Plain<F>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Value = T;
    type Error = E;
    type Running = Fut;

    #[inline]
    fn begin(&mut self, _run: &Run<'_, R>) -> Fut {
        (self.0)()
    }

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut Fut>,
        _run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, Failed<E>>> {
        running.poll(cx).map_err(Failed::whole)
    }
}

impl<F: FnMut() -> Result<T, E>, T, E> Call for Plain<F> {
    type Value = T;
    type Error = E;

    #[inline]
    fn call<R: Clock + Random>(&mut self, _run: &Run<'_, R>) -> Result<T, Failed<E>> {
        (self.0)().map_err(Failed::whole)
    }
}

/// An operation that takes the `Attempt`: `|attempt| client.get(url)`.
#[derive(Clone, Copy, Debug)]
pub struct WithAttempt<F> {
    operation: F,
    /// Made when the first attempt begins.
    recall: Option<Recall>,
}

impl<F> WithAttempt<F> {
    pub(super) const fn new(operation: F) -> Self {
        WithAttempt {
            operation,
            recall: None,
        }
    }

    #[inline]
    fn attempt<R: Clock + Random>(&mut self, run: &Run<'_, R>) -> Attempt {
        let recall = self.recall.get_or_insert_with(|| Recall::new(run.runtime));
        run.attempt(recall)
    }
}

impl<F> Reports for WithAttempt<F> {
    type Report = Report;
    const TIMED: bool = true;
    const RECALLS: bool = true;

    #[inline]
    fn name() -> &'static str {
        path_of::<F>()
    }

    #[inline]
    fn recall(&mut self) -> Option<&mut Recall> {
        self.recall.as_mut()
    }

    fn report(&self, measures: Measures) -> Report {
        measures.into()
    }
}

impl<R, F, Fut, T, E> Operation<R> for WithAttempt<F>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Value = T;
    type Error = E;
    type Running = Fut;

    #[inline]
    fn begin(&mut self, run: &Run<'_, R>) -> Fut
    where
        R: Clock + Random,
    {
        let attempt = self.attempt(run);
        (self.operation)(attempt)
    }

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut Fut>,
        _run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, Failed<E>>> {
        running.poll(cx).map_err(Failed::whole)
    }
}

impl<F: FnMut(Attempt) -> Result<T, E>, T, E> Call for WithAttempt<F> {
    type Value = T;
    type Error = E;

    #[inline]
    fn call<R: Clock + Random>(&mut self, run: &Run<'_, R>) -> Result<T, Failed<E>> {
        let attempt = self.attempt(run);
        (self.operation)(attempt).map_err(Failed::whole)
    }
}

#[cfg(test)]
mod tests {
    use super::{Plain, Reports};

    fn name<F>(_: &F) -> &'static str {
        Plain::<F>::name()
    }

    #[test]
    fn a_closure_is_named_by_its_path_and_a_boxed_one_is_not_named_by_its_type() {
        let closure = || 1;
        assert!(
            name(&closure).contains("attempt::tests::"),
            "{}",
            name(&closure)
        );
        let boxed: std::boxed::Box<dyn FnMut() -> u8> = std::boxed::Box::new(|| 1);
        assert_eq!(name(&boxed), "boxed closure");
    }
}
