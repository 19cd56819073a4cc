//! The policy of an annotated function, its limits and its name.

use crate::{
    call::{call_state::CallState, plan::CallPlan},
    policy::{NEVER, Policy},
    runtime::Clock,
    state::Rules,
};
use core::{ops::Deref, time::Duration};

/// The rules of a call and the name of its operation. A constant, if the policy is a constant.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The limits, if attempts are cut.
    pub limits: Option<Limits>,
    /// The name of the operation.
    pub operation: &'static str,
}

/// Attempts are cut at the deadline, and after this time.
#[derive(Clone, Copy, Debug)]
pub struct Limits(pub Option<Duration>);

impl Context<'_> {
    /// The name of the operation, as hooks and logs say it.
    #[cfg(feature = "tracing")]
    pub(super) fn display_name(&self) -> &'static str {
        crate::event::attempt_event::display_name(self.operation)
    }
}

impl CallPlan for Context<'_> {
    #[inline]
    fn policy(&self) -> &Policy {
        self.policy
    }

    fn operation(&self) -> Option<&'static str> {
        Some(self.operation)
    }

    #[inline]
    fn rules(&self) -> Rules<'_> {
        let mut rules = CallPlan::rules(self.policy);
        match self.limits {
            None => {}
            Some(Limits(None)) => rules.cuts = true,
            Some(Limits(Some(timeout))) => rules.limit(timeout),
        }
        rules
    }
}

/// The state before the first attempt. `timed` says that the function asks for the elapsed time.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub fn start<C: Clock>(context: &Context<'_>, runtime: &C, state: &mut CallState, timed: bool) {
    let timed = timed || context.rules().deadline != NEVER;
    state.start(runtime, timed);
}

/// A policy without a budget. The policy is a constant, which the guard need not know.
#[derive(Clone, Copy, Debug)]
pub struct WithoutBudget;

impl Deref for WithoutBudget {
    type Target = Policy;

    #[inline]
    fn deref(&self) -> &Policy {
        const POLICY: Policy = Policy::exponential();
        &POLICY
    }
}

/// A policy that stays behind its reference. Packed, so that a future need not align the state beside it.
#[derive(Clone, Copy)]
#[repr(Rust, packed)]
pub struct Borrowed<'p>(pub &'p Policy);

impl Deref for Borrowed<'_> {
    type Target = Policy;

    #[inline]
    fn deref(&self) -> &Policy {
        self.0
    }
}
