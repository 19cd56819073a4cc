//! Allow policies: what is asked of them, and the rules for reading and writing them.

mod names;
mod policy;
mod request;
mod store;

pub(super) use self::policy::{Update, Version};
pub(super) use self::request::parse;
pub(super) use self::store::Policies;

use super::fault::Call;

/// What is asked of a resource's policy.
#[derive(Debug, PartialEq)]
pub(super) enum Action {
    Get(Version),
    Set(Update),
    /// The permissions that are asked about.
    Test(Vec<String>),
}

impl Action {
    pub(super) fn call(&self) -> Call {
        match self {
            Self::Get(_) => Call::GetIamPolicy,
            Self::Set(_) => Call::SetIamPolicy,
            Self::Test(_) => Call::TestIamPermissions,
        }
    }
}
