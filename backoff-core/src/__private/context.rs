//! The values that all attempts of an annotated function share.

use crate::{policy::Policy, state::Overrides};

/// The values that are the same for all attempts of an annotated function: a constant, if its policy is
/// a constant.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// A time limit, and whether attempts are cut.
    pub overrides: Option<Overrides<'static>>,
    /// The name in logs.
    pub name: &'static str,
}
