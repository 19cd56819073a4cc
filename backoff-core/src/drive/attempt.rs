//! What can be attempted again and again.

use super::{course::Course, doubt::Doubt, ending::Ending, recall::Recall};
use crate::{
    facts::fault::Fault,
    judge::Stage,
    policy::Policy,
    report::{Measures, Report},
    runtime::{Clock, Random},
    state::{Attempt, Holds, Terms},
};
use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// What an attempt may ask about the call that it belongs to.
#[derive(Debug)]
pub struct Run<'r, R> {
    pub(crate) policy: &'r Policy,
    pub(crate) terms: Option<&'r Terms<'r>>,
    pub(crate) course: &'r Course,
    pub(crate) runtime: &'r R,
}

impl<R: Clock> Run<'_, R> {
    /// Which attempt of the call it is, what time remains for it, and what the call remembers for it.
    /// Reads the clock if the call is timed.
    #[inline]
    pub fn attempt(&self, recall: &Recall) -> Attempt {
        self.course
            .attempt(self.policy, self.terms, self.runtime, recall)
    }

    /// What time remains. Reads the clock if the call is timed.
    #[inline]
    pub(crate) fn remaining(&self) -> Duration {
        self.course.remaining(self.policy, self.terms, self.runtime)
    }

    /// Whether the time of an attempt that is cut is over. Reads the clock only if attempts are cut.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.terms.cut_at_deadline() && self.remaining().is_zero()
    }
}

/// An attempt failed.
#[derive(Clone, Copy, Debug)]
pub struct Failed<E> {
    /// The error.
    pub error: E,
    /// What of the attempt failed.
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

/// Under which policy an attempt failed, and when.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) clock: &'a dyn Clock,
    /// Somebody else has written first, by what the judge says. Only where an operation is
    /// [`JUDGED`](Operation::JUDGED).
    pub(crate) is_lost_race: bool,
}

impl fmt::Debug for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("At").finish_non_exhaustive()
    }
}

/// What an operation is called, and what a report of it says.
pub trait Reports {
    /// What a report says.
    type Report;
    /// Whether the operation asks how much time has passed.
    const TIMED: bool = false;
    /// Whether the operation gives its attempts an [`Attempt`].
    const RECALLS: bool = false;

    /// How logs name it.
    fn name() -> &'static str;

    /// What the call remembers for its attempts, once the first one has begun.
    #[inline]
    fn recall(&mut self) -> Option<&mut Recall> {
        None
    }

    /// The report of what a call took.
    fn report(&self, measures: Measures) -> Self::Report;
}

/// What a wrapper is called and reports is what the operation inside is called and reports.
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

/// What a wrapper leaves to the operation inside when an attempt has failed.
macro_rules! failures_inside {
    () => {
        crate::drive::attempt::doubts_inside!();
        crate::drive::attempt::failed_inside!();

        #[inline]
        fn ended(&mut self, failure: Option<crate::drive::ending::Ending<'_>>) {
            self.operation.ended(failure);
        }
    };
}

/// What a wrapper leaves to the operation inside before a failure is judged.
macro_rules! failed_inside {
    () => {
        #[inline]
        fn failed(&mut self, error: &Self::Error, stage: Stage, at: At<'_>) {
            self.operation.failed(error, stage, at);
        }
    };
}

/// What a wrapper leaves to the operation inside where the wrapper itself hears of failures.
macro_rules! doubts_inside {
    () => {
        const JUDGED: bool = O::JUDGED;

        #[inline]
        fn doubt(&self) -> crate::drive::doubt::Doubt {
            self.operation.doubt()
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

pub(super) use {doubts_inside, failed_inside, failures_inside, reports_inside};

/// An async operation that can be begun again and again, under a runtime `R`.
///
/// Implemented for what [`Policy::retry`], [`Policy::retry_with`] and [`Policy::update`] are given.
/// The operation polls its own attempts, because the closures of an update are called in the middle
/// of one.
pub trait Operation<R>: Reports {
    /// What a success gives.
    type Value;
    /// What a failure gives.
    type Error;
    /// An attempt under way.
    type Running;
    /// Whether attempts are cut at the deadline.
    const CUT: bool = false;
    /// Whether the operation asks what the judge says of a failure.
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

    /// What is under way.
    #[inline]
    fn stage(running: Pin<&Self::Running>) -> Stage {
        let _ = running;
        Stage::Whole
    }

    /// What the operation says beside the policy: a time limit, and that its attempts are cut.
    #[inline]
    fn terms(&self) -> Option<Terms<'static>> {
        None
    }

    /// What a value tells if it is to be judged as an error is.
    #[inline]
    fn fault(value: &Self::Value) -> Option<&dyn Fault> {
        let _ = value;
        None
    }

    /// The error to give up with where no time remains for an attempt that would be cut.
    #[inline]
    fn expired() -> Option<Self::Error> {
        None
    }

    /// Whether a write of an update may have been applied.
    #[inline]
    fn doubt(&self) -> Doubt {
        Doubt::None
    }

    /// An attempt failed; what comes next is not decided yet.
    #[inline]
    fn failed(&mut self, error: &Self::Error, stage: Stage, at: At<'_>) {
        let _ = (error, stage, at);
    }

    /// An attempt is over and was judged: how it failed, if it failed.
    #[inline]
    fn ended(&mut self, failure: Option<Ending<'_>>) {
        let _ = failure;
    }

    /// A wait follows after this error, which the operation may keep.
    #[inline]
    fn keep(&mut self, error: Self::Error) -> Option<Self::Error> {
        Some(error)
    }

    /// The error that is kept since [`keep`](Self::keep), taken out because no attempt follows.
    #[inline]
    fn kept(&mut self) -> Option<Self::Error> {
        None
    }

    /// No attempt follows after this error: the error that is handed back.
    #[inline]
    fn last_word(&mut self, error: Self::Error) -> Self::Error {
        error
    }
}

/// A blocking operation that can be called again and again.
///
/// Implemented for what [`Policy::blocking`], [`Policy::blocking_with`] and
/// [`Policy::blocking_update`] are given.
pub trait Call: Reports {
    /// What a success gives.
    type Value;
    /// What a failure gives.
    type Error;
    /// As [`Operation::JUDGED`].
    const JUDGED: bool = false;

    /// Makes an attempt.
    ///
    /// # Errors
    /// The operation's own.
    fn call<R: Clock + Random>(
        &mut self,
        run: &Run<'_, R>,
    ) -> Result<Self::Value, Failed<Self::Error>>;

    /// What a value tells if it is to be judged as an error is.
    #[inline]
    fn fault(value: &Self::Value) -> Option<&dyn Fault> {
        let _ = value;
        None
    }

    /// What the operation says beside the policy.
    #[inline]
    fn terms(&self) -> Option<Terms<'static>> {
        None
    }

    /// As [`Operation::doubt`].
    #[inline]
    fn doubt(&self) -> Doubt {
        Doubt::None
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

/// An operation that asks nothing: `|| client.get(url)`.
#[derive(Clone, Copy, Debug)]
pub struct Plain<F>(pub(super) F);

impl<F> Reports for Plain<F> {
    type Report = Report;

    #[inline]
    fn name() -> &'static str {
        core::any::type_name::<F>()
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

/// An operation that is told which attempt it is: `|attempt| client.get(url)`.
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
        core::any::type_name::<F>()
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
