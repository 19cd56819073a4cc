//! What the attempts of an annotated function have in common.

use crate::{policy::Policy, state::Terms};

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
