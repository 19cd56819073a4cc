//! What the attempts of an annotated function have in common.

use crate::{budget::Budget, policy::Policy, state::Terms};

/// What is the same for all attempts of an annotated function: a constant, where its policy is one.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// A time limit, and whether attempts are cut.
    pub terms: Option<Terms<'static>>,
    /// The name in logs.
    pub name: &'static str,
}

/// The budget that the waits are paid from.
#[inline]
#[must_use]
pub const fn budget_of(context: &Context<'static>) -> Option<&'static Budget> {
    context.policy.budget
}
