//! A call, and the same call without the types of its plan and its operation.

use super::{
    call_state::CallState,
    operation::{AnyOperation, CallOf, Failed, Run},
    plan::{CallPlan, Guard, Plan},
    setting::Setting,
};
use crate::{
    runtime::{Clock, Random},
    state::Rules,
};
use core::marker::PhantomData;

/// A call: its plan, its state, its settings and its runtime. The operation is not in it, so that a call is compiled once
/// for all closures.
#[doc(hidden)]
pub struct Call<P: Plan, S, R> {
    pub(crate) guard: Guard<P>,
    pub(crate) settings: S,
    pub(crate) runtime: R,
}

/// The outcome of an attempt.
pub(super) type Outcome<T, E> = Result<T, Failed<E>>;

/// The outcome of a call that has ended; nothing if an attempt or a wait follows.
pub(super) type Ended<T, E> = Option<Result<T, E>>;

/// A call whose plan and operation are objects, so that the work before and after an attempt is compiled once for all plans
/// and closures. The outcome of the call is a `Result<T, E>`.
pub(crate) struct ErasedCall<'c, T, E, S, R> {
    pub(super) plan: &'c dyn CallPlan,
    pub(super) operation: AnyOperation<'c, E>,
    pub(super) state: &'c mut CallState,
    pub(super) settings: &'c mut S,
    pub(super) runtime: &'c R,
    value: PhantomData<fn() -> T>,
}

impl<'c, T, E, S, R> ErasedCall<'c, T, E, S, R> {
    #[inline(always)]
    pub(crate) fn new(
        plan: &'c dyn CallPlan,
        operation: AnyOperation<'c, E>,
        state: &'c mut CallState,
        settings: &'c mut S,
        runtime: &'c R,
    ) -> Self {
        ErasedCall {
            plan,
            operation,
            state,
            settings,
            runtime,
            value: PhantomData,
        }
    }

    /// The rules of the call as they are now.
    #[inline]
    pub(super) fn rules(&self) -> Rules<'_>
    where
        S: Setting<T, E>,
    {
        rules_of(self.plan, self.settings)
    }
}

impl<P: Plan, S, R> Call<P, S, R> {
    /// The call without the types of its plan and its operation.
    #[inline(always)]
    pub(super) fn erased<'c, T, E>(
        &'c mut self,
        operation: AnyOperation<'c, E>,
    ) -> ErasedCall<'c, T, E, S, R> {
        let Guard { plan, state } = &mut self.guard;
        ErasedCall::new(plan, operation, state, &mut self.settings, &self.runtime)
    }
}

impl<T, E, P: Plan, S: Setting<T, E>, R: Clock + Random> CallOf<T, E> for Call<P, S, R> {
    #[inline]
    fn run(&self) -> Run<'_> {
        Run {
            rules: rules_of(&self.guard.plan, &self.settings),
            state: &self.guard.state,
            clock: &self.runtime,
            random: &self.runtime,
            is_hedge: false,
        }
    }
}

/// The rules of a call: those of its plan, changed by its settings.
#[inline]
pub(super) fn rules_of<'r, T, E, S>(
    plan: &'r (impl CallPlan + ?Sized),
    settings: &'r S,
) -> Rules<'r>
where
    S: Setting<T, E>,
{
    let mut rules = plan.rules();
    settings.rules(&mut rules);
    rules
}
