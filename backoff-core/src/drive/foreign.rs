//! A call whose loop is somebody else's: a client's own. The loop asks after each attempt, and whoever
//! listens hears the same as of a loop of this library.

#[cfg(feature = "metrics")]
use super::meter;
use super::{
    course::Course,
    handler::{Handle, Handler, Under},
};
use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage},
    observe::Failure,
    policy::Policy,
    report::StopReason,
    runtime::{ASYNC, AsyncRuntime, Clock, Random},
    state::{Decision, Next, Terms},
};
use core::time::Duration;

/// Where such a call stands. Its attempts are cut when the deadline is over.
#[derive(Clone, Copy, Debug)]
pub struct ForeignCall {
    course: Course,
}

/// The policy's codes judge, and a conflict is never repeated.
#[derive(Clone, Copy, Debug)]
struct SameRequest;

impl Handler for SameRequest {
    type Runtime = AsyncRuntime;

    fn runtime(&self) -> &AsyncRuntime {
        &ASYNC
    }
}

impl<E: Fault> Handle<E> for SameRequest {
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        let ruling = policy.rule(stage, error);
        // The same write would conflict again: only a new read helps, which is outside.
        if ruling.is_conflict() {
            Ruling::PERMANENT
        } else {
            ruling
        }
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }
}

/// An attempt is cut at the deadline: a wait that ends just then leaves no time for one.
const CUT: Terms<'static> = Terms::cut(None, None);

fn under<R>(runtime: &R) -> Under<SameRequest, &R> {
    Under {
        inner: SameRequest,
        runtime,
    }
}

impl ForeignCall {
    /// Whether logs or metrics are told of each call.
    pub const IS_HEARD: bool = cfg!(any(feature = "metrics", feature = "tracing"));

    /// Whether something is lost where a loop only remembers how many attempts have failed: somebody
    /// listens, a budget is to get back what it paid, or waits grow from the ones before.
    pub const fn is_worth_keeping(policy: &Policy) -> bool {
        Self::IS_HEARD || policy.budget.is_some() || policy.remembers()
    }

    /// A call whose first attempt began at `started`, and of which so many attempts have failed. The
    /// first attempt counts from `started`. After a failure nobody knows when the attempt under way began and
    /// how long the call has waited: neither is recorded.
    pub fn resumed(started: Duration, failures: u32) -> Self {
        ForeignCall {
            course: Course::resumed(started, failures),
        }
    }

    /// What remains of the deadline; [`Duration::MAX`] without one.
    pub fn remaining<C: Clock>(&self, policy: &Policy, clock: &C) -> Duration {
        self.course.remaining(policy, None, clock)
    }

    /// The attempt that was waited for begins.
    pub fn begins<C: Clock>(&mut self, clock: &C) {
        self.course.begins(&mut under(clock));
    }

    /// An attempt failed: wait, or stop? Whoever listens is told.
    pub fn failed<E, R>(
        &mut self,
        policy: &Policy,
        runtime: &R,
        name: &'static str,
        error: &E,
    ) -> Decision
    where
        E: Fault,
        R: Clock + Random,
    {
        let (stage, terms) = (Stage::Whole, Some(&CUT));
        self.course
            .failed(policy, &mut under(runtime), name, error, stage, terms)
            .into()
    }

    /// The loop ends after a wait, for a reason of its own. The policy's budget gets back what it has
    /// paid for the wait, and whoever listens is told.
    pub fn given_up<E, C>(
        &mut self,
        policy: &Policy,
        clock: &C,
        name: &'static str,
        error: &E,
        reason: StopReason,
    ) where
        E: Fault,
        C: Clock,
    {
        let (next, failure) = (Next::stop(reason), Failure::new(Some(error), Some(error)));
        self.course
            .ended(next, policy, &mut under(clock), name, failure);
    }

    /// An attempt succeeded. The policy's budget gets its tokens back, and whoever listens is told.
    pub fn succeeded<E, C>(&self, policy: &Policy, clock: &C, name: &'static str)
    where
        E: Fault,
        C: Clock,
    {
        self.course
            .succeeded::<E, _>(policy, &mut under(clock), name, None);
    }

    /// Of several calls, one succeeded, and nobody knows which: the policy's budget gets what a success
    /// at the first attempt gives.
    pub fn one_succeeded(policy: &Policy) {
        Course::new().progressed(policy);
        #[cfg(feature = "metrics")]
        meter::level(policy.budget);
    }

    /// The wait leads to no attempt: the policy's budget gets back what it has paid for the wait.
    pub fn cancelled(&mut self, policy: &Policy) {
        self.course.cancelled(policy.budget);
    }
}
